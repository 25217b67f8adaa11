"""Nearly correct positions, moves and variants: each is read correctly or refused with a reason, and never slowly."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.drawing.svg import svg
from arbiter.drawing.text_drawing import draw
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.console import run
from arbiter.games.line import replay
from arbiter.testing import laws
from tests.fuzz import effort, near, texts

pytestmark = pytest.mark.long

VARIANTS = ("circle-of-life", "elevation", "hop-it", "hop-it(start=frogs)", "pods(size=3)", "pods", "pondlife")
CLASSIC = ("othello", "connect-four", "breakthrough", "hex(size=4)", "chess", "chess960", "go", "checkers", "amazons")
NAMES = (*VARIANTS, "pods(size=5)", "elevation(tiles=20,start=SSDDFF)", "pondlife(eel=true,lines=3,without=FFW)")
READABLE = 1_000  #: characters of a text that is longer than any position or move
COMMANDS = ("new", "set ", "play ", "moves", "outcome", "perft", "help", "quit")


def test_every_bundled_game_is_fuzzed() -> None:
    assert {registry.game(variant).facts.id for variant in (*VARIANTS, *CLASSIC)} == set(registry.BUNDLED)


@cache
def seen(variant: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return texts of positions and of moves from a few games of a variant."""
    game = registry.game(variant)
    positions: list[str] = []
    moves: list[str] = []
    for seed in range(3):
        for position, legal in laws.walk(game, Random(seed).randrange, 25):
            positions.append(game.text(position))
            moves.extend(legal[seed :: max(1, len(legal) // 3)][:3])
    return tuple(dict.fromkeys(positions)), tuple(dict.fromkeys(moves))


def refusal_of(refusal: Refusal, *reasons: Reason) -> None:
    """Assert that a refusal has one of these reasons, and one line of text that can be sent."""
    assert refusal.reason in reasons
    assert "\n" not in refusal.message
    assert all(len(fact) < 2 * READABLE for fact in refusal.facts.values()), refusal.facts


@pytest.mark.parametrize("variant", [*VARIANTS, *CLASSIC])
@effort(0.4)
@given(data=st.data())
def test_positions(variant: str, data: st.DataObject) -> None:
    game = registry.game(variant)
    text = data.draw(texts(seen(variant)[0]))
    try:
        position = game.parse(text)
    except Refusal as refusal:
        refusal_of(refusal, Reason.POSITION_MALFORMED)
        return
    written = game.text(position)
    assert game.text(game.parse(written)) == written
    assert len(written) <= READABLE
    assert position.turn in (1, 2)
    assert len(list(game.pieces(position))) == game.board.size
    game.claim(position)
    draw(game, position, None, colour=False)
    svg(game, position, None)


@pytest.mark.parametrize("variant", [*VARIANTS, *CLASSIC])
@effort(0.3)
@given(data=st.data())
def test_moves(variant: str, data: st.DataObject) -> None:
    game = registry.game(variant)
    positions, moves = seen(variant)
    position = game.parse(data.draw(st.sampled_from(positions)))
    text = data.draw(texts(moves))
    try:
        after = game.play(position, text)
    except Refusal as refusal:
        refusal_of(refusal, Reason.MOVE_MALFORMED, Reason.MOVE_ILLEGAL)
        return
    assert len(text) <= READABLE
    game.parse(game.text(after))
    game.steps(position, text)


@pytest.mark.parametrize("variant", [*VARIANTS, *CLASSIC])
@pytest.mark.parametrize("size", [READABLE, 1_000_000])
def test_long_texts_are_refused_without_being_parsed(variant: str, size: int) -> None:
    game = registry.game(variant)
    positions, moves = seen(variant)
    for text in ("1" * size, positions[0] * size, positions[0].ljust(size), moves[0] * size, moves[0].ljust(size, "x")):
        with pytest.raises(Refusal) as caught:
            game.parse(text[:size])
        refusal_of(caught.value, Reason.POSITION_MALFORMED)
        with pytest.raises(Refusal) as caught:
            game.play(game.initial(), text[:size])
        refusal_of(caught.value, Reason.MOVE_MALFORMED, Reason.MOVE_ILLEGAL)


@effort(2)
@given(text=texts(NAMES))
def test_variants(text: str) -> None:
    try:
        game: Any = registry.game(text)
    except Refusal as refusal:
        refusal_of(refusal, Reason.GAME_UNKNOWN, Reason.PARAMETER_INVALID)
        return
    assert registry.game(game.variant).variant == game.variant
    assert game.parse(game.text(game.initial())).turn == 1


def test_variant_names_are_not_all_cached() -> None:
    for number in range(2_000):
        with pytest.raises(Refusal):
            registry.game(f"pods(size={number + 1_000})")
    kept = registry._build.cache_info()
    assert kept.maxsize is not None
    assert kept.currsize <= kept.maxsize


@effort()
@given(data=st.data())
def test_lines_of_play(data: st.DataObject) -> None:
    variant = data.draw(st.sampled_from(VARIANTS))
    positions, moves = seen(variant)
    start = data.draw(st.none() | texts(positions))
    line = data.draw(st.lists(texts(moves), max_size=4))
    try:
        replayed = replay(data.draw(st.sampled_from((variant, variant, "ludo"))), start, line, 3)
    except Refusal as refusal:
        line_refusals = (Reason.MOVE_MALFORMED, Reason.MOVE_ILLEGAL, Reason.GAME_UNKNOWN, Reason.PARAMETER_INVALID)
        refusal_of(refusal, *line_refusals, Reason.POSITION_MALFORMED, Reason.ARGUMENT_INVALID)
        return
    assert len(replayed.moves) <= 3


@pytest.mark.parametrize("variant", VARIANTS)
@effort(0.3)
@given(data=st.data())
def test_the_console_answers_every_line(variant: str, data: st.DataObject) -> None:
    positions, moves = seen(variant)
    words = (*COMMANDS, f"set {positions[-1]}", f"play {moves[0]}", *(f"play {move}" for move in moves[:3]))
    lines = data.draw(st.lists(near(words), max_size=6))
    answers: list[str] = []
    run(registry.game(variant), [f"{line}\n" for line in "\n".join(lines).split("\n")], answers.append)
    assert all(answer.endswith("\n") and answer[:-1].isprintable() for answer in answers)
