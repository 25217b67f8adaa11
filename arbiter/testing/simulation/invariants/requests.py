"""Exactly once: an acknowledged request is in the record once, and the same request always got the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from arbiter.errors import Reason, Refusal
from arbiter.matches.requests import Receipt
from arbiter.testing.simulation.invariants.run_evidence import ANSWERS, RecordedEvent, RunEvidence, Violation
from arbiter.testing.simulation.observations import Request, SentAnswer
from arbiter.testing.simulation.plan import ORGANISER

NO_ANSWERS = (Reason.STORE_UNAVAILABLE, Reason.DRAINING)  #: these ask the client to send the same request again
STRIKES = (Reason.MOVE_ILLEGAL, Reason.MOVE_MALFORMED)


def answers_are_the_same(case: RunEvidence) -> Iterator[Violation]:
    """Check that a request got the same answer each time, except for answers that ask the client to retry."""
    answers: dict[tuple[str, str, str], list[Receipt | Refusal]] = {}
    for given in case.history.given:
        if _is_answer(case, given):
            answers.setdefault((given.player, given.match_id, given.request), []).append(given.answer)
    for (player, match_id, request), those in answers.items():
        for other in those[1:]:
            if _content(other) != _content(those[0]):
                yield Violation(
                    "Exactly once", f"request {request!r} of {player} to {match_id}: first {those[0]!r}, then {other!r}"
                )


def _is_answer(case: RunEvidence, given: SentAnswer) -> bool:
    """Return whether an answer must be the same each time."""
    answer = given.answer
    if isinstance(answer, Receipt):
        return True
    if answer.reason in NO_ANSWERS:
        return False
    if answer.reason is Reason.REQUEST_ID_REUSED:
        # With two different contents, it is chance which one arrives first.
        return len(case.asked.get((given.player, given.match_id, given.request), ())) < 2
    return answer.reason in STRIKES or not _refusal_limit_reached(case, given)


def _refusal_limit_reached(case: RunEvidence, given: SentAnswer) -> bool:
    """Return whether a match records no more refusals of a player: its policy limits how many it records."""
    entries = case.matches.get(given.match_id)
    if not entries:
        return False
    kept = sum(
        entry.kind == "rejected" and case.player(given.match_id, entry.event["seat"]) == given.player
        for entry in entries
    )
    most: int = entries[0].event["policy"]["kept_refusals"]
    return kept >= most


def _content(answer: Receipt | Refusal) -> Any:
    return answer if isinstance(answer, Receipt) else (answer.reason, answer.message, answer.facts)


def receipts_are_recorded(case: RunEvidence) -> Iterator[Violation]:
    """Check that an acknowledged request was stored before, is stored for ever, and is what was asked for."""
    for given in case.history.given:
        if not isinstance(given.answer, Receipt) or given.answer.kind is None:
            continue
        entry = case.entry(given.match_id, given.answer.revision)
        wrong = "is not in the record" if entry is None else _wrong(case, given, given.answer, entry)
        if wrong:
            yield Violation("No acknowledged move is lost", f"{given.answer!r} for {given.request!r} {wrong}")


def _wrong(case: RunEvidence, given: SentAnswer, receipt: Receipt, entry: RecordedEvent) -> str:
    event = entry.event
    if entry.sequence > given.head:
        return f"was given before place {entry.sequence} was stored"
    if (event["kind"], event.get("request")) != (receipt.kind, given.request):
        return f"stands for another event: {event}"
    owner = event["by"] if "by" in event else case.player(given.match_id, event["seat"]) if "seat" in event else None
    if owner not in (None, given.player):
        return f"was given to {given.player}, and is of {owner}"
    if event["kind"] == "moved" and event["ply"] + 1 != receipt.ply:
        return f"is for ply {receipt.ply}, recorded is {event['ply']}"
    return ""


def strikes_are_recorded(case: RunEvidence) -> Iterator[Violation]:
    """Check that the refusal of a move that counts as a strike was stored before it was sent."""
    struck = {
        (case.player(match_id, entry.event["seat"]), match_id, entry.event["request"]): entry.sequence
        for match_id, entries in case.matches.items()
        for entry in entries
        if entry.kind == "refused"
    }
    for given in case.history.given:
        if isinstance(given.answer, Refusal) and given.answer.reason in STRIKES:
            place = struck.get((given.player, given.match_id, given.request))
            if place is None or place > given.head:
                yield Violation("Exactly once", f"{given.answer} for {given.request!r} was given, and is not recorded")


def requests_happen_once(case: RunEvidence) -> Iterator[Violation]:
    """Check that each request is on record at most once, and that each ply was played once and was asked for."""
    for match_id, entries in case.matches.items():
        seen: set[tuple[str, str]] = set()
        plies = len(entries[0].event.get("opening", ()))
        for entry in entries:
            event = entry.event
            if entry.kind == "moved":
                if event["ply"] != plies:
                    yield Violation("Exactly once", f"{match_id}: ply {event['ply']} was played after ply {plies - 1}")
                plies += 1
            if entry.kind not in ANSWERS:
                continue
            player = case.player(match_id, event["seat"])
            if (player, event["request"]) in seen:
                yield Violation("Exactly once", f"{match_id}: request {event['request']!r} of {player} stands twice")
            seen.add((player, event["request"]))
            if not any(_fits(ask, event) for ask in case.asked.get((player, match_id, event["request"]), ())):
                yield Violation("Nobody plays for another", f"{match_id}: nobody asked for {event}")


def _fits(ask: Request, event: dict[str, Any]) -> bool:
    match event["kind"]:
        case "moved":
            return (ask.verb, ask.ply, ask.move) == ("move", event["ply"], event["move"])
        case "refused":
            return (ask.verb, ask.ply) == ("move", event["ply"])
        case "draw_offered":
            return ask.verb == "offer"
        case "draw_declined":
            return ask.verb == "answer" and not ask.accept
        case _:
            return True


def matches_are_made_once(case: RunEvidence) -> Iterator[Violation]:
    """Check that a request created one match, and that its creator got the answer only after it was stored."""
    made: dict[tuple[str, str], str] = {}
    for match_id, entries in case.matches.items():
        created = entries[0].event
        request = created["creator"], created["request"]
        if request in made:
            yield Violation("Exactly once", f"request {request!r} made {made[request]} and {match_id}")
        made[request] = match_id
    for told in case.history.made:
        entry = case.entry(told.match_id, 1)
        if entry is None or entry.sequence > told.head or made.get((ORGANISER, told.request)) != told.match_id:
            yield Violation("No acknowledged match is lost", f"{told} is not in the record")
    for plan in case.plan.matches:
        if (ORGANISER, plan.create.request) not in made:
            yield Violation("No request is lost", f"{plan.create.request!r} was repeated until the end, and not done")


CHECKS = (
    answers_are_the_same,
    receipts_are_recorded,
    strikes_are_recorded,
    requests_happen_once,
    matches_are_made_once,
)
