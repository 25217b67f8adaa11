"""Faults of those who lose their connection."""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import ClassVar

from arbiter_client import addresses, runner, seeking, session, slots
from arbiter_client.errors import ArbiterError, Reason
from arbiter_client.outbox import Outbox

from tests.conformance.spoiled.fault import Fault, asked_once


class ChangesWhatItRepeats(Fault):
    """Says more with a move as it sends it again on a new stream."""

    fails = ("reconnect.lost-move", "reconnect.lost-answer", "reconnect.order")

    def __init__(self):
        super().__init__()
        self.said: set[str] = set()
        self.before: set[str] = set()

    def opened(self):
        self.before = set(self.said)

    def up(self, act):
        if act.HasField("move"):
            self.said.add(act.request_id)
            if act.request_id in self.before:
                act.move.comment.evaluation = 500
        return [act]


class RepeatsBackwards(Fault):
    """Sends unanswered requests again with the last one first."""

    fails = ("reconnect.order",)

    def patch(self):
        release = Outbox.release

        def release_backwards(outbox):
            release(outbox)
            outbox._queue.reverse()

        Outbox.release = release_backwards


class Ends(Fault):
    """Ends for good with a session that ended for now."""

    reason: ClassVar[str] = ""

    def patch(self):
        passes = session.passes
        session.passes = lambda error: passes(error) and error.reason != self.reason


class EndsInSilence(Ends):
    """Ends for good with a session that ended in silence."""

    fails = ("reconnect.session-silent",)
    reason = Reason.SESSION_SILENT


class EndsWhenSlow(Ends):
    """Ends for good with a session that it read too slowly."""

    fails = ("reconnect.reader-too-slow",)
    reason = Reason.READER_TOO_SLOW


class EndsWhenLimited(Ends):
    """Ends for good with a session on which it said too much."""

    fails = ("reconnect.rate-limited",)
    reason = Reason.RATE_LIMITED


class EndsWithTheServer(Ends):
    """Ends for good with a server that is started again."""

    fails = ("reconnect.draining", "reconnect.restart", "reconnect.draining-address")
    reason = Reason.DRAINING


class ResignsForAnOutage(Fault):
    """Takes it for its own mistake that the server was away as it asked."""

    fails = ("reconnect.long-outage", "reconnect.calls-fail")

    def patch(self):
        runner.BotRunner._asked_of_bot = asked_once


class SeeksForEver(Fault):
    """Keeps its seeks open, however many matches it is to play."""

    fails = ("seeks.matches",)

    def patch(self):
        slots.MatchSlots.left = property(lambda one: None)
        slots.MatchSlots.full = property(lambda one: False)


class SeeksInVain(Fault):
    """Leaves terms alone that the server does not take."""

    fails = ("seeks.unknown-game", "seeks.malformed-time")

    def patch(self):
        make = seeking.Seeker._make

        async def leave_alone(one, place):
            await make(one, place)

        seeking.Seeker._make = leave_alone


class DoesNotWait(Fault):
    """Connects again at once, whatever the server asks for as it stops."""

    fails = ("reconnect.draining",)

    def patch(self):
        asked = ArbiterError.retry_after_s.fget

        def asked_s(error):
            return 0.0 if error.reason == Reason.DRAINING else asked(error)

        ArbiterError.retry_after_s = property(asked_s)


class Hammers(Fault):
    """Tries fifty times a second where the server is, while it has no stream."""

    fails = ("reconnect.backoff",)

    def patch(self):
        threading.Thread(target=self.hammer, daemon=True).start()

    def hammer(self):
        host, _, port = os.environ["ARBITER_SERVER"].rpartition(":")
        while True:
            time.sleep(0.02)
            if self.call is not None and self.call.done():
                with socket.socket() as one:
                    one.connect_ex((host, int(port)))


class BearsSilence(Fault):
    """Waits for ever for a server that says nothing more."""

    fails = ("reconnect.silence",)

    def down(self, item):
        if item.HasField("hello"):
            item.hello.silence_most_ms = 1_000_000_000
        return [item]


class KnowsOneAddress(Fault):
    """Uses the first address only."""

    fails = ("reconnect.next-address", "reconnect.draining-address")

    def patch(self):
        os.environ["ARBITER_SERVER"] = os.environ["ARBITER_SERVER"].partition(",")[0]


class StaysWhereAServerStops(Fault):
    """Waits for the server that is about to stop, although there is another address."""

    fails = ("reconnect.draining-address",)

    def patch(self):
        addresses.error_code = lambda error: ""
