"""The sessions of bots that play in the process of a run's server."""

from __future__ import annotations

import asyncio

import arbiter_client as arb
from arbiter_client.playing import play_with
from arbiter_client.session import Waiting
from arbiter_protos.v1 import match_pb2

from arbiter.games import registry
from arbiter.service.play.pings import CONNECT_AGAIN
from arbiter.testing.served import Served, memory_world, served
from tests.rpc.calls import Metadata, Stubs
from tests.rpc.servers import WAIT_S

PLIES_WITH_ENDS = 4


class Ending(arb.Bot):
    """Plays the first legal move; in each of its first turns it has the server end its opponent's session."""

    def __init__(self, name: str, server: Served) -> None:
        self.name = name
        self._sessions = server.running.arbiter.sessions

    async def choose(self, turn: arb.Turn) -> str:
        """Return a move."""
        opponent = self._sessions.of(turn.opponent)
        if opponent is not None and turn.ply < PLIES_WITH_ENDS:
            opponent.end(CONNECT_AGAIN)
        game = registry.game(turn.game)
        return min(game.moves(game.parse(turn.position)))


async def play(server: Served, bot: arb.Bot, metadata: Metadata) -> None:
    secret = metadata[0][1].removeprefix("Bearer ")
    async with server.running.client_here(secret, "") as client:
        await play_with(client, bot, 1, 1, "raise", Waiting(WAIT_S))


async def test_a_bot_plays_on_in_the_next_session_if_the_server_ends_one() -> None:
    async with served(memory_world) as server, asyncio.timeout(WAIT_S):
        stubs = await Stubs(server).enter()
        match_id = (await stubs.match(game="hop-it")).match_id
        bots = {"alice": stubs.alice, "bob": stubs.bob}
        async with asyncio.TaskGroup() as group:
            for name, metadata in bots.items():
                group.create_task(play(server, Ending(name, server), metadata))
        found = await stubs.matches.GetMatch(match_pb2.GetMatchRequest(match_id=match_id), metadata=stubs.org)
        assert found.match.result.cause == match_pb2.CAUSE_RULES
        ends = server.running.arbiter.sessions.last_ends
        for name in bots:
            assert [each.reason for each in ends(name)].count(CONNECT_AGAIN.reason) == PLIES_WITH_ENDS / 2
