"""Challenges whose server dies at any step of accepting or declining: the other servers complete what it has left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, ParamSpec, TypeVar

import pytest

from arbiter.bootstrap.store import Store
from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches.commands import Abort
from arbiter.service.play.challenges import Challenges, Terms
from arbiter.service.play.session import ChallengeClosedItem, StateItem
from arbiter.service.ports.directory import Directory
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas

P = ParamSpec("P")
T = TypeVar("T")

TERMS = Terms("pods", "1m+1s", False, 1)
LONG_S = 30.0  #: in which other servers complete everything
STEPS = 3  #: uses of the directory of a server that accepts or declines


class DyingDirectory:
    """The directory of a server that dies with one of its calls: before this has reached the store, or after it."""

    def __init__(self, directory: Directory) -> None:
        self._left: int | None = None
        self._arrives = False
        self.web_hooks: Final = directory.web_hooks
        self.add_player: Final = self._dying(directory.add_player)
        self.player: Final = self._dying(directory.player)
        self.players: Final = self._dying(directory.players)
        self.change_player: Final = self._dying(directory.change_player)
        self.rename_player: Final = self._dying(directory.rename_player)
        self.delete_player: Final = self._dying(directory.delete_player)
        self.profiles: Final = self._dying(directory.profiles)
        self.acknowledge: Final = self._dying(directory.acknowledge)
        self.add_token: Final = self._dying(directory.add_token)
        self.token: Final = self._dying(directory.token)
        self.token_of_digest: Final = self._dying(directory.token_of_digest)
        self.tokens: Final = self._dying(directory.tokens)
        self.sessions: Final = self._dying(directory.sessions)
        self.use_session: Final = self._dying(directory.use_session)
        self.revoke_token: Final = self._dying(directory.revoke_token)
        self.add_invitation: Final = self._dying(directory.add_invitation)
        self.add_challenge: Final = self._dying(directory.add_challenge)
        self.challenge: Final = self._dying(directory.challenge)
        self.challenges: Final = self._dying(directory.challenges)
        self.challenges_being_accepted: Final = self._dying(directory.challenges_being_accepted)
        self.change_challenge: Final = self._dying(directory.change_challenge)
        self.forget: Final = self._dying(directory.forget)
        self.notices: Final = self._dying(directory.notices)
        self.last_notice: Final = self._dying(directory.last_notice)

    def die_at(self, step: int, arrives: bool) -> None:
        """Die with this call from now on, 1 for the next one."""
        self._left, self._arrives = step, arrives

    def _dying(self, method: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        async def call(*arguments: P.args, **named: P.kwargs) -> T:
            if self._left is not None:
                self._left -= 1
            if self._left == 0 and self._arrives:
                await method(*arguments, **named)
            if self._left is not None and self._left <= 0:
                await asyncio.Event().wait()
            return await method(*arguments, **named)

        return call


async def dying_and_other() -> tuple[InMemoryArbiter, DyingDirectory, InMemoryArbiter]:
    other = InMemoryArbiter(Store(MemoryJournal(), MemoryDirectory(), replicas=MemoryReplicas()))
    directory = DyingDirectory(other._store.directory)
    store = other._store._replace(directory=directory)
    one = InMemoryArbiter(store, ids=other.ids)
    for server in (one, other):
        await server.share()
    return one, directory, other


async def until_it_dies(one: InMemoryArbiter, work: Awaitable[Any]) -> None:
    """Let a server do something until it can't go on, and kill it."""
    doing = asyncio.ensure_future(work)
    await settle()
    await one.die()
    doing.cancel()
    await asyncio.gather(doing, return_exceptions=True)
    await asyncio.sleep(LONG_S)


def closed_for(reader: StreamReader) -> list[tuple[str, str]]:
    items = [item.challenge for item in reader.received if isinstance(item, ChallengeClosedItem)]
    return [(each.match_id, each.reason) for each in items]


@pytest.mark.parametrize("arrives", [False, True])
@pytest.mark.parametrize("step", range(1, STEPS + 2))
@virtually
async def test_a_server_dies_while_it_accepts(step: int, arrives: bool) -> None:
    """Either nothing has happened, or there is one match, of which the challenger is informed once."""
    one, directory, other = await dying_and_other()
    alice, bob = await other.connect("alice"), await one.caller("bob")
    made = await other.arbiter.challenges.challenge(alice.session.caller, "r", "bob", TERMS)
    await asyncio.sleep(1)
    directory.die_at(step, arrives)
    await until_it_dies(one, one.arbiter.challenges.accept(bob, made.challenge_id))
    await alice.receive()
    open_now = await other.arbiter.challenges.open(alice.session.caller, "", 10)
    matches = {item.match.id for item in alice.received if isinstance(item, StateItem)}
    assert bool(open_now) == (not matches)
    assert closed_for(alice) == [(match_id, "") for match_id in matches]
    again = await other.arbiter.challenges.accept(bob, made.challenge_id)
    assert {again.id} == (matches or {again.id})
    assert await other.journal.unfinished() == [again.id]


@virtually
async def test_a_server_dies_before_the_match_is_stored() -> None:
    one, _, other = await dying_and_other()
    alice, bob = await other.connect("alice"), await one.caller("bob")
    made = await other.arbiter.challenges.challenge(alice.session.caller, "r", "bob", TERMS)
    one.journal.hold = True
    await until_it_dies(one, one.arbiter.challenges.accept(bob, made.challenge_id))
    await alice.receive()
    (match_id,) = await other.journal.unfinished()
    assert closed_for(alice) == [(match_id, "")]


@pytest.mark.parametrize("arrives", [False, True])
@pytest.mark.parametrize("step", range(1, STEPS + 1))
@virtually
async def test_a_server_dies_while_it_declines(step: int, arrives: bool) -> None:
    one, directory, other = await dying_and_other()
    alice, bob = await other.connect("alice"), await one.caller("bob")
    made = await other.arbiter.challenges.challenge(alice.session.caller, "r", "bob", TERMS)
    await asyncio.sleep(1)
    directory.die_at(step, arrives)
    await until_it_dies(one, one.arbiter.challenges.decline(bob, made.challenge_id, "no time"))
    await alice.receive()
    open_now = await other.arbiter.challenges.open(alice.session.caller, "", 10)
    assert closed_for(alice) == ([] if open_now else [("", "no time")])


@virtually
async def test_a_server_that_is_alone_completes_them_after_a_restart() -> None:
    server = InMemoryArbiter()
    alice, bob = await server.caller("alice"), await server.caller("bob")
    made = await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS)
    server.journal.hold = True
    accepting = asyncio.create_task(server.arbiter.challenges.accept(bob, made.challenge_id))
    await settle()
    await server.restart()
    accepting.cancel()
    reader = await server.connect("alice")
    completing = asyncio.create_task(server.arbiter.challenges.complete_always())
    await asyncio.sleep(LONG_S)
    completing.cancel()
    await reader.receive()
    assert closed_for(reader) == [(match_id, "") for match_id in await server.journal.unfinished()]
    assert len(closed_for(reader)) == 1


async def refused(accepting: Awaitable[Any]) -> Reason:
    with pytest.raises(Refusal) as caught:
        await accepting
    return caught.value.reason


@virtually
async def test_a_seek_that_a_busy_player_has_tried_to_accept_is_open_for_others() -> None:
    server = InMemoryArbiter(limits=Limits(open_matches_of_player=1))
    alice, bob, carol = [await server.caller(name) for name in ("alice", "bob", "carol")]
    await server.caller("dave")
    busy = await server.create(players=("bob", "dave"))
    challenges: Challenges = server.arbiter.challenges
    seek = await challenges.seek(alice, "r", TERMS)
    assert await refused(challenges.accept(bob, seek.challenge_id)) is Reason.RATE_LIMITED
    assert await challenges.open(carol, "", 10) == [seek]
    assert (await challenges.accept(carol, seek.challenge_id)).players == ("alice", "carol")
    await server.arbiter.matches.act(busy.id, Abort("org", "a"))
    assert await refused(challenges.accept(bob, seek.challenge_id)) is Reason.CHALLENGE_NOT_FOUND


@virtually
async def test_completing_goes_on_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    server = InMemoryArbiter()
    alice, bob = await server.caller("alice"), await server.caller("bob")
    made = await server.arbiter.challenges.challenge(alice, "r", "bob", TERMS)
    server.journal.refuse = True
    assert await refused(server.arbiter.challenges.accept(bob, made.challenge_id)) is Reason.STORE_UNAVAILABLE
    create = server.arbiter.matches.create
    failing = iter([True, False])

    async def fails_once(*arguments: Any) -> Any:
        if next(failing, False):
            raise RuntimeError("an error of our code")
        return await create(*arguments)

    monkeypatch.setattr(server.arbiter.matches, "create", fails_once)
    completing = asyncio.create_task(server.arbiter.challenges.complete_always())
    await asyncio.sleep(LONG_S)
    assert await server.journal.unfinished() == []
    server.journal.refuse = False
    await asyncio.sleep(LONG_S)
    completing.cancel()
    assert len(await server.journal.unfinished()) == 1
