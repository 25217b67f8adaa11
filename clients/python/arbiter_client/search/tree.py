"""The tree of a Monte-Carlo tree search: UCT with sampled moves, a static evaluation and exact results.

A simulation walks down the tree by upper confidence bounds, opens one leaf, and carries the result back up. It differs
from the textbook in five places, because the games here have up to five thousand moves a turn and games of hundreds
of plies:

- *No playouts.* A leaf is opened by playing a sample of its moves; the best static evaluation among them is its value.
- *Progressive widening* (Coulom 2007; Chaslot et al. 2008). The sample grows with the visits of the node; moves that
  take something come first, the others at random.
- *Implicit minimax backups* (Lanctot et al. 2014). What counts at selection is a mix of the mean of the simulations
  and the minimax value of the tree so far: tactics are short, and a mean sees them late.
- *Killer moves* (Huberman 1968). A move that won in one position is the first to be tried in others.
- *MCTS-Solver* (Winands et al. 2008). A win is proven by one winning move, a loss or a draw by all moves; what is
  proven is not searched again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from arbiter_client.search.evaluation import Evaluation
from arbiter_client.search.rules import Rules

EXPLORATION: Final = 0.2  #: the weight of unexplored moves; values lie between -1 and 1
MINIMAX_SHARE: Final = 0.6  #: the weight of the minimax value against the mean of the simulations
FIRST_WIDTH: Final = 64  #: moves in a node's first sample
GROWTH: Final = 8  #: moves by which the sample grows with the square root of the visits

Stop = Callable[[], bool]
"""Returns whether to stop now; called before every move that is played."""


class Node:
    """A position in the tree. All values are those of seat 1, from -1 (lost) to 1 (won).

    sign: 1 if seat 1 is to move, -1 if seat 2 is. untried: moves not sampled yet, the next one last; None until the
    node is opened. total: the sum of the simulations' results. best: the minimax value. proven: whether that is exact.
    """

    __slots__ = ("best", "children", "position", "proven", "sign", "total", "untried", "visits")

    def __init__(self, position: Any, value: float, proven: bool) -> None:
        self.position = position
        self.sign = 1 if position.turn == 1 else -1
        self.untried: list[str] | None = None
        self.children: dict[str, Node] = {}
        self.visits = 1
        self.total = self.best = value
        self.proven = proven

    @property
    def value(self) -> float:
        """The value of the node for seat 1, as selection uses it."""
        return MINIMAX_SHARE * self.best + (1 - MINIMAX_SHARE) * self.total / self.visits

    @property
    def width(self) -> int:
        """The number of moves that the sample should have."""
        return FIRST_WIDTH + GROWTH * (math.isqrt(self.visits) - 1)

    @property
    def may_widen(self) -> bool:
        """Whether to sample more moves: not opened yet, few for the visits, or nothing else left to search."""
        if self.untried is None:
            return True
        return bool(self.untried) and (
            len(self.children) < self.width or all(child.proven for child in self.children.values())
        )

    def selected(self) -> Node:
        """Return the unproven child with the highest upper confidence bound for the seat to move."""
        sign, spread = self.sign, EXPLORATION * math.sqrt(math.log(self.visits + 1))
        return max(
            (child for child in self.children.values() if not child.proven),
            key=lambda child: sign * child.value + spread / math.sqrt(child.visits),
        )

    def settle(self) -> None:
        """Update the minimax value, and prove it if possible."""
        if not self.children:
            return
        leader = max(self.children.values(), key=lambda child: (self.sign * child.best, child.proven))
        self.best = leader.best
        won = leader.proven and self.sign * leader.best > 0
        self.proven = won or (not self.untried and all(child.proven for child in self.children.values()))


class Tree:
    """A search tree that is kept from move to move.

    `evaluation` judges positions. `dice` is the only source of random numbers: with the same seed and the same number
    of moves played, a search gives the same answer.
    """

    def __init__(self, rules: Rules, evaluation: Evaluation, position: Any, dice: Random) -> None:
        self._rules = rules
        self._evaluation = evaluation
        self._dice = dice
        self._killers: dict[int, str] = {}  # by the sign of the seat to move
        self.root = Node(position, 0.0, proven=False)
        self.played = 0  #: moves played so far: the cost of the search

    def advance(self, moves: Sequence[str], position: Any) -> None:
        """Make a position the root. If it follows the old root by some moves, keep its part of the tree."""
        node: Node | None = self.root
        for move in moves:
            node = node.children.get(move) if node else None
        if node is None or node.position != position:
            node = Node(position, 0.0, proven=False)
        self.root = node

    def search(self, stop: Stop) -> None:
        """Run simulations until `stop`, until the best move is proven, or not at all if there is only one move."""
        root = self.root
        while not (root.proven or (root.untried == [] and len(root.children) == 1) or stop()):
            self._simulate(stop)

    @property
    def worth(self) -> float:
        """The value of the root for the seat to move, as far as is known: from -1 (lost) to 1 (won)."""
        return self.root.sign * self.root.best

    def best_move(self) -> str:
        """Return the move to play: a proven win, else the most visited one that is not proven lost."""
        root = self.root
        if not root.children:  # there was no time for a simulation
            return self._dice.choice(self._rules.moves(root.position))

        def standing(move: str) -> tuple[float, int, float]:
            child = root.children[move]
            worth = root.sign * child.best
            return math.copysign(1, worth) if child.proven and worth else 0, child.visits, root.sign * child.value

        return max(root.children, key=standing)

    def main_line(self, first: str, most: int) -> tuple[str, ...]:
        """Return the expected line from the root: a first move, then the most visited ones."""
        line, node = [first], self.root.children.get(first)
        while node is not None and node.children and len(line) < most:
            move = max(node.children, key=lambda each, there=node: there.children[each].visits)  # type: ignore[misc]
            line.append(move)
            node = node.children[move]
        return tuple(line)

    def _simulate(self, stop: Stop) -> None:
        """Select a path, open or widen its last node, and propagate the result upwards."""
        path = [self.root]
        while not path[-1].may_widen:
            path.append(path[-1].selected())
        self._widen(path[-1], stop)
        path[-1].settle()
        result = path[-1].best
        for node in reversed(path):
            node.settle()
            node.visits += 1
            node.total += result

    def _widen(self, node: Node, stop: Stop) -> None:
        """Play the next sample of a node's moves, unless one of them wins."""
        if node.untried is None:
            node.untried = self._ordered(node)
        width = max(node.width, len(node.children) + GROWTH)
        while node.untried and len(node.children) < width and not stop():
            move = node.untried.pop()
            self.played += 1
            child = self._judged(self._rules.play(node.position, move))
            node.children[move] = child
            if child.proven and node.sign * child.best > 0:
                self._killers[node.sign] = move
                break

    def _ordered(self, node: Node) -> list[str]:
        """Return the moves of a position in random order, promising ones last, where sampling starts."""
        moves = list(self._rules.moves(node.position))
        self._dice.shuffle(moves)
        if len(moves) > FIRST_WIDTH:
            moves.sort(key=self._evaluation.promise(node.position))
        killer = self._killers.get(node.sign)
        if killer in moves:
            moves.remove(killer)
            moves.append(killer)
        return moves

    def _judged(self, position: Any) -> Node:
        """Return a new node with its exact or static value."""
        outcome = position.outcome
        if outcome is not None:
            return Node(position, (0.0, 1.0, -1.0)[outcome.winner], proven=True)
        return Node(position, self._evaluation(position), proven=False)
