"""Compares the record of a server that was killed many times with what its players received.

It shares no code with the players (`tests.e2e.recording_bot`) or with the code that writes the record: it reads the
lines of the transcripts as JSON, and uses of the arbiter only what `arbiter verify` uses.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from arbiter_protos.v1 import match_pb2, play_pb2

from tests.e2e.recording_bot import Exchanges

Event = dict[str, Any]
ENDS_OF_AN_OUTAGE = ("time", "abandonment", "no_show", "arbiter_fault")
"""Reasons with which a match would end if an outage cost a player something."""

ACTS = {
    "move": {"moved", "ended"},
    "offer_draw": {"draw_offered"},
    "answer_draw": {"draw_declined", "ended"},
    "resign": {"ended"},
}
"""The kinds of event that the receipt of an act may name."""


def events_of(transcript: bytes) -> list[Event]:
    """Return the events of a transcript, without its signature."""
    lines: list[Event] = [json.loads(line) for line in transcript.splitlines()]
    return [line for line in lines if "revision" in line]


def check_match(events: Sequence[Event], ends: Sequence[int]) -> None:
    """Assert that a match went on after each end of the server, and that no outage was charged to a player."""
    assert [event["revision"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["kind"] == "ended"
    assert events[-1]["reason"] not in ENDS_OF_AN_OUTAGE
    for before, after in pairwise(events):
        assert before["at"] <= after["at"]
        outages = bisect_left(ends, after["at"]) - bisect_left(ends, before["at"])
        if outages:
            assert (after["kind"], after["reason"]) == ("interrupted", "restart"), f"the log is silent: {after}"
    plies = [event["ply"] for event in events if event["kind"] == "moved"]
    assert plies == list(range(len(plies))), "a move is lost, or recorded twice"
    _check_clocks(events, ends)


def moves_by_run(matches: Mapping[str, Sequence[Event]], ends: Sequence[int]) -> Counter[int]:
    """Return how many moves are on record of each run of the server, by the number of runs before it."""
    return Counter(
        bisect_left(ends, event["at"]) for events in matches.values() for event in events if event["kind"] == "moved"
    )


def _check_clocks(events: Sequence[Event], ends: Sequence[int]) -> None:
    clocks: Any = None
    started = 0
    running = False
    for event in events:
        match event["kind"]:
            case "started":
                clocks, started, running = event["clocks"], event["at"], True
            case "interrupted":
                running = False
            case "resumed":
                assert event["clocks"] == clocks, "the clocks are not those of the last durable event"
                started, running = event["at"], True
            case "moved":
                ledger = event["ledger"]
                assert running, f"no clock ran: {event}"
                lived = bisect_left(ends, ledger["started"]) == bisect_left(ends, ledger["arrived"])
                assert lived, f"an outage is charged: {event}"
                assert ledger["started"] == started, f"the turn did not begin then: {event}"
                clocks, started = event["clocks"], event["at"]


def check_received(exchanges: Exchanges, matches: Mapping[str, Sequence[Event]]) -> Counter[str]:
    """Assert that every acknowledged request is on record once; return how often each act was acknowledged, by name."""
    assert not exchanges.breaches, exchanges.breaches[0]
    counted = {
        match_id: Counter(event["request"] for event in events if event.get("request"))
        for match_id, events in matches.items()
    }
    assert not [ids for ids in counted.values() if any(count > 1 for count in ids.values())], (
        "a request is recorded twice"
    )
    acts: Counter[str] = Counter()
    for key, answer in exchanges.answers.items():
        act = exchanges.asked[key]
        if answer.HasField("receipt"):
            name = act.WhichOneof("act") or ""
            _check_receipt(act, name, answer.receipt, matches[act.match_id])
            acts[name] += 1
    for match_id, events in matches.items():
        for player in events[0]["players"]:
            assert exchanges.results[player, match_id], f"{player} never received the result of {match_id}"
    return acts


def _check_receipt(act: play_pb2.PlayAct, name: str, receipt: match_pb2.Receipt, events: Sequence[Event]) -> None:
    event = events[receipt.revision - 1]
    assert event["kind"] in ACTS[name], f"{act} was acknowledged, and the record has {event}"
    assert event["request"] == act.request_id
    if event["kind"] != "moved":
        return
    ledger, answered = event["ledger"], receipt.ledger
    assert (event["ply"], event["move"]) == (act.move.ply, act.move.move)
    assert receipt.ply == act.move.ply + 1
    assert (ledger["started"], ledger["arrived"]) == (answered.started_ms, answered.arrived_ms)
    assert (ledger["charged"], ledger["credited"]) == (answered.charged_ms, answered.credited_ms)
