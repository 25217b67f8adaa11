"""Bots that a server starts: they accept challenges, keep one token each, and end with the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from arbiter.cli import bundled_bot, serve_bots
from arbiter.cli.serve_bots import NOTE
from arbiter.matches.match import Match
from arbiter.service.gate.player_calls import PlayerGate
from arbiter.service.players.accounts import Caller, Scope
from arbiter.testing.served import served

pytestmark = pytest.mark.long


async def test_a_bot_accepts_challenges_and_keeps_one_token() -> None:
    async with served() as server:
        arbiter = server.running.arbiter
        await server.token("walter")
        await server.token("random")
        walter = Caller("walter", "", frozenset({Scope.PLAY.value}))
        for number in (1, 2):
            made = asyncio.Event()

            def changed(match: Match, events: object, made: asyncio.Event = made) -> None:
                made.set()

            arbiter.match_listeners.append(changed)
            terms = PlayerGate.terms("pods", "1m", False, 1)
            await arbiter.challenges.challenge(walter, f"request {number}", "random", terms)
            async with serve_bots.playing(("random",), server.running, server.address, secured=False):
                async with asyncio.timeout(240):
                    await made.wait()
            tokens = await arbiter.accounts.tokens(Caller("", "", frozenset({"admin"})), "random", "", 100)
            assert [token.note for token in tokens if not token.revoked].count(NOTE) == 1
            arbiter.match_listeners.remove(changed)


async def test_a_bot_that_ends_is_restarted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun, playing = asyncio.Queue[Any](), bundled_bot.playing

    @asynccontextmanager
    async def noted(*given: Any) -> AsyncIterator[bundled_bot.BundledBot]:
        async with playing(*given) as bot:
            begun.put_nowait(bot)
            yield bot

    monkeypatch.setattr(bundled_bot, "playing", noted)
    async with served() as server:
        async with serve_bots.playing(("random",), server.running, server.address, secured=False):
            async with asyncio.timeout(240):
                (await begun.get())._process.kill()
                again = await begun.get()
        assert again._process.returncode is not None  # the bot ends with the server
    assert "it is started again in 1 s." in capsys.readouterr().out
