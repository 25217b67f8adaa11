"""The contract of a directory, on every directory."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from arbiter.bootstrap.store import Store
from arbiter.service.ports.directory import AlreadyThere, Challenge, Player, Token

ALICE = Player("alice", 5, "a bot", "Rook", "2", ("pods", "hop-it"), 8)
TOKEN = Token("t1", "alice", "d1", ("play", "observe"), "first", 6)
CHALLENGE = Challenge("c1", "alice", "bob", "pods", "1m+1s", True, 1, "r1", 7)


async def test_players(store: Store) -> None:
    directory = store.directory
    assert await directory.player("alice") is None
    assert await directory.add_player(ALICE, TOKEN)
    for name in ("carol", "bob"):
        await directory.add_player(Player(name, 1), None)
    assert await directory.player("alice") == ALICE
    assert [player.name for player in await directory.players("", 2)] == ["alice", "bob"]
    assert [player.name for player in await directory.players("bob", 2)] == ["carol"]
    with pytest.raises(AlreadyThere):
        await directory.add_player(replace(ALICE, about="another"), replace(TOKEN, token_id="t2", digest="d2"))
    assert await directory.player("alice") == ALICE
    assert await directory.token("t2") is None


async def test_changes_of_a_player_keep_all_other_fields(store: Store) -> None:
    directory = store.directory
    await directory.add_player(ALICE, None)
    await directory.acknowledge("alice", 4)
    changed = await asyncio.gather(
        directory.change_player("alice", suspended=True),
        directory.change_player("alice", bot_name="Knight", games=("elevation",)),
        directory.change_player("nobody", suspended=True),
    )
    expected = replace(ALICE, suspended=True, bot_name="Knight", games=("elevation",), acknowledged=4)
    assert [*changed] == [replace(ALICE, suspended=True, acknowledged=4), expected, None]
    assert await directory.player("alice") == expected


async def test_a_player_has_several_names(store: Store) -> None:
    directory = store.directory
    await directory.add_player(ALICE, None)
    await directory.add_player(Player("bob", 1), None)
    assert await directory.profiles() == []
    renamed = await directory.rename_player("alice", "ally", 2)
    assert renamed == replace(ALICE, current_name="ally")
    for taken in ("bob", "b0b", "ally", "a1ly"):
        with pytest.raises(AlreadyThere):
            await directory.add_player(Player(taken, 1), None)
    with pytest.raises(AlreadyThere):
        await directory.rename_player("bob", "alice", 2)
    assert (await directory.rename_player("alice", "alli", 2)) == replace(ALICE, current_name="alli")
    assert await directory.rename_player("alice", "al", 2) is None
    (profile,) = await directory.profiles()
    assert (profile.name, profile.shown, sorted(profile.others)) == ("alice", "alli", ["alli", "ally"])
    await directory.rename_player("alice", "alice", 2)
    assert await directory.profiles() == [profile._replace(shown="alice")]
    assert await directory.rename_player("alice", "ally", 2) == replace(ALICE, current_name="ally"), "it is its own"
    await directory.change_player("bob", hidden=True)
    assert [(each.name, each.listed) for each in await directory.profiles()] in (
        [("alice", True), ("bob", False)],
        [("bob", False), ("alice", True)],
    )
    assert [each.name for each in await directory.profiles("bob")] == ["bob"]
    await directory.change_player("bob", hidden=False)
    for suspended in (True, False):
        await directory.change_player("bob", suspended=suspended)
        found = {each.name: (each.listed, each.ranked) for each in await directory.profiles()}
        assert found.get("bob", (True, True)) == (True, not suspended)


async def test_of_a_deleted_player_only_its_name_is_left(store: Store) -> None:
    directory = store.directory
    await directory.add_player(ALICE, TOKEN)
    await directory.add_challenge(CHALLENGE, 9)
    await directory.add_challenge(replace(CHALLENGE, challenge_id="c2", challenger="bob", opponent="alice"), 9)
    await directory.add_challenge(
        replace(CHALLENGE, challenge_id="c3", challenger="bob", opponent="carol", request_id="r3"), 9
    )
    await directory.rename_player("alice", "ally", 2)
    await directory.acknowledge("alice", 4)
    left = Player("alice", 5, acknowledged=4, current_name="gone", suspended=True, hidden=True, deleted=True)
    assert await directory.delete_player("alice", "gone") == left
    assert await directory.player("alice") == left
    assert await directory.delete_player("nobody", "gone") is None
    assert await directory.token("t1") is None
    assert [
        each and each.challenge_id for each in (await directory.challenge("c1"), await directory.challenge("c2"))
    ] == [
        None,
        None,
    ]
    assert await directory.challenge("c3") is not None
    assert [(each.shown, each.deleted, each.others) for each in await directory.profiles()] == [("gone", True, ())]
    with pytest.raises(AlreadyThere):
        await directory.add_player(ALICE, None)
    await directory.add_player(Player("ally", 1), None)


async def test_acknowledging_never_goes_back(store: Store) -> None:
    directory = store.directory
    await directory.add_player(ALICE, None)
    await directory.acknowledge("alice", 9)
    await directory.acknowledge("alice", 4)
    player = await directory.player("alice")
    assert player is not None
    assert player.acknowledged == 9


async def test_tokens(store: Store) -> None:
    directory = store.directory
    await directory.add_player(ALICE, TOKEN)
    other = Token("t2", "alice", "d2", ("admin",), "", 8)
    assert await directory.add_token(other, 2)
    assert await directory.add_token(Token("t3", "bob", "d3", (), "", 8), 1)
    assert not await directory.add_token(Token("t4", "alice", "d4", (), "", 8), 2)
    assert await directory.token("t1") == TOKEN
    assert await directory.token_of_digest("d2") == other
    assert await directory.token_of_digest("t2") is None
    assert await directory.tokens("alice", "", 10) == [TOKEN, other]
    assert await directory.tokens("alice", "t1", 10) == [other]
    assert await directory.tokens("alice", "", 1) == [TOKEN]
    await directory.revoke_token("t1")
    await directory.revoke_token("nobody's")
    assert await directory.token_of_digest("d1") == replace(TOKEN, revoked=True)
    assert await directory.token("t2") == other
    assert await directory.add_token(Token("t4", "alice", "d4", (), "", 8), 2)  # one of the two is revoked


async def test_sessions_are_counted_and_listed_apart_from_tokens(store: Store) -> None:
    directory = store.directory
    await directory.add_player(ALICE, TOKEN)
    old, new, gone = (
        Token(f"s{n}", "alice", f"s{n}", ("play",), "browser", 8, session=True, used_ms=n) for n in (1, 2, 3)
    )
    for each in (new, old, gone):
        assert await directory.add_token(each, 3)
    assert not await directory.add_token(Token("s4", "alice", "s4", (), "", 8, session=True), 3)
    assert await directory.add_token(Token("t2", "alice", "d2", (), "", 8), 2)
    await directory.revoke_token("s3")
    assert [each.token_id for each in await directory.tokens("alice", "", 10)] == ["t1", "t2"]
    assert await directory.sessions("alice") == [old, new]
    assert await directory.sessions("bob") == []
    await directory.use_session("s1", 9)
    assert await directory.sessions("alice") == [new, replace(old, used_ms=9)]
    tokens = [each.token_id for each in await directory.tokens("alice", "", 9)]
    assert await directory.forget(0, 0, 9) == 2, "those that were last used before an instant, also a revoked one"
    assert await directory.sessions("alice") == [replace(old, used_ms=9)]
    assert [each.token_id for each in await directory.tokens("alice", "", 9)] == tokens
    assert await directory.token_of_digest("s1") == replace(old, used_ms=9)


async def test_an_invitation_is_used_once(store: Store) -> None:
    directory = store.directory
    assert await directory.add_invitation("i1", 1)
    assert not await directory.add_invitation("i2", 1)
    await directory.add_player(ALICE, None)
    with pytest.raises(AlreadyThere):
        await directory.add_player(ALICE, None, "i1")  # and uses no invitation
    asked = [directory.add_player(Player(name, 1), None, "i1") for name in ("bob", "carol")]
    assert sorted(await asyncio.gather(*asked)) == [False, True]
    assert not await directory.add_player(Player("dave", 1), None, "i2")
    assert len(await directory.players("", 10)) == 2


async def test_challenges(store: Store) -> None:
    directory = store.directory
    seek = replace(CHALLENGE, challenge_id="c2", opponent="", request_id="r2")
    others = replace(CHALLENGE, challenge_id="c3", challenger="carol", opponent="dave")
    for challenge in (seek, CHALLENGE, others):
        assert await directory.add_challenge(challenge, 9) == challenge
    assert await directory.challenge("c1") == CHALLENGE
    assert await directory.challenge("c9") is None
    assert await directory.challenges("alice", "", 9) == [CHALLENGE, seek]
    assert await directory.challenges("bob", "c1", 9) == [seek]
    assert await directory.challenges("dave", "", 9) == [seek, others]
    assert await directory.challenges("erin", "", 9) == [seek]
    assert await directory.challenges("alice", "", 1) == [CHALLENGE]


async def test_the_same_request_makes_one_challenge(store: Store) -> None:
    directory = store.directory
    again = replace(CHALLENGE, challenge_id="c2", game="hop-it")
    made = await asyncio.gather(directory.add_challenge(CHALLENGE, 1), directory.add_challenge(again, 1))
    assert [*made] == [CHALLENGE, CHALLENGE]
    assert await directory.add_challenge(replace(again, request_id="r2"), 1) is None
    assert await directory.challenge("c2") is None
    assert await directory.change_challenge(replace(CHALLENGE, state="accepting"), ("open",))
    assert await directory.add_challenge(replace(again, request_id="r2"), 1) is None, "it may be open again"
    assert await directory.change_challenge(replace(CHALLENGE, state="declined"), ("accepting",))
    assert await directory.add_challenge(replace(again, request_id="r2"), 1) is not None


async def test_a_challenge_is_accepted_once(store: Store) -> None:
    directory = store.directory
    await directory.add_challenge(CHALLENGE, 9)
    taken = [replace(CHALLENGE, state="accepting", reason=name) for name in ("bob", "carol")]
    changes = [directory.change_challenge(each, ("open",)) for each in taken]
    assert sorted(await asyncio.gather(*changes)) == [False, True]
    assert await directory.challenges("alice", "", 9) == []
    (held,) = await directory.challenges_being_accepted()
    assert held in taken
    accepted = replace(held, state="accepted", match_id="m1")
    assert await directory.change_challenge(accepted, ("open", "accepting"))
    assert not await directory.change_challenge(accepted, ("open", "accepting"))
    assert await directory.challenge("c1") == accepted
    assert await directory.challenges_being_accepted() == []
    assert not await directory.change_challenge(replace(CHALLENGE, challenge_id="c9", state="declined"), ("open",))


async def test_revoked_tokens_and_closed_challenges_are_forgotten_after_a_while(store: Store) -> None:
    directory = store.directory
    await directory.add_player(ALICE, None)
    for number in range(4):  # of an even number: revoked, and closed
        await directory.add_token(replace(TOKEN, token_id=f"t{number}", digest=f"d{number}", created_ms=number), 9)
        made = replace(CHALLENGE, challenge_id=f"c{number}", request_id=f"r{number}", created_ms=number)
        await directory.add_challenge(made, 9)
        if not number % 2:
            await directory.revoke_token(f"t{number}")
            await directory.change_challenge(replace(made, state="declined"), ("open",))
    assert await directory.forget(0, 0, 0) == 0
    assert await directory.forget(2, 0, 0) == 1
    assert [await directory.token(f"t{number}") is not None for number in range(4)] == [False, True, True, True]
    assert await directory.forget(9, 1, 0) == 2
    assert [await directory.token(f"t{number}") is not None for number in range(4)] == [False, True, False, True]
    assert await directory.forget(9, 9, 0) == 1
    challenges = [await directory.challenge(f"c{number}") is not None for number in range(4)]
    assert challenges == [False, True, False, True]
