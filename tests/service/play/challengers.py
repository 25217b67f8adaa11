"""What tests of challenges and seeks share."""

from __future__ import annotations

from typing import Any

from arbiter.errors import Reason
from arbiter.service.play.challenges import Terms
from arbiter.service.players.accounts import Caller
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from tests.refusals import refusing

TERMS = Terms("pods", "1m+1s", False, 1)


def of(kind: type[Any], bot: StreamReader) -> list[Any]:
    return [item for item in bot.received if isinstance(item, kind)]


async def pair(server: InMemoryArbiter) -> tuple[Caller, Caller]:
    return await server.caller("alice"), await server.caller("bob")


async def gone(server: InMemoryArbiter, caller: Caller, challenge_id: str) -> None:
    for deed in (
        server.arbiter.challenges.accept(caller, challenge_id),
        server.arbiter.challenges.decline(caller, challenge_id, ""),
    ):
        with refusing(Reason.CHALLENGE_NOT_FOUND) as caught:
            await deed
        assert caught.value.facts["id"] == challenge_id
