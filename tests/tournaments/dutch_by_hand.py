"""The Dutch system as an arbiter pairs by hand: every candidate of a bracket, one by one, in the order of the rules.

FIDE Handbook C.04.3, edition of 1 February 2026, Articles 2 to 4, without matchings and without weights. It takes
minutes for a bracket of a dozen players, and shares with `arbiter.tournaments.dutch` only what a history means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, permutations

from arbiter.tournaments.dutch.players import ABSOLUTE, DOWN, STRONG, UP, Entry, Player, ranked

Pairs = tuple[tuple[int, int], ...]
Cost = tuple[object, ...]


class ByHand:
    """One round. Players are called by their rank, from 0."""

    def __init__(self, entries: Sequence[Entry], rounds: int) -> None:
        self.players = ranked(entries)
        self.last = max(len(entry.results) for entry in entries) + 1 == rounds
        self.half = rounds - 1  # half points: half of the most that can be had before the last round
        self.groups: list[list[int]] = []
        for rank, player in enumerate(self.players):
            if not rank or player.score != self.players[rank - 1].score:
                self.groups.append([])
            self.groups[-1].append(rank)
        self.bye_score = -1
        self.completable = cache(self._completable)
        self.next_best = cache(self._next_best)

    def pair(self) -> tuple[set[frozenset[int]], int | None] | None:
        """Return the pairs as numbers, and who has the bye; None if there is no legal pairing."""
        everybody = tuple(range(len(self.players)))
        scores = [0] if len(everybody) % 2 == 0 else sorted({player.score for player in self.players})
        for self.bye_score in scores:  # C5
            self.completable.cache_clear()
            if self.completable(everybody):
                break
        else:
            return None
        pairs: list[tuple[int, int]] = []
        moved: list[int] = []
        for number, residents in enumerate(self.groups):
            found = self._bracket(tuple(moved), tuple(residents), number)
            pairs += found
            taken = {rank for pair in found for rank in pair}
            moved = [rank for rank in [*moved, *residents] if rank not in taken]
        numbers = {frozenset(self.players[rank].number for rank in pair) for pair in pairs}
        return numbers, self.players[moved[0]].number if moved else None

    def legal(self, one: int, other: int) -> bool:
        """C1 and C3."""
        first, second = self.players[one], self.players[other]
        if second.number in first.met:
            return False
        if first.strength != ABSOLUTE or second.strength != ABSOLUTE or first.wanted != second.wanted:
            return True
        return self.last and max(first.score, second.score) > self.half

    def _completable(self, ranks: tuple[int, ...]) -> bool:
        """C4: whether all of them can be paired; one has the bye if their number is odd (C2, C5)."""
        if not ranks:
            return True
        first, others = ranks[0], ranks[1:]
        if len(ranks) % 2 and self._may_have_bye(first) and self.completable(others):
            return True
        return any(
            self.legal(first, other) and self.completable(tuple(each for each in others if each != other))
            for other in others
        )

    def _may_have_bye(self, rank: int) -> bool:
        return self.players[rank].bye and self.players[rank].score <= self.bye_score

    # Article 3: one bracket

    def _bracket(self, moved: tuple[int, ...], residents: tuple[int, ...], number: int) -> Pairs:
        best: tuple[Cost, Pairs] | None = None
        for pairs in self._candidates(moved, residents):
            cost = self._cost(pairs, moved, residents, number)
            if cost is not None and (best is None or cost < best[0]):
                best = cost, pairs
        assert best is not None
        return best[1]

    def _candidates(self, moved: tuple[int, ...], residents: tuple[int, ...]) -> Iterator[Pairs]:
        for size in range(min(len(moved), len(residents)), -1, -1):
            for upper in combinations(moved, size):  # S1 and Limbo
                for opponents in permutations(residents, size):
                    pairs = tuple(zip(upper, opponents, strict=True))
                    if all(self.legal(*pair) for pair in pairs):
                        rest = [rank for rank in residents if rank not in opponents]
                        for remainder in self._remainders(rest):
                            yield pairs + remainder

    def _remainders(self, rest: Sequence[int]) -> Iterator[Pairs]:
        for size in range(len(rest) // 2, -1, -1):
            for upper in self._exchanges(rest, size):
                lower = [rank for rank in rest if rank not in upper]
                for opponents in permutations(lower, size):
                    pairs = tuple(zip(upper, opponents, strict=True))
                    if all(self.legal(*pair) for pair in pairs):
                        yield pairs

    def _exchanges(self, rest: Sequence[int], size: int) -> list[tuple[int, ...]]:
        """Article 4.3, with the numbers (BSN) of the players in the bracket."""

        def order(upper: tuple[int, ...]) -> tuple[object, ...]:
            down = [number for number in range(size) if number not in upper]
            up = [number for number in upper if number >= size]
            return (len(up), sum(up) - sum(down), [-number for number in reversed(down)], up)

        return [tuple(rest[n] for n in upper) for upper in sorted(combinations(range(len(rest)), size), key=order)]

    # Article 2: criteria

    def _cost(self, pairs: Pairs, moved: tuple[int, ...], residents: tuple[int, ...], number: int) -> Cost | None:
        players = self.players
        taken = {rank for pair in pairs for rank in pair}
        left = tuple(rank for rank in [*moved, *residents] if rank not in taken)
        below = tuple(rank for group in self.groups[number + 1 :] for rank in group)
        if not self.completable(left + below):
            return None
        alike = [
            (players[one], players[other])
            for one, other in pairs
            if players[one].wanted and players[one].wanted == players[other].wanted
        ]
        crossed = [(players[one], players[other]) for one, other in pairs if one in moved]
        own = players[residents[0]].score
        floating = [players[rank] for rank in left if rank in residents]
        unplayed = 0
        if len(left) == 1 and len(left + below) % 2 and own <= self.bye_score:
            unplayed = players[left[0]].unplayed if self._may_have_bye(left[0]) else 0
        cost: list[object] = [
            len(left),  # C6
            sorted((players[rank].score for rank in left), reverse=True),  # C7
            self.next_best(left, number),  # C8
            unplayed,  # C9
            sum(min(abs(one.difference), abs(other.difference)) > 1 for one, other in alike),  # C10
            sum(_third_in_a_row(one, other) for one, other in alike),  # C11
            len(alike),  # C12
            sum(
                min(one.strength, other.strength) >= STRONG and (one.strength, other.strength) != (ABSOLUTE, ABSOLUTE)
                for one, other in alike
            ),  # C13
        ]
        for ago in (0, 1):  # C14 to C17
            cost.append(sum(player.floats[ago] == DOWN for player in floating))
            cost.append(sum(lower.floats[ago] == UP for _, lower in crossed))
        for ago in (0, 1):  # C18 to C21: a downfloater counts as if its opponent had a point less than the bracket
            differences = [upper.score - own for upper, _ in crossed if upper.floats[ago] == DOWN]
            floats = [players[rank] for rank in left if rank in moved]
            differences += [player.score - own + 2 for player in floats if player.floats[ago] == DOWN]
            cost.append(sorted(differences, reverse=True))
            cost.append(sorted((one.score - own for one, other in crossed if other.floats[ago] == UP), reverse=True))
        return tuple(cost)

    def _next_best(self, floaters: tuple[int, ...], number: int) -> tuple[object, ...]:
        """C8: the best that the next bracket can do by C6 and C7 with these MDPs."""
        if number + 1 == len(self.groups):
            return ()
        residents = self.groups[number + 1]
        below = tuple(rank for group in self.groups[number + 2 :] for rank in group)

        def left(upper: tuple[int, ...], lower: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
            if upper:
                for rest in left(upper[1:], lower):
                    yield (upper[0], *rest)
                for other in lower:
                    if self.legal(upper[0], other):
                        yield from left(upper[1:], tuple(each for each in lower if each != other))
            elif lower:
                for rest in left((), lower[1:]):
                    yield (lower[0], *rest)
                for other in lower[1:]:
                    if self.legal(lower[0], other):
                        yield from left((), tuple(each for each in lower[1:] if each != other))
            else:
                yield ()

        return min(
            (len(rest), sorted((self.players[rank].score for rank in rest), reverse=True))
            for rest in set(left(floaters, tuple(residents)))
            if self.completable(tuple(sorted(rest)) + below)
        )


def _third_in_a_row(one: Player, other: Player) -> bool:
    """Whether one of two players with the same preference gets a seat for the third time in a row."""
    if one.strength != ABSOLUTE or other.strength != ABSOLUTE:
        return False
    if abs(one.difference) == abs(other.difference):
        return one.repeated == other.repeated != 0
    loser = min(one, other, key=lambda player: abs(player.difference))
    return loser.repeated == 3 - loser.wanted
