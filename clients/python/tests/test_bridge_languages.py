"""The two languages of programs that read and write lines: words and JSON."""

from __future__ import annotations

from contextlib import suppress

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
