"""How long the lists of a specification may be, so that none holds the server up."""

from __future__ import annotations

from typing import Any

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games.registry import game
from arbiter.options import options_of
from arbiter.tournaments import spec_text
from arbiter.tournaments.codec import read_event, write_event
from arbiter.tournaments.events import Created
from arbiter.tournaments.spec import EntryRules, Spec
from arbiter.tournaments.spec_text import read_spec, write_spec
from tests.refusals import refusing

FIRST = min(game("pods").moves(game("pods").initial()))
PLAIN = {"name": "cup", "format": "round_robin", "games": ["pods"], "time": "1m"}


def names(count: int) -> list[str]:
    return [f"p{n}" for n in range(count)]


def forbidden(count: int) -> dict[str, Any]:
    return {"entry": {"forbidden": [["ann", f"p{n}"] for n in range(count)]}}


def invited(count: int) -> dict[str, Any]:
    return {"entry": {"invited": names(count)}}


def odds(count: int) -> dict[str, Any]:
    return {"time_odds": dict.fromkeys(names(count), "2m")}


def policy(count: int) -> dict[str, Any]:
    return {"policy": dict.fromkeys(names(count), 1)}


def openings(count: int) -> dict[str, Any]:
    return {"openings": {"lines": {"pods": [[FIRST]] * count}}}


def read(values: dict[str, Any], *, stored: bool = False) -> Spec:
    return read_spec(PLAIN | values, lambda text: text, stored=stored)


@pytest.mark.parametrize(
    ("make", "most", "where"),
    [
        (forbidden, options_of(EntryRules)["forbidden"].range[1], "entry.forbidden"),
        (invited, options_of(EntryRules)["invited"].range[1], "entry.invited"),
        (odds, options_of(Spec)["time_odds"].range[1], "time_odds"),
        (policy, spec_text.MOST_POLICY, "policy"),
        (openings, spec_text.MOST_LINES, "openings.lines.pods"),
    ],
)
def test_a_list_may_be_as_long_as_its_bound_and_no_longer(make: Any, most: int, where: str) -> None:
    assert read_spec(write_spec(read(make(most))), lambda text: text) == read(make(most))
    for count in (most + 1, 100_000):
        with refusing(Reason.PARAMETER_INVALID) as caught:
            read(make(count))
        assert caught.value.facts["where"] == where
        assert len(caught.value.message) < 200
    spec = read(make(most + 1), stored=True)  # from a server without this bound
    created = Created(1, "t", spec, "org", "r")
    assert read_event(write_event(created)) == created


def test_all_opening_lines_together_have_a_maximal_number_of_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_text, "MOST_OPENING_MOVES", 5)
    assert read(openings(5)).openings.lines["pods"] == ((FIRST,),) * 5
    with pytest.raises(Refusal) as caught:
        read(openings(6))
    assert caught.value.facts["allowed"] == "at most 5 moves of all lines and games"


def test_stored_opening_lines_are_not_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening lines are checked by the rules when a tournament is created, which takes hundreds of milliseconds."""
    played: list[object] = []
    monkeypatch.setattr(spec_text, "_check_line", lambda *given: played.append(given))
    created = Created(1, "t", read(openings(3)), "org", "r")
    assert len(played) == 3
    assert read_event(write_event(created)) == created
    assert len(played) == 3


@pytest.mark.parametrize(("written", "shown"), [("true", '"true"'), (1, "1"), ("yes", '"yes"')])
def test_a_boolean_is_written_true_or_false(written: object, shown: str) -> None:
    with refusing(Reason.PARAMETER_INVALID) as refused:
        read({"rated": written})
    assert refused.value.message.startswith(f"'{shown}' is not allowed in rated")
    assert refused.value.message.endswith("true or false, without quotes")
