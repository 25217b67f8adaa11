"""The checker for killed servers finds each effect that a crash could have."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from arbiter_protos.v1 import match_pb2, play_pb2

from tests.e2e.evidence import Event, check_match, check_received
from tests.e2e.recording_bot import Exchanges

END = 300  #: when the server was down, between revisions 3 and 4


def record() -> list[Event]:
    """Return the record of a match during which the server was down once."""
    first = {"started": 200, "arrived": 210, "charged": 10, "credited": 0}
    second = {"started": 410, "arrived": 420, "charged": 10, "credited": 0}
    events: list[Event] = [
        {"at": 100, "kind": "created", "players": ["anna", "ben"]},
        {"at": 200, "kind": "started", "clocks": "full"},
        {"at": 210, "kind": "moved", "ply": 0, "move": "a", "request": "r0", "ledger": first, "clocks": "less"},
        {"at": 400, "kind": "interrupted", "reason": "restart"},
        {"at": 410, "kind": "resumed", "clocks": "less"},
        {"at": 420, "kind": "moved", "ply": 1, "move": "b", "request": "r1", "ledger": second, "clocks": "least"},
        {"at": 420, "kind": "ended", "reason": "checkmate"},
    ]
    return [{**event, "revision": n} for n, event in enumerate(events, 1)]


def exchanges() -> Exchanges:
    """Return what the players of that match received."""
    received = Exchanges()
    for player, ply, move, revision, started in (("anna", 0, "a", 3, 200), ("ben", 1, "b", 6, 410)):
        ledger = match_pb2.Ledger(started_ms=started, arrived_ms=started + 10, charged_ms=10)
        receipt = match_pb2.Receipt(request_id=f"r{ply}", match_id="m", revision=revision, ply=ply + 1, ledger=ledger)
        act = play_pb2.MoveAct(ply=ply, move=move)
        received.ask(player, play_pb2.PlayAct(request_id=f"r{ply}", match_id="m", move=act))
        received.answer(player, match_pb2.MoveAnswer(request_id=f"r{ply}", match_id="m", receipt=receipt))
        received.ended(player, "m")
    return received


def test_a_correct_record_passes() -> None:
    check_match(record(), [END])
    assert check_received(exchanges(), {"m": record()}) == {"move": 2}


def silent(events: list[Event]) -> None:
    events[3]["reason"] = "drain"


def charged(events: list[Event]) -> None:
    events[5]["ledger"]["started"] = 210


def other_clocks(events: list[Event]) -> None:
    events[4]["clocks"] = "least"


def lost_on_time(events: list[Event]) -> None:
    events[6]["reason"] = "time"


def played_twice(events: list[Event]) -> None:
    events[5]["ply"] = 0


def never_resumed(events: list[Event]) -> None:
    events[4]["kind"] = "arrived"


def a_gap(events: list[Event]) -> None:
    del events[3]


def back_in_time(events: list[Event]) -> None:
    events[2]["at"] = 190


@pytest.mark.parametrize(
    "fault", [silent, charged, other_clocks, lost_on_time, played_twice, never_resumed, a_gap, back_in_time]
)
def test_a_wrong_record_is_found(fault: Callable[[list[Event]], None]) -> None:
    events = record()
    fault(events)
    with pytest.raises(AssertionError):
        check_match(events, [END])


def lost(events: list[Event]) -> None:
    events[5] = {"kind": "arrived", "revision": 6}


def another(events: list[Event]) -> None:
    events[2]["move"] = "c"


def doubled(events: list[Event]) -> None:
    events[4]["request"] = "r0"


def other_charge(events: list[Event]) -> None:
    events[2]["ledger"]["charged"] = 11


@pytest.mark.parametrize("fault", [lost, another, doubled, other_charge])
def test_a_record_that_differs_from_the_answers_is_found(fault: Callable[[list[Event]], None]) -> None:
    events = record()
    fault(events)
    with pytest.raises(AssertionError):
        check_received(exchanges(), {"m": events})


def test_answers_that_differ_and_results_that_were_not_received_are_found() -> None:
    received = exchanges()
    received.answer("anna", match_pb2.MoveAnswer(request_id="r0", match_id="m"))
    with pytest.raises(AssertionError):
        check_received(received, {"m": record()})
    silence = exchanges()
    del silence.results["ben", "m"]
    with pytest.raises(AssertionError):
        check_received(silence, {"m": record()})
