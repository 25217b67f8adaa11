"""The laws that every game obeys, on every registered game and on variants with extreme parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.circle_of_life import CircleOfLife
from arbiter.games.contract import Step
from arbiter.testing import laws

VARIANTS = {
    "amazons": ["amazons"],
    "breakthrough": ["breakthrough"],
    "checkers": ["checkers"],
    "chess": ["chess"],
    "chess960": ["chess960", "chess960(start=959)"],
    "connect-four": ["connect-four"],
    "go": ["go", "go(size=13,komi=0)", "go(scoring=agreed)"],
    "hex": ["hex", "hex(size=2)", "hex(size=3,swap=false)"],
    "othello": ["othello"],
    "circle-of-life": ["circle-of-life", "circle-of-life(target=1)", "circle-of-life(target=60)"],
    "elevation": ["elevation", "elevation(tiles=0)", "elevation(tiles=20,start=SSDDFF)"],
    "hop-it": ["hop-it", "hop-it(duty=frog)", "hop-it(duty=none,start=frogs)", "hop-it(start=frogs-ahead)"],
    "pods": ["pods(size=3)", "pods(size=5)", "pods"],
    "pondlife": [
        "pondlife",
        "pondlife(eel=true,lines=3)",
        "pondlife(handicap=2)",
        "pondlife(handicap=9,without=FFFWWSD)",
    ],
}
EVERY = sorted({variant for name in registry.BUNDLED for variant in VARIANTS.get(name, [name])})
OTHERS = set(EVERY) - set(registry.BUNDLED)  #: variants with parameters of their own: not in `make quick`
SEEDS = (0, 133_785_509)  #: of the random choices that each law makes
SHORT_LAWS = [law for law in laws.LAWS if law is not laws.games_end]


def test_every_bundled_game_has_variants_here() -> None:
    assert set(VARIANTS) == set(registry.BUNDLED)
    assert all(registry.game(variant).facts.id == name for name, them in VARIANTS.items() for variant in them)


@pytest.mark.parametrize("law", SHORT_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize(
    "variant", [pytest.param(name, marks=pytest.mark.long if name in OTHERS else ()) for name in EVERY]
)
def test_law(variant: str, law: Callable[[Any, laws.Choose], None], seeds: int) -> None:
    for seed in SEEDS if seeds > 20 else SEEDS[:1]:
        law(registry.game(variant), Random(seed).randrange)


@pytest.mark.parametrize("variant", EVERY)
def test_games_end(variant: str) -> None:
    laws.games_end(registry.game(variant), Random(7).randrange)


@pytest.mark.parametrize("text", [text for text in laws.HOSTILE_TEXTS if len(text) < 200])
def test_hostile_variant_names_are_refused(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        registry.game(text)
    assert caught.value.reason in (Reason.GAME_UNKNOWN, Reason.PARAMETER_INVALID)


class LosesItsTurn(CircleOfLife):
    def text(self, position: Any) -> str:
        return super().text(position).replace(" 2 ", " 1 ")


class ListsTwice(CircleOfLife):
    def moves(self, position: Any) -> list[str]:
        found = list(super().moves(position))
        return found + found[:1]


class ListsTooLittle(CircleOfLife):
    def moves(self, position: Any) -> list[str]:
        return list(super().moves(position))[position.turn - 1 :]


class NeverEnds(CircleOfLife):
    def __init__(self) -> None:
        super().__init__()
        self.bound = 10


class PlaysAnything(CircleOfLife):
    def play(self, position: Any, move: str) -> Any:
        try:
            return super().play(position, move)
        except Refusal:
            return position


class PlaysAnAlias(CircleOfLife):
    def play(self, position: Any, move: str) -> Any:
        return super().play(position, move.lower())


class ResolvesTwice(CircleOfLife):
    def canonical(self, move: str) -> str:
        return move[1:] if move.startswith("x") else move

    facts = replace(CircleOfLife.facts, aliases=(("xxa1", "a1"),))


class ChangesAMove(CircleOfLife):
    def canonical(self, move: str) -> str:
        return move.replace("1", "2")


class ReadsAnything(CircleOfLife):
    def parse(self, text: str) -> Any:
        try:
            return super().parse(text)
        except Refusal:
            return self.initial()


class StepsOffTheBoard(CircleOfLife):
    def steps(self, position: Any, move: str) -> list[Step]:
        return [Step("place", "", "z99", "S")]


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (LosesItsTurn, laws.texts_round_trip),
        (ListsTwice, laws.listed_moves_play),
        (ListsTooLittle, laws.unlisted_moves_are_refused),
        (NeverEnds, laws.games_end),
        (PlaysAnything, laws.unlisted_moves_are_refused),
        (PlaysAnything, laws.games_end),
        (PlaysAnything, laws.moves_have_one_text),
        (PlaysAnAlias, laws.moves_have_one_text),
        (ResolvesTwice, laws.aliases_are_resolved),
        (ChangesAMove, laws.aliases_are_resolved),
        (ReadsAnything, laws.hostile_texts_are_refused),
        (StepsOffTheBoard, laws.pieces_and_steps_are_well_formed),
    ],
)
def test_a_law_finds_a_game_with_a_fault(broken: type[CircleOfLife], law: Callable[[Any, laws.Choose], None]) -> None:
    with pytest.raises(AssertionError, match="circle-of-life"):
        law(broken(), Random(1).randrange)


@pytest.mark.interpreted
def test_a_law_finds_positions_that_change() -> None:
    class Position:
        """A position that playing changes, which no game allows."""

        def __init__(self) -> None:
            self.turn, self.outcome = 1, None

    class Changes(CircleOfLife):
        def initial(self) -> Any:
            return Position()

        def text(self, position: Any) -> str:
            return str(position.turn)

        def pieces(self, position: Any) -> list[Any]:
            return []

        def moves(self, position: Any) -> list[str]:
            return ["a1"]

        def play(self, position: Any, move: str) -> Any:
            position.turn = 3 - position.turn
            return position

    with pytest.raises(AssertionError, match="changed the old position's text"):
        laws.positions_are_values(Changes(), Random(1).randrange)


def test_check_runs_every_law() -> None:
    laws.check(registry.game("circle-of-life(target=2)"), Random(3).randrange)
