"""Who meets whom in an arena, and how long players wait: a table of deploy/CHOOSING.md.

Arenas of ten minutes are played in virtual time by the pairer of the server, with games of ten seconds on average: a
player that never waits has about 60 of them. A game takes the sum of what its two bots need, half of that to half more.
With equal speeds all bots need the same, with unequal ones a bot needs 1, 2, 4 or 8 parts. So fast bots play more.
Results are by lot: the stronger of two neighbours in the list wins a little more often.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import events as ev
from arbiter.tournaments import formats
from arbiter.tournaments.game_ends import Winner
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import Options, Spec

SEED: Final = 2026
ARENAS: Final = 20  #: of each row
PLAYERS: Final = (4, 6, 8, 20, 40)
SPEEDS: Final = {"equal": (1,), "unequal": (1, 1, 2, 2, 4, 4, 8, 8)}
DURATION_MS: Final = 600_000
GAME_MS: Final = 10_000  #: the mean, over all pairs of bots
SPREAD: Final = 1_000.0  #: Elo between the first and the last player
COLUMNS: Final = (
    "players",
    "speeds",
    "pairs that met",
    "immediate rematches",
    "games",
    "games of a player",
    "time without a game",
)

_ARENA: Final = next(
    format_
    for format_, pairer in formats.PAIRERS.items()
    if pairer.pairs_whoever_is_free and not pairer.pairs_by_strength
)


class Variety(NamedTuple):
    """What an arena was like.

    met: the share of pairs that met at least once. rematches: meetings that were the next one of one of the two after
    one with the same opponent. games: all of them; fewest, most: of a player. idle: the share of the players' time in
    which they had no game.
    """

    met: float
    rematches: float
    games: float
    fewest: float
    most: float
    idle: float


def variety(log: Sequence[ev.Event], players: Sequence[str], duration_ms: int) -> Variety:
    """Return what an arena was like, by its log, if these players were there from its start to its end."""
    started = next(event.at for event in log if isinstance(event, ev.Started))
    last: dict[str, str] = {}
    games = dict.fromkeys(players, 0)
    met: set[frozenset[str]] = set()
    rematches = 0
    for meeting in (meeting for event in log if isinstance(event, ev.Paired) for meeting in event.meetings):
        one, other = meeting.first, meeting.second
        met.add(frozenset((one, other)))
        rematches += last.get(one) == other or last.get(other) == one
        last |= {one: other, other: one}
        for player in (one, other):
            games[player] += len(meeting.games)
    begun = {event.game: event.at for event in log if isinstance(event, ev.Begun)}
    ended = {event.game: event.at for event in log if isinstance(event, ev.EndedGame)}
    playing_ms = sum(2 * (ended.get(game, started + duration_ms) - at) for game, at in begun.items())
    pairs = len(players) * (len(players) - 1) / 2
    idle = 1 - playing_ms / (len(players) * duration_ms)
    return Variety(len(met) / pairs, rematches, sum(games.values()) / 2, min(games.values()), max(games.values()), idle)


def played(players: int, speeds: Sequence[int], seed: int) -> Variety:
    """Play an arena; return what it was like."""
    lots = random.Random(f"{SEED} {players} {speeds} {seed}")
    needs = [speeds[number % len(speeds)] for number in range(players)]
    unit_ms = GAME_MS / (2 * sum(needs) / players)

    def length_ms(game: ScheduledGame) -> int:
        both = needs[int(game.seat1[1:])] + needs[int(game.seat2[1:])]
        return round(both * unit_ms * lots.uniform(0.5, 1.5))

    def result(game: ScheduledGame) -> Winner:
        apart = (int(game.seat2[1:]) - int(game.seat1[1:])) * SPREAD / players
        return 1 if lots.random() < 1 / (1 + 10 ** (-apart / 400)) else 2

    options = Options(duration_ms=DURATION_MS)
    spec = Spec("arena", _ARENA, ("hop-it",), "1s", paired=False, options=options)
    run = TournamentRun(spec, players, random.Random(seed), result)
    run.play_free(DURATION_MS, length_ms)
    return variety(run.log, run.tournament.players, DURATION_MS)


def bench_arenas(write: Callable[[str], object], arenas: int = ARENAS) -> None:
    """Play arenas of each kind and write a row as soon as they are played, as a table of Markdown; means of them."""
    write(f"| {' | '.join(COLUMNS)} |\n|{' -- |' * len(COLUMNS)}\n")
    for name, speeds in SPEEDS.items():
        for players in PLAYERS:
            all_ = zip(*(played(players, speeds, seed) for seed in range(arenas)), strict=True)
            mean = Variety(*(sum(each) / arenas for each in all_))
            games = f"{mean.fewest:.0f} to {mean.most:.0f}"
            shares = f"{100 * mean.met:.0f} % | {mean.rematches:.1f} | {mean.games:.0f} | {games}"
            write(f"| {players} | {name} | {shares} | {100 * mean.idle:.0f} % |\n")
