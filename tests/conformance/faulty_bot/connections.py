"""Faults when a connection is lost."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import ClassVar

from arbiter_client import addresses, channel, runner, seeking, session, slots
from arbiter_client.errors import ArbiterError, Reason
from arbiter_client.outbox import Outbox
from arbiter_protos.v1.play_pb2 import PlayAct, PlayItem

from tests.conformance.faulty_bot.fault import Fault, asked_once, replace

LONG_S = 60.0  #: a pause that no clause waits for
SLOW_S = 1.0  #: longer than the credit of a turn


class ChangesWhatItRepeats(Fault):
    """Changes a move when it sends it again on a new stream."""

    fails = ("reconnect.lost-move", "reconnect.lost-answer", "reconnect.order")

    def __init__(self) -> None:
        super().__init__()
        self.said: set[str] = set()
        self.before: set[str] = set()

    def opened(self) -> None:
        self.before = set(self.said)

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        if act.HasField("move"):
            self.said.add(act.request_id)
            if act.request_id in self.before:
                act.move.comment.evaluation = 500
        return [act]


class RepeatsInReverseOrder(Fault):
    """Sends unanswered requests again in reverse order."""

    fails = ("reconnect.order",)

    def patch(self) -> None:
        release = Outbox.release

        def release_backwards(outbox: Outbox) -> None:
            release(outbox)
            outbox._queue.reverse()

        replace(Outbox, "release", release_backwards)


class Exits(Fault):
    """Exits when a stream ends for a while."""

    reason: ClassVar[str] = ""

    def patch(self) -> None:
        passes = session.passes
        replace(session, "passes", lambda error: passes(error) and error.reason != self.reason)


class ExitsOnSilence(Exits):
    """Exits when a stream ends because of silence."""

    fails = ("reconnect.session-silent",)
    reason = Reason.SESSION_SILENT


class ExitsWhenTooSlow(Exits):
    """Exits when a stream ends because it was read too slowly."""

    fails = ("reconnect.reader-too-slow",)
    reason = Reason.READER_TOO_SLOW


class ExitsWhenLimited(Exits):
    """Exits when a stream ends because too many requests were sent."""

    fails = ("reconnect.rate-limited",)
    reason = Reason.RATE_LIMITED


class ExitsWithTheServer(Exits):
    """Exits when the server is restarted."""

    fails = ("reconnect.draining", "reconnect.restart", "reconnect.draining-address")
    reason = Reason.DRAINING


class ResignsForAnOutage(Fault):
    """Takes an unavailable server for its own mistake."""

    fails = ("reconnect.long-outage", "reconnect.calls-fail")

    def patch(self) -> None:
        replace(runner.BotRunner, "_asked_of_bot", asked_once)


class WaitsThoughTheServerIsBack(Fault):
    """Ends none of its pauses when the server is back."""

    fails = ("reconnect.charge", "reconnect.charge-gap", "reconnect.charge-away", "seeks.outage")

    def patch(self) -> None:
        async def rest(one: channel.Connection, seconds: float, greetings: int, error: Exception) -> None:
            await asyncio.sleep(max(seconds, LONG_S))

        replace(channel.Connection, "rest", rest)


class IsSlow(Fault):
    """No fault: every call that the bot makes takes a second."""

    def patch(self) -> None:
        persist = channel.Connection.persist

        async def slowly(
            one: channel.Connection, attempt: Callable[[], Awaitable[object]], again: bool = True
        ) -> object:
            async def late() -> object:
                await asyncio.sleep(SLOW_S)
                return await attempt()

            return await persist(one, late, again)

        replace(channel.Connection, "persist", slowly)


class KeepsItsSeeksOpen(Fault):
    """Keeps its seeks open, however many matches it plays."""

    fails = ("seeks.matches", "seeks.taken")

    def patch(self) -> None:
        replace(slots.MatchSlots, "holds", lambda one, seeks: True)


class ForgetsAnAcceptedSeek(Fault):
    """Forgets a seek that it withdraws too late, before the stream has said which match it became."""

    fails = ("seeks.taken",)

    def patch(self) -> None:
        withdraw = seeking.Seeker._withdraw

        async def forget(one: seeking.Seeker, place: seeking.Place) -> None:
            await withdraw(one, place)
            place.challenge_id = ""

        replace(seeking.Seeker, "_withdraw", forget)


class KeepsRefusedTerms(Fault):
    """Does not change terms that the server refuses."""

    fails = ("seeks.unknown-game", "seeks.unknown-variant")

    def patch(self) -> None:
        make = seeking.Seeker._make

        async def leave_alone(one: seeking.Seeker, place: seeking.Place) -> None:
            await make(one, place)

        replace(seeking.Seeker, "_make", leave_alone)


class IgnoresTheDelay(Fault):
    """Reconnects at once, whatever delay the stopping server asks for."""

    fails = ("reconnect.draining",)

    def patch(self) -> None:
        asked = vars(ArbiterError)["retry_after_s"].fget

        def asked_s(error: ArbiterError) -> float:
            return 0.0 if error.reason == Reason.DRAINING else float(asked(error))

        replace(ArbiterError, "retry_after_s", property(asked_s))


class ReconnectsWithoutPauses(Fault):
    """Calls the server fifty times a second while it has no stream."""

    fails = ("reconnect.backoff",)

    def patch(self) -> None:
        threading.Thread(target=self.hammer, daemon=True).start()

    def hammer(self) -> None:
        host, _, port = os.environ["ARBITER_SERVER"].rpartition(":")
        while True:
            time.sleep(0.02)
            if self.call is not None and self.call.done():
                with socket.socket() as one:
                    one.connect_ex((host, int(port)))


class WaitsForASilentServer(Fault):
    """Waits for ever for a silent server."""

    fails = ("reconnect.silence",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.HasField("hello"):
            item.hello.silence_most_ms = 1_000_000_000
        return [item]


class UsesOneAddress(Fault):
    """Uses only the first address."""

    fails = ("reconnect.next-address", "reconnect.draining-address")

    def patch(self) -> None:
        os.environ["ARBITER_SERVER"] = os.environ["ARBITER_SERVER"].partition(",")[0]


class BeginsAtTheSecondAddress(Fault):
    """Tries the second address first, as a bot does on a busy machine that has given up the first one."""

    def patch(self) -> None:
        os.environ["ARBITER_SERVER"] = ",".join(reversed(os.environ["ARBITER_SERVER"].split(",")))


class StaysWhereAServerStops(Fault):
    """Waits for a stopping server although there is another address."""

    fails = ("reconnect.draining-address",)

    def patch(self) -> None:
        replace(addresses, "error_code", lambda error: "")
