"""A game of a tournament ends once both bots agree in their evaluations: through the whole service, over a restart."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.keys.key_ring import SigningKey
from arbiter.matches.comments import Comment
from arbiter.matches.events import Cause
from arbiter.service.ports.journal import Filter, TournamentFilter
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.testing.memory import NoKeys
from arbiter.tournaments import commands as do
from arbiter.tournaments.spec import Adjudication, Format
from tests.service.matches.test_comment_keys import Ring
from tests.service.tournaments.contest import spec_of

RULES = Adjudication(plies=12, evaluation=300, evaluation_plies=4, draw_evaluation=30, draw_plies=6)
SPEC = spec_of(Format.ROUND_ROBIN, games=("hop-it",), adjudication=RULES)
KEYS = Ring(SigningKey(b"\x01" * 32, 0))


class Pair:
    """An arbiter with a tournament of two bots that play one match."""

    def __init__(self, server: InMemoryArbiter) -> None:
        self.server = server
        self.bots: dict[str, StreamReader] = {}

    async def begin(self) -> None:
        """Start the tournament."""
        tournaments = self.server.arbiter.tournaments
        tournament = await tournaments.create(SPEC, "org", "make")
        for name in ("ann", "ben"):
            await tournaments.act(tournament.id, do.Enter(name, "org", name))
        await self.connect()
        await tournaments.act(tournament.id, do.Start("org", "start"))
        await asyncio.sleep(1)

    async def connect(self) -> None:
        """Connect both bots."""
        self.bots = {name: await self.server.connect(name) for name in ("ann", "ben")}
        await settle()

    async def play(self, plies: int, *evaluations: int | None) -> None:
        """Play this many plies, or to the end; each move has its seat's evaluation."""
        for _ in range(plies):
            for match in [live.newest for live in self.server.arbiter.matches.live]:
                said = evaluations[match.turn - 1]
                move = min(match.game.moves(match.position))
                comment = None if said is None else Comment(said)
                session = self.bots[match.players[match.turn - 1]].session
                now = self.server.clock.now_ms()
                acts = self.server.arbiter.acts
                acts.play(session, f"r{match.ply}", match.id, match.ply, move, now, comment)
                await settle()

    async def end(self) -> tuple[str, int, int] | None:
        """Return reason, winner and length of the match, None while it goes on."""
        [row] = await self.server.journal.summaries(Filter(), 0, 10)
        if row.end is None:
            return None
        assert row.end.cause == Cause.ORGANISER.value
        return row.end.reason, row.end.winner, row.end.ply


@pytest.mark.parametrize(
    ("evaluations", "end"),
    [
        ((850, 150), ("adjudicated_evaluation", 1, 4)),
        ((100, 999), ("adjudicated_evaluation", 2, 4)),
        ((500, 520), ("adjudicated_level", 0, 6)),
        ((850, 850), ("adjudicated_length", 0, 12)),
        ((850, None), ("adjudicated_length", 0, 12)),
    ],
)
@virtually
async def test_agreeing_evaluations_end_the_match(
    evaluations: tuple[int | None, ...], end: tuple[str, int, int]
) -> None:
    pair = Pair(InMemoryArbiter(signer=KEYS))
    await pair.begin()
    await pair.play(end[2] - 1, *evaluations)
    assert await pair.end() is None
    await pair.play(1, *evaluations)
    assert await pair.end() == end
    await asyncio.sleep(1)
    [tournament] = await pair.server.arbiter.tournaments.summaries(TournamentFilter(), 0, 10)
    assert tournament.phase == "ended"


@virtually
async def test_evaluations_before_a_restart_count_too() -> None:
    pair = Pair(InMemoryArbiter(signer=KEYS))
    await pair.begin()
    await pair.play(3, 850, 150)
    await pair.server.restart()
    await pair.connect()
    await pair.play(1, 850, 150)
    assert await pair.end() == ("adjudicated_evaluation", 1, 4)


@virtually
async def test_a_server_that_can_not_encrypt_comments_ignores_evaluations() -> None:
    pair = Pair(InMemoryArbiter(signer=NoKeys()))
    await pair.begin()
    await pair.play(12, 850, 150)
    assert await pair.end() == ("adjudicated_length", 0, 12)
