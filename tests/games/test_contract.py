"""What all games share: parameters, names of variants, refusals, outcomes."""

from __future__ import annotations

import pickle
import re
from decimal import Decimal

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import (
    Outcome,
    Parameter,
    choice_parameter,
    decimal_parameter,
    flag_parameter,
    number_parameter,
    value_text,
    word_parameter,
)

NUMBER = number_parameter("size", 7, 3, 10, "cells on a side")
FLAG = flag_parameter("eel", False, "an eel each")
CHOICE = choice_parameter("duty", ("player", "frog"), "who must hop")
KOMI = decimal_parameter("komi", "7.5", "-20", "20", "points for White")
WORD = word_parameter("start", "ab", "a and b", lambda word: sorted(word) == ["a", "b"], "the order")


@pytest.mark.parametrize(
    ("parameter", "word", "value"),
    [(NUMBER, "3", 3), (NUMBER, "10", 10), (FLAG, "true", True), (FLAG, "false", False), (CHOICE, "frog", "frog")],
)
def test_parameters_read_what_they_allow(parameter: Parameter, word: str, value: object) -> None:
    assert parameter.read(word) == value
    assert value_text(parameter.read(word)) == word


@pytest.mark.parametrize("word", ["", "2", "11", "07", "+7", "-7", " 7", "7 ", "7.0", "٧", "²", "1" * 10_000])
def test_numbers_outside_their_bounds_are_refused(word: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(word)}$"):
        NUMBER.read(word)


@pytest.mark.parametrize("word", ["7.5", "-0.5", "0", "0.5", "-20", "20", "7"])
def test_decimals_are_exact_and_have_one_text(word: str) -> None:
    assert KOMI.read(word) == Decimal(word)
    assert value_text(KOMI.read(word)) == word


@pytest.mark.parametrize(
    "word", ["", "7.50", "7.0", ".5", "7.", "07", "+7", "-0", "-0.0", "7,5", "7e0", "20.5", "-20.5", "7.25", "nan", "٧"]
)
def test_decimals_of_another_form_are_refused(word: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(word)}$"):
        KOMI.read(word)


@pytest.mark.parametrize(("parameter", "word"), [(FLAG, "True"), (FLAG, "1"), (CHOICE, "none"), (WORD, "aa")])
def test_words_that_are_not_choices_are_refused(parameter: Parameter, word: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(word)}$"):
        parameter.read(word)


def test_a_choice_defaults_to_its_first() -> None:
    assert CHOICE.default == "player"
    assert (NUMBER.minimum, NUMBER.maximum) == (3, 10)
    assert WORD.read("ba") == "ba"


def test_outcomes_are_written_as_the_console_writes_them() -> None:
    assert str(Outcome(1, "territory")) == "1 territory"
    assert str(Outcome(0, "repetition")) == "draw repetition"


def test_a_seat_is_called_by_its_name_or_by_its_number() -> None:
    assert registry.game("pods").facts.seat_name(2) == "Humpback"
    assert registry.game("circle-of-life").facts.seat_name(2) == "seat 2"


def test_refusals_shorten_what_they_quote_and_survive_pickling() -> None:
    game = registry.game("circle-of-life")
    refusal = game.malformed_move("x" * 1_000)
    assert len(refusal.facts["move"]) == 58
    again = pickle.loads(pickle.dumps(refusal))
    assert isinstance(again, Refusal)
    assert (again.reason, again.message, again.facts) == (refusal.reason, refusal.message, refusal.facts)
    illegal = game.illegal_move(game.initial(), "e5", "because")
    assert illegal.reason == Reason.MOVE_ILLEGAL
    assert illegal.facts == {"move": "e5", "position": game.text(game.initial())}
