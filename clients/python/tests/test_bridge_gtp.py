"""The language of Go engines: what an engine is asked, and what is read in its lines."""

from __future__ import annotations

from contextlib import suppress

import arbiter_client as arb
import pytest
from arbiter_client import bridge
from hypothesis import given
from hypothesis import strategies as st

GTP = bridge.Gtp()


@pytest.mark.parametrize(
    ("game", "size", "komi"),
    [
        ("go", "9", "7.5"),
        ("go(size=13)", "13", "7.5"),
        ("go(komi=6.5)", "9", "6.5"),
        ("go(size=19,komi=0.5)", "19", "0.5"),
    ],
)
def test_a_turn_puts_up_the_whole_match(game: str, size: str, komi: str) -> None:
    clocks = (arb.Clock(10_000, 10_000, 0, 0), arb.Clock(8_000, 8_000, 0, 0))
    match = arb.LiveMatch("m1", game, 2, "bob", "10s", moves=("d4", "pass", "e5"))
    turn = arb.Turn(game, 2, 3, "", (), clocks, 0, 0, "", False, "bob", (), None, (), 7_980, 1, match)
    board = [f"boardsize {size}", f"komi {komi}", "clear_board", "play b d4", "play w pass", "play b e5"]
    asked = GTP.question(bridge.Question(turn, None, 7_980, None))
    assert asked == [*board, "time_settings 7 0 0", "time_left w 7 0", "3 genmove w"]
    untimed = GTP.question(bridge.Question(turn, None, None, None))
    assert untimed == [*board, "time_settings 0 10 1", "3 genmove w"]


@pytest.mark.parametrize(
    ("time_control", "moves_left", "said"),
    [("5s/move+40s", 0, "6 1"), ("10s+3x30s", 0, "31 1"), ("40/50s", 12, "44 12"), ("40s+5s", 0, "44 0")],
)
def test_time_for_some_moves_is_told_as_such(time_control: str, moves_left: int, said: str) -> None:
    clocks = (arb.Clock(40_000, 45_000, 0, moves_left), arb.Clock(8_000, 8_000, 0, 0))
    match = arb.LiveMatch("m1", "go", 1, "bob", time_control)
    turn = arb.Turn("go", 1, 0, "", (), clocks, 0, 0, "", False, "bob", (), None, (), 44_980, 1, match)
    *_, settings, left, _ = GTP.question(bridge.Question(turn, None, 44_980, None))
    assert left == f"time_left b {said}"
    assert settings == ("time_settings 44 0 0" if said == "44 0" else f"time_settings 0 {said}")


def test_a_match_from_a_position_is_put_up_stone_by_stone() -> None:
    start = "........./........./........./........./....s..../...S...../........./........./s........ 2 0 0"
    match = arb.LiveMatch("m1", "go", 1, "bob", "none", moves=("b2",), start_position=start)
    turn = arb.Turn("go", 1, 1, "", (), (), 0, 0, "", False, "bob", (), None, (), 0, 1, match)
    asked = GTP.question(bridge.Question(turn, None, None, None))
    assert asked[3:7] == ["play w e5", "play b d4", "play w a1", "play w b2"]


def put_up(*moves: str) -> list[str]:
    """Return the lines that put up moves in a match of Go, without those of the empty board."""
    match = arb.LiveMatch("m1", "go", 1, "bob", "none", moves=moves)
    turn = arb.Turn("go", 1, len(moves), "", (), (), 0, 0, "", False, "bob", (), None, (), 0, 1, match)
    return GTP.question(bridge.Question(turn, None, None, None))[3:-2]


def test_an_engine_need_not_play_a_move_that_takes_its_own_stones() -> None:
    taken = ("b1", "a1", "a3", "j9", "b2")
    played = ["play b b1", "play w a1", "play b a3", "play w j9", "play b b2"]
    assert put_up(*taken, "a2") == ["play b b1", "play b a3", "play w j9", "play b b2"]
    assert put_up(*taken, "a2", "e5", "pass")[-3:] == ["play b b2", "play b e5", "play w pass"]
    assert put_up(*taken, "pass", "a2", "c3") == [*played, "play w pass", "play b a2", "play w c3"]


ONE_EYE = "/".join(["........."] * 5 + ["SSSS.....", "sssS.....", ".ssS...s.", "sssS...s."])
CORNER = ONE_EYE.replace("sss", "xxx").replace(".ss", ".xx")
BOTH = CORNER.replace("s", "x")


def asked_for_dead_stones(position: str, *moves: str) -> bridge.Gtp:
    """Return the language of an engine that was asked which stones are dead, after two passes and these moves."""
    engine = GTP.of_program()
    match = arb.LiveMatch("m1", "go(scoring=agreed)", 1, "bob", "none", moves=("d4", "pass", "pass", *moves))
    turn = arb.Turn(
        match.game, 1, len(match.moves), position, (), (), 0, 0, "", False, "bob", (), None, (), 0, 1, match
    )
    lines = engine.question(bridge.Question(turn, None, None, None))
    assert lines[3:] == ["play b d4", "play w pass", "play b pass", "4 final_status_list dead"]
    return engine


@pytest.mark.parametrize(
    ("position", "moves", "answer", "move"),
    [
        (f"{ONE_EYE} 2 2 3 2 0", (), ["=4 A1 B1", "C1", ""], "dead-a1"),
        (f"{ONE_EYE} 2 2 3 2 0", (), ["=", "", "=4", ""], "agree"),
        (f"{ONE_EYE} 2 2 3 2 0", (), ["?4 unknown command", ""], "agree"),
        (f"{CORNER} 2 2 3 2 1", ("dead-a1",), ["=4 A1", "H1 H2", ""], "dead-h1"),
        (f"{CORNER} 2 2 3 2 1", ("dead-a1",), ["=4 A1", ""], "agree"),
        (f"{CORNER} 1 3 3 2 1", ("dead-a1", "agree"), ["=4 A1 H2", ""], "dead-h1"),
        (f"{CORNER} 1 3 3 2 1", ("dead-a1", "agree"), ["=4", ""], "dispute"),
        (f"{CORNER} 1 3 3 2 1", ("dead-a1", "agree"), ["?4 cannot", ""], "dispute"),
        (f"{CORNER} 1 3 3 2 81", ("dead-a1", "agree"), ["=4 A1 H1", ""], "dispute"),
        (f"{CORNER} 2 3 3 2 4", ("dead-a1", "agree", "dead-h1", "alive-h1", "agree"), ["=4 A1 H1", ""], "dispute"),
        (f"{BOTH} 2 3 3 2 2", ("dead-a1", "agree", "dead-h1", "agree"), ["=4 A1 H1", ""], "agree"),
    ],
)
def test_dead_stones_are_marked_agreed_or_disputed(
    position: str, moves: tuple[str, ...], answer: list[str], move: str
) -> None:
    engine = asked_for_dead_stones(position, *moves)
    assert [engine.choice(line) for line in answer] == [None] * (len(answer) - 1) + [arb.Move(move)]
    assert engine.choice("") is None


def test_after_a_dispute_colours_alternate_as_before() -> None:
    moves = ("d4", "pass", "pass", "dead-d4", "agree", "dispute", "e5")
    match = arb.LiveMatch("m1", "go(scoring=agreed)", 1, "bob", "none", moves=moves)
    position = "/".join(["........."] * 9) + " 1 0 4 3 0"
    turn = arb.Turn(match.game, 1, 7, position, (), (), 0, 0, "", False, "bob", (), None, (), 0, 1, match)
    asked = GTP.question(bridge.Question(turn, None, None, None))
    assert asked[3:7] == ["play b d4", "play w pass", "play b pass", "play w e5"]
    assert asked[-1] == "3 genmove b"


def test_an_engine_introduces_itself() -> None:
    assert GTP.greeting() == ["1 name", "2 version"]
    said, complete = GTP.introduction("=1 GNU Go", bridge.Introduction())
    assert not complete
    assert GTP.introduction("=2 3.8", said) == (bridge.Introduction(version="3.8", games=("go",)), True)
    assert GTP.introduction("?2 unknown command", said)[0].version == "1"


@pytest.mark.parametrize(
    ("line", "choice"),
    [("=3 D4", arb.Move("d4")), ("=3 PASS", arb.Move("pass")), ("=3 resign", arb.Resign()), ("=", None), ("", None)],
)
def test_the_answer_to_genmove_is_the_move(line: str, choice: arb.Choice | None) -> None:
    assert GTP.choice(line) == choice


def test_an_error_is_named() -> None:
    with pytest.raises(bridge.NotUnderstood, match="unacceptable size"):
        GTP.choice("? unacceptable size")
    with pytest.raises(bridge.AnswerMalformed, match="a move, pass or resign"):
        GTP.choice("?3 cannot")


@given(st.text(max_size=60) | st.sampled_from(["=3", "?3", "=33 x"]))
def test_any_line_of_an_engine_is_read_or_refused(line: str) -> None:
    with suppress(bridge.NotUnderstood):
        GTP.choice(line)
    GTP.introduction(line, bridge.Introduction())
