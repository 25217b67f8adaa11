"""The two languages of programs that read and write lines: words and JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import arbiter_client as arb
import pytest
from arbiter_client import bridge
from hypothesis import given
from hypothesis import strategies as st

WORDS, JSON = bridge.Words(), bridge.JsonLines()
CHOICES = {
    "move a1": '{"kind":"move","move":"a1"}',
    "move a1 evaluation -5": '{"kind":"move","move":"a1","evaluation":-5}',
    "move a1 evaluation 5 line a1 b2": '{"kind":"move","move":"a1","evaluation":5,"line":["a1","b2"]}',
    "offer a1 line a1": '{"kind":"offer","move":"a1","line":["a1"],"mood":"good"}',
    "claim": '{"kind":"claim"}',
    "resign": '{"kind":"resign"}',
    "# thinking": '{"kind":"remark","text":"thinking"}',
}


@pytest.mark.parametrize(("words", "json"), CHOICES.items())
def test_both_formats_have_the_same_content(words: str, json: str) -> None:
    assert WORDS.choice(words) == JSON.choice(json)


@pytest.mark.parametrize("line", ["", "move", "move a1 b2", "move a1 evaluation x", "claim now", "MOVE a1"])
def test_malformed_lines_are_refused(line: str) -> None:
    if line:
        with pytest.raises(bridge.NotUnderstood, match="expected"):
            WORDS.choice(line)
    else:
        assert WORDS.choice(line) is None


@given(
    st.text(max_size=60)
    | st.sampled_from(['{"kind":"move","move":7}', "[]", "[" * 100_000, '{"kind":"move","line":1}'])
)
def test_any_line_of_a_program_is_read_or_refused(line: str) -> None:
    for language in (WORDS, JSON):
        with suppress(bridge.NotUnderstood):
            language.choice(line)
        with suppress(bridge.NotUnderstood):
            language.introduction(line, bridge.Introduction())


def asked(seat: int, own: str, both: str, start: str = "", moves: tuple[str, ...] = ()) -> bridge.Question:
    """Return a turn in a match with 10 and 8 seconds on the clocks of the program and its opponent."""
    mine, theirs = arb.Clock(10_000, 10_000, 0, 0), arb.Clock(8_000, 8_000, 0, 0)
    clocks = () if own == "none" else (mine, theirs) if seat == 1 else (theirs, mine)
    match = arb.LiveMatch("m1", "pods", seat, "bob", own, both, start_position=start, moves=moves)
    turn = arb.Turn("pods", seat, 2, "p", (), clocks, 0, 0, "", False, "bob", (), None, (), 0, 1, match)
    return bridge.Question(turn, None, None, None)


@pytest.mark.parametrize(
    ("seat", "own", "both", "increments"),
    [
        (1, "1m+1s", "1m+1s", (1_000, 1_000)),
        (1, "5m+2s", "5m+2s:300ms/move", (2_000, 300)),
        (2, "1m+3x10s", "5m:1m+3x10s", (10_000, 0)),
        (1, "none", "none", None),
    ],
)
def test_increments_are_the_programs_own_and_its_opponents(
    seat: int, own: str, both: str, increments: tuple[int, int] | None
) -> None:
    question = asked(seat, own, both)
    (as_json,) = map(json.loads, JSON.question(question))
    assert as_json["increments_ms"] == (None if increments is None else list(increments))
    clocks = [] if increments is None else ["clocks 10000 8000", f"increments {increments[0]} {increments[1]}"]
    assert WORDS.question(question) == ["turn 2", "position p", *clocks, "played 0", "go"]


def test_a_turn_says_how_many_moves_are_left_until_the_time_control_adds_time() -> None:
    question = asked(2, "40/1m", "40/1m")
    assert json.loads(JSON.question(question)[0])["moves_left"] == 0
    mine = replace(question.turn.clocks[1], moves_left=7)
    question = replace(question, turn=replace(question.turn, clocks=(question.turn.clocks[0], mine)))
    assert json.loads(JSON.question(question)[0])["moves_left"] == 7
    assert "movesleft 7" in WORDS.question(question)


def test_a_turn_has_all_moves_of_the_match_and_the_position_from_which_they_begin() -> None:
    question = asked(1, "none", "none", "start here", ("a1", "b2"))
    assert WORDS.question(question) == ["turn 2", "position p", "start start here", "played 2 a1 b2", "go"]
    (turn,) = map(json.loads, JSON.question(question))
    (match,) = map(json.loads, JSON.match(question.turn.match))
    assert (turn["played"], match["start_position"]) == (["a1", "b2"], "start here")


def test_json_introduces_itself_in_one_object() -> None:
    line = '{"kind":"ready","name":"n","version":"2","games":["pods"],"moves":9,"draws":true,"future":1}'
    introduction = bridge.Introduction("n", "2", ("pods",), 9, True)
    assert JSON.introduction(line, bridge.Introduction()) == (introduction, True)


@pytest.mark.parametrize(
    ("line", "readable"),
    [
        ('{"kind":"move","move":"a1","evaluation":"good"}', arb.Move("a1")),
        ('{"kind":"move","move":"a1","evaluation":1%s}' % ("0" * 30), arb.Move("a1")),
        ('{"kind":"offer","move":"a1","evaluation":5,"line":"a1"}', arb.OfferDraw(arb.Move("a1", 5))),
        ('{"kind":"info","depth":4}', None),
        ("1" * 5_000, None),
    ],
)
def test_a_choice_is_read_from_a_json_object_with_a_wrong_field(line: str, readable: arb.Choice | None) -> None:
    with pytest.raises(bridge.NotUnderstood) as raised:
        JSON.choice(line)
    assert not isinstance(raised.value, bridge.AnswerMalformed)
    assert raised.value.readable == readable


@pytest.mark.parametrize("line", ['{"kind":"move"}', '{"kind":"move","move":7}', '{"kind":"offer","move":"\\ud800"}'])
def test_a_json_object_without_a_move_is_a_malformed_answer(line: str) -> None:
    with pytest.raises(bridge.AnswerMalformed, match="expected a text in move"):
        JSON.choice(line)
