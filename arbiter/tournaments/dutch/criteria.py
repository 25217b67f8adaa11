"""What a pair or a downfloater costs: the criteria C1 to C21 as fields of one whole number (C.04.3, Article 2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from arbiter.tournaments.dutch.optimum import Edge
from arbiter.tournaments.dutch.players import ABSOLUTE, DOWN, STRONG, UP, Player


def mask_of(ranks: Iterable[int]) -> int:
    """Return a set of small numbers as the bits of a whole number."""
    mask = 0
    for rank in ranks:
        mask |= 1 << rank
    return mask


class Field:
    """All players of a round, by rank from 0, and who may meet whom.

    Sets of players are whole numbers, with one bit for each rank. compatible: by rank, the players whom C1, C3 and the
    forbidden pairs allow. wanting: by seat, the players who prefer it.
    bye: the node that stands for the pairing-allocated bye.
    """

    def __init__(
        self, players: Sequence[Player], forbidden: Collection[frozenset[int]], round_: int, rounds: int
    ) -> None:
        self.players = players
        self.last = round_ >= rounds
        self.bye = len(players)
        rank = {player.number: number for number, player in enumerate(players)}
        everybody = (1 << len(players)) - 1
        top = mask_of(number for number, player in enumerate(players) if self.last and player.score > round_ - 1)
        must = {
            seat: mask_of(n for n, p in enumerate(players) if p.strength == ABSOLUTE and p.wanted == seat)
            for seat in (1, 2)
        }
        self.wanting = {seat: mask_of(n for n, p in enumerate(players) if p.wanted == seat) for seat in (1, 2)}
        self.compatible: list[int] = []
        for number, player in enumerate(players):
            barred = mask_of(rank[other] for other in player.met if other in rank) | 1 << number
            if player.strength == ABSOLUTE and not top >> number & 1:
                barred |= must[player.wanted] & ~top
            self.compatible.append(everybody & ~barred)
        for pair in forbidden:
            first, second = (rank.get(number) for number in pair)
            if first is not None and second is not None:
                self.compatible[first] &= ~(1 << second)
                self.compatible[second] &= ~(1 << first)

    def pairs(self, ones: Collection[int], others: Collection[int]) -> Iterator[Edge]:
        """Yield the compatible pairs of two groups of ranks, the smaller rank first."""
        wanted = mask_of(others)
        same = ones is others
        for one in ones:
            found = self.compatible[one] & wanted
            if same:
                found = found >> one << one
            while found:
                bit = found & -found
                found ^= bit
                other = bit.bit_length() - 1
                yield (one, other) if one < other else (other, one)


class _Fields:
    """Fields of a whole number: each is defined by the largest sum it can have."""

    def __init__(self) -> None:
        self.widths: list[int] = []

    def add(self, largest: int) -> int:
        """Return the unit of a new field above all others, 0 if it is never used."""
        if not largest:
            return 0
        unit = 1 << sum(self.widths)
        self.widths.append(largest.bit_length())
        return unit

    def by_score(self, counts: Mapping[int, int]) -> dict[int, int]:
        """Return the units of new fields, one a score, the highest score above the others."""
        return {score: self.add(counts[score]) for score in sorted(counts)}


class Costs:
    """What pairs and downfloaters of one bracket cost.

    moved: the MDPs, residents, below: the scoregroup of the next bracket (none to leave C8 out), by rank. bye: whether
    a player of this bracket gets the bye (C9). loss: by player, the cost if it is paired neither in this bracket nor in
    the next. floats: by player, the cost if it is paired in the next one. pairs: by pair within the bracket. widths: of
    the fields of a cost, from the lowest. unplayed: what each unplayed game of the player with the bye costs.
    """

    def __init__(
        self, field: Field, moved: Sequence[int], residents: Sequence[int], below: Sequence[int], *, bye: bool
    ) -> None:
        players = field.players
        up, down = [players[rank] for rank in moved], [players[rank] for rank in residents]
        self._define(up, down, len(below), topscorers=field.last, bye=bye)
        self.floats = {rank: self._moved_down(players[rank]) for rank in moved}
        self.floats |= {rank: self._downfloater(players[rank]) for rank in residents}
        self.loss = dict.fromkeys(below, self._left)
        for rank, value in self.floats.items():
            self.loss[rank] = value + self._left + self._left_by_score.get(players[rank].score, 0)
        edges = [*field.pairs(moved, residents), *field.pairs(residents, residents)]
        self.pairs = {(one, other): self._pair(players[one], players[other]) for one, other in edges}

    def _define(
        self, moved: Sequence[Player], residents: Sequence[Player], below: int, *, topscorers: bool, bye: bool
    ) -> None:
        """Define the field of each criterion, from the least important one."""
        fields = _Fields()
        size = len(moved) + len(residents)
        groups = _counts(player.score for player in moved)
        self._up_by_score: list[dict[int, int]] = [{}, {}]
        self._down_by_score: list[dict[int, int]] = [{}, {}]
        self._up, self._down = [0, 0], [0, 0]
        raised = [sum(player.floats[ago] == UP for player in residents) for ago in (0, 1)]
        for ago in (1, 0):  # C21 and C20, C19 and C18
            self._up_by_score[ago] = fields.by_score({score: min(n, raised[ago]) for score, n in groups.items()})
            floated = _counts(player.score for player in moved if player.floats[ago] == DOWN)
            self._down_by_score[ago] = fields.by_score(floated)
        for ago in (1, 0):  # C17 and C16, C15 and C14
            self._up[ago] = fields.add(min(len(moved), raised[ago]))
            self._down[ago] = fields.add(sum(player.floats[ago] == DOWN for player in residents))
        self._strong, self._mild = fields.add(size // 2), fields.add(size // 2)  # C13, C12
        self._third, self._wide = [fields.add(size // 2 if topscorers else 0) for _ in range(2)]  # C11, C10
        self.unplayed = fields.add(max(player.unplayed for player in [*moved, *residents]) if bye else 0)  # C9
        by_score = {**groups, residents[0].score: len(residents)} if below else {}
        self._left_by_score = fields.by_score(by_score)  # C8, by C7
        self._left = fields.add(size + below if below else 0)  # C8, by C6
        self._floated_by_score = fields.by_score(groups)  # C7
        self._floated = fields.add(size)  # C6
        self.widths = fields.widths

    def _moved_down(self, player: Player) -> int:
        """Return the cost of an MDP that is not paired in this bracket: C6, C7, C18, C20."""
        repeated = [self._down_by_score[ago][player.score] for ago in (0, 1) if player.floats[ago] == DOWN]
        return self._floated + self._floated_by_score[player.score] + sum(repeated)

    def _downfloater(self, player: Player) -> int:
        """Return the cost of a resident that is not paired in this bracket: C6, C14, C16."""
        return self._floated + sum(self._down[ago] for ago in (0, 1) if player.floats[ago] == DOWN)

    def _pair(self, upper: Player, lower: Player) -> int:
        """Return the cost of a pair: C10 to C13, C15, C17, C19, C21."""
        value = 0
        if upper.wanted and upper.wanted == lower.wanted:
            value = self._mild + self._denied(upper, lower)
        if upper.score > lower.score:
            for ago in (0, 1):
                if lower.floats[ago] == UP:
                    value += self._up[ago] + self._up_by_score[ago][upper.score]
        return value

    def _denied(self, one: Player, other: Player) -> int:
        """Return the cost of two players with the same preference beyond C12: C10, C11, C13."""
        strengths = (one.strength, other.strength)
        if strengths != (ABSOLUTE, ABSOLUTE):
            return self._strong if min(strengths) >= STRONG else 0
        value = self._wide if min(abs(one.difference), abs(other.difference)) > 1 else 0
        if abs(one.difference) == abs(other.difference):
            return value + (self._third if one.repeated and one.repeated == other.repeated else 0)
        loser = min(one, other, key=lambda player: abs(player.difference))
        return value + (self._third if loser.repeated == 3 - loser.wanted else 0)


def _counts(values: Iterable[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for value in values:
        found[value] = found.get(value, 0) + 1
    return found
