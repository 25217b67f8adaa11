"""Names in records are literals: renaming a class or a member does not change the bytes of a record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import pytest

from arbiter.matches import commands as cmd
from arbiter.matches import events as ev
from arbiter.matches.adjudication import AdjudicationRules
from arbiter.matches.clock import CreditRules
from arbiter.matches.commands import NAMES, Command, CommandName, OfferDraw, Play, Resign
from arbiter.matches.origins import Origin, asked, request_of
from arbiter.matches.policy import Policy
from tests.matches.logged_match import LoggedMatch, started

#: the names in records: of commands by class, of events by kind
LITERALS: dict[type[Any], str] = {
    cmd.Play: "Play",
    cmd.OfferDraw: "OfferDraw",
    cmd.AnswerDraw: "AnswerDraw",
    cmd.ClaimDraw: "ClaimDraw",
    cmd.Resign: "Resign",
    cmd.Abort: "Abort",
    cmd.Adjudicate: "Adjudicate",
    cmd.Arrive: "Arrive",
    cmd.Leave: "Leave",
    cmd.Interrupt: "Interrupt",
    cmd.ReportFault: "Fault",
    cmd.Tick: "Tick",
    ev.Created: "created",
    ev.Arrived: "arrived",
    ev.Left: "left",
    ev.Started: "started",
    ev.Moved: "moved",
    ev.Refused: "refused",
    ev.Rejected: "rejected",
    ev.DrawOffered: "draw_offered",
    ev.DrawDeclined: "draw_declined",
    ev.Interrupted: "interrupted",
    ev.Resumed: "resumed",
    ev.Ended: "ended",
}

REQUESTS: list[cmd.Request] = [
    Play(1, "r", 3, "1", 7),
    OfferDraw(2, "r"),
    cmd.AnswerDraw(1, "r", True),
    cmd.AnswerDraw(1, "r", False),
    cmd.ClaimDraw(2, "r"),
    Resign(1, "r"),
    cmd.Abort("boss", "r", "why"),
    cmd.Adjudicate("boss", "r", cmd.ResultKind.WIN, 2, "why"),
    cmd.Adjudicate("boss", "r", cmd.ResultKind.DRAW, 0, "why", by_tables=True),
]


def test_commands_and_events_have_the_names_of_the_first_records() -> None:
    events = {kind for kind in vars(ev).values() if isinstance(kind, type) and issubclass(kind, ev.Event)} - {ev.Event}
    found = {command: name.value for command, name in NAMES.items()} | {event: event.kind.value for event in events}
    assert found == LITERALS
    assert set(NAMES) == set(get_args(Command))
    assert set(NAMES.values()) == set(CommandName)
    assert {event.kind for event in events} == set(ev.EventKind)


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_a_request_can_be_made_again_from_its_fields(request_: cmd.Request) -> None:
    what = asked(request_)
    assert what.command is NAMES[type(request_)]
    seat, by = getattr(request_, "seat", None), getattr(request_, "by", "")
    assert request_of(Origin(what, request_.request, seat, by), 7) == request_


def test_every_kind_of_request_is_listed() -> None:
    assert {type(request_) for request_ in REQUESTS} == set(get_args(cmd.Request))


def records() -> list[bytes]:
    """Return the records of one match with a rejected request of every kind, and of one that is played."""
    waiting, playing = LoggedMatch("heap(stones=9)"), started("heap(stones=9)")
    for number, request_ in enumerate(REQUESTS[:6]):
        name = f"request {number}"
        waiting.do(replace(request_, request=name))
    for request_ in (Play(1, "a", 0, "1", playing.now), OfferDraw(1, "b"), Resign(2, "c")):
        playing.do(request_)
    return waiting.log + playing.log


@pytest.fixture
def before() -> Iterator[list[bytes]]:
    """Return records, then rename every class of a command or event."""
    written = records()
    names = {class_: class_.__name__ for class_ in LITERALS}
    for class_ in names:
        class_.__name__ = "Renamed"
    yield written
    for class_, name in names.items():
        class_.__name__ = name


@pytest.mark.interpreted
def test_a_class_that_is_renamed_changes_no_byte(before: list[bytes]) -> None:
    assert type(Resign(1, "r")).__name__ == "Renamed"
    assert sum(b'"kind":"rejected"' in record for record in before) == 6
    assert records() == before


def test_fields_whose_names_are_in_records_keep_them() -> None:
    """Records have the names of these fields: a renamed field would change their bytes."""
    policy = Policy(ready_ms=1).json()
    assert set(policy) == {
        "illegal_moves",
        "kept_refusals",
        "no_show_ms",
        "abandon_ms",
        "move_cap_ms",
        "resume_ms",
        "start",
        "no_show",
        "credit",
        "ready_ms",
    }
    assert CreditRules._fields == ("hand_over_most_ms", "network_most_ms", "bank_ms", "refill_ms")
    assert set(AdjudicationRules(1, 1, 1, 1, 1, 1, 1, 1).json()) == {
        "plies",
        "material",
        "material_plies",
        "evaluation",
        "evaluation_plies",
        "draw_evaluation",
        "draw_plies",
        "draw_from_ply",
    }
