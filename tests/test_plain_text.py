"""The rule for texts that one person writes and another sees."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.plain_text import check_plain, plain, plain_json

HOSTILE = "\x1b]0;title\x07\x1b[2J\r\n\t\x9b31m\u202ereversed\u200f\u200b\ufeff\x7f"


@given(st.text())
def test_what_is_shown_can_be_printed(text: str) -> None:
    shown = plain(text)
    assert shown.isprintable()
    assert plain(shown) == shown
    assert (shown == text) == text.isprintable()


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


def test_a_text_has_bounds() -> None:
    assert check_plain("żółw 🐸", "about", 6) == "żółw 🐸"
    for text in ("", "1234567"):
        with pytest.raises(Refusal, match="1 to 6 printable characters"):
            check_plain(text, "about", 6, 1)
