"""Streams: nothing is sent before it is durable; streams are ordered, unique, gap-free, resumable and bookmarked."""

from __future__ import annotations

from collections.abc import Iterator

from arbiter.testing.guarantees import Bookmarked, Broken, Received, bookmarked, kept, resumable
from arbiter.testing.simulation.invariants.run_evidence import RunEvidence, Violation
from arbiter.testing.simulation.observations import ObservedEvents
from arbiter.testing.simulation.plan import GUEST, Fault

DURABLE = "No event is seen before it is durable"
OVER = "A stream that the server ends is over"
HEARD = "Revocation is heard"
HEARS_S = 1.5  #: in which a server hears of what another one has revoked; a second, if the store does not fail
KNOWN_S = 10.0  #: after which a record is known to every server that is not cut off from the store
AT_ONCE_S = 3.0  #: a Play stream has two seconds to send what is queued


def observers_saw_what_is_stored(case: RunEvidence) -> Iterator[Violation]:
    """Check that each event that an observer received was stored when it left the server, and is the stored event."""
    for reading in case.history.readings:
        for received, place, head in reading.heads:
            entry = case.entry(received.match_id, received.revision)
            if entry is None or entry.sequence > head:
                yield Violation(DURABLE, f"{received.match_id} {received.revision} was sent at head {head}")
            elif entry.body != received.body or (not reading.match_id and entry.sequence != place):
                yield Violation("Streams tell the record", f"{received} at {place} stands as {entry}")


def players_saw_what_is_stored(case: RunEvidence) -> Iterator[Violation]:
    """Check that each turn and each result that a player received follows from stored records."""
    for handed in case.history.handed:
        entry = case.entry(handed.match_id, handed.revision)
        if entry is None or entry.sequence > handed.head:
            yield Violation(DURABLE, f"{handed}")
    for result in case.history.results:
        last = case.matches[result.match_id][-1] if result.match_id in case.matches else None
        if last is None or last.kind != "ended" or last.sequence > result.head:
            yield Violation(DURABLE, f"{result}")
            continue
        words = tuple(last.event.get(name, 0) for name in ("result", "winner", "reason", "cause", "party", "seat"))
        if (words, last.sequence) != (result.words, result.cursor):
            yield Violation("Results are those of the record", f"{result} stands as {last}")


def streams_keep_their_promises(case: RunEvidence) -> Iterator[Violation]:
    """Check the five guarantees of streams, over all the connections that an observer needed."""
    for reading in case.history.readings:
        try:
            _check(case, reading)
        except Broken as broken:
            yield Violation(broken.promise, f"on the stream of {_named(reading)}: {broken}")


def _named(reading: ObservedEvents) -> str:
    return reading.match_id or f"everything with label {reading.label!r}"


def _check(case: RunEvidence, reading: ObservedEvents) -> None:
    parts = [[item for item in part if isinstance(item, Received)] for part in reading.parts]
    events = [event for part in parts for event in part]
    begins = reading.begins
    if begins is None:
        raise Broken("Bookmarked", "the beginning", "nothing ever came")
    if reading.match_id:
        kept(events)
        place = 0
        for part in reading.parts:
            if any(isinstance(item, Bookmarked) for item in part):
                bookmarked(part, after=place)
            place = max([place, *(item.revision for item in part if isinstance(item, Received))])
        if not reading.whole:
            raise Broken("Gap-free", reading.match_id, "the stream never came to the match's end")
    else:
        if not reading.label:
            kept(events, {record.match_id: record.revision for record in case.records[:begins]})
        tokens = {(event.match_id, event.revision): place for event, place, _ in reading.heads}
        bookmarked((item for part in reading.parts for item in part), begins, tokens)
    wanted = [
        Received(record.match_id, record.revision, record.body)
        for record in case.records
        if _is_wanted(case, reading, record.match_id) and (reading.match_id or record.sequence > begins)
    ]
    resumable(wanted, parts)


def _is_wanted(case: RunEvidence, reading: ObservedEvents, match_id: str) -> bool:
    if reading.match_id:
        return match_id == reading.match_id
    if match_id not in case.matches:  # a tournament
        return not reading.label
    return not reading.label or case.matches[match_id][0].event.get("label", "") == reading.label


def results_reach_everybody(case: RunEvidence) -> Iterator[Violation]:
    """Check that each player received the end of each of its matches, however often it was disconnected.

    The guest never comes.
    """
    told = {(result.player, result.match_id) for result in case.history.results}
    for match_id, entries in case.matches.items():
        if entries[-1].kind != "ended":
            continue
        for player in entries[0].event["players"]:
            if player != GUEST and (player, match_id) not in told:
                yield Violation("Every result is received", f"{player} never received the end of {match_id}")


def turns_reach_their_player(case: RunEvidence) -> Iterator[Violation]:
    """Check that nobody lost on time in a turn that was not sent to it, although its stream was open and was read."""
    told = {(handed.player, handed.match_id, handed.ply, handed.since) for handed in case.history.handed}
    for match_id, entries in case.matches.items():
        last = entries[-1]
        if last.kind != "ended" or last.event["cause"] != "time" or "late" in last.event:
            continue
        begun = next(entry for entry in reversed(entries) if entry.kind in ("started", "resumed", "moved"))
        player = case.player(match_id, last.event["seat"])
        ply = len(entries[0].event.get("opening", ())) + sum(entry.kind == "moved" for entry in entries)
        known_s = case.history.stored_s[begun.sequence - 1] + KNOWN_S if case.plan.replicas > 1 else 0.0
        there = any(
            stream.player == player
            and stream.opened < begun.sequence
            # The queue may have been emptied for the first time just before the turn was put into it.
            and sum(begun.sequence <= head < last.sequence and at_s >= known_s for head, at_s in stream.taken) > 1
            for stream in case.history.streams
        )
        if there and (player, match_id, ply, begun.event["at"]) not in told:
            yield Violation(
                "Every turn is received", f"{player} lost {match_id} on time at ply {ply}, whose turn it never received"
            )


def ended_streams_are_over(case: RunEvidence) -> Iterator[Violation]:
    """Check that a stream that the server ended leaves the counts at once, and its call in the server's patience.

    That takes longer if the server stands still.
    """
    if Fault.SERVER_STALL in case.plan.faults:
        return
    for ended in case.history.ended:
        promise, soon_s = (HEARD, AT_ONCE_S + HEARS_S) if ended.elsewhere else (OVER, AT_ONCE_S)
        if ended.counted_s is None or ended.counted_s > soon_s:
            yield Violation(promise, f"it still counts: {ended}")
        if ended.open_s is None or ended.open_s > soon_s + ended.silence_s * ended.held:
            yield Violation(promise, f"its call is open: {ended}")


CHECKS = (
    ended_streams_are_over,
    observers_saw_what_is_stored,
    players_saw_what_is_stored,
    streams_keep_their_promises,
    results_reach_everybody,
    turns_reach_their_player,
)
