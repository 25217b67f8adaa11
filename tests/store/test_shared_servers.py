"""Server processes that share a PostgreSQL: players and observers on each of them, and servers that are killed."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import arbiter_client as arb

from arbiter.keys.key_ring import holds
from arbiter.matches import transcript
from arbiter.matches.signing import PublicKey, checking
from arbiter.testing.guarantees import Received, kept
from tests.e2e.crashing import CrashPlan
from tests.e2e.crashing_server import LONGEST_S, CrashingServer, crashing_server
from tests.e2e.evidence import ENDS_OF_AN_OUTAGE, events_of

PLAYERS = ("anna", "ben", "cleo", "dan")
MATCHES = 6
KILLS = 2
MOVES_BETWEEN = 12


class Slow(arb.Bot):
    """Plays a legal move after a while, so that matches outlive servers; once it is `tired`, it resigns."""

    extras = arb.Extras(legal_moves_up_to=1_000)

    def __init__(self, thinks_s: float = 0.25) -> None:
        self.thinks_s = thinks_s
        self.results: Counter[str] = Counter()  # by match: how often its end was received
        self.tired = False

    async def choose(self, turn: arb.Turn) -> arb.Choice:
        await asyncio.sleep(self.thinks_s)
        if self.tired:
            return arb.Resign()
        moves = turn.legal_moves or await self.client.legal_moves(arb.MatchPly(turn.match.match_id, turn.ply))
        return moves[turn.ply % len(moves)].text

    async def ended(self, finished: arb.FinishedMatch) -> None:
        self.results[finished.match_id] += 1


class Observer:
    """Observes all matches from the first event on, at any server that answers."""

    def __init__(self, addresses: str, token: str) -> None:
        self.seen: list[arb.MatchEvent] = []
        self.kinds: Counter[str] = Counter()
        self.changed = asyncio.Event()
        self.task = asyncio.create_task(self._observe(addresses, token))

    async def _observe(self, addresses: str, token: str) -> None:
        async with arb.Client(addresses, token=token, patience_s=LONGEST_S) as client:
            async for event in client.observe_all("0", with_record=True):
                self.seen.append(event)
                self.kinds[json.loads(event.record)["kind"]] += 1
                self.changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on the received events holds."""
        while not condition():
            self.changed.clear()
            await self.changed.wait()

    async def moves(self, more: int) -> None:
        """Wait for this many more moves."""
        enough = self.kinds["moved"] + more
        await self.until(lambda: self.kinds["moved"] >= enough)


async def test_players_go_on_at_another_server_whichever_is_killed(postgres: str, tmp_path: Path) -> None:
    async with (
        crashing_server(tmp_path, postgres, shared=True, name="one") as one,
        crashing_server(tmp_path, postgres, shared=True, name="other") as other,
    ):
        servers = [one, other]
        for server in servers:
            assert await server.begin(CrashPlan())
        await asyncio.wait_for(play_through(servers), LONGEST_S)
        for server in servers:
            server.kill(signal.SIGTERM)
            assert await server.ended() == 0


def addresses(servers: list[CrashingServer], first: int) -> str:
    """Return the addresses of all servers, beginning with one of them."""
    return ",".join(server.address for server in servers[first:] + servers[:first])


async def begin_to_play(
    client: arb.Client, servers: list[CrashingServer]
) -> tuple[dict[str, Slow], list[asyncio.Task[None]]]:
    """Let all players connect, in turn to the first and the second server; return their bots, and their runs."""
    bots = {name: Slow() for name in PLAYERS}
    tokens = {name: (await client.create_token(name)).secret for name in PLAYERS}
    return bots, [
        asyncio.create_task(arb.play(bot, addresses(servers, number % 2), token=tokens[name]))
        for number, (name, bot) in enumerate(bots.items())
    ]


async def play_through(servers: list[CrashingServer]) -> None:
    token = next(server.admin_token for server in servers if server.admin_token)
    async with arb.Client(addresses(servers, 0), token=token, patience_s=LONGEST_S) as client:
        bots, playing = await begin_to_play(client, servers)
        observer = Observer(addresses(servers, 1), token)
        made: dict[str, tuple[str, str]] = {}
        over = asyncio.Event()
        making = asyncio.create_task(make_matches(client, made, observer, over))
        for kill in range(KILLS):
            await observer.moves(MOVES_BETWEEN)
            killed = servers[kill % 2]
            killed.kill()
            await killed.ended()
            await observer.moves(MOVES_BETWEEN)
            assert await killed.begin(CrashPlan())
        over.set()
        observer.changed.set()
        await making
        for bot in bots.values():
            bot.tired = True
        await observer.until(lambda: observer.kinds["ended"] == len(made))
        while any(bots[name].results[match_id] == 0 for match_id, pair in made.items() for name in pair):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # there is nothing to wait on
        await check(client, made, observer)
        for task in (*playing, observer.task):
            task.cancel()
        for task in (*playing, observer.task):
            with suppress(asyncio.CancelledError):
                await task


async def make_matches(
    client: arb.Client, made: dict[str, tuple[str, str]], observer: Observer, over: asyncio.Event
) -> None:
    """Create matches, so that the same number is always open, until `over` is set."""
    while not over.is_set():
        number = len(made)
        pair = (PLAYERS[number % 4], PLAYERS[(number + 1 + number // 4 % 3) % 4])
        match = await client.create_match("pondlife", pair, time_control="1m+1s", request_id=str(number))
        made[match.match_id] = pair
        await observer.until(lambda: over.is_set() or len(made) - observer.kinds["ended"] < MATCHES)


async def check(client: arb.Client, made: dict[str, tuple[str, str]], observer: Observer) -> None:
    """Assert that the record is complete, charges nobody for an outage, and equals what the observer has received."""
    info = await client.server_info()
    keys = checking([PublicKey(key.key_id, key.key, key.valid_from_ms) for key in info.public_keys], holds)
    stored = {}
    for match_id in made:
        text = await client.transcript(match_id)
        transcript.verify(text, keys)
        events = stored[match_id] = events_of(text)
        assert events[-1]["reason"] not in ENDS_OF_AN_OUTAGE, "nobody is charged"
        plies = [event["ply"] for event in events if event["kind"] == "moved"]
        assert plies == list(range(len(plies))), "a move is lost, or recorded twice"
    await observer.until(lambda: len(observer.seen) >= sum(map(len, stored.values())))
    kept([Received(event.match_id, event.revision) for event in observer.seen])
    for event in observer.seen:
        assert json.loads(event.record) == stored[event.match_id][event.revision - 1]
