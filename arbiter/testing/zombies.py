"""No match is a zombie: a checker, apart from the machine, that names every match of which nothing would become.

A match that has not ended must be progressing (something of it is being stored, or it is being read again) or waiting
on a clock (a deadline that lies ahead, and a timer that will ring for it in time). The deadline is reckoned here anew,
from what the match's policy publishes: the machine's own figure would not show that the machine is wrong.
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

GRACE_MS = 1  #: instants are whole milliseconds, timers are not


class Standing(StrEnum):
    """What will become of a match next."""

    PROGRESSING = "progressing"
    WAITING = "waiting"
    ENDED = "ended"


class Zombie(NamedTuple):
    """A match of which nothing would become, and how that shows."""

    match_id: str
    why: str


def sweep(matches: LiveMatches, unfinished: Collection[str], now_ms: int) -> list[Zombie]:
    """Return the zombies among the live matches and those that the journal calls unfinished (by id).

    To be called in the loop that the timers are in, while nothing is ready. now_ms: the arbiter's clock.
    """
    live = {match.newest.id: match for match in matches}
    found = [
        Zombie(match_id, verdict)
        for match_id, match in live.items()
        if not isinstance(verdict := standing(match, now_ms), Standing)
    ]
    found += [
        Zombie(match_id, "it has not ended, and nobody looks after it")
        for match_id in unfinished
        if match_id not in live and not matches.recovery.pending
    ]
    broken = [match_id for match_id, match in live.items() if match.failed]
    if len(broken) > matches.recovery.pending:
        found += [Zombie(match_id, "its write failed, and it is not read again") for match_id in broken]
    return found


def standing(live: LiveMatch, now_ms: int) -> Standing | str:
    """Return what will become of a live match next, or how it shows that it is a zombie."""
    match = live.newest
    if live.writing or live.failed:
        return Standing.PROGRESSING
    if match.phase is Phase.ENDED:
        return "it has ended, and is looked after all the same"
    if live.durable is not match and (live.durable is None or live.durable.revision != match.revision):
        return "what it has done is neither stored nor being stored"
    due_ms = latest(match)
    if due_ms + GRACE_MS < now_ms:
        return f"it was due at {due_ms}, {now_ms - due_ms} ms ago"
    return _timer(live, due_ms, now_ms) or Standing.WAITING


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
    """Return the instant at which something becomes of a match without anybody doing anything, by its policy."""
    policy = match.created.policy
    match match.phase:
        case Phase.PENDING:
            return match.since + policy.no_show_ms
        case Phase.PAUSED:
            return match.since + policy.resume_ms
    seat = match.turn - 1
    think = min(available(match.controls[seat], match.clocks[seat]), policy.move_cap_ms)
    credit = policy.credit.hand_over_most_ms + min(policy.credit.network_most_ms, match.banks[seat])
    gone = [since + policy.abandon_ms for since in match.away if since is not None and policy.abandon_ms]
    return min([match.since + think + credit, *gone])
