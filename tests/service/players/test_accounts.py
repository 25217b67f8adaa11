"""Players, tokens and scopes: nobody acts for another, and the stored data gives nobody access."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest

from arbiter.bootstrap.store import open_store
from arbiter.errors import Reason, Refusal
from arbiter.runtime.ids import SystemIds
from arbiter.service.play.session import Hello
from arbiter.service.players.accounts import PLAYER_SCOPES, Accounts, Scope, digest_of
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import CountingIds, MemoryDirectory
from tests.refusals import refusing
from tests.service.players.accounts import LIMITS, OPERATOR, FixedClock, SlowDirectory, make_accounts, of, registered


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


class TestSecrets:
    @virtually
    async def test_only_digests_are_stored(self) -> None:
        directory = MemoryDirectory()
        accounts = make_accounts("invitation", directory)
        _, first = await registered(accounts, "alice")
        _, second = await accounts.create_token(OPERATOR, "alice", (Scope.PLAY,), "")
        invitation = await accounts.invite()
        stored = repr(vars(directory))
        for secret in (first, second, invitation):
            assert secret not in stored
            assert sha256(secret.encode()).hexdigest() in stored

    async def test_no_database_file_holds_a_secret(self, tmp_path: Path) -> None:
        clock = FixedClock()
        async with open_store(f"sqlite:///{tmp_path}/arbiter.db") as store:
            accounts = Accounts(store.directory, SystemIds(clock), clock, "invitation", LIMITS)
            admin = await accounts.first_admin()
            invitation = await accounts.invite()
            used = await accounts.invite()
            _, first = await accounts.register("alice", "about", used, None)
            caller = await accounts.authenticate(first)
            _, second = await accounts.create_token(caller, "", (Scope.PLAY,), "laptop")
            secrets = [admin or "", invitation, used, first, second]
            before = everything_in(tmp_path)  # with the write-ahead log
        after = everything_in(tmp_path)
        assert len(set(secrets)) == 5
        for secret in secrets:
            assert len(secret) >= 43  # 256 bits
            assert secret.encode() not in before
            assert secret.encode() not in after
        assert digest_of(second).encode() in before

    @virtually
    async def test_a_refusal_does_not_repeat_a_secret(self) -> None:
        with pytest.raises(Refusal) as caught:
            await make_accounts().authenticate("not-a-token-of-ours")
        assert "not-a-token-of-ours" not in str(caught.value)

    @virtually
    @pytest.mark.parametrize("secret", [None, "", "unknown", "t000001", digest_of("secret-000002"), "é"])
    async def test_malformed_tokens_are_refused(self, secret: str | None) -> None:
        accounts = make_accounts()
        await registered(accounts, "alice")
        with refusing(Reason.TOKEN_INVALID):
            await accounts.authenticate(secret)


class TestScopes:
    @pytest.mark.parametrize("held", list(Scope))
    @pytest.mark.parametrize("wanted", list(Scope))
    def test_each_scope_allows_itself_and_admin_allows_all(self, held: Scope, wanted: Scope) -> None:
        caller = of(held)
        allowed = held in (wanted, Scope.ADMIN)
        assert caller.may(wanted) is allowed
        if not allowed:
            with refusing(Reason.SCOPE_MISSING) as caught:
                caller.require(wanted)
            assert caught.value.facts["scope"] == wanted.value

    @virtually
    async def test_a_stream_needs_the_scope_play(self) -> None:
        server = InMemoryArbiter()
        caller = await server.caller("alice", Scope.ORGANISE, Scope.OBSERVE)
        with refusing(Reason.SCOPE_MISSING):
            await server.arbiter.sessions.open(caller, Hello())

    @virtually
    async def test_nobody_makes_a_token_with_more_scopes_than_its_own(self) -> None:
        accounts = make_accounts()
        alice, _ = await registered(accounts, "alice")
        for scopes in ((Scope.ORGANISE,), (Scope.PLAY, Scope.ADMIN)):
            with refusing(Reason.SCOPE_MISSING):
                await accounts.create_token(alice, "", scopes, "")
        token, secret = await accounts.create_token(alice, "alice", (Scope.OBSERVE, Scope.OBSERVE), "for a page")
        assert (token.scopes, token.note) == (("observe",), "for a page")
        observer = await accounts.authenticate(secret)
        with refusing(Reason.SCOPE_MISSING):
            await accounts.create_token(observer, "", (), "")  # play and observe by default

    @virtually
    async def test_nobody_makes_a_token_for_another(self) -> None:
        accounts = make_accounts()
        alice, _ = await registered(accounts, "alice")
        bob, _ = await registered(accounts, "bob")
        for deed in (accounts.create_token(alice, "bob", (), ""), accounts.tokens(alice, "bob", "", 10)):
            with refusing(Reason.SCOPE_MISSING):
                await deed
        with refusing(Reason.TOKEN_NOT_FOUND):
            await accounts.revoke(alice, bob.token_id)
        assert len(await accounts.tokens(OPERATOR, "bob", "", 10)) == 1

    @virtually
    async def test_an_admin_makes_the_player_with_the_token(self) -> None:
        accounts = make_accounts("closed")
        made = await asyncio.gather(*(accounts.create_token(OPERATOR, "carol", (Scope.PLAY,), "") for _ in range(3)))
        assert (await accounts.player("carol")).name == "carol"
        assert {(await accounts.authenticate(secret)).player for _, secret in made} == {"carol"}

    @virtually
    async def test_tokens_are_listed_in_pages(self) -> None:
        accounts = make_accounts()
        alice, _ = await registered(accounts, "alice")
        for _ in range(4):
            await accounts.create_token(alice, "", (), "")
        first = await accounts.tokens(alice, "", "", 3)
        rest = await accounts.tokens(alice, "", first[-1].token_id, 3)
        assert [len(first), len(rest)] == [3, 2]
        assert {token.scopes for token in first + rest} == {tuple(scope.value for scope in PLAYER_SCOPES)}


class TestRevocation:
    @virtually
    async def test_a_revocation_takes_effect_at_once(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        other = await server.caller("alice")
        await server.arbiter.accounts.revoke(other, alice.session.caller.token_id)
        assert alice.session.ended is not None
        assert alice.session.ended.reason is Reason.TOKEN_INVALID
        server.arbiter.accounts.check(other)
        with refusing(Reason.TOKEN_INVALID):
            await server.arbiter.sessions.open(alice.session.caller, Hello())

    @virtually
    async def test_only_the_streams_of_that_token_end(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        other = await server.caller("alice")
        await server.arbiter.accounts.revoke(other, other.token_id)
        assert alice.session.ended is None
        assert bob.session.ended is None

    @virtually
    async def test_a_token_may_revoke_itself_and_is_refused_from_then_on(self) -> None:
        accounts = make_accounts()
        alice, secret = await registered(accounts, "alice")
        for _ in range(2):  # doing it again has no further effect
            await accounts.revoke(alice, alice.token_id)
        with refusing(Reason.TOKEN_INVALID):
            await accounts.authenticate(secret)
        assert [token.revoked for token in await accounts.tokens(OPERATOR, "alice", "", 9)] == [True]

    @virtually
    async def test_a_token_revokes_only_tokens_that_it_could_make(self) -> None:
        server = InMemoryArbiter()
        accounts = server.arbiter.accounts
        player, reader, other_reader, both = [
            await server.caller("alice", *scopes)
            for scopes in ((Scope.PLAY,), (Scope.OBSERVE,), (Scope.OBSERVE,), (Scope.PLAY, Scope.OBSERVE))
        ]
        for caller, token_id, missing in (
            (reader, player.token_id, "play"),
            (reader, other_reader.token_id, "play"),
            (player, reader.token_id, "observe"),
        ):
            with pytest.raises(Refusal) as caught:
                await accounts.revoke(caller, token_id)
            assert (caught.value.reason, caught.value.facts) == (Reason.SCOPE_MISSING, {"scope": missing})
        await accounts.revoke(both, reader.token_id)
        await accounts.revoke(other_reader, other_reader.token_id)
        await accounts.revoke(player, player.token_id)
        revoked = {token.token_id for token in await accounts.tokens(OPERATOR, "alice", "", 9) if token.revoked}
        assert revoked == {reader.token_id, other_reader.token_id, player.token_id}

    @virtually
    async def test_a_revocation_races_a_look_up(self) -> None:
        directory = SlowDirectory()
        accounts = make_accounts(directory=directory)
        _, secret = await accounts.register("alice", "", "", None)
        directory.gate.clear()
        asked = asyncio.create_task(accounts.authenticate(secret))
        await settle()
        assert directory.lookups == 1  # it has read that the token is valid
        token = (await directory.tokens("alice", "", 1))[0]
        await accounts.revoke(OPERATOR, token.token_id)
        directory.gate.set()
        with refusing(Reason.TOKEN_INVALID):
            await asked

    @virtually
    async def test_a_cancelled_call_does_not_leave_a_revocation_half_done(self) -> None:
        notified: list[tuple[str, str]] = []
        listeners = [lambda player, token_id: notified.append((player, token_id))]
        accounts = Accounts(MemoryDirectory(), CountingIds(), FixedClock(), "open", LIMITS, listeners)
        alice, secret = await registered(accounts, "alice")
        revoking = asyncio.create_task(accounts.revoke(alice, alice.token_id))
        for _ in range(3):  # the token is being marked
            await asyncio.sleep(0)
        revoking.cancel()
        await settle()
        assert notified == [("alice", alice.token_id)]
        with pytest.raises(Refusal):
            await accounts.authenticate(secret)

    @virtually
    async def test_an_unknown_token(self) -> None:
        with refusing(Reason.TOKEN_NOT_FOUND) as caught:
            await make_accounts().revoke(OPERATOR, "t" * 100)
        assert caught.value.facts["id"] == ""


class TestSuspension:
    @virtually
    async def test_it_ends_streams_and_refuses_until_it_is_lifted(self) -> None:
        server = InMemoryArbiter()
        accounts = server.arbiter.accounts
        alice, bob = await server.connect("alice"), await server.connect("bob")
        _, secret = await accounts.create_token(OPERATOR, "alice", (Scope.PLAY,), "")
        await accounts.authenticate(secret)
        assert (await accounts.suspend("alice", True)).suspended
        assert alice.session.ended is not None
        assert alice.session.ended.reason is Reason.PLAYER_SUSPENDED
        assert bob.session.ended is None
        with refusing(Reason.PLAYER_SUSPENDED):
            await accounts.authenticate(secret)
        with pytest.raises(Refusal):
            await server.arbiter.sessions.open(alice.session.caller, Hello())
        assert not (await accounts.suspend("alice", False)).suspended
        session = await server.arbiter.sessions.open(await accounts.authenticate(secret), Hello())
        assert session.ended is None

    @virtually
    async def test_a_suspension_races_a_look_up(self) -> None:
        directory = SlowDirectory()
        accounts = make_accounts(directory=directory)
        _, secret = await accounts.register("alice", "", "", None)
        directory.gate.clear()
        asked = asyncio.create_task(accounts.authenticate(secret))
        await settle()
        await accounts.suspend("alice", True)
        directory.gate.set()
        with refusing(Reason.PLAYER_SUSPENDED):
            await asked

    @virtually
    async def test_a_suspension_races_a_stream_that_opens(self) -> None:
        server = InMemoryArbiter()
        caller = await server.caller("alice")
        opening = asyncio.create_task(server.arbiter.sessions.open(caller, Hello()))
        await asyncio.sleep(0)
        await server.arbiter.accounts.suspend("alice", True)
        outcome = (await asyncio.gather(opening, return_exceptions=True))[0]
        if isinstance(outcome, Refusal):
            assert outcome.reason is Reason.TOKEN_INVALID
        else:
            assert not isinstance(outcome, BaseException)
            assert outcome.ended is not None

    @virtually
    async def test_only_players_can_be_suspended(self) -> None:
        accounts = make_accounts()
        await registered(accounts, "alice")
        with refusing(Reason.PLAYER_NOT_FOUND):
            await accounts.suspend("nobody", True)


async def test_a_secret_that_is_given_instead_of_an_id_is_not_repeated() -> None:
    accounts = make_accounts()
    alice, _ = await registered(accounts, "alice")
    _, secret = await registered(accounts, "bob")
    ids = SystemIds(FixedClock())
    for given in (secret, ids.secret(), ids.secret()[:30], "Bearer " + secret):
        with refusing(Reason.TOKEN_NOT_FOUND) as caught:
            await accounts.revoke(alice, given)
        assert given not in caught.value.message
        assert caught.value.facts == {"id": ""}
    unknown = ids.new("t")
    with pytest.raises(Refusal, match=unknown) as caught:
        await accounts.revoke(alice, unknown)
    assert caught.value.facts == {"id": unknown}
