"""Pages of any size join up to the whole list; invalid page tokens are refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from arbiter_protos.v1 import player_pb2 as pb

from arbiter.errors import Reason
from arbiter.rpc.servicing import PORTION, in_portions
from tests.rpc.calls import Stubs, refused

Ask = Callable[[int, str], Awaitable[Any]]
COUNT = 5


async def pages(ask: Ask, size: int, field: str) -> list[list[Any]]:
    """Return all pages of a list."""
    found, token = list[list[Any]](), ""
    while True:
        answer = await ask(size, token)
        found.append(list(getattr(answer, field)))
        token = answer.next_page_token
        if not token:
            return found


async def check(ask: Ask, field: str, count: int) -> list[Any]:
    """Assert that pages of every size join up to the list on one page; return that."""
    (whole,) = await pages(ask, 0, field)
    assert len(whole) == count
    for size in range(1, count + 2):
        found = await pages(ask, size, field)
        assert [item for page in found for item in page] == whole
        assert [len(page) for page in found] == [min(size, count - first) for first in range(0, count, size)]
    await refused(ask(-1, ""), Reason.ARGUMENT_INVALID, where="page_size")
    return whole


async def test_players(stubs: Stubs) -> None:
    for n in range(COUNT):
        await stubs.players.RegisterPlayer(pb.RegisterPlayerRequest(name=f"player-{n}"))

    def ask(size: int, token: str) -> Awaitable[Any]:
        return stubs.players.ListPlayers(pb.ListPlayersRequest(page_size=size, page_token=token), metadata=stubs.alice)  # type: ignore[no-any-return]

    names = [player.name for player in await check(ask, "players", COUNT + 4)]
    assert names == sorted([*(f"player-{n}" for n in range(COUNT)), "admin", "alice", "bob", "org"])


async def test_tokens(stubs: Stubs) -> None:
    made = [
        (await stubs.players.CreateToken(pb.CreateTokenRequest(note=f"{n}"), metadata=stubs.alice)).token
        for n in range(COUNT)
    ]

    def ask(size: int, token: str) -> Awaitable[Any]:
        return stubs.players.ListTokens(pb.ListTokensRequest(page_size=size, page_token=token), metadata=stubs.alice)  # type: ignore[no-any-return]

    listed = await check(ask, "tokens", COUNT + 1)
    assert {token.token_id for token in made} < {token.token_id for token in listed}
    assert {token.player for token in listed} == {"alice"}


async def test_challenges(stubs: Stubs) -> None:
    terms = pb.Terms(game="pods", time_control="1m", seat=1)
    for n in range(COUNT):
        asked = pb.CreateChallengeRequest(request_id=f"{n}", opponent="bob", terms=terms)
        await stubs.players.CreateChallenge(asked, metadata=stubs.alice)
    await stubs.players.CreateSeek(pb.CreateSeekRequest(request_id="s", terms=terms), metadata=stubs.alice)

    def ask(size: int, token: str) -> Awaitable[Any]:
        request = pb.ListChallengesRequest(page_size=size, page_token=token)
        return stubs.players.ListChallenges(request, metadata=stubs.bob)  # type: ignore[no-any-return]

    listed = await check(ask, "challenges", COUNT + 1)
    assert [challenge.opponent for challenge in listed].count("bob") == COUNT


def test_the_rows_of_a_long_answer_become_messages_in_steps() -> None:
    made, steps = list[int](), list[int]()
    work = in_portions(map(made.append, range(3 * PORTION + 1)))
    with suppress(StopIteration):
        while True:
            work.send(None)
            steps.append(len(made))
    assert (steps, made) == ([PORTION, 2 * PORTION, 3 * PORTION], list(range(3 * PORTION + 1)))
