"""Faults after a refusal, and with request ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import grpc
from arbiter_client import channel, runner
from arbiter_client.errors import ArbiterError, from_rpc
from arbiter_protos.v1.play_pb2 import PlayAct, PlayItem, ResignAct

from tests.conformance.faulty_bot.fault import Fault, asked_once, reason, replace


class RepeatsNothing(Fault):
    """Does not repeat a request that was refused for a certain reason."""

    reason: ClassVar[str] = ""

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        return [] if reason(item) == self.reason else [item]


class RepeatsNoUnavailableRequests(RepeatsNothing):
    """Does not repeat a request that was refused because the store is unavailable."""

    fails = ("refusals.unavailable",)
    reason = "STORE_UNAVAILABLE"


class RepeatsNoLimitedRequests(RepeatsNothing):
    """Does not repeat a request that was refused because of a rate limit."""

    fails = ("refusals.exhausted",)
    reason = "RATE_LIMITED"


class RepeatsNoUnknownRefusals(RepeatsNothing):
    """Does not repeat a request that was refused for a reason that it does not know."""

    fails = ("refusals.unknown-temporary",)
    reason = "9999"


class Resigns(Fault):
    """Resigns when a move is refused for a certain reason."""

    reason: ClassVar[str] = ""

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if reason(item) == self.reason:
            self.say(PlayAct(request_id="late", match_id=item.answer.match_id, resign=ResignAct()))
        return [item]


class ResignsWhenLate(Resigns):
    """Resigns when a move came too late."""

    fails = ("refusals.ply-mismatch",)
    reason = "PLY_MISMATCH"


class ResignsOutOfTurn(Resigns):
    """Resigns when it was not its turn."""

    fails = ("refusals.not-your-turn",)
    reason = "NOT_YOUR_TURN"


class ResignsAfterTheEnd(Resigns):
    """Resigns when a match is not active."""

    fails = ("refusals.match-not-active",)
    reason = "MATCH_NOT_ACTIVE"


class RepeatsIllegalMoves(Fault):
    """Repeats a request that was refused as illegal."""

    fails = ("refusals.illegal",)

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[str, PlayAct] = {}

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        self.asked[act.request_id] = act
        return [act]

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if reason(item) == "MOVE_ILLEGAL":
            self.say(self.asked[item.answer.request_id])
            return []
        return [item]


class EndsItsStreamOnARefusal(Fault):
    """Ends its stream when the server says that there is no such match."""

    fails = ("refusals.one-match",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if reason(item) == "MATCH_NOT_FOUND":
            self.call.cancel()
        return [item]


class AsksOnce(Fault):
    """Does not ask again for legal moves after a temporary refusal, and takes it for its own mistake."""

    fails = ("refusals.call", "reconnect.long-outage", "reconnect.calls-fail")

    def patch(self) -> None:
        replace(runner.BotRunner, "_asked_of_bot", asked_once)

        async def ask_all(connection: channel.Connection, method: Callable[..., Any], request: Any) -> list[Any]:
            async def attempt() -> list[Any]:
                try:
                    return [part async for part in method(request, metadata=connection.metadata)]
                except grpc.aio.AioRpcError as failure:
                    error = from_rpc(failure, connection.address)
                    if isinstance(error, ArbiterError):
                        raise error from None
                    raise

            return await connection.persist(attempt)

        replace(channel.Connection, "ask_all", ask_all)


class ReusesRequestIds(Fault):
    """Uses the ply as the request id, so that all matches have the same ids."""

    fails = ("requests.ids",)

    def __init__(self) -> None:
        super().__init__()
        self.own: dict[tuple[str, str], str] = {}

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        if act.HasField("move"):
            name = f"ply-{act.move.ply}"
            self.own[act.match_id, name] = act.request_id
            changed = PlayAct()
            changed.CopyFrom(act)
            changed.request_id = name
            return [changed]
        return [act]

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.HasField("answer"):
            answer = item.answer
            answer.request_id = self.own.get((answer.match_id, answer.request_id), answer.request_id)
        return [item]
