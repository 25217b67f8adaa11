"""The rule for texts that one person writes and another sees."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.plain_text import check_plain, is_plain, plain, plain_json

HOSTILE = "\x1b]0;title\x07\x1b[2J\r\n\t\x9b31m\u202ereversed\u200f\u200b\ufeff\x7f"


@given(st.text() | st.text("a❤\ufe0e\ufe0f\u3164\U000e0101"))
def test_what_is_shown_can_be_printed(text: str) -> None:
    shown = plain(text)
    assert is_plain(shown, len(shown))
    assert plain(shown) == shown
    assert (shown == text) == is_plain(text, len(text))


@pytest.mark.long
@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=4))
def test_json_is_shown_with_its_values(value: object) -> None:
    text = plain_json(json.dumps(value, ensure_ascii=False, indent=2))
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == json.loads(json.dumps(value))


@pytest.mark.parametrize("mark", HOSTILE.replace("title", "").replace("reversed", "") + "\0\u2028\xa0\ud800")
def test_each_character_that_is_not_printed_is_refused_by_name(mark: str) -> None:
    if mark.isprintable():
        return
    with pytest.raises(Refusal) as refused:
        check_plain(f"a{mark}b", "about", 100)
    assert (refused.value.reason, refused.value.facts["where"]) == (Reason.ARGUMENT_INVALID, "about")
    assert refused.value.message.isprintable()


UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180f\u3164\ufe00\ufe0f\uffa0\U000e0100\U000e01ef"


@pytest.mark.parametrize("mark", UNSEEN, ids=ascii)
def test_what_python_prints_and_nobody_sees_is_escaped_and_refused(mark: str) -> None:
    """Whole sentences can be written in them, which language models read."""
    assert mark.isprintable()
    assert plain(f"a{mark}b") == f"a{ascii(mark)[1:-1]}b"
    assert json.loads(plain_json(json.dumps(mark, ensure_ascii=False))) == mark
    assert plain_json(mark).isascii()
    with pytest.raises(Refusal):
        check_plain(f"a{mark}b", "about", 100)


def test_a_picture_keeps_the_mark_that_gives_it_its_colours() -> None:
    assert plain("❤\ufe0f") == check_plain("❤\ufe0f", "about", 100) == "❤\ufe0f"
    for hidden in ("❤\ufe0f\ufe0e", "x\ufe0f", "\ufe0f"):
        assert plain(hidden) != hidden
        with pytest.raises(Refusal):
            check_plain(hidden, "about", 100)


def test_a_text_has_bounds() -> None:
    assert check_plain("żółw 🐸", "about", 6) == "żółw 🐸"
    for text in ("", "1234567"):
        with pytest.raises(Refusal, match="1 to 6 printable characters"):
            check_plain(text, "about", 6, 1)
