"""Tie-breaks: what orders players who are level in points.

Source: FIDE Handbook C.07, Play-Off and Tie-Break Regulations, in the edition in force since 1 March 2026
(handbook.fide.com/chapter/TieBreakRegulations032026). What it changed of the rules used here is the ceiling on the
points of the dummy (16.4). For the edition of 2023 FIDE has published exercises with solutions (IA Mario Held,
"Exercises in Tie-Breaking", rev. 2403220900), which the tests reproduce where that ceiling is not reached, and for this
one an example in the Arbiters' Manual 2026.

| name | C.07 | rule |
| --- | --- | --- |
| direct_encounter | 6 | "If some or all the tied participants have met each other, the sum of the scores from these encounters is used to produce separate standings": see below |
| wins | 7.1 WIN | "The number of rounds where a participant obtains, with or without playing, as many points as awarded for a win" |
| games_seat_2 | 7.3 BPG | "The number of games played over the board with the black pieces": here, in seat 2 |
| wins_seat_2 | 7.4 BWG | "The number of games won over the board with the black pieces": here, in seat 2 |
| progressive | 7.5 PS | "After each round a participant has a certain tournament score. This tie-break is calculated adding the score of the participant at the end of each round" |
| buchholz | 8.1 BH | "The sum of the scores of each of the opponents of a participant" |
| sonneborn_berger | 9.1 SB | "It is calculated by adding, for each round, a value given by multiplying the final score of the opponents by the points scored against them" |
| buchholz_cut_1, buchholz_cut_2 | 14.1, 14.2 | Buchholz without the one or two least significant values |
| buchholz_median_1 | 14.3 | Buchholz without the least and the most significant value, cut in that order |
| match_points, board_points | 13.1 MPvGP | of teams: the score that does not decide already |
| sonneborn_berger_boards | 13.2.2 EMGSB | of teams: each opponent's points times the board points scored against it, added up |
| board_count | 12.1 BC | of teams: the points at each board, multiplied by its number; here the last board counts once and the first one most, so that more is better: the order is the same among teams with the same board points |

In tournaments of teams the other ones are of teams too: a score is that of a match, in the points by which the teams
are ordered.

The rule of direct encounter has four parts. If two players met more than once, their average counts (6.1.2). If all
level players have met, the separate standings order them, and Article 6 is applied again to those still level (6.2). If
not, a player who "will be alone at the top of the separate standings whatever the outcome of the missing games" comes
first, then the second likewise, and Article 6 is applied again to the rest (6.3). In a Swiss, forfeits are not counted
(6.1.1).

How rounds count that were not played, in a Swiss (Articles 15.3 and 16):

| rule | here |
| --- | --- |
| 16.1.1 requested bye | a half-point bye, a zero-point bye, and every round before a late entry or after a withdrawal |
| 16.1.2 voluntary unplayed round (VUR) | a requested bye, or a loss by forfeit, but not a void meeting |
| 16.3.1 opponents' unplayed rounds | count as many points as they were awarded |
| 16.3.2 their requested byes after which only VURs come | count as draws |
| 16.4 own unplayed rounds | as played against a dummy who has the player's own points, with the result that was awarded; but its points "shall not exceed" those of the next two rows |
| 16.4.1 a forfeit | "the scheduled opponent's adjusted score (see Article 16.3)" |
| 16.4.2 any other unplayed round | "the points awarded for a draw multiplied by the number of rounds in the tournament": the rounds so far |
| 16.5 cuts | the least contribution of a VUR is cut first, if there is one; likewise at each further cut |

In all other formats forfeits are regular games (15.2), and there are no byes.

| not here | why |
| --- | --- |
| standard points (7.7), pairing number (7.8) | a win is a point and a draw half of one in every format; players that are level in everything share a place |
| average of Buchholz, Fore Buchholz, Koya, WON, REP, cuts of Sonneborn–Berger and progressive, median 2 | nobody has asked for them |
| other tie-breaks of teams: EDE, SSSC, TBR, BBE, EGMSB | nobody has asked for them |
| ratings of opponents (Article 10), play-offs, lots | ratings are a table of their own; players that are level in everything share a place |
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from fractions import Fraction
from typing import Any, Final, NamedTuple

from arbiter.tournaments.game_ends import DRAW, WIN
from arbiter.tournaments.spec import TieBreak

OF_TEAMS: Final = frozenset(
    {TieBreak.MATCH_POINTS, TieBreak.BOARD_POINTS, TieBreak.SONNEBORN_BERGER_BOARDS, TieBreak.BOARD_COUNT}
)
"""Tie-breaks of teams alone."""
TEAMS_KNOW: Final = frozenset(TieBreak) - {TieBreak.WINS_SEAT_2, TieBreak.GAMES_SEAT_2, TieBreak.PROGRESSIVE}
"""The tie-breaks by which teams can be ordered."""
QUARTERS: Final = 4
"""Tie-break values are whole numbers of quarters (of a point, game or player): products of scores need them."""

_POINTS: Final = 2  #: quarters in a half point


class EncounterKind(Enum):
    """How a player's round ended."""

    PLAYED = auto()
    FORFEIT = auto()  #: won or lost without play, against an opponent; both lost if both were absent
    ALLOCATED = auto()  #: a bye for the player that pairing left over, or a void meeting
    REQUESTED = auto()  #: a requested bye, or a missed round
    OPEN = auto()  #: not over yet: it does not count, but the player did not miss the round


class Encounter(NamedTuple):
    """A player's score in a meeting or a game (whichever the tournament counts), or in a round without one.

    opponent: '' without one. score: half points. seat2, seat2_wins: games that the player played in seat 2, and won.
    times: of old games of a ladder, how many are alike.
    """

    round: int
    opponent: str = ""
    score: int = 0
    kind: EncounterKind = EncounterKind.PLAYED
    seat2: int = 0
    seat2_wins: int = 0
    times: int = 1

    @property
    def voluntary(self) -> bool:
        """Whether it is a voluntary unplayed round (16.1.2)."""
        return self.kind is EncounterKind.REQUESTED or (self.kind is EncounterKind.FORFEIT and self.score == 0)


class Ranking(NamedTuple):
    """Players in order: `groups` of players that are level in everything, and the values that decided, by player."""

    groups: tuple[tuple[str, ...], ...]
    values: Mapping[str, tuple[int, ...]]


class Scores:
    """All encounters of a tournament, and the tie-breaks computed from them.

    encounters: by player, rounds in order. rounds: the number of rounds so far. swiss: whether Article 16 applies. win,
    draw: the score of a won and of a drawn encounter.
    """

    def __init__(
        self,
        encounters: Mapping[str, Iterable[Encounter]],
        rounds: int,
        *,
        swiss: bool,
        win: int = WIN,
        draw: int = DRAW,
    ) -> None:
        self._swiss = swiss
        self._win = win
        self._draw = draw
        self._rounds = rounds
        every = {player: tuple(theirs) for player, theirs in encounters.items()}
        self._ended = {
            player: [each for each in all_ if each.kind is not EncounterKind.OPEN] for player, all_ in every.items()
        }
        self.points = {player: sum(each.score * each.times for each in ended) for player, ended in self._ended.items()}
        # A player's points for its opponents' tie-breaks (16.3).
        self._adjusted = {player: _adjusted(all_) for player, all_ in every.items()} if swiss else self.points
        self._between = {player: self._averages(ended) for player, ended in self._ended.items()}

    def value(self, tie_break: TieBreak, player: str) -> int:
        """Return a player's value in quarters; more is better. Not for direct encounter, which needs a group."""
        return _VALUES[tie_break](self, player)

    def direct(self, level: Sequence[str]) -> dict[str, int]:
        """Return for each of some level players how many of them are behind it by Article 6, in quarters."""
        behind = len(level)
        values: dict[str, int] = {}
        for group in self._encounter(tuple(level)):
            behind -= len(group)
            values.update(dict.fromkeys(group, behind * QUARTERS))
        return values

    def rank(self, order: Sequence[TieBreak], first: Mapping[str, Any]) -> Ranking:
        """Return the ranking by a first criterion (more is better), and then by tie-breaks in order.

        Each tie-break orders the players that are level so far (4.2); direct encounter uses only their games. Players
        that are level in everything keep the order of the encounters.
        """
        groups = _split(tuple(self._ended), first)
        values: dict[str, tuple[int, ...]] = dict.fromkeys(self._ended, ())
        for tie_break in order:
            finer: list[tuple[str, ...]] = []
            for group in groups:
                if tie_break is TieBreak.DIRECT:
                    worth = self.direct(group)
                else:
                    worth = {player: self.value(tie_break, player) for player in group}
                values.update({player: (*values[player], worth[player]) for player in group})
                finer += _split(group, worth)
            groups = finer
        return Ranking(tuple(groups), values)

    # Article 6

    def _averages(self, ended: Iterable[Encounter]) -> dict[str, Fraction]:
        """Return the average score against each opponent (6.1.1, 6.1.2)."""
        scores, times = Counter[str](), Counter[str]()
        for each in ended:
            if each.kind is EncounterKind.PLAYED or (each.kind is EncounterKind.FORFEIT and not self._swiss):
                scores[each.opponent] += each.score * each.times
                times[each.opponent] += each.times
        return {opponent: Fraction(scores[opponent], met) for opponent, met in times.items()}

    def _encounter(self, level: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return level players in the order of Article 6, as groups of those that stay level."""
        if len(level) < 2:
            return [level]
        among = set(level)
        met = {player: self._between[player].keys() & among for player in level}
        table = {player: sum((self._between[player][other] for other in met[player]), Fraction()) for player in level}
        if all(len(others) == len(level) - 1 for others in met.values()):
            groups = _split(level, table)
            return groups if len(groups) == 1 else [part for group in groups for part in self._encounter(group)]
        best = {player: table[player] + self._win * (len(level) - 1 - len(met[player])) for player in level}
        placed: list[tuple[str, ...]] = []
        rest = list(level)
        while rest:
            leader = max(rest, key=lambda player: table[player])
            if any(best[other] >= table[leader] for other in rest if other != leader):
                break
            placed.append((leader,))
            rest.remove(leader)
        if not placed:
            return [level]
        return placed + self._encounter(tuple(rest)) if rest else placed

    # Articles 7 to 9, 14 and 16

    def _met(self, player: str, each: Encounter) -> int:
        """Return the points of a player's opponent, or of the dummy (16.4)."""
        if not self._swiss or each.kind is EncounterKind.PLAYED:
            return self._adjusted[each.opponent]
        ceiling = self._adjusted[each.opponent] if each.kind is EncounterKind.FORFEIT else self._draw * self._rounds
        return min(self.points[player], ceiling)

    def _sonneborn_berger(self, player: str) -> int:
        return sum(each.times * each.score * self._met(player, each) for each in self._ended[player])

    def _buchholz(self, player: str, low: int = 0, high: int = 0) -> int:
        """Return the sum without the `low` least and then the `high` most significant values."""
        values = [
            (not (self._swiss and each.voluntary), self._met(player, each))
            for each in self._ended[player]
            for _ in range(each.times)
        ]
        kept = sorted(value for _, value in sorted(values)[low:])  # voluntary unplayed rounds are cut first (16.5)
        return _POINTS * sum(kept[: max(0, len(kept) - high)])

    def _progressive(self, player: str) -> int:
        # What was scored in a round is part of the player's score at the end of that round and of all later ones.
        return _POINTS * sum(each.score * (self._rounds - each.round + 1) for each in self._ended[player])

    def _wins(self, player: str) -> int:
        return QUARTERS * sum(each.times * (each.score == self._win) for each in self._ended[player])

    def _games_seat_2(self, player: str) -> int:
        return QUARTERS * sum(each.times * each.seat2 for each in self._ended[player])

    def _wins_seat_2(self, player: str) -> int:
        return QUARTERS * sum(each.times * each.seat2_wins for each in self._ended[player])

    def _cut_1(self, player: str) -> int:
        return self._buchholz(player, low=1)

    def _cut_2(self, player: str) -> int:
        return self._buchholz(player, low=2)

    def _median_1(self, player: str) -> int:
        return self._buchholz(player, low=1, high=1)


_VALUES: Final[dict[TieBreak, Callable[[Scores, str], int]]] = {
    TieBreak.SONNEBORN_BERGER: Scores._sonneborn_berger,
    TieBreak.BUCHHOLZ: Scores._buchholz,
    TieBreak.BUCHHOLZ_CUT_1: Scores._cut_1,
    TieBreak.BUCHHOLZ_CUT_2: Scores._cut_2,
    TieBreak.BUCHHOLZ_MEDIAN_1: Scores._median_1,
    TieBreak.WINS: Scores._wins,
    TieBreak.WINS_SEAT_2: Scores._wins_seat_2,
    TieBreak.GAMES_SEAT_2: Scores._games_seat_2,
    TieBreak.PROGRESSIVE: Scores._progressive,
}


def _adjusted(encounters: Sequence[Encounter]) -> int:
    """Return a player's points for its opponents' tie-breaks: final requested byes count as draws (16.3)."""
    points = 0
    leaving = True
    for each in reversed(encounters):
        points += DRAW if leaving and each.kind is EncounterKind.REQUESTED else each.score
        leaving = leaving and each.voluntary
    return points


def _split(players: tuple[str, ...], worth: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return players by descending value, in groups of equal value; the order within a group is kept."""
    groups: dict[Any, list[str]] = {}
    for player in players:
        groups.setdefault(worth[player], []).append(player)
    return [tuple(groups[value]) for value in sorted(groups, reverse=True)]
