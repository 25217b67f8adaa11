"""Accounts: who registers, and how much each player may have."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from arbiter.bootstrap.store import open_store
from arbiter.errors import Reason, Refusal
from arbiter.runtime.ids import SystemIds
from arbiter.service.players.accounts import Accounts, Scope, digest_of
from arbiter.service.ports.directory import Player
from arbiter.testing.clock import virtually
from arbiter.testing.memory import MemoryDirectory
from tests.refusals import refusing
from tests.service.players.accounts import LIMITS, OPERATOR, FixedClock, SlowDirectory, make_accounts, of, registered


class TestRegistration:
    @virtually
    async def test_registration_is_open(self) -> None:
        accounts = make_accounts()
        player, secret = await accounts.register("alice", "a bot", "", None)
        assert (player.name, player.about, player.created_ms) == ("alice", "a bot", FixedClock().now_ms())
        caller = await accounts.authenticate(secret)
        assert caller.player == "alice"
        assert sorted(caller.scopes) == ["observe", "play"]
        with refusing(Reason.PLAYER_EXISTS):
            await accounts.register("alice", "", "", None)

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
            with refusing(Reason.REGISTRATION_CLOSED):
                await accounts.register("alice", "", await accounts.invite(), caller)
        assert (await accounts.register("alice", "", "", OPERATOR))[0].name == "alice"

    @virtually
    async def test_registration_by_an_invitation_that_is_used_once(self) -> None:
        accounts = make_accounts("invitation")
        invitation = await accounts.invite()
        for wrong in ("", "guess", digest_of(invitation)):
            with refusing(Reason.REGISTRATION_CLOSED):
                await accounts.register("alice", "", wrong, None)
        await accounts.register("alice", "", invitation, None)
        with refusing(Reason.REGISTRATION_CLOSED):
            await accounts.register("bob", "", invitation, None)

    async def test_an_invitation_registers_one_of_many_and_is_not_used_up_by_a_name_that_is_taken(
        self, tmp_path: Path
    ) -> None:
        async with open_store(f"sqlite:///{tmp_path}/arbiter.db") as store:
            for directory in (store.directory, MemoryDirectory()):
                accounts = Accounts(directory, SystemIds(FixedClock()), FixedClock(), "invitation", LIMITS)
                await accounts.register("alice", "", "", OPERATOR)
                invitation = await accounts.invite()
                with refusing(Reason.PLAYER_EXISTS):
                    await accounts.register("alice", "", invitation, None)
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
        with refusing(Reason.ARGUMENT_INVALID) as caught:
            await accounts.register(name, "", "", None)
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
                    with refusing(Reason.PLAYER_EXISTS) as caught:
                        await wrong
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
            with refusing(Reason.ARGUMENT_INVALID):
                await wrong
        assert (await accounts.describe(alice, "x" * 500)).about == "x" * 500


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
            with refusing(Reason.PLAYER_NOT_FOUND):
                await accounts.player(name)
            with refusing(Reason.TOKEN_NOT_FOUND):
                await accounts.revoke(caller, name)
            with refusing(Reason.ARGUMENT_INVALID):
                await accounts.players(name, 1)
        with pytest.raises(Refusal) as caught:
            await accounts.describe(caller, "hello\0")
        assert caught.value.facts["where"] == "about"
