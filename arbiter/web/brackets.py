"""The bracket of a knockout as pages show it: stages of rounds of ties, read from left to right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter.tournaments import formats
from arbiter.tournaments.formats.knockout import Bracket, Tie
from arbiter.tournaments.tournament import Tournament
from arbiter.web.tournament_tables import points

STAGES: Final = {"W": "Bracket", "L": "Losers' bracket", "F": "Final", "T": "Third place"}
LAST: Final = {1: "Final", 2: "Semi-finals", 4: "Quarter-finals"}
"""The name of a round by its number of ties, in single elimination."""


class Side(NamedTuple):
    """A player of a tie.

    name: '' while it is not known. seed: from 1, 0 for none. points: in the games of the tie, '' for none. is_bye:
    there is no player, so the other side advances.
    """

    name: str
    seed: int
    points: str
    won: bool
    is_bye: bool = False


class ShownTie(NamedTuple):
    """A tie: both sides, and the matches of its games so far, in order. empty: both sides are byes, so nobody plays."""

    sides: tuple[Side, Side]
    matches: Sequence[str]
    empty: bool


class BracketRound(NamedTuple):
    """A round of a bracket. halves: the next round has half as many ties, since two winners meet in each."""

    title: str
    ties: Sequence[ShownTie]
    halves: bool


class BracketStage(NamedTuple):
    """A part of a bracket. A double elimination has an upper and a lower one."""

    title: str
    rounds: Sequence[BracketRound]


def bracket(tournament: Tournament) -> list[BracketStage]:
    """Return the stages of a knockout that has started; an empty list for any other tournament."""
    if not formats.of(tournament.spec).has_bracket or not tournament.seeds:
        return []
    rounds: defaultdict[str, list[Tie]] = defaultdict(list)
    for tie in Bracket(tournament).ties:
        rounds[tie.place.partition(".")[0] if tie.place[0] in "WL" else tie.place].append(tie)
    double = tournament.spec.options.double
    stages = []
    for letter, title in STAGES.items():
        names = [name for name in rounds if name[0] == letter]
        if not names:
            continue
        sizes = [len(rounds[name]) for name in names]
        shown = [
            BracketRound(
                _title(name, len(rounds[name]), double, len(names)),
                [_shown(tournament, tie) for tie in rounds[name]],
                2 * following == len(rounds[name]),
            )
            for name, following in zip(names, [*sizes[1:], 0], strict=True)
        ]
        stages.append(BracketStage("Winners' bracket" if double and letter == "W" else title, shown))
    return stages


def _title(name: str, ties: int, double: bool, rounds: int) -> str:
    if name[0] == "T":
        return "Third place"
    if name[0] == "F":
        return "Final" if rounds == 1 else f"Final {name.partition('.')[2]}"
    return LAST.get(ties, f"Round {name[1:]}") if name[0] == "W" and not double else f"Round {name[1:]}"


def _shown(tournament: Tournament, tie: Tie) -> ShownTie:
    games = [game for meeting in tournament.meetings if meeting.place == tie.place for game in meeting.games]
    ended = [(game, tournament.results[game.number]) for game in games if game.number in tournament.results]

    def side(player: str | None) -> Side:
        if player is None:
            return Side("", 0, "", won=False, is_bye=tie.known)
        scored = [result.half_points(1 if game.seat1 == player else 2) for game, result in ended]
        seed = tournament.seeds.index(player) + 1
        return Side(player, seed, points(sum(scored)) if scored else "", won=tie.winner == player)

    running = [tournament.running[game.number].match for game in games if game.number in tournament.running]
    matches = [result.match for _, result in ended if result.match]
    empty = tie.known and tie.first is None and tie.second is None
    return ShownTie((side(tie.first), side(tie.second)), [*matches, *running], empty)
