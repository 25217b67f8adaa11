"""The static evaluation of positions: features that all games have, with weights for each game."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from arbiter_client.search.rules import Rules

LARGEST: Final = 0.999  #: the largest evaluation; larger values are proven results

_STANDING: Final = re.compile("([0-9]+)([A-Za-z])", re.ASCII).findall


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of the features of a game's positions, in points for seat 1.

    pieces: a piece of either seat by its letter in upper case, for its owner. height: a tile under a piece, for its
    owner. counters: the game's counters by name, with their sign for seat 1. scale: a lead of this many points is worth
    tanh(1) = 0.76 of a win. promising: a pattern of moves that are tried before most others (see `promise`).
    """

    pieces: Mapping[str, float] = field(default_factory=dict)
    height: float = 0.0
    counters: Mapping[str, float] = field(default_factory=dict)
    scale: float = 4.0
    promising: str = ""


WEIGHTS: Final[Mapping[str, Weights]] = {
    "circle-of-life": Weights(counters={"eaten by seat 1": 1.0, "eaten by seat 2": -1.0}, scale=8.0),
    "elevation": Weights(pieces={"F": 3.0, "D": 4.0, "S": 3.0}, height=0.2, scale=5.0),
    "hop-it": Weights(pieces={"F": 1.0, "T": 1.1}, scale=3.0),
    "pods": Weights(
        pieces={"P": 0.3},
        counters={"territory of seat 1": 1.0, "territory of seat 2": -1.0},
        scale=20.0,
        promising="[a-z][0-9]+",
    ),
    "pondlife": Weights(
        pieces={"N": 0.0, "T": 1.0, "F": 3.0, "W": 3.5, "S": 6.0, "D": 3.5, "E": 3.0, "H": 4.0},
        counters={
            f"{seat} {what}": sign * points
            for seat, sign in (("Yellow", 1), ("Blue", -1))
            for what, points in {
                "eggs": 0.3,
                "frogs to hatch": 2.0,
                "newts to hatch": 2.3,
                "snakes to hatch": 4.5,
                "dragonflies to hatch": 2.3,
                "eels to hatch": 2.0,
                "fish to hatch": 2.0,
            }.items()
        },
        scale=6.0,
    ),
}
"""The weights of the bundled games, tested in matches (`python -m tests.studies strength`)."""


class Evaluation:
    """The static evaluation of a game's positions, and of how promising their moves look.

    Pieces are counted in the text of the position: it has the same form for all games, and is much faster to make than
    a list of pieces.
    """

    def __init__(self, rules: Rules, weights: Weights) -> None:
        self._rules = rules
        self._weights = weights
        self._worths = {letter: worth for letter, worth in weights.pieces.items() if worth or weights.height}
        self._worths |= {letter.lower(): -worth for letter, worth in self._worths.items()}
        self._promising = re.compile(weights.promising, re.ASCII).fullmatch if weights.promising else None

    def __call__(self, position: Any) -> float:
        """Return the value of a position without an outcome for seat 1, between -1 (lost) and 1 (won)."""
        weights = self._weights
        points = 0.0
        if self._worths:
            board = self._rules.text(position).partition(" ")[0]
            for letter, worth in self._worths.items():
                points += board.count(letter) * worth
            if weights.height:
                for tiles, letter in _STANDING(board):
                    points += weights.height * int(tiles) * (1 if letter.isupper() else -1)
        if weights.counters:
            weight = weights.counters.get
            for name, count in self._rules.counters(position).items():
                points += count * weight(name, 0.0)
        return LARGEST * math.tanh(points / weights.scale)

    def promise(self, position: Any) -> Callable[[str], int]:
        """Return a function that says how promising a move of a position looks, by its text: 0 to 2.

        2: the move names a cell with an enemy piece, which it usually takes. 1: it matches the game's pattern.
        """
        enemy, names = 3 - position.turn, self._rules.board.names
        men = self._rules.pieces(position)
        targets = "|".join(name for name, man in zip(names, men, strict=True) if man.owner == enemy)
        takes = re.compile(f"(?:{targets})(?![0-9])").search if targets else None
        promising = self._promising

        def promise(move: str) -> int:
            if takes and takes(move):
                return 2
            return 1 if promising and promising(move) else 0

        return promise
