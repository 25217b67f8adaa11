"""The checker of killed servers objects to what a crash could spoil."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from arbiter_protos.v1 import match_pb2, play_pb2

from tests.e2e.evidence import Event, check_match, check_told
from tests.e2e.recording_bot import Exchanges

END = 300  #: of a server's life, between revisions 3 and 4


def record() -> list[Event]:
    """Return the record of a match through one end of the server."""
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
    """Return what the players of that match were told."""
    told = Exchanges()
    for player, ply, move, revision, started in (("anna", 0, "a", 3, 200), ("ben", 1, "b", 6, 410)):
        ledger = match_pb2.Ledger(started_ms=started, arrived_ms=started + 10, charged_ms=10)
        receipt = match_pb2.Receipt(request_id=f"r{ply}", match_id="m", revision=revision, ply=ply + 1, ledger=ledger)
        act = play_pb2.MoveAct(ply=ply, move=move)
        told.ask(player, play_pb2.PlayAct(request_id=f"r{ply}", match_id="m", move=act))
        told.answer(player, match_pb2.MoveAnswer(request_id=f"r{ply}", match_id="m", receipt=receipt))
        told.ended(player, "m")
    return told


def test_what_is_right_holds() -> None:
    check_match(record(), [END])
    assert check_told(exchanges(), {"m": record()}) == {"move": 2}


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
    "spoil", [silent, charged, other_clocks, lost_on_time, played_twice, never_resumed, a_gap, back_in_time]
)
def test_a_record_that_was_spoilt(spoil: Callable[[list[Event]], None]) -> None:
    events = record()
    spoil(events)
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


@pytest.mark.parametrize("spoil", [lost, another, doubled, other_charge])
def test_a_record_that_is_not_what_was_told(spoil: Callable[[list[Event]], None]) -> None:
    events = record()
    spoil(events)
    with pytest.raises(AssertionError):
        check_told(exchanges(), {"m": events})


def test_answers_that_differ_and_results_that_were_not_told() -> None:
    told = exchanges()
    told.answer("anna", match_pb2.MoveAnswer(request_id="r0", match_id="m"))
    with pytest.raises(AssertionError):
        check_told(told, {"m": record()})
    silence = exchanges()
    del silence.results["ben", "m"]
    with pytest.raises(AssertionError):
        check_told(silence, {"m": record()})
