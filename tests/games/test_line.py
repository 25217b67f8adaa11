"""Lines of play: a game, an initial position, and the moves since."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason
from arbiter.games.line import replay
from tests.refusals import refusing

START = "...../....../......./......../........./......../......./....../..... 1 0 0"


def test_a_line_has_every_position() -> None:
    line = replay("circle-of-life", None, ["e5", "a1"], most=2)
    assert len(line.positions) == 3
    assert line.game.text(line.positions[0]) == START
    assert line.game.text(line.final) == line.game.text(line.positions[2]) != START
    assert line.final.turn == 1


def test_a_line_may_start_from_a_text_and_have_no_moves() -> None:
    assert replay("circle-of-life", START, [], most=0).positions == (replay("circle-of-life", None, [], 0).final,)


@pytest.mark.parametrize(
    ("variant", "start", "moves", "reason", "fact"),
    [
        ("ludo", None, [], Reason.GAME_UNKNOWN, ("what", "ludo")),
        ("circle-of-life(target=0)", None, [], Reason.PARAMETER_INVALID, ("what", "0")),
        ("circle-of-life", "x", [], Reason.POSITION_MALFORMED, ("what", "x")),
        ("circle-of-life", None, ["e5", "e5"], Reason.MOVE_ILLEGAL, ("ply", "1")),
        ("circle-of-life", None, ["e5", "a1", "z9"], Reason.MOVE_MALFORMED, ("ply", "2")),
        ("circle-of-life", None, ["a1", "a2", "a3", "a4"], Reason.ARGUMENT_INVALID, ("what", "4")),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(
    variant: str, start: str | None, moves: list[str], reason: Reason, fact: tuple[str, str]
) -> None:
    with refusing(reason) as caught:
        replay(variant, start, moves, most=3)
    assert caught.value.facts[fact[0]] == fact[1]


def test_repetition_uses_the_positions_of_the_line() -> None:
    moves = ["b2-c2", "f2-e2", "c2-b2", "e2-f2"]
    line = replay("hop-it", None, moves * 2, most=8)
    assert str(line.final.outcome) == "draw repetition"
    assert line.game.parse(line.game.text(line.final)).outcome is None
