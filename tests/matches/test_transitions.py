"""The transition table of matches, phase × command, cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.matches import Phase, decide
from arbiter.matches.commands import (
    Abort,
    Adjudicate,
    AnswerDraw,
    Arrive,
    ClaimDraw,
    Command,
    Interrupt,
    Interruption,
    Leave,
    OfferDraw,
    Play,
    ReportFault,
    Resign,
    ResultKind,
    SeatRequest,
    Tick,
)
from arbiter.matches.events import EventKind
from arbiter.matches.evolution import _STEPS
from arbiter.matches.transitions import TABLE
from tests.matches.logged_match import LoggedMatch, started

GAME = "heap(stones=10)"


def pending() -> LoggedMatch:
    logged = LoggedMatch(GAME)
    logged.do(Arrive(1))
    return logged


def active() -> LoggedMatch:
    logged = started(GAME)
    logged.do(OfferDraw(2, "offer"))
    return logged


def paused() -> LoggedMatch:
    logged = active()
    logged.do(Interrupt(Interruption.RESTART))
    return logged


def ended() -> LoggedMatch:
    logged = active()
    logged.do(Resign(2, "enough"))
    return logged


STAGES: dict[Phase, Callable[[], LoggedMatch]] = {
    Phase.PENDING: pending,
    Phase.ACTIVE: active,
    Phase.PAUSED: paused,
    Phase.ENDED: ended,
}

#: the result of each command in each of the four phases; None: MATCH_NOT_ACTIVE
CELLS: list[tuple[Command, tuple[str | None, str | None, str | None, str | None]]] = [
    (Arrive(1), ("", "", "arrived resumed", None)),
    (Arrive(2), ("arrived started", "", "arrived", None)),
    (Leave(1), ("left", "left", "", None)),
    (Leave(2), ("", "left", "", None)),
    (Interrupt(Interruption.DRAIN), ("interrupted", "interrupted", "interrupted", None)),
    (Tick(), ("ended", "ended", "resumed", None)),
    (Play(1, "r", 0, "1", 0), (None, "moved", "resumed moved", None)),
    (Play(1, "r", 0, "9", 0), (None, "refused", "resumed refused", None)),
    (OfferDraw(1, "r"), (None, "DRAW_NOT_AVAILABLE", "DRAW_NOT_AVAILABLE", None)),
    (AnswerDraw(1, "r", True), (None, "ended", "ended", None)),
    (AnswerDraw(1, "r", False), (None, "draw_declined", "draw_declined", None)),
    (AnswerDraw(2, "r", True), (None, "DRAW_NOT_AVAILABLE", "DRAW_NOT_AVAILABLE", None)),
    (ClaimDraw(1, "r"), (None, "ended", "ended", None)),
    (ClaimDraw(2, "r"), (None, "NOT_YOUR_TURN", "NOT_YOUR_TURN", None)),
    (Resign(1, "r"), (None, "ended", "ended", None)),
    (Resign(2, "r"), (None, "ended", "ended", None)),
    (Abort("boss", "r"), ("ended", "ended", "ended", None)),
    (Adjudicate("boss", "r", ResultKind.DRAW), ("ended", "ended", "ended", None)),
    (ReportFault("out of memory"), ("ended", "ended", "ended", None)),
]


@pytest.mark.parametrize("phase", STAGES)
@pytest.mark.parametrize(("command", "cells"), CELLS, ids=[str(command) for command, _ in CELLS])
def test_cell(phase: Phase, command: Command, cells: tuple[str | None, ...]) -> None:
    logged = STAGES[phase]()
    expected = cells[list(STAGES).index(phase)]
    before = logged.match
    decision = logged.do(command, after_ms=100_000 if isinstance(command, Tick) else 10)
    if isinstance(decision.answer, Refusal) and not any(event.kind is EventKind.REFUSED for event in decision.events):
        assert decision.answer.reason.value == (expected or "MATCH_NOT_ACTIVE")
        kept = isinstance(command, SeatRequest) and phase is not Phase.ENDED
        assert [event.kind for event in decision.events] == [EventKind.REJECTED] * kept
        assert logged.match.rejected[1 if getattr(command, "seat", 1) == 2 else 0] == kept
        assert kept or logged.match == before
    else:
        assert " ".join(event.kind.value for event in decision.events) == expected
    logged.check()


def test_the_cells_name_every_command() -> None:
    commands = set(get_args(Command))
    assert {type(command) for command, _ in CELLS} == commands
    assert {kind for _, kind in TABLE} == commands
    assert set(TABLE) == {
        (phase, type(command))
        for command, cells in CELLS
        for phase, cell in zip(STAGES, cells, strict=True)
        if cell is not None
    }


def test_not_active_says_why() -> None:
    logged = ended()
    answer = decide(logged.match, Resign(1, "late"), logged.now).answer
    assert isinstance(answer, Refusal)
    assert answer.reason is Reason.MATCH_NOT_ACTIVE
    assert answer.facts == {"phase": "ended", "outcome": "1 resignation"}
    logged = pending()
    answer = decide(logged.match, Resign(1, "early"), logged.now).answer
    assert isinstance(answer, Refusal)
    assert answer.facts == {"phase": "pending", "outcome": "none"}


def test_every_event_but_the_first_has_a_phase() -> None:
    assert {kind for _, kind in _STEPS} == set(EventKind) - {EventKind.CREATED}
    assert not any(phase is Phase.ENDED for phase, _ in _STEPS)
