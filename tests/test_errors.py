"""Refusals of arguments and parameters, and the texts that they quote."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbiter.errors import Reason, argument_invalid, parameter_invalid, shortened, with_article

ROOT = Path(__file__).parent.parent / "arbiter"


def test_a_refusal_says_what_was_wrong_where_and_what_is_allowed() -> None:
    refusal = argument_invalid(-1, "ply", "0 to 9")
    assert (refusal.reason, refusal.facts) == (
        Reason.ARGUMENT_INVALID,
        {"what": "-1", "where": "ply", "allowed": "0 to 9"},
    )
    assert refusal.message == "'-1' is not allowed in ply: expected 0 to 9"
    assert argument_invalid("", "name", "a text").message == "name is missing or empty: expected a text"
    refusal = parameter_invalid("x" * 100, "cycles", "a number", of="a tournament")
    assert refusal.reason is Reason.PARAMETER_INVALID
    assert refusal.facts == {"what": "x" * 57 + "…", "where": "cycles", "allowed": "a number"}
    assert refusal.message == f"'{'x' * 57}…' is not allowed in cycles of a tournament: expected a number"


def test_a_refusal_with_a_lone_surrogate_can_be_encoded() -> None:
    refusal = argument_invalid("a\ud800", "note", "text")
    assert refusal.facts["what"] == "a\\ud800"
    assert refusal.message.encode()
    assert pickle.loads(pickle.dumps(refusal)).facts == refusal.facts


@pytest.mark.parametrize(("length", "shown"), [(0, 0), (59, 59), (60, 60), (61, 58), (500, 58)])
def test_a_text_is_cut_only_if_it_is_longer_than_the_limit(length: int, shown: int) -> None:
    text = shortened("x" * length)
    assert len(text) == shown
    assert text.endswith("…") == (length > 60)


def test_only_one_function_builds_each_refusal_and_only_one_cuts_texts() -> None:
    """One builder for each reason, and one function that cuts a text: in `arbiter/errors.py`."""
    builder = re.compile(r"Refusal\(\s*Reason\.(ARGUMENT|PARAMETER)_INVALID|\] ?\+ ?\"…\"|\]\}…")
    # labels of a chart and of an animation, the beginning of a token
    own_width = {"drawing/chart.py", "drawing/animation.py", "conformance/situations/hello.py"}
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if builder.search(path.read_text(encoding="utf-8")) and path != ROOT / "errors.py"
    }
    assert found <= own_width


def test_a_noun_has_its_article() -> None:
    assert [with_article(noun) for noun in ("fish", "eel", "arena", "Elevation")] == [
        *("a fish", "an eel", "an arena", "an Elevation")
    ]


MAKERS = {"Refusal", "_ends_with", "end_stream"}  #: what takes a reason and its facts, as keywords


def made() -> Iterator[tuple[str, Reason, set[str]]]:
    """Yield each place of `arbiter` that names a reason and its facts: where, the reason, the names of the facts."""
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "Reason." in text else ():
            if not isinstance(node, ast.Call) or not node.args or any(word.arg is None for word in node.keywords):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            said = node.args[0]
            if name in MAKERS and isinstance(said, ast.Attribute) and getattr(said.value, "id", "") == "Reason":
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                yield where, Reason[said.attr], {word.arg for word in node.keywords if word.arg is not None}


@pytest.mark.long
def test_every_refusal_is_made_with_the_facts_of_its_reason() -> None:
    places = list(made())
    assert len(places) > 40
    wrong = []
    for where, reason, facts in places:
        if not reason.always.keys() <= facts <= reason.known.keys():
            wrong.append(f"{where}: {reason} has the facts {', '.join(reason.known)}, not {', '.join(facts)}")
    assert wrong == []
