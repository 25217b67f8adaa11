"""A page whose rules run in another process waits for them, for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Thread

import pytest
from starlette.requests import Request
from starlette.responses import Response

from arbiter.errors import RulesAwaited
from arbiter.testing.clock import virtually
from arbiter.web.application import with_rules

VISIT = Request({"type": "http", "method": "GET", "path": "/", "headers": []})
MOST_S = 600.0


class Late:
    """A handler that has to wait for rules at its first calls. then: how an answer is reported."""

    def __init__(self, waits: int, then: Callable[[Callable[[], object]], object]) -> None:
        self.left = waits
        self._then = then

    async def answer(self, request: Request) -> Response:
        if self.left:
            self.left -= 1
            raise RulesAwaited("heap", self._then)
        return Response("here")


async def test_it_begins_again_each_time_the_rules_have_answered() -> None:
    late = Late(3, lambda report: Thread(target=report).start())
    assert (await with_rules(late.answer, MOST_S)(VISIT)).body == b"here"
    assert late.left == 0


@virtually
async def test_after_a_while_it_waits_no_more() -> None:
    begun = asyncio.get_running_loop().time()
    with pytest.raises(RulesAwaited):
        await with_rules(Late(1, lambda report: None).answer, MOST_S)(VISIT)
    assert asyncio.get_running_loop().time() - begun == pytest.approx(MOST_S)
