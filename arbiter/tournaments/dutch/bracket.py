"""The pairing of one bracket: of all best candidates the first one in the order of C.04.3, Articles 3 and 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arbiter.tournaments.dutch.optimum import Edge, Optimum

CHUNK: Final = 40  #: players whose exchange is decided by one matching


def first_candidate(best: Optimum, moved: Sequence[int], residents: Sequence[int]) -> list[Edge]:
    """Return the pairs of the first of the best candidates of a bracket.

    best: all best candidates, with whatever they do to the brackets below. moved, residents: the players of the
    bracket, by rank. First the MDPs are chosen (S1 and Limbo), then their opponents, then the rest is paired among
    itself: exchanges between S1 and S2 first, then transpositions of S2.
    """
    chosen = _choose(best, moved, residents)
    pairs = _opponents(best, chosen, residents)
    taken = {other for _, other in pairs}
    rest = [rank for rank in residents if rank not in taken]
    upper = _exchange(best, rest)
    lower = [rank for rank in rest if rank not in upper]
    return pairs + (_transpose(best, upper, lower) or _opponents(best, upper, lower))


def _choose(best: Optimum, moved: Sequence[int], residents: Sequence[int]) -> list[int]:
    """Return the MDPs that are paired in this bracket: the lexicographically first set of the best ones (4.4)."""
    inside = set(residents)
    for start in range(0, len(moved), best.room):
        part = moved[start : start + best.room]
        bits = {rank: 1 << number for number, rank in enumerate(reversed(part))}
        if any(best.mate.get(rank) not in inside for rank in part):
            best.prefer({edge: bits[edge[0]] for edge in best.gain if edge[0] in bits and edge[1] in inside}, len(part))
            limbo = {rank for rank in part if best.mate.get(rank) not in inside}
            best.keep_edges(lambda one, other, limbo=limbo: not (one in limbo and other in inside))  # type: ignore[misc]
    return [rank for rank in moved if best.mate.get(rank) in inside]


def _opponents(best: Optimum, upper: Sequence[int], lower: Sequence[int]) -> list[Edge]:
    """Return the pairs of each player of S1, in order, with the first player of S2 that it can have (4.2)."""
    width = len(lower).bit_length()
    place = {rank: number for number, rank in enumerate(reversed(lower))}
    size = max(1, best.room // width) if width else 1
    for start in range(0, len(upper), size):
        part = upper[start : start + size]
        shift = {rank: width * number for number, rank in enumerate(reversed(part))}
        bonus = {edge: place[edge[1]] << shift[edge[0]] for edge in best.gain if edge[0] in shift and edge[1] in place}
        bonus |= {edge: place[edge[0]] << shift[edge[1]] for edge in best.gain if edge[1] in shift and edge[0] in place}
        best.prefer(bonus, width * len(part))
        mate = best.mate
        fixed = {rank for one in part for rank in (one, mate[one])}
        best.keep_edges(lambda one, other: (one not in fixed and other not in fixed) or mate.get(one) == other)  # noqa: B023
    return [(rank, best.mate[rank]) for rank in upper]


def _exchange(best: Optimum, rest: Sequence[int]) -> list[int]:
    """Return S1 of the remainder after the first exchange that allows a best candidate (4.3).

    Fewest players exchanged; then the least difference of the sums of their numbers; then the highest players of S2,
    and before that the lowest of S1, that can be exchanged.
    """
    place = {rank: number for number, rank in enumerate(rest)}
    size = sum(best.mate.get(rank, -2) in place for rank in rest) // 2

    def inside() -> list[Edge]:
        return [edge for edge in best.gain if edge[0] in place and edge[1] in place]

    def upper() -> list[int]:
        return [rank for rank in rest if best.mate.get(rank, -2) in place and best.mate[rank] > rank]

    best.prefer({edge: 1 for edge in inside() if place[edge[0]] < size}, size.bit_length(), keep=True)
    exchanged = size - sum(place[rank] < size for rank in upper())
    if exchanged:
        width = (size * len(rest)).bit_length()
        best.prefer({edge: len(rest) - place[edge[0]] for edge in inside()}, width, keep=True)
        _settle_sides(best, rest[:size][::-1], rest, stays=False)
        _settle_sides(best, rest[size:], rest, stays=True)
    first = set(upper())
    second = place.keys() - first
    best.keep_edges(
        lambda one, other: (
            not (one in first and other not in second)
            and not (other in first and one not in second)
            and not (one in second and other in second)
        )
    )
    return upper()


def _settle_sides(best: Optimum, players: Sequence[int], rest: Sequence[int], *, stays: bool) -> None:
    """Decide for players in order whether each is in S1: if `stays`, they should be in it, otherwise not."""
    among = set(rest)
    size = min(CHUNK, max(1, best.room - len(rest).bit_length()))
    for start in range(0, len(players), size):
        part = players[start : start + size]
        bits = {rank: 1 << number for number, rank in enumerate(reversed(part))}
        all_bits = 1 << len(part)
        bonus = {
            edge: bits.get(edge[0], 0) if stays else all_bits - bits.get(edge[0], 0)
            for edge in best.gain
            if edge[0] in among and edge[1] in among
        }
        best.prefer(bonus, len(part) + len(rest).bit_length())
        upper = {rank for rank in part if best.mate.get(rank, -2) in among and best.mate[rank] > rank}
        lower = set(part) - upper
        best.keep_edges(
            lambda one, other, upper=upper, lower=lower: (
                not (  # type: ignore[misc]
                    one in among and (other in upper or (one in lower and other in among))
                )
                and not (one in upper and other not in among)
            )
        )


def _transpose(best: Optimum, upper: Sequence[int], lower: Sequence[int]) -> list[Edge] | None:
    """Return the first transposition by the edges alone; None if it is not among the best candidates.

    It needs no further matching, and nearly always it is one of the best.
    """
    number = {rank: place for place, rank in enumerate(lower)}
    rows = dict.fromkeys(upper, 0)
    for one, other in best.gain:
        if one in rows and other in number:
            rows[one] |= 1 << number[other]
        elif other in rows and one in number:
            rows[other] |= 1 << number[one]
    found = first_assignment(list(rows.values()))
    if found is None:
        return None
    pairs = [(rank, lower[column]) for rank, column in zip(upper, found, strict=True)]
    taken = {rank for pair in pairs for rank in pair}
    beside = [edge for edge in best.pairs() if not (edge[0] in rows or edge[1] in rows)]
    if any(rank in taken for edge in beside for rank in edge):
        return None  # other downfloaters than those of the present matching: what is below would change, too
    return pairs if best.is_best([(min(pair), max(pair)) for pair in pairs] + beside) else None


def first_assignment(rows: Sequence[int]) -> list[int] | None:
    """Return a column for each row, all different and lexicographically first; None if there are not enough.

    rows: the columns that a row may have, as the bits of a whole number.
    """
    assignment = _Assignment(rows)
    free = 0
    for mask in rows:
        free |= mask
    if not all(assignment.place(row, free) for row in range(len(rows))):
        return None
    for row in range(len(rows)):
        free &= ~(1 << assignment.first(row, free))
    return assignment.columns


class _Assignment:
    """An assignment of columns to rows, which augmenting paths change (Kuhn's algorithm)."""

    def __init__(self, rows: Sequence[int]) -> None:
        self._rows = rows
        self._owner: dict[int, int] = {}
        self.columns = [-1] * len(rows)

    def place(self, row: int, free: int) -> bool:
        """Give a row a column among the free ones, and others to the rows that lose theirs; False if there is none."""
        came: dict[int, int] = {}
        queue = [row]
        for one in queue:
            options = self._rows[one] & free
            free &= ~options
            while options:
                bit = options & -options
                options ^= bit
                column = bit.bit_length() - 1
                came[column] = one
                owner = self._owner.get(column)
                if owner is None:
                    self._augment(row, column, came)
                    return True
                queue.append(owner)
        return False

    def _augment(self, row: int, column: int, came: dict[int, int]) -> None:
        while True:
            holder = came[column]
            before = self.columns[holder]
            self.columns[holder], self._owner[column] = column, holder
            if holder == row:
                return
            column = before

    def first(self, row: int, free: int) -> int:
        """Give a row the first of the free columns with which all other rows keep one, and return it."""
        options = self._rows[row] & free
        old = self.columns[row]
        while True:
            bit = options & -options
            options ^= bit
            column = bit.bit_length() - 1
            if column == old:
                return old
            other = self._owner.get(column)
            del self._owner[old]
            self.columns[row], self._owner[column] = column, row
            if other is None or self.place(other, free & ~bit):
                return column
            self.columns[row], self._owner[old] = old, row
            self.columns[other], self._owner[column] = column, other
