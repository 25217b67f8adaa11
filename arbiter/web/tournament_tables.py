"""Tables of tournaments for pages: crosstable, games by round, and the names of their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from arbiter.service.gate.game_calls import seats
from arbiter.tournaments import formats
from arbiter.tournaments.early_leavers import early_leavers
from arbiter.tournaments.game_ends import GameResult
from arbiter.tournaments.game_rulings import change_in_words
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.standings import ended_games, points_text
from arbiter.tournaments.tournament import Tournament

MOST_IN_CROSSTABLE: Final = 24  #: players; a larger table is wider than a screen
MOST_GAMES: Final = 100  #: games in one list, for a tournament that is not played in rounds

TIE_BREAKS: Final = {
    "direct_encounter": ("DE", "direct encounter"),
    "sonneborn_berger": ("SB", "Sonneborn–Berger"),
    "buchholz": ("BH", "Buchholz"),
    "buchholz_cut_1": ("BH-1", "Buchholz without the lowest"),
    "buchholz_cut_2": ("BH-2", "Buchholz without the two lowest"),
    "buchholz_median_1": ("BHM", "Buchholz without the lowest and the highest"),
    "wins": ("WIN", "games won"),
    "wins_seat_2": ("WON2", "games won with seat 2"),
    "games_seat_2": ("G2", "games played with seat 2"),
    "progressive": ("PS", "progressive score"),
    "match_points": ("MP", "match points"),
    "board_points": ("BP", "board points"),
    "sonneborn_berger_boards": ("SB", "the opponents' points, multiplied by the board points against them"),
    "board_count": ("BC", "board count"),
}
"""The short name of each tie-break for the head of a column, and its name in words."""


class PairScore(NamedTuple):
    """The games of two players so far: the half points of the first, and the number of games.

    counts: whether they count for the points of the first; not if the other has left early.
    """

    half_points: int
    games: int
    counts: bool = True

    @property
    def points(self) -> str:
        """The points of the first, as people write them."""
        return points(self.half_points)


class ListedGame(NamedTuple):
    """A game of a tournament: its result, None until it has one; the id of its match, '' for none.

    attempt: the number of matches so far; more than one if the others were void. ending: how it ended, in words.
    """

    game: ScheduledGame
    round: int
    result: GameResult | None
    match: str
    running: bool
    attempt: int
    ending: str = ""


class GameList(NamedTuple):
    """Some games of a tournament, newest first.

    rounds: the rounds that have a list of their own; empty if the tournament is not played in rounds. round: the round
    of this list, 0 for none. older: the next list contains games before this number; 0 if there is none.
    """

    games: Sequence[ListedGame]
    rounds: Sequence[int]
    round: int
    older: int


def crosstable(
    tournament: Tournament, players: Sequence[str], most: int = MOST_IN_CROSSTABLE
) -> list[list[PairScore | None]]:
    """Return for each player, in an order, its games against each other player; None if there are none yet.

    It is empty for more players than `most`, and while no two players have met. A player's games against
    itself are left out.
    """
    if len(players) > most:
        return []
    scores, met = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for game, result, times in ended_games(tournament):
        if result.void:
            continue
        for seat, pair in ((1, (game.seat1, game.seat2)), (2, (game.seat2, game.seat1))):
            scores[pair] += times * result.half_points(seat)
            met[pair] += times
    if all(one == other for one, other in met):
        return []
    left_early = early_leavers(tournament)
    return [
        [
            PairScore(scores[one, other], met[one, other], other not in left_early)
            if one != other and (one, other) in met
            else None
            for other in players
        ]
        for one in players
    ]


def game_list(
    tournament: Tournament,
    round_: int,
    before: int,
    players: Sequence[str] = (),
    called: Callable[[str], str] = str,
) -> GameList:
    """Return games of a tournament: those of a round (0: the newest that has begun), or before a game (0: the newest).

    players: one or two names; the list then has their games in all rounds. called: returns the name under which a
    player is shown.
    """
    in_rounds = formats.of(tournament.spec).by_round and not players
    rounds = range(1, tournament.rounds + 1) if in_rounds else range(0)
    if rounds:
        shown = round_ if round_ in rounds else _newest_round(tournament)
        games = (game for meeting in tournament.meetings if meeting.round == shown for game in meeting.games)
        return GameList([_listed(tournament, game, called) for game in games], rounds, shown, 0)
    wanted = set(players)
    found: list[ListedGame] = []
    for game in reversed(tournament.games):
        if (not before or game.number < before) and wanted <= {game.seat1, game.seat2}:
            if len(found) == MOST_GAMES:
                return GameList(found, (), 0, game.number + 1)
            found.append(_listed(tournament, game, called))
    return GameList(found, (), 0, 0)


def ending(tournament: Tournament, game: ScheduledGame, result: GameResult, called: Callable[[str], str] = str) -> str:
    """Return how a game ended, and its newest ruling: `ann (White) wins: time`, `1–0, changed to 0–1 by org: why`.

    It is as played: a ruling that lets the result stand is added.
    """
    ruling = change_in_words(tournament, game.number)
    if result.ruling is not None:
        return ruling
    who = "both lost" if result.lost_by_both else "a draw"
    if result.winner:
        seat = seats(game.game)[result.winner - 1]
        name = called(game.seat1 if result.winner == 1 else game.seat2)
        who = f"{name}{'' if seat.isdecimal() else f' ({seat})'} wins"
    return f"{who}: {result.reason.replace('_', ' ')}{f' ({ruling})' if ruling else ''}"


def points(halves: int) -> str:
    """Return half points as people write them: `2`, `½`, `3½`, `−½`."""
    return points_text(halves)


def _newest_round(tournament: Tournament) -> int:
    """Return the last round in which a game has begun; 1 if there is none."""
    begun: Iterable[int] = {*tournament.results, *tournament.running}
    return max((tournament.meetings[tournament.games[number - 1].meeting - 1].round for number in begun), default=1)


def _listed(tournament: Tournament, game: ScheduledGame, called: Callable[[str], str]) -> ListedGame:
    result, running = tournament.results.get(game.number), tournament.running.get(game.number)
    match = result.match if result else running.match if running else ""
    round_, attempt = tournament.meetings[game.meeting - 1].round, tournament.attempts.get(game.number, 0)
    said = ending(tournament, game, result, called) if result is not None else ""
    return ListedGame(game, round_, result, match, running is not None, attempt, said)
