"""Ends: every match ends, for a reason that the record supports, by the party that is responsible for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from arbiter.service.ports.journal import StoredRecord
from arbiter.service.record import tournament_log
from arbiter.service.record.tournament_log import maker
from arbiter.testing.simulation.invariants.run_evidence import RecordedEvent, RunEvidence, Violation
from arbiter.testing.simulation.plan import ORGANISER
from arbiter.tournaments import events as ev

TYPED = "Typed ends"
SCHEMA: dict[str, tuple[str, tuple[str, ...]]] = {
    "rules": ("player", ("win", "draw")),
    "agreement": ("players", ("draw",)),
    "resignation": ("player", ("win",)),
    "time": ("player", ("win",)),
    "rule_violation": ("player", ("win",)),
    "absence": ("player", ("win", "void")),
    "organiser": ("organiser", ("win", "draw", "void")),
}
"""The party and the results that go with a cause. There is no row for faults of the arbiter: there shall be none."""


def everything_ends(case: RunEvidence) -> Iterator[Violation]:
    """Check that after the faults everything ends, and that nothing happens after an end."""
    for left in case.history.unfinished:
        entries = case.matches.get(left)
        yield Violation("Every match ends", f"{left} never ended; last {entries[-1].event if entries else 'nothing'}")
    for match_id, entries in case.matches.items():
        for entry in entries[:-1]:
            if entry.kind == "ended":
                yield Violation(TYPED, f"{match_id} went on after its end at revision {entry.revision}")


def ends_are_typed(case: RunEvidence) -> Iterator[Violation]:
    """Check that each end has a cause, a party and a result that are consistent, and that the record supports it."""
    for match_id, entries in case.matches.items():
        end = entries[-1].event
        if end["kind"] != "ended":
            continue
        wrong = _wrong_form(end) or BORNE_OUT[end["cause"]](case, match_id, entries)
        if wrong:
            yield Violation(TYPED, f"{match_id} {wrong}: {end}")


def _wrong_form(end: dict[str, Any]) -> str:
    schema = SCHEMA.get(end["cause"])
    if schema is None:
        return "ended for a cause that there must not be"
    party, results = schema
    both_absent = end["cause"] == "absence" and end["party"] == "players"
    if end["party"] != party and not both_absent:
        return "has the wrong party responsible"
    if end["result"] not in results or (end["result"] == "win") != (end["winner"] in (1, 2)):
        return "has a result that its cause does not allow"
    if (end["party"] == "player") != ("seat" in end):
        return "names a seat where none is responsible, or none where one is"
    if end["cause"] not in ("rules", "organiser") and end["result"] == "win" and end["winner"] != 3 - end["seat"]:
        return "was won by the seat that is responsible"
    return ""


def _by_rules(case: RunEvidence, match_id: str, entries: list[RecordedEvent]) -> str:
    end, before = entries[-1].event, entries[-2].event
    if "request" in end:
        return _asked(case, match_id, end, "claim")
    return "" if (before["kind"], before.get("seat")) == ("moved", end["seat"]) else "does not follow from a move"


def _asked(case: RunEvidence, match_id: str, end: dict[str, Any], verb: str) -> str:
    player = case.player(match_id, end["seat"])
    asks = case.asked.get((player, match_id, end["request"]), [])
    return "" if any(ask.verb == verb for ask in asks) else f"was not asked for by {player}"


def _resigned(case: RunEvidence, match_id: str, entries: list[RecordedEvent]) -> str:
    return _asked(case, match_id, entries[-1].event, "resign")


def _agreed(case: RunEvidence, match_id: str, entries: list[RecordedEvent]) -> str:
    offer = next((entry.event for entry in reversed(entries) if entry.kind == "draw_offered"), None)
    if offer is None:
        return "was not offered"
    player = case.player(match_id, 3 - offer["seat"])
    asks = case.asked.get((player, match_id, entries[-1].event["request"]), [])
    return "" if any(ask.verb == "answer" and ask.accept for ask in asks) else f"was not agreed to by {player}"


def _on_time(case: RunEvidence, match_id: str, entries: list[RecordedEvent]) -> str:
    begun = next(entry.event for entry in reversed(entries) if entry.kind in ("started", "resumed", "moved"))
    return "" if begun["turn"] == entries[-1].event["seat"] else "lets a seat lose on time that was not to move"


def _struck_out(case: RunEvidence, match_id: str, entries: list[RecordedEvent]) -> str:
    seat, most = entries[-1].event["seat"], entries[0].event["policy"]["illegal_moves"]
    strikes = sum(entry.kind == "refused" and entry.event["seat"] == seat for entry in entries)
    return "" if strikes == most else f"came after {strikes} strikes of {most}"


def absent(case: RunEvidence, match_id: str, entries: list[RecordedEvent]) -> str:
    """Check that the players who are said to have been absent were absent, and long enough."""
    end, policy = entries[-1].event, entries[0].event["policy"]
    present, since = [False, False], [entries[0].event["at"]] * 2
    waiting = entries[0].event["at"]
    for entry in entries[:-1]:
        event, kind = entry.event, entry.kind
        if kind in ("arrived", "left"):
            present[event["seat"] - 1] = kind == "arrived"
            since[event["seat"] - 1] = event["at"]
        elif kind == "interrupted":
            waiting, present = event["at"], [False, False]
        elif kind in ("started", "resumed"):
            since = [max(instant, event["at"]) for instant in since]
        elif kind == "moved":
            since[event["seat"] - 1] = event["at"]
    gone = [end["seat"]] if "seat" in end else [1, 2]
    if any(present[seat - 1] for seat in gone):
        return "is blamed on the absence of a player who was there"
    if end["winner"] and not present[end["winner"] - 1]:
        return "was won by the absence of a player by one who was not there either"
    no_show = end["reason"] == "no_show"
    due = waiting + policy["no_show_ms"] if no_show else max(since[n - 1] for n in gone) + policy["abandon_ms"]
    if not no_show and len(gone) == 2:
        due = min(due, _earliest_flag(entries))  # an absent player does not win on time
    return "" if end["at"] >= due else f"came before {due}"


def _earliest_flag(entries: list[RecordedEvent]) -> int:
    """Return the instant before which the flag of the player to move can't have fallen, whatever its credit."""
    begun = next(entry.event for entry in reversed(entries) if entry.kind in ("started", "resumed", "moved"))
    at: int = begun["at"]
    cap_ms: int = entries[0].event["policy"]["move_cap_ms"]
    if entries[0].event["time"] == "none":
        return at + cap_ms
    remaining_ms: int = begun["clocks"][begun["turn"] - 1]["remaining_ms"]
    return at + min(cap_ms, remaining_ms)


def _organised(case: RunEvidence, match_id: str, entries: list[RecordedEvent]) -> str:
    return (
        "" if entries[-1].event["by"] in (ORGANISER, entries[0].event["creator"]) else "was not ended by the organiser"
    )


BORNE_OUT: dict[str, Callable[[RunEvidence, str, list[RecordedEvent]], str]] = {
    "rules": _by_rules,
    "agreement": _agreed,
    "resignation": _resigned,
    "time": _on_time,
    "rule_violation": _struck_out,
    "absence": absent,
    "organiser": _organised,
}


def without_faults_nobody_forfeits(case: RunEvidence) -> Iterator[Violation]:
    """Check that in a run without faults nobody lost by time, absence or a strike.

    A tournament that ends at its time, or by its test, ends its matches that go on. An organiser who corrects one may.
    """
    if not case.plan.calm:
        return
    corrected = {asked.of for asked in case.history.decisions}
    ending = {maker(id_) for id_, records in case.tournaments.items() if _ends_at_any_time(records[-1])}
    for match_id, entries in case.matches.items():
        end = entries[-1].event
        if end.get("by") in ending or entries[0].event.get("label") in corrected:
            continue
        if end.get("cause") in ("time", "absence", "rule_violation", "organiser"):
            yield Violation("Without faults nobody forfeits", f"{match_id}: {end}")


def _ends_at_any_time(record: StoredRecord) -> bool:
    event = tournament_log.event_of(record)
    return isinstance(event, ev.Ended) and event.end in (ev.End.TIME, ev.End.DECIDED)


def nothing_unforeseen_happened(case: RunEvidence) -> Iterator[Violation]:
    """Check that there was no uncaught exception, and no error that the arbiter logged about itself."""
    for what in case.history.unforeseen:
        yield Violation("Nothing unforeseen", what)


CHECKS = (everything_ends, ends_are_typed, without_faults_nobody_forfeits, nothing_unforeseen_happened)
