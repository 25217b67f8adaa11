"""Browsers in which people are signed in."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.service.players.accounts import Accounts, Caller, Scope
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import CountingIds, MemoryDirectory
from tests.service.players.accounts import OPERATOR, registered


async def held(server: InMemoryArbiter, caller: Caller) -> Refusal:
    """Hold a stream open until it is refused; return the refusal."""
    with pytest.raises(Refusal) as refused:
        async with server.arbiter.streams.held(caller, "events"):
            await asyncio.Event().wait()
    return refused.value


class HandSetClock:
    def __init__(self) -> None:
        self.at_ms = 1_800_000_000_000

    def now_ms(self) -> int:
        return self.at_ms


class TestSessions:
    """Browsers in which people are signed in."""

    LIMITS = Limits(tokens_of_player=1, sessions_of_player=3, session_idle_ms=10_000, session_ms=50_000)

    def opened(self) -> tuple[list[Accounts], HandSetClock]:
        """Return the accounts of two servers with one store, and their clock."""
        directory, clock, ids = MemoryDirectory(), HandSetClock(), CountingIds()
        self.shut: list[tuple[str, str]] = []
        listeners = [lambda *who: self.shut.append(who)]
        return [Accounts(directory, ids, clock, "open", self.LIMITS, listeners) for _ in range(2)], clock

    @virtually
    async def test_the_longest_unused_goes_for_the_newest(self) -> None:
        (accounts, _), clock = self.opened()
        alice, token = await registered(accounts, "alice")
        bob, _ = await registered(accounts, "bob")
        his = await accounts.browsers.open(bob.player, sorted(bob.scopes), "browser")
        secrets = []
        for number in range(20):
            secrets.append(await accounts.browsers.open(alice.player, sorted(alice.scopes), "browser"))
            clock.at_ms += 1_000
            if number > 1:
                await accounts.authenticate(secrets[0])  # in use, so it stays
        await accounts.authenticate(secrets[0])
        assert len(self.shut) == 17
        for secret in (secrets[1], secrets[-3]):
            with pytest.raises(Refusal, match="revoked"):
                await accounts.authenticate(secret)
        for secret in (*secrets[-2:], token, his):
            if secret is not his:
                await accounts.authenticate(secret)
        assert len(await accounts.browsers.of("alice")) == 3
        assert [each.session for each in await accounts.tokens(alice, "", "", 10)] == [
            False
        ]  # and it is the only token

    @virtually
    async def test_a_session_ends_unused_and_in_any_case(self) -> None:
        (accounts, other), clock = self.opened()
        alice, _ = await registered(accounts, "alice")
        unused, used = [await accounts.browsers.open(alice.player, sorted(alice.scopes), "browser") for _ in range(2)]
        await accounts.authenticate(unused)
        for _ in range(5):
            clock.at_ms += 9_000
            await accounts.authenticate(used)
            await other.authenticate(used)
        with pytest.raises(Refusal, match="sign in again"):
            await accounts.authenticate(unused)
        clock.at_ms += 5_000
        for server in (accounts, other):
            with pytest.raises(Refusal, match="sign in again"):
                await server.authenticate(used)
        assert await accounts.browsers.of("alice") == []

    @virtually
    async def test_a_session_that_another_server_has_heard_of_goes_on(self) -> None:
        (accounts, other), clock = self.opened()
        alice, _ = await registered(accounts, "alice")
        session = await accounts.browsers.open(alice.player, sorted(alice.scopes), "browser")
        await accounts.authenticate(session)
        for _ in range(3):
            clock.at_ms += 9_000
            await other.authenticate(session)
        assert (await accounts.authenticate(session)).session

    @virtually
    async def test_a_stream_that_is_open_ends_with_its_session(self) -> None:
        """A stream is no use of its session; a request is one, at whichever server."""
        server = InMemoryArbiter(limits=self.LIMITS)
        other, now = server.beside(), asyncio.get_running_loop().time
        browsers = server.arbiter.accounts.browsers
        alice = await server.caller("alice")
        for uses, other_uses, lasts_s in ((0, 0, 10), (2, 0, 28), (0, 1, 19), (5, 0, 50)):
            secret, began = await browsers.open(alice.player, sorted(alice.scopes), "browser"), now()
            session = await server.arbiter.accounts.authenticate(secret)
            stream = asyncio.create_task(held(server, session))
            for accounts in [server.arbiter.accounts] * uses + [other.arbiter.accounts] * other_uses:
                await asyncio.sleep(9)
                with suppress(Refusal):
                    await accounts.authenticate(secret)
            ended = await stream
            assert ended.reason is Reason.TOKEN_INVALID
            assert "sign in again" in ended.message
            assert now() - began == pytest.approx(lasts_s, abs=0.01)

    @virtually
    async def test_a_session_makes_no_tokens_and_has_the_scopes_of_its_token(self) -> None:
        (accounts, _), _clock = self.opened()
        root, _ = await accounts.create_token(OPERATOR, "root", (Scope.ADMIN,), "")
        caller = Caller("root", root.token_id, frozenset(root.scopes))
        session = await accounts.authenticate(
            await accounts.browsers.open(caller.player, sorted(caller.scopes), "browser")
        )
        assert session.scopes == {"admin"}
        for name in ("root", "bob"):
            with pytest.raises(Refusal, match="makes no tokens") as refused:
                await accounts.create_token(session, name, (Scope.PLAY,), "")
            assert refused.value.reason is Reason.SCOPE_MISSING

    @virtually
    async def test_a_player_signs_out_everywhere(self) -> None:
        (accounts, _), _clock = self.opened()
        alice, token = await registered(accounts, "alice")
        secrets = [await accounts.browsers.open(alice.player, sorted(alice.scopes), "browser") for _ in range(3)]
        await accounts.browsers.end_all("alice")
        for secret in secrets:
            with pytest.raises(Refusal, match="revoked"):
                await accounts.authenticate(secret)
        assert (await accounts.authenticate(token)).player == "alice"
