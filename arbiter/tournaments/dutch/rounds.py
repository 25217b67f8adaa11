"""The pairing of a round: the bye, the brackets from the top, and the colours (C.04.3, Articles 2, 3 and 5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from arbiter.tournaments.dutch.bracket import first_assignment, first_candidate
from arbiter.tournaments.dutch.criteria import Costs, Field, mask_of
from arbiter.tournaments.dutch.optimum import Edge, Optimum, matching
from arbiter.tournaments.dutch.players import ABSOLUTE, DOWN, UP, Entry, Player, ranked

FEW = 24  #: with at most this many players below the next bracket, all of them are in the graph


class Round(NamedTuple):
    """A paired round: pairs of pairing numbers, seat 1 first; and who has the bye, None for nobody."""

    pairs: list[tuple[int, int]]
    bye: int | None


def pair_round(
    entries: Collection[Entry], rounds: int, forbidden: Collection[frozenset[int]] = (), initial: int = 1
) -> Round | None:
    """Return the next round, or None if there is no legal one (C4).

    rounds: how many the tournament has. forbidden: pairs of numbers that must not meet. initial: the initial-colour,
    the seat of the player with pairing number 1 in round 1.
    """
    played = max((len(entry.results) for entry in entries), default=0)
    players = ranked(entries)
    if len(players) < 2:
        return None
    pairing = _Pairing(Field(players, forbidden, played + 1, rounds))
    edges = pairing.pair()
    if edges is None:
        return None
    pairs = [(players[one], players[other]) for one, other in edges if other < len(players)]
    pairs.sort(key=lambda pair: (-pair[0].score, -pair[1].score, pair[0].number))
    byes = [players[one].number for one, other in edges if other == len(players)]
    return Round([seated(*pair, initial) for pair in pairs], byes[0] if byes else None)


class _Pairing:
    """The brackets of one round, from the top."""

    def __init__(self, field: Field) -> None:
        self._field = field
        players = field.players
        self._groups: list[list[int]] = []
        for rank, player in enumerate(players):
            if not rank or players[rank - 1].score != player.score:
                self._groups.append([])
            self._groups[-1].append(rank)
        self._bye_score: int | None = None  # of the player who gets the bye; None without a bye
        self._candidates: set[int] = set()  # who may get the bye (C2, C5)

    def pair(self) -> list[Edge] | None:
        """Return the pairs of ranks, the smaller first, and the player with the bye paired with its node; or None."""
        if not self._decide_bye():
            return None
        pairs: list[Edge] = []
        moved: list[int] = []
        for number, residents in enumerate(self._groups):
            found = self._bracket(moved, residents, self._groups[number + 1 :])
            pairs += found
            paired = {rank for pair in found for rank in pair}
            moved = [rank for rank in [*moved, *residents] if rank not in paired]
        return pairs + [(rank, self._field.bye) for rank in moved]

    def _decide_bye(self) -> bool:
        """Find the lowest score with which a player can have the bye (C5); return whether the round can be paired."""
        everybody = range(len(self._field.players))
        if len(everybody) % 2 == 0:
            return self._completable(everybody)
        for group in reversed(self._groups):
            new = {rank for rank in group if self._field.players[rank].bye}
            self._candidates |= new
            self._bye_score = self._field.players[group[0]].score
            if new and self._completable(everybody):
                return True
        return False

    # One bracket

    def _bracket(self, moved: Sequence[int], residents: Sequence[int], groups: Sequence[Sequence[int]]) -> list[Edge]:
        """Return the pairs of a bracket. groups: the scoregroups below it.

        Graphs with fewer players are tried first: their best candidates are those of the whole one if the players who
        are left can then be paired as well as is possible at all.
        """
        bracket = [*moved, *residents]
        below = groups[0] if groups else []
        rest = [rank for group in groups[1:] for rank in group]
        pairs = self._faultless(moved, residents)
        if pairs is not None and self._ideal_below(pairs, bracket, below, rest):
            return pairs
        if not self._bye_in(residents):
            each = Costs(self._field, moved, residents, [], bye=False)
            pairs = first_candidate(Optimum(each.loss, each.pairs, each.widths, perfect=False), moved, residents)
            if self._ideal_below(pairs, bracket, below, rest):
                return pairs
        if len(rest) > FEW and not self._bye_in(below):
            each = Costs(self._field, moved, residents, below, bye=False)
            edges = self._with_below(each, bracket, below)
            best = Optimum(each.loss, edges, each.widths, perfect=False)
            pairs = first_candidate(best, moved, residents)
            if self._completable([*(rank for rank in [*bracket, *below] if rank not in best.mate), *rest]):
                return pairs
        best = self._whole(moved, residents, below, rest, bye=False)
        if self._bye_in(residents):
            inside = set(bracket)
            if sum(best.mate[rank] not in inside for rank in bracket) == 1:  # then C9 applies
                best = self._whole(moved, residents, below, rest, bye=True)
        return first_candidate(best, moved, residents)

    def _bye_in(self, group: Sequence[int]) -> bool:
        """Return whether the bye may go to a player of a scoregroup or one who comes to it from above."""
        return self._bye_score is not None and (not group or self._bye_score >= self._field.players[group[0]].score)

    def _faultless(self, moved: Sequence[int], residents: Sequence[int]) -> list[Edge] | None:
        """Return the first candidate of a bracket if no criterion finds fault with it, without any matching of weights.

        It pairs everybody, but one player of an odd number. That is the first candidate without exchanges at all.
        """
        opponents = first_assignment([self._faultless_opponents(rank, residents) for rank in moved])
        if opponents is None:
            return None
        pairs = [(rank, residents[column]) for rank, column in zip(moved, opponents, strict=True)]
        left = [rank for column, rank in enumerate(residents) if column not in set(opponents)]
        size = len(left) // 2
        rows = [self._faultless_opponents(rank, left[size:]) for rank in left[:size]]
        if len(left) % 2:
            rows.append(self._faultless_downfloaters(left[size:]))
        halves = first_assignment(rows)
        if halves is None:
            return None
        return pairs + [(left[row], left[size + halves[row]]) for row in range(size)]

    def _faultless_opponents(self, rank: int, lower: Sequence[int]) -> int:
        """Return, as bits, which of some lower players a player can have without a fault (C12, C13, C15, C17)."""
        players = self._field.players
        one = players[rank]
        allowed = self._field.compatible[rank] & ~self._field.wanting.get(one.wanted, 0)
        return mask_of(
            column
            for column, other in enumerate(lower)
            if allowed >> other & 1 and (one.score == players[other].score or UP not in players[other].floats)
        )

    def _faultless_downfloaters(self, residents: Sequence[int]) -> int:
        """Return, as bits, which players can move down, or get this bracket's bye, without a fault (C9, C14, C16)."""
        players = self._field.players
        allowed = [column for column, rank in enumerate(residents) if DOWN not in players[rank].floats]
        if self._bye_in(residents):
            least = min((players[rank].unplayed for rank in self._candidates), default=0)
            possible = {rank for rank in self._candidates if players[rank].unplayed == least}
            allowed = [column for column in allowed if residents[column] in possible]
        return mask_of(allowed)

    def _with_below(self, each: Costs, bracket: Sequence[int], below: Sequence[int]) -> dict[Edge, int]:
        """Return the costs of pairs within a bracket, between it and the next scoregroup, and within that."""
        edges = dict(each.pairs)
        edges |= {edge: each.floats[edge[0]] for edge in self._field.pairs(bracket, below)}
        edges |= dict.fromkeys(self._field.pairs(below, below), 0)
        return edges

    def _whole(
        self, moved: Sequence[int], residents: Sequence[int], below: Sequence[int], rest: Sequence[int], *, bye: bool
    ) -> Optimum:
        """Return the best pairings of all players that are left, for one bracket. bye: whether C9 applies."""
        bracket = [*moved, *residents]
        each = Costs(self._field, moved, residents, below, bye=bye)
        loss = each.loss | dict.fromkeys([*rest, self._field.bye], 0)
        edges = self._with_below(each, bracket, below)
        edges |= {edge: loss[edge[0]] for edge in self._field.pairs([*bracket, *below], rest)}
        edges |= dict.fromkeys(self._field.pairs(rest, rest), 0)
        for rank in self._candidates & loss.keys() if self._bye_score is not None else ():
            unplayed = each.unplayed * self._field.players[rank].unplayed if rank in each.floats else 0
            edges[rank, self._field.bye] = loss[rank] + unplayed
        return Optimum(loss, edges, each.widths, perfect=True)

    # What is left below a bracket

    def _completable(self, ranks: Sequence[int]) -> bool:
        """Return whether these players can all be paired, one of them with the bye if their number is odd (C4)."""
        if self._dirac(ranks):
            return True
        edges = [(one, other, 0) for one, other in self._field.pairs(ranks, ranks)]
        nodes = len(ranks)
        if nodes % 2:
            edges += [(rank, self._field.bye, 0) for rank in self._candidates.intersection(ranks)]
            nodes += 1
        return 2 * len(matching(edges, perfect=True)) == nodes

    def _dirac(self, ranks: Sequence[int]) -> bool:
        """Return True if players can be paired because each has enough opponents (Dirac's theorem)."""
        odd = len(ranks) % 2
        if odd and not self._candidates.intersection(ranks):
            return False
        mask = mask_of(ranks)
        return all(2 * ((self._field.compatible[rank] & mask).bit_count() - odd) >= len(ranks) - odd for rank in ranks)

    def _surely_ideal(self, floaters: Sequence[int], below: Sequence[int], rest: Sequence[int]) -> bool:
        """Return True if the next bracket is ideal with any opponents for its MDPs: a large one nearly always is."""
        left = list(below)
        for rank in floaters:
            opponent = next((other for other in left if self._field.compatible[rank] >> other & 1), None)
            if opponent is None:
                return False
            left.remove(opponent)
        moved = [left.pop()] if len(left) % 2 else []
        return self._dirac(left) and self._dirac([*moved, *rest])

    def _ideal_below(
        self, pairs: Sequence[Edge], bracket: Sequence[int], below: Sequence[int], rest: Sequence[int]
    ) -> bool:
        """Return whether no other downfloaters could be better for the brackets below (C4, C8).

        That is so if in the next bracket all of them are paired, at most one player is left, and the rest can be
        completed.
        """
        paired = {rank for pair in pairs for rank in pair}
        floaters = [rank for rank in bracket if rank not in paired]
        if not floaters or (len(floaters) == 1 and self._bye_in(bracket[-1:])):
            return self._completable([*below, *rest])
        if len(floaters) > len(below):
            return False
        if self._surely_ideal(floaters, below, rest):
            return True
        edges = [(*edge, 2) for edge in self._field.pairs(floaters, below)]
        edges += [(*edge, 1) for edge in self._field.pairs(below, below)]
        edges += [(*edge, 0) for edge in self._field.pairs([*floaters, *below], rest)]
        edges += [(*edge, 0) for edge in self._field.pairs(rest, rest)]
        nodes = len(floaters) + len(below) + len(rest)
        if nodes % 2:
            edges += [(rank, self._field.bye, 0) for rank in self._candidates.intersection([*below, *rest])]
            nodes += 1
        found = matching(edges, perfect=True)
        worth = {(one, other): weight for one, other, weight in edges}
        ideal = 2 * len(floaters) + (len(below) - len(floaters)) // 2
        return 2 * len(found) == nodes and sum(worth[edge] for edge in found) == ideal


def seated(one: Player, other: Player, initial: int) -> tuple[int, int]:
    """Return two pairing numbers, that of seat 1 first (Article 5). one: the higher ranked player."""
    seat = _seat(one, other, initial)
    return (one.number, other.number) if seat == 1 else (other.number, one.number)


def _seat(one: Player, other: Player, initial: int) -> int:
    """Return the seat of the higher ranked of two players."""
    if one.wanted != other.wanted:  # 5.2.1: both preferences, or the only one
        return one.wanted or 3 - other.wanted
    if one.wanted:  # 5.2.2: the stronger one; of two absolute ones that of the wider colour difference
        need, others = ((each.strength, _width(each)) for each in (one, other))
        if need != others:
            return one.wanted if need > others else 3 - other.wanted
    for mine, theirs in zip(reversed(one.seats), reversed(other.seats), strict=False):  # 5.2.3
        if mine != theirs:
            return theirs
    if one.wanted:  # 5.2.4
        return one.wanted
    return initial if one.place % 2 else 3 - initial  # 5.2.5


def _width(player: Player) -> int:
    return abs(player.difference) if player.strength == ABSOLUTE else 0
