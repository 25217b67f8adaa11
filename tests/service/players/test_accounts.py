"""Players, tokens and scopes: nobody acts for another, and the stored data gives nobody access."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest

from arbiter.bootstrap import open_store
from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.runtime.ids import SystemIds
from arbiter.service.play.session import Hello
from arbiter.service.players.accounts import PLAYER_SCOPES, Accounts, Caller, Scope, digest_of
from arbiter.service.ports.directory import Player, Token
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import CountingIds, MemoryDirectory

LIMITS = Limits(tokens_of_player=5, open_invitations=3)
OPERATOR = Caller("", "", frozenset({"admin"}))


class FixedClock:
    def now_ms(self) -> int:
        return 1_800_000_000_000


class HandSetClock:
    def __init__(self) -> None:
        self.at_ms = 1_800_000_000_000

    def now_ms(self) -> int:
        return self.at_ms


class SlowDirectory(MemoryDirectory):
    """A directory whose look-ups of tokens wait when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.lookups = 0

    async def token_of_digest(self, digest: str) -> Token | None:
        token = await super().token_of_digest(digest)
        self.lookups += 1
        await self.gate.wait()  # it is out of date when it arrives
        return token


def make_accounts(registration: str = "open", directory: MemoryDirectory | None = None) -> Accounts:
    return Accounts(directory or MemoryDirectory(), CountingIds(), FixedClock(), registration, LIMITS)


async def registered(accounts: Accounts, name: str) -> tuple[Caller, str]:
    _, secret = await accounts.register(name, "", "", OPERATOR)
    return await accounts.authenticate(secret), secret


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def of(*scopes: Scope, player: str = "alice") -> Caller:
    return Caller(player, "t", frozenset(scope.value for scope in scopes))


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
        with pytest.raises(Refusal) as caught:
            await accounts.authenticate(secret)
        assert caught.value.reason is Reason.TOKEN_INVALID


class TestRegistration:
    @virtually
    async def test_registration_is_open(self) -> None:
        accounts = make_accounts()
        player, secret = await accounts.register("alice", "a bot", "", None)
        assert (player.name, player.about, player.created_ms) == ("alice", "a bot", FixedClock().now_ms())
        caller = await accounts.authenticate(secret)
        assert caller.player == "alice"
        assert sorted(caller.scopes) == ["observe", "play"]
        with pytest.raises(Refusal) as caught:
            await accounts.register("alice", "", "", None)
        assert caught.value.reason is Reason.PLAYER_EXISTS

    @virtually
    async def test_of_many_who_ask_for_one_name_one_gets_it(self) -> None:
        accounts = make_accounts()
        outcomes = await asyncio.gather(
            *(accounts.register("alice", "", "", None) for _ in range(5)), return_exceptions=True
        )
        assert sum(isinstance(outcome, tuple) for outcome in outcomes) == 1

    @virtually
    async def test_registration_is_closed(self) -> None:
        accounts = make_accounts("closed")
        for caller in (None, of(Scope.PLAY, Scope.ORGANISE)):
            with pytest.raises(Refusal) as caught:
                await accounts.register("alice", "", await accounts.invite(), caller)
            assert caught.value.reason is Reason.REGISTRATION_CLOSED
        assert (await accounts.register("alice", "", "", OPERATOR))[0].name == "alice"

    @virtually
    async def test_registration_by_an_invitation_that_is_used_once(self) -> None:
        accounts = make_accounts("invitation")
        invitation = await accounts.invite()
        for wrong in ("", "guess", digest_of(invitation)):
            with pytest.raises(Refusal) as caught:
                await accounts.register("alice", "", wrong, None)
            assert caught.value.reason is Reason.REGISTRATION_CLOSED
        await accounts.register("alice", "", invitation, None)
        with pytest.raises(Refusal) as caught:
            await accounts.register("bob", "", invitation, None)
        assert caught.value.reason is Reason.REGISTRATION_CLOSED

    async def test_an_invitation_registers_one_of_many_and_is_not_used_up_by_a_name_that_is_taken(
        self, tmp_path: Path
    ) -> None:
        async with open_store(f"sqlite:///{tmp_path}/arbiter.db") as store:
            for directory in (store.directory, MemoryDirectory()):
                accounts = Accounts(directory, SystemIds(FixedClock()), FixedClock(), "invitation", LIMITS)
                await accounts.register("alice", "", "", OPERATOR)
                invitation = await accounts.invite()
                with pytest.raises(Refusal) as caught:
                    await accounts.register("alice", "", invitation, None)
                assert caught.value.reason is Reason.PLAYER_EXISTS
                outcomes = await asyncio.gather(
                    *(accounts.register(f"b{n}", "", invitation, None) for n in range(8)), return_exceptions=True
                )
                assert sum(isinstance(outcome, tuple) for outcome in outcomes) == 1
                assert len(await accounts.players("", 100)) == 2

    @virtually
    @pytest.mark.parametrize(
        "name",
        ["", "Alice", "-a", ".a", "a.", "a-", "a_", "a..b", "a-_b", "a b", "a/b", "a" * 41, "é", "a\n", "١", "a\0"],
    )
    async def test_malformed_names_are_refused(self, name: str) -> None:
        accounts = make_accounts()
        with pytest.raises(Refusal) as caught:
            await accounts.register(name, "", "", None)
        assert caught.value.reason is Reason.ARGUMENT_INVALID
        assert caught.value.facts["where"] == "name"
        with pytest.raises(Refusal):
            await accounts.create_token(OPERATOR, name or " ", (Scope.PLAY,), "")

    @virtually
    @pytest.mark.parametrize("name", ["a", "0", "a" * 40, "a.b-c_d"])
    async def test_names(self, name: str) -> None:
        assert (await make_accounts().register(name, "", "", None))[0].name == name

    @pytest.mark.parametrize("alike", ["al1ce-m", "alice.m", "alice_m", "alice-rn"])
    async def test_a_new_name_must_not_look_like_another(self, alike: str, tmp_path: Path) -> None:
        name = "alice-m" if "1" not in alike else "allce-m"
        async with open_store(f"sqlite:///{tmp_path}/arbiter.db") as store:
            for directory in (store.directory, MemoryDirectory()):
                accounts = Accounts(directory, SystemIds(FixedClock()), FixedClock(), "open", LIMITS)
                await accounts.register(name, "", "", None)
                for wrong in (
                    accounts.register(alike, "", "", None),
                    accounts.create_token(OPERATOR, alike, (Scope.PLAY,), ""),
                ):
                    with pytest.raises(Refusal) as caught:
                        await wrong
                    assert caught.value.reason is Reason.PLAYER_EXISTS
                    assert caught.value.facts["id"] == name
                assert [player.name for player in await accounts.players("", 10)] == [name]

    async def test_existing_names_keep_working(self, tmp_path: Path) -> None:
        directory = MemoryDirectory()
        await directory.add_player(Player("alice.", 1), None)
        accounts = make_accounts(directory=directory)
        _, secret = await accounts.create_token(OPERATOR, "alice.", (Scope.PLAY,), "")
        caller = await accounts.authenticate(secret)
        assert caller.player == "alice."
        _, another = await accounts.create_token(caller, "", (Scope.PLAY,), "")
        assert (await accounts.authenticate(another)).player == "alice."
        with pytest.raises(Refusal) as caught:
            await accounts.register("alice", "", "", None)
        assert caught.value.facts["id"] == "alice."

    @virtually
    async def test_texts_have_a_maximal_length(self) -> None:
        accounts = make_accounts()
        alice, _ = await registered(accounts, "alice")
        for wrong in (
            accounts.register("bob", "x" * 501, "", None),
            accounts.describe(alice, "x" * 501),
            accounts.create_token(alice, "", (), "x" * 101),
            accounts.introduce("alice", "bot", "x" * 101, (), 0),
        ):
            with pytest.raises(Refusal) as caught:
                await wrong
            assert caught.value.reason is Reason.ARGUMENT_INVALID
        assert (await accounts.describe(alice, "x" * 500)).about == "x" * 500


class TestScopes:
    @pytest.mark.parametrize("held", list(Scope))
    @pytest.mark.parametrize("wanted", list(Scope))
    def test_each_scope_allows_itself_and_admin_allows_all(self, held: Scope, wanted: Scope) -> None:
        caller = of(held)
        allowed = held in (wanted, Scope.ADMIN)
        assert caller.may(wanted) is allowed
        if not allowed:
            with pytest.raises(Refusal) as caught:
                caller.require(wanted)
            assert caught.value.reason is Reason.SCOPE_MISSING
            assert caught.value.facts["scope"] == wanted.value

    @virtually
    async def test_a_stream_needs_the_scope_play(self) -> None:
        server = InMemoryArbiter()
        caller = await server.caller("alice", Scope.ORGANISE, Scope.OBSERVE)
        with pytest.raises(Refusal) as caught:
            await server.arbiter.sessions.open(caller, Hello())
        assert caught.value.reason is Reason.SCOPE_MISSING

    @virtually
    async def test_nobody_makes_a_token_with_more_scopes_than_its_own(self) -> None:
        accounts = make_accounts()
        alice, _ = await registered(accounts, "alice")
        for scopes in ((Scope.ORGANISE,), (Scope.PLAY, Scope.ADMIN)):
            with pytest.raises(Refusal) as caught:
                await accounts.create_token(alice, "", scopes, "")
            assert caught.value.reason is Reason.SCOPE_MISSING
        token, secret = await accounts.create_token(alice, "alice", (Scope.OBSERVE, Scope.OBSERVE), "for a page")
        assert (token.scopes, token.note) == (("observe",), "for a page")
        observer = await accounts.authenticate(secret)
        with pytest.raises(Refusal) as caught:
            await accounts.create_token(observer, "", (), "")  # play and observe by default
        assert caught.value.reason is Reason.SCOPE_MISSING

    @virtually
    async def test_nobody_makes_a_token_for_another(self) -> None:
        accounts = make_accounts()
        alice, _ = await registered(accounts, "alice")
        bob, _ = await registered(accounts, "bob")
        for deed in (accounts.create_token(alice, "bob", (), ""), accounts.tokens(alice, "bob", "", 10)):
            with pytest.raises(Refusal) as caught:
                await deed
            assert caught.value.reason is Reason.SCOPE_MISSING
        with pytest.raises(Refusal) as caught:
            await accounts.revoke(alice, bob.token_id)
        assert caught.value.reason is Reason.TOKEN_NOT_FOUND
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
        with pytest.raises(Refusal) as caught:
            await server.arbiter.sessions.open(alice.session.caller, Hello())
        assert caught.value.reason is Reason.TOKEN_INVALID

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
        with pytest.raises(Refusal) as caught:
            await accounts.authenticate(secret)
        assert caught.value.reason is Reason.TOKEN_INVALID
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
        with pytest.raises(Refusal) as caught:
            await asked
        assert caught.value.reason is Reason.TOKEN_INVALID

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
        with pytest.raises(Refusal) as caught:
            await make_accounts().revoke(OPERATOR, "t" * 100)
        assert caught.value.reason is Reason.TOKEN_NOT_FOUND
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
        with pytest.raises(Refusal) as caught:
            await accounts.authenticate(secret)
        assert caught.value.reason is Reason.PLAYER_SUSPENDED
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
        with pytest.raises(Refusal) as caught:
            await asked
        assert caught.value.reason is Reason.PLAYER_SUSPENDED

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
        with pytest.raises(Refusal) as caught:
            await accounts.suspend("nobody", True)
        assert caught.value.reason is Reason.PLAYER_NOT_FOUND


class TestFirstAdmin:
    @virtually
    async def test_the_first_admin_is_made_once(self) -> None:
        accounts = make_accounts("closed")
        secret = await accounts.first_admin()
        caller = await accounts.authenticate(secret)
        assert all(caller.may(scope) for scope in Scope)
        assert await accounts.first_admin() is None

    @virtually
    async def test_no_first_admin_is_made_on_a_server_that_has_players(self) -> None:
        directory = MemoryDirectory()
        await directory.add_player(Player("alice", 0), None)
        assert await make_accounts(directory=directory).first_admin() is None


class TestLimits:
    @virtually
    async def test_the_number_of_cached_callers_is_limited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("arbiter.service.players.accounts.CALLERS_KEPT", 3)
        directory = SlowDirectory()
        accounts = make_accounts(directory=directory)
        known = [await registered(accounts, f"player-{number}") for number in range(5)]
        looked_up = directory.lookups
        for caller, secret in known[2:]:
            assert await accounts.authenticate(secret) == caller
            accounts.check(caller)
        assert directory.lookups == looked_up
        assert await accounts.authenticate(known[0][1]) == known[0][0]
        assert directory.lookups == looked_up + 1
        assert await accounts.authenticate(known[3][1]) == known[3][0]  # the oldest left the cache
        assert directory.lookups == looked_up + 1
        assert (len(accounts._callers), len(accounts._admitted)) == (3, 3)

    @virtually
    async def test_texts_that_no_database_can_store_are_not_looked_up(self) -> None:
        accounts = make_accounts()
        caller, _ = await registered(accounts, "alice")
        for name in ("a\0", "x" * 101):
            with pytest.raises(Refusal) as caught:
                await accounts.player(name)
            assert caught.value.reason is Reason.PLAYER_NOT_FOUND
            with pytest.raises(Refusal) as caught:
                await accounts.revoke(caller, name)
            assert caught.value.reason is Reason.TOKEN_NOT_FOUND
            with pytest.raises(Refusal) as caught:
                await accounts.players(name, 1)
            assert caught.value.reason is Reason.ARGUMENT_INVALID
        with pytest.raises(Refusal) as caught:
            await accounts.describe(caller, "hello\0")
        assert caught.value.facts["where"] == "about"


async def test_a_secret_that_is_given_instead_of_an_id_is_not_repeated() -> None:
    accounts = make_accounts()
    alice, _ = await registered(accounts, "alice")
    _, secret = await registered(accounts, "bob")
    ids = SystemIds(FixedClock())
    for given in (secret, ids.secret(), ids.secret()[:30], "Bearer " + secret):
        with pytest.raises(Refusal) as caught:
            await accounts.revoke(alice, given)
        assert caught.value.reason is Reason.TOKEN_NOT_FOUND
        assert given not in caught.value.message
        assert caught.value.facts == {"id": ""}
    unknown = ids.new("t")
    with pytest.raises(Refusal, match=unknown) as caught:
        await accounts.revoke(alice, unknown)
    assert caught.value.facts == {"id": unknown}


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
