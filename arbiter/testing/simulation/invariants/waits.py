"""Waits for the log: while nobody can use it, no player is charged for a turn, or a stream, that it is kept from.

What the policy does charge is left out: a player's own thought; the time in which it asks for no stream; a wait of less
than `limits.stall_ms`; and a turn that has been interrupted before at the same ply, since it begins again only once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from arbiter.config import Limits
from arbiter.service.matches.attendance import BEFORE_MS
from arbiter.service.play.waits import SILENCE_MS
from arbiter.service.sharing.news import RARE_S
from arbiter.testing.clock import NOON_MS
from arbiter.testing.simulation.invariants.clocks import Control
from arbiter.testing.simulation.invariants.run_evidence import RecordedEvent, RunEvidence, Violation
from arbiter.testing.simulation.observations import AskedStream, SentTurn
from arbiter.testing.simulation.plan import Fault

WAIT: Final = "The wait for the log is charged to nobody"
READY: Final = "No match starts before its players are ready"
SLACK_MS: Final = 50  #: this much longer a wait has to be: clocks differ, and messages take a moment
MET_MS: Final = 1_000  #: for this much of a wait the log must have been locked
AGAIN_MS: Final = 2_000  #: a player who asks for a stream so soon after its last one was ended has not been away
KEPT_MS: Final = SILENCE_MS + SLACK_MS  #: a request that was given up after this long was in vain
NOTICED_MS: Final = round(1_000 * RARE_S) + SLACK_MS  #: so soon a server notices that the log is locked
WRONG_MS: Final = 20  #: a server whose clock is wrong by more can't measure a wait


class Turn(NamedTuple):
    """A turn that was charged to its player: its beginning and its end, as instants of the record.

    ledger: None if the flag fell. due: when it had to fall, for a turn without credit. again: an earlier beginning of
    the turn was interrupted.
    """

    match_id: str
    player: str
    ply: int
    since: int
    until: int
    ledger: dict[str, Any] | None
    due: float
    again: bool
    event: dict[str, Any]


def waits_for_the_log_are_charged_to_nobody(case: RunEvidence) -> Iterator[Violation]:
    """Check that a turn that its player got late, because the log was locked, began again before it was charged.

    The wait begins with the turn, or when its player asks for the stream on which it gets it; with an earlier one, if
    servers have sent the player away, or if it was not told of the turn and the log has been locked ever since.
    """
    if not case.history.holds:
        return
    leaps = Fault.LEAP in case.plan.faults  # then the beginning of a turn can't be compared with virtual time
    handed: dict[tuple[str, str, int, int], list[SentTurn]] = {}
    for each in case.history.handed:
        handed.setdefault((each.player, each.match_id, each.ply, each.since), []).append(each)
    for match_id in case.matches:
        for turn in _turns(case, match_id):
            got = handed.get((turn.player, match_id, turn.ply, turn.since), [])
            what = None if turn.again else ("" if leaps else _late(case, turn, got)) or _never(case, turn, got)
            if what:
                yield Violation(WAIT, f"{match_id} ply {turn.ply}: {turn.player} {what} in {turn.event}")


def nobody_is_absent_whom_the_log_keeps(case: RunEvidence) -> Iterator[Violation]:
    """Check that no match ended by the absence of a player who waited for its stream, because the log was locked."""
    if not case.history.holds or case.has_jumps:
        return
    for match_id, entries in case.matches.items():
        event = entries[-1].event
        if entries[-1].kind != "ended" or event["cause"] != "absence":
            continue
        for seat in (event["seat"],) if event.get("seat") else (1, 2):
            if _is_there(entries, seat):
                continue
            player = case.player(match_id, seat)
            since_ms, due_ms = _absence(entries, seat)
            found = _waiting(case, player, since_ms, due_ms, event["at"] - NOON_MS)
            if found is not None:
                yield Violation(WAIT, f"{match_id}: {player} waits {found} in {event}")


def _is_there(entries: list[RecordedEvent], seat: int) -> bool:
    """Return whether a match had the player of a seat at its end: it waited for the other one."""
    kinds = [entry.kind for entry in entries if entry.kind in ("arrived", "left") and entry.event["seat"] == seat]
    return kinds[-1:] == ["arrived"]


def _absence(entries: list[RecordedEvent], seat: int) -> tuple[float, float]:
    """Return since when a match waited for a player, and until when, in virtual time."""
    policy = entries[0].event["policy"]
    if entries[-1].event["reason"] == "no_show":
        since, lasts_ms = entries[0].event["at"], policy["no_show_ms"]
    else:
        left = [entry.event["at"] for entry in entries if entry.kind == "left" and entry.event["seat"] == seat]
        since, lasts_ms = max(left, default=NOON_MS), policy["abandon_ms"]
    return since - NOON_MS, since + lasts_ms - NOON_MS


def _turns(case: RunEvidence, match_id: str) -> Iterator[Turn]:
    """Yield the turns of a match that were charged."""
    entries = case.matches[match_id]
    created = entries[0].event
    first, _, second = created["time"].partition(":")
    controls, cap_ms = [Control.of(first), Control.of(second or first)], created["policy"]["move_cap_ms"]
    ply, since, due, again = len(created.get("opening", ())), 0, 0.0, False
    for entry in entries:
        event, kind = entry.event, entry.kind
        ledger = event.get("ledger") or event.get("late", {}).get("ledger")
        if ledger is not None or (kind == "ended" and event["cause"] == "time"):
            until = event["at"] if ledger is None else ledger["arrived"]
            player = case.player(match_id, event["seat"])
            yield Turn(match_id, player, ply, since, until, ledger, due, again, event)
        if kind == "moved":
            ply, again = ply + 1, False
        if kind == "interrupted":
            again = True
        if kind in ("started", "resumed", "moved"):
            clock, control = event["clocks"][event["turn"] - 1], controls[event["turn"] - 1]
            left = [clock["remaining_ms"], clock.get("periods", 0), clock.get("moves_left", 0)]
            since, due = event["at"], event["at"] + min(control.available(left), cap_ms)


def _late(case: RunEvidence, turn: Turn, got: list[SentTurn]) -> str:
    """Return which hand-over of a turn came too late for it to be charged, or ''."""
    for sent in got:
        if sent.at_ms > turn.until or (case.plan.replicas > 1 and abs(_wrong_ms(sent)) > WRONG_MS):
            continue
        asked = _asked(case, sent)
        if asked is None or asked.asked_ms is None:
            continue
        first_ms = _first_asked_ms(case, asked)
        if case.plan.replicas > 1 and not any(other.true_ms < sent.true_ms for other in got):
            first_ms = _first_kept_ms(case, asked, first_ms)
        began_ms = max(sent.true_ms - (sent.at_ms - turn.since), first_ms)
        if (
            _is_long(case, began_ms, sent.true_ms)
            and not any(began_ms - SLACK_MS <= other.true_ms < sent.true_ms for other in got)
            and not _had_other_reasons(case, asked, began_ms, sent.true_ms)
            and (turn.ledger is None or turn.ledger["charged"] - (turn.until - sent.at_ms) > SLACK_MS)
        ):
            return f"is charged for a wait from {began_ms:.0f} to {sent.true_ms:.0f} ms, on {asked}"
    return ""


def _never(case: RunEvidence, turn: Turn, got: list[SentTurn]) -> str:
    """Return which stream a player waited for, or for a turn on it, until its flag fell, or ''."""
    if turn.ledger is not None or case.has_jumps:
        return ""
    due_ms, until_ms = turn.due - NOON_MS, turn.until - NOON_MS
    found = _waiting(case, turn.player, turn.since - NOON_MS, due_ms, until_ms)
    if found is None or any(found.began_ms - SLACK_MS <= sent.true_ms < due_ms for sent in got):
        return ""
    return f"loses on time, and waits {found}"


class Waiting(NamedTuple):
    """A wait for a stream, or for a turn on it, in virtual time."""

    began_ms: float
    asked: AskedStream


def _waiting(case: RunEvidence, player: str, since_ms: float, due_ms: float, until_ms: float) -> Waiting | None:
    """Return the wait that was too long, or None: before something that happened at `until_ms` was due."""
    streams = [
        each
        for each in case.history.asked_streams
        if each.player == player and each.asked_ms is not None and each.asked_ms < until_ms
    ]
    asked = max(streams, key=lambda each: each.asked_ms or 0.0, default=None)
    if asked is None or asked.asked_ms is None:
        return None
    has_ended = any(end_ms is not None and end_ms < until_ms + SLACK_MS for end_ms in (asked.over_ms, asked.cut_ms))
    if has_ended and not (case.plan.replicas == 1 and _may_come_back(asked, until_ms)):
        return None  # it has left, or was sent away
    began_ms = max(since_ms, _first_asked_ms(case, asked))
    is_long = _is_long(case, began_ms, min(due_ms, until_ms))
    return Waiting(began_ms, asked) if is_long and not _had_other_reasons(case, asked, began_ms, until_ms) else None


def _asked(case: RunEvidence, sent: SentTurn) -> AskedStream | None:
    """Return the last stream on which a turn may have been sent, or None."""
    streams = [
        each
        for each in case.history.asked_streams
        if (each.player, each.process) == (sent.player, sent.process)
        and each.begun_ms is not None
        and each.begun_ms <= sent.true_ms
        and (each.over_ms is None or each.over_ms >= sent.true_ms)
    ]
    return max(streams, key=lambda each: each.asked_ms or 0.0, default=None)


def _first_asked_ms(case: RunEvidence, asked: AskedStream) -> float:
    """Return since when a player has asked for its stream: servers that could not use the log may have sent it away.

    It has asked all the time if it soon asked again each time: after a server had ended its stream, or after it had
    given up a request that the same server kept for long. A stream that the player has lost itself is left out.
    """
    assert asked.asked_ms is not None
    first_ms = asked.asked_ms
    earlier = [each for each in case.history.asked_streams if each.player == asked.player]
    for each in sorted(earlier, key=lambda each: each.asked_ms or 0.0, reverse=True):
        if each.asked_ms is None or each.over_ms is None or each.asked_ms >= first_ms:
            continue
        was_sent_away = each.cut_ms is None or each.over_ms < each.cut_ms
        got_none = was_sent_away or (each.process == asked.process and _was_in_vain(each))
        if got_none and 0 <= first_ms - each.over_ms <= AGAIN_MS:
            first_ms = each.asked_ms
    return first_ms


def _first_kept_ms(case: RunEvidence, asked: AskedStream, first_ms: float) -> float:
    """Return since when a player has asked for its stream while the log was locked, whichever servers it has asked.

    first_ms: since when it has asked by the rule for one server. A server knows since when the log is silent, and not
    what was asked of the others. So this holds only for a player who was not told of its turn before.
    """
    for hold in case.history.holds:
        if not hold.began_ms <= first_ms <= hold.ended_ms:
            continue
        for each in sorted(case.history.asked_streams, key=lambda each: each.asked_ms or 0.0, reverse=True):
            if each.player != asked.player or each.asked_ms is None or each.asked_ms >= first_ms:
                continue
            if each.begun_ms is None and first_ms - (each.over_ms or first_ms) <= AGAIN_MS:
                first_ms = min(first_ms, max(each.asked_ms, hold.began_ms + NOTICED_MS))
    return first_ms


def _was_in_vain(asked: AskedStream) -> bool:
    """Return whether a player has given up a request for a stream that a server kept for long."""
    assert asked.asked_ms is not None
    assert asked.over_ms is not None
    return asked.begun_ms is None and asked.over_ms - asked.asked_ms >= KEPT_MS


def _may_come_back(asked: AskedStream, until_ms: float) -> bool:
    """Return whether a player, whose request was in vain, was expected to make another one at an instant."""
    return asked.over_ms is not None and until_ms - asked.over_ms <= AGAIN_MS and _was_in_vain(asked)


def _wrong_ms(sent: SentTurn) -> float:
    """Return by how much the clock of a server was wrong when it sent a turn."""
    return sent.at_ms - NOON_MS - sent.true_ms


def _is_long(case: RunEvidence, began_ms: float, ended_ms: float) -> bool:
    """Return whether a wait was too long to be charged, and a wait for the log."""
    most_ms = case.plan.limits.get("stall_ms", Limits().stall_ms)
    met_ms = sum(max(0.0, min(hold.ended_ms, ended_ms) - max(hold.began_ms, began_ms)) for hold in case.history.holds)
    return ended_ms - began_ms >= most_ms + SLACK_MS and met_ms >= MET_MS


def _had_other_reasons(case: RunEvidence, asked: AskedStream, began_ms: float, ended_ms: float) -> bool:
    """Return whether a player did not read its stream in a wait, or the server was stopped."""
    return any(since_ms <= ended_ms and began_ms <= until_ms for since_ms, until_ms in asked.kept_waiting) or any(
        lost.how == "stopped"
        and lost.server == asked.server
        and lost.at_s * 1_000 <= ended_ms
        and (lost.until_s is None or began_ms <= lost.until_s * 1_000)
        for lost in case.history.lost
    )


def no_match_starts_before_its_players_are_ready(case: RunEvidence) -> Iterator[Violation]:
    """Check that a player who says when it is ready has said so before its match started, or has had its time.

    A player who has made a request in the match is there in any case. The first clock alone is checked. What comes
    while a server is stopped is decided once it goes on, at the instant at which it was stopped.
    """
    if case.has_jumps:
        return
    preparing = {each.name for each in case.plan.players if each.prepares_ms is not None}
    said = {(each.player, each.match_id, each.true_ms) for each in case.history.ready}
    said |= {(each.player, each.ask.match_id, each.true_ms) for each in case.history.asked}
    stops = [
        (lost.at_s * 1_000, lost.until_s * 1_000)
        for lost in case.history.lost
        if lost.how == "stopped" and lost.until_s is not None
    ]
    for match_id, entries in case.matches.items():
        created, started = entries[0].event, next((each.event for each in entries if each.kind == "started"), None)
        policy = created["policy"]
        if started is None or policy["start"] == "at_once":
            continue
        lasts_ms = min(policy.get("ready_ms", 0), policy["no_show_ms"] - BEFORE_MS) - SLACK_MS
        if started["at"] >= created["at"] + lasts_ms:
            continue
        decided_ms = started["at"] - NOON_MS
        until_ms = SLACK_MS + max(
            (end_ms for since_ms, end_ms in stops if since_ms - SLACK_MS <= decided_ms <= end_ms), default=decided_ms
        )
        for player in preparing & set(created["players"]):
            if not any((who, which) == (player, match_id) and at_ms <= until_ms for who, which, at_ms in said):
                yield Violation(READY, f"{match_id}: {player} was not ready at {started}")


CHECKS = (
    waits_for_the_log_are_charged_to_nobody,
    nobody_is_absent_whom_the_log_keeps,
    no_match_starts_before_its_players_are_ready,
)
