"""The console: each line of input has one command and gets exactly one line of output, whatever the input."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.games import registry
from arbiter.games.console import LONGEST_LINE, Console, run

START = "...../....../......./......../........./......../......./....../..... 1 0 0"
AFTER = "...../....../......./......../....S..../......../......./....../s.... 1 0 0"


@pytest.fixture
def console() -> Console:
    return Console(registry.game("circle-of-life"))


def test_a_session(console: Console) -> None:
    assert console.answer("new\n") == START
    assert console.answer("play e5 a1\r\n") == AFTER
    assert console.answer("outcome") == "none"
    assert console.answer("perft 0") == "1"
    assert console.answer("perft 1") == "59"
    moves = console.answer("moves").split(" ")
    assert moves == sorted(moves)
    assert len(moves) == 59
    assert console.answer(f"set {START}") == START
    assert console.answer("perft 2") == "3660"


def test_a_draw_that_may_be_claimed_has_its_reason() -> None:
    console = Console(registry.game("chess"))
    assert console.answer("claim") == "none"
    back_and_forth = "g1f3 g8f6 f3g1 f6g8"
    console.answer(f"play {back_and_forth} {back_and_forth}")
    assert console.answer("claim") == json.loads(console.answer("turn"))["drawClaim"] == "threefold_repetition"


def test_the_board_is_an_array_of_its_lines() -> None:
    console = Console(registry.game("chess"))
    rows = json.loads(console.answer("board"))
    assert [[cell and cell["piece"] for cell in row] for row in rows[:3]] == [list("rnbqkbnr"), ["p"] * 8, [None] * 8]
    assert rows[0][0] == {"cell": "a8", "owner": 2, "piece": "r", "mark": ""}


def test_an_ended_game_has_no_turn() -> None:
    console = Console(registry.game("circle-of-life(target=4)"))
    console.answer("set ...../....../......./......../ssss...../......../......./....../..... 1 0 3")
    console.answer("play e5")
    assert console.answer("turn").startswith("error: ARGUMENT_INVALID ")


def test_an_ended_game_has_an_empty_line_of_moves() -> None:
    console = Console(registry.game("circle-of-life(target=4)"))
    console.answer("set ...../....../......./......../ssss...../......../......./....../..... 1 0 3")
    console.answer("play e5")
    assert console.answer("outcome") == "1 target_eaten"
    assert console.answer("moves") == ""
    assert console.answer("perft 3") == "0"
    assert console.answer("play a1").startswith("error: MOVE_ILLEGAL ")


def test_repetition_looks_back_to_the_last_new_or_set() -> None:
    console = Console(registry.game("hop-it"))
    back_and_forth = "play b2-c2 f2-e2 c2-b2 e2-f2"
    console.answer(back_and_forth)
    console.answer(back_and_forth)
    assert console.answer("outcome") == "draw repetition"
    console.answer("new")
    assert console.answer("outcome") == "none"


def test_one_bad_move_of_several_plays_none_of_them(console: Console) -> None:
    console.answer("play e5")
    before = console.answer("moves")
    answer = console.answer("play a1 a2 e5 a3")
    assert answer.startswith("error: MOVE_ILLEGAL move 3 of the line: ")
    assert console.answer("moves") == before


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "ARGUMENT_INVALID"),
        (" ", "ARGUMENT_INVALID"),
        (" new", "ARGUMENT_INVALID"),
        ("NEW", "ARGUMENT_INVALID"),
        ("claims", "ARGUMENT_INVALID"),
        ("claim now", "ARGUMENT_INVALID"),
        ("turn 2", "ARGUMENT_INVALID"),
        ("new pods", "ARGUMENT_INVALID"),
        ("moves e5", "ARGUMENT_INVALID"),
        ("outcome now", "ARGUMENT_INVALID"),
        ("play", "ARGUMENT_INVALID"),
        ("perft", "ARGUMENT_INVALID"),
        ("perft x", "ARGUMENT_INVALID"),
        ("perft -1", "ARGUMENT_INVALID"),
        ("perft 1 2", "ARGUMENT_INVALID"),
        ("perft ²", "ARGUMENT_INVALID"),
        ("perft 13", "ARGUMENT_INVALID"),
        ("perft " + "9" * 10_000, "ARGUMENT_INVALID"),
        ("play " + "e5 " * LONGEST_LINE, "ARGUMENT_INVALID"),
        ("new\tmoves", "ARGUMENT_INVALID"),
        ("new\u2028moves", "ARGUMENT_INVALID"),
        ("play z9", "MOVE_MALFORMED"),
        ("play e5\0", "MOVE_MALFORMED"),
        ("play \udcff", "MOVE_MALFORMED"),
        ("set", "POSITION_MALFORMED"),
        ("set x", "POSITION_MALFORMED"),
        (f"set {START} ", "POSITION_MALFORMED"),
        (f"set  {START}", "POSITION_MALFORMED"),
        ("set \x85\n", "POSITION_MALFORMED"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(console: Console, line: str, reason: str) -> None:
    console.answer("play e5 a1")
    answer = console.answer(line)
    assert answer.startswith(f"error: {reason} ")
    assert answer.isprintable()
    assert len(answer) < 1_000
    assert console.answer("perft 1") == "59"


@pytest.mark.long
@pytest.mark.parametrize("variant", sorted(registry.BUNDLED))
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    lines=st.lists(
        st.one_of(
            st.text(max_size=60),
            st.tuples(
                st.sampled_from(["new", "set", "play", "moves", "outcome", "perft", "claim", "turn", "board"]),
                st.text("abcdefghixm:=-0123456789./STNF sn\0\n\ud800", max_size=40),
            )
            .filter(lambda pair: pair[0] != "perft")
            .map(" ".join),
        ),
        max_size=6,
    )
)
def test_any_line_is_answered_by_one_line(variant: str, lines: list[str]) -> None:
    console = Console(registry.game(variant))
    for line in lines:
        assert console.answer(line).isprintable()


def test_run_answers_line_by_line() -> None:
    written: list[str] = []
    run(registry.game("circle-of-life"), ["new\n", "play e5\n", "nonsense\n", "outcome"], written.append)
    assert [answer.count("\n") for answer in written] == [1, 1, 1, 1]
    assert written[0] == START + "\n"
    assert written[2].startswith("error: ")
    assert written[3] == "none\n"
