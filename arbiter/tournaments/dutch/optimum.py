"""Matchings that are best by one criterion after the other, and among those best by further preferences.

Source: Edmonds' maximum weight matching, as `rustworkx` has it for whole numbers of 128 bits. Criteria are fields of
one whole number, the most important in the highest bits, each wide enough for its sum over a whole matching: so the
matching of least cost is the best in lexicographic order, without rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

LIMIT: Final = 120
"""Bits of a matching's weight that are safe: the algorithm doubles weights and adds them."""
ROOM: Final = 40
"""Bits that `settle` leaves for preferences."""

Edge = tuple[int, int]


class TooManyCriteria(ArithmeticError):
    """The criteria that can't all be met at once need more bits than a weight has."""


class Bits(NamedTuple):
    """A field of a whole number."""

    shift: int
    width: int

    @property
    def mask(self) -> int:
        """Return its bits, all set."""
        return ((1 << self.width) - 1) << self.shift


class Optimum:
    """A graph whose matchings have a cost, and the matchings of least cost in it.

    loss: by node, its cost if it is not matched. cost: by edge. widths: bits of each field of a cost, from the lowest.
    perfect: only matchings of the greatest size count; otherwise any. An edge has its smaller node first.
    """

    def __init__(
        self, loss: Mapping[int, int], cost: Mapping[Edge, int], widths: Sequence[int], *, perfect: bool
    ) -> None:
        self._perfect = perfect
        self._loss = loss
        self._cost = dict(cost)
        self._must: set[int] = set()  # nodes that every best matching has
        self._nodes = len(loss).bit_length()  # bits for their number
        self.bits = 0
        self.gain: dict[Edge, int] = {}
        self.mate: dict[int, int] = {}
        self._settle([Bits(sum(widths[:number]), width) for number, width in enumerate(widths)][::-1])

    @property
    def room(self) -> int:
        """Return how many bits a preference may have."""
        return LIMIT - self.bits

    def _settle(self, fields: Sequence[Bits]) -> None:
        """Find the least cost, by as many fields at once as a weight has bits for, from the highest.

        What decides nothing is dropped on the way: a field that one best matching has at 0 is 0 in all of them, so
        edges that cost something there go, and nodes that would cost something there must be matched.
        """
        kept: list[Bits] = []
        while True:
            taken = list(kept)
            while fields and self._nodes + sum(field.width for field in [*taken, fields[0]]) <= LIMIT - ROOM:
                taken.append(fields[0])
                fields = fields[1:]
            if fields and len(taken) == len(kept):
                raise TooManyCriteria(f"{len(kept)} criteria that can't be met need all {LIMIT - ROOM} bits")
            self._weigh(taken)
            self.mate = self._match(self.gain)
            kept = self._drop(taken)
            if not fields:
                break
        self._weigh(kept)

    def _weigh(self, fields: Sequence[Bits]) -> None:
        """Set the gain of each edge over leaving its nodes alone: first nodes that must be matched, then the fields."""
        most = sum(field.width for field in fields)
        self.bits = self._nodes + most
        worth = {node: _pack(value, fields) + ((node in self._must) << most) for node, value in self._loss.items()}
        self.gain = {edge: worth[edge[0]] + worth[edge[1]] - _pack(cost, fields) for edge, cost in self._cost.items()}

    def _drop(self, fields: Sequence[Bits]) -> list[Bits]:
        """Drop the edges that no best matching has, and return the fields that still decide something."""
        least = sum(self._cost[edge] for edge in self.pairs())
        least += sum(value for node, value in self._loss.items() if node not in self.mate)
        met = sum(field.mask for field in fields if not least & field.mask)
        self._must |= {node for node, value in self._loss.items() if value & met}
        self._cost = {edge: cost for edge, cost in self._cost.items() if not cost & met}
        return [field for field in fields if least & field.mask]

    def pairs(self) -> list[Edge]:
        """Return the edges of the present matching."""
        return [(node, other) for node, other in self.mate.items() if node < other]

    def weight(self, pairs: Iterable[Edge]) -> int | None:
        """Return the gain of some pairs, None if one of them is not among the edges."""
        gains = [self.gain.get(edge) for edge in pairs]
        return None if None in gains else sum(gain for gain in gains if gain is not None)

    def is_best(self, pairs: Iterable[Edge]) -> bool:
        """Return whether these pairs are a matching of least cost."""
        return self.weight(pairs) == self.weight(self.pairs())

    def prefer(self, bonus: Mapping[Edge, int], width: int, *, keep: bool = False) -> None:
        """Take the best matching whose pairs have the largest sum of bonuses (less than 2**width).

        keep: later preferences decide among these alone.
        """
        gain = {edge: (value << width) + bonus.get(edge, 0) for edge, value in self.gain.items()}
        self.mate = self._match(gain)
        if keep:
            self.gain = gain
            self.bits += width

    def keep_edges(self, wanted: Callable[[int, int], bool]) -> None:
        """Drop the edges that are not wanted; the present matching must not need them."""
        self.gain = {edge: value for edge, value in self.gain.items() if wanted(*edge)}

    def _match(self, gain: Mapping[Edge, int]) -> dict[int, int]:
        pairs = matching(((*edge, value) for edge, value in gain.items()), perfect=self._perfect)
        return {node: other for first, second in pairs for node, other in ((first, second), (second, first))}


def matching(edges: Iterable[tuple[int, int, int]], *, perfect: bool) -> set[Edge]:
    """Return a matching of maximum weight, as pairs of nodes with the smaller one first.

    edges: two nodes and the weight. perfect: only among the matchings of the greatest size. Otherwise edges without a
    positive weight are left out.
    """
    # Imported here: only a worker that pairs needs it.
    import rustworkx

    used = [edge for edge in edges if perfect or edge[2] > 0]
    nodes = sorted({node for edge in used for node in edge[:2]})
    place = {node: number for number, node in enumerate(nodes)}
    graph = rustworkx.PyGraph[None, int](multigraph=False)
    graph.add_nodes_from([None] * len(nodes))
    graph.add_edges_from([(place[first], place[second], weight) for first, second, weight in used])
    pairs = rustworkx.max_weight_matching(graph, max_cardinality=perfect, weight_fn=int)
    return {(nodes[min(pair)], nodes[max(pair)]) for pair in pairs}


def _pack(value: int, fields: Iterable[Bits]) -> int:
    """Return some fields of a number, from the highest, without gaps."""
    packed = 0
    if value:
        for field in fields:
            packed = packed << field.width | (value & field.mask) >> field.shift
    return packed
