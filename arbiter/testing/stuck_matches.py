"""A checker, independent of the match's state machine, that finds every match that would never make progress again.

An unfinished match must be making progress (a record of it is being stored, or it is being loaded) or waiting for a
clock (a deadline in the future, and a timer that fires in time). The checker computes the deadline again from the
match's published policy, because the state machine's own value could not show that the state machine is wrong. What
waits for a player whose stream the store keeps waits for a moment at a time; that it ends is not checked here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from arbiter.matches.clock import available
from arbiter.matches.match import Match, Phase
from arbiter.service.matches.live import LiveMatches
from arbiter.service.matches.live_match import LiveMatch
from arbiter.service.matches.timers import OPENS_MS

GRACE_MS = 1  #: times are whole milliseconds, timers are not


class NextStep(StrEnum):
    """What will happen to a match next."""

    PROGRESSING = "progressing"
    WAITING = "waiting"
    ENDED = "ended"


class StuckMatch(NamedTuple):
    """A match that would never make progress again, and the evidence."""

    match_id: str
    why: str


def sweep(matches: LiveMatches, recoveries: int, unfinished: Collection[str], now_ms: int) -> list[StuckMatch]:
    """Return the stuck matches among the live matches and those that the journal lists as unfinished (by id).

    Call it in the event loop of the timers, while no callback is ready. recoveries: how many failed writes are being
    recovered from. now_ms: the arbiter's clock.
    """
    live = {match.newest.id: match for match in matches}
    found = [
        StuckMatch(match_id, verdict)
        for match_id, match in live.items()
        if not isinstance(verdict := standing(match, now_ms), NextStep)
    ]
    found += [
        StuckMatch(match_id, "it has not ended, and nobody looks after it")
        for match_id in unfinished
        if match_id not in live and not recoveries
    ]
    broken = [match_id for match_id, match in live.items() if match.failed or match.waiting is not None]
    if len(broken) > recoveries:
        found += [StuckMatch(match_id, "its write failed, and it is not read again") for match_id in broken]
    return found


def standing(live: LiveMatch, now_ms: int) -> NextStep | str:
    """Return what will happen to a live match next, or the evidence that it is stuck."""
    match = live.newest
    if live.writing or live.failed or live.waiting is not None:
        return NextStep.PROGRESSING
    if match.phase is Phase.ENDED:
        return "it has ended, and is looked after all the same"
    if live.durable is not match and (live.durable is None or live.durable.revision != match.revision):
        return "what it has done is neither stored nor being stored"
    due_ms = latest(match)
    if live.waited == match.since:  # for a player who may ask for its stream again: it is looked at again and again
        due_ms = max(due_ms, now_ms + OPENS_MS)
    if due_ms + GRACE_MS < now_ms:
        return f"it was due at {due_ms}, {now_ms - due_ms} ms ago"
    return _timer(live, due_ms, now_ms) or NextStep.WAITING


def _timer(live: LiveMatch, due_ms: int, now_ms: int) -> str:
    """Return what is wrong with the timer of a match, or ''."""
    if live.timer is None or live.timer.cancelled():
        return "no timer is set"
    rings_ms = now_ms + (live.timer.when() - asyncio.get_running_loop().time()) * 1000
    if rings_ms > due_ms + GRACE_MS:
        return f"its timer rings {rings_ms - due_ms:.0f} ms too late"
    if rings_ms < now_ms - GRACE_MS:
        return f"its timer should have rung {now_ms - rings_ms:.0f} ms ago"
    return ""


def latest(match: Match) -> int:
    """Return the time at which the match's policy makes something happen even if nobody acts."""
    policy = match.created.policy
    match match.phase:
        case Phase.PENDING:
            return match.since + policy.no_show_ms
        case Phase.PAUSED:
            return match.since + policy.resume_ms
    seat = match.turn - 1
    think = min(available(match.controls[seat], match.clocks[seat]), policy.move_cap_ms)
    credit = policy.credit.hand_over_most_ms + min(policy.credit.network_most_ms, match.banks[seat])
    flag = match.since + think + credit
    gone = [since for since in match.away if since is not None]
    if not gone or not policy.abandon_ms:
        return flag
    return min(flag, max(gone) + policy.abandon_ms)  # while both are away, neither has abandoned the match
