"""`kill -9` at every kind of record, within commits, at random moments, under load: nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from itertools import chain, count, islice
from pathlib import Path

import arbiter_client as arb
import grpc
import pytest

from arbiter.bootstrap.store import check_store
from arbiter.keys.key_ring import holds
from arbiter.matches import transcript
from arbiter.matches.events import EventKind
from arbiter.matches.signing import PublicKey, checking
from arbiter.testing.guarantees import Received, kept
from tests.e2e import unlocked_commits
from tests.e2e.crashing import WITHIN_COMMIT, CrashPlan, CrashPoint
from tests.e2e.crashing_server import LONGEST_S, CrashingServer, crashing_server
from tests.e2e.evidence import check_match, check_received, events_of, moves_by_run
from tests.e2e.recording_bot import Exchanges, RecordingBot

pytestmark = pytest.mark.long

PLAYERS = ("anna", "ben", "cleo", "dan")
GAMES = ("circle-of-life(target=1)", "hop-it", "pondlife")
AT_ONCE = 12  #: matches
OFTEN = {EventKind.MOVED: 60, EventKind.INTERRUPTED: AT_ONCE, EventKind.RESUMED: AT_ONCE // 2}
"""Kinds of which each run writes many: the server is killed at one of these, drawn by number."""

SELDOM = 2
UNSURE = (EventKind.INTERRUPTED, EventKind.RESUMED)
"""Kinds that a run writes once for each match, when it begins.

With too few matches the planned record is never written, and the test kills the server from outside.
"""

OWN = [("grpc.use_local_subchannel_pool", 1)]
"""Each channel gets its own connection. A connection that has lost its server fails every call for a second or more
before it is opened again. Without this option, a channel to the next process may share such a connection."""

MOVES_BEFORE = 5  #: durable ones, before a run counts the records of the kind at which it is killed
MOST_MOVES = 150  #: acknowledged ones, before a kill from outside
LATE_MOVES = 10 * MOST_MOVES  #: acknowledged ones after which the planned record is certain not to come


def crash_plans(dice: random.Random) -> Iterator[CrashPlan]:
    """Yield plans without end: every kind of record in turn, each time at another number."""
    moments = tuple(CrashPoint)
    for turn in count():
        for n, kind in enumerate(EventKind):
            moves = 0 if kind in UNSURE else MOVES_BEFORE
            yield CrashPlan(kind, moments[(n + turn) % len(moments)], dice.randint(1, OFTEN.get(kind, SELDOM)), moves)


def kills_of(kills: int, dice: random.Random) -> list[CrashPlan]:
    """Return this many plans: every kind of record first, then kills from outside and kinds in turn."""
    drawn = crash_plans(dice)
    first = islice(drawn, len(EventKind))
    rest = chain.from_iterable((CrashPlan(), plan) for plan in drawn)
    return list(islice(chain(first, rest), kills))


class Workload:
    """Players on a server that is killed, their matches, and an observer of everything."""

    def __init__(self, server: CrashingServer, dice: random.Random) -> None:
        self.exchanges = Exchanges()
        self.made: dict[str, str] = {}  # match by request
        self.seen: list[arb.MatchEvent] = []
        self.tokens: dict[str, str] = {}
        self.last = False  # no more matches are to be created
        self._server = server
        self._dice = dice
        self._numbers = count()
        self._asked: str = ""  # the request for a match that has not been answered

    @property
    def outstanding(self) -> int:
        """Return how many results have not been received: each match has one for each player."""
        return 2 * len(self.made) - len(self.exchanges.results)

    @property
    def over(self) -> bool:
        """Return whether no match is to be created any more, and all players have all their results."""
        return self.last and not self._asked and not self.outstanding

    async def register(self) -> None:
        """Register the players."""
        async with arb.Client(self._server.address, token=self._server.admin_token) as client:
            self.tokens = {name: (await client.create_token(name)).secret for name in PLAYERS}

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        """Keep all players connected and playing while the context lasts: one run of the server."""
        bots = []
        async with AsyncExitStack() as stack:
            for name, token in self.tokens.items():
                channel = await stack.enter_async_context(grpc.aio.insecure_channel(self._server.address, OWN))
                metadata = [("authorization", f"Bearer {token}")]
                bot = RecordingBot(name, self.exchanges, self._dice, channel, metadata)
                stack.push_async_exit(bot)
                await bot.come_back()
                bots.append(bot)
            client = arb.Client(self._server.address, token=self._server.admin_token, patience_s=0.0)
            await stack.enter_async_context(client)
            making = asyncio.create_task(self._make(client))
            try:
                yield
            except (AssertionError, TimeoutError) as failure:
                failure.add_note(f"the players: {[(bot.ends, bot.failure) for bot in bots]}; {making}")
                raise
            finally:
                making.cancel()
                with suppress(asyncio.CancelledError, arb.ConnectionFailed):
                    await making

    async def _make(self, client: arb.Client) -> None:
        """Create matches, so that always the same number is open; an unanswered request is repeated first."""
        while True:
            await self.exchanges.until(lambda: bool(self._asked) or (self.outstanding < 2 * AT_ONCE and not self.last))
            request = self._asked = self._asked or str(next(self._numbers))
            dice = random.Random(request)
            match = await client.create_match(
                dice.choice(GAMES), dice.sample(PLAYERS, 2), time_control="2m+1s", request_id=request
            )
            self.made[request], self._asked = match.match_id, ""
            self.exchanges.changed.set()

    async def watch(self) -> None:
        """Observe everything from the first event on, over all runs of the server."""
        async with arb.Client(self._server.address, token=self._server.admin_token) as client:
            async for event in client.observe_all("0", with_record=True):
                self.seen.append(event)
                self.exchanges.changed.set()


async def run_until_killed(
    server: CrashingServer, workload: Workload, plan: CrashPlan, dice: random.Random
) -> EventKind | None:
    """Run the server until it is killed; return the kind of record at which it was killed, None if from outside."""
    if not await server.begin(plan):
        return plan.kind  # the server was killed while it recovered
    async with workload.playing():
        death = asyncio.create_task(server.ended())
        if plan.kind is None or plan.kind in UNSURE:
            moves = dice.randint(1, MOST_MOVES) if plan.kind is None else LATE_MOVES
            if await _outlives(workload.exchanges, moves, death):
                is_interrupted = plan.kind is EventKind.INTERRUPTED and server.matches >= plan.nth
                assert not is_interrupted, f"every match was interrupted, and {plan} was never reached"
                server.kill()
                plan = CrashPlan()
        assert await death == -signal.SIGKILL
    return plan.kind


async def _outlives(exchanges: Exchanges, moves: int, death: asyncio.Task[int]) -> bool:
    """Return whether this many more moves are acknowledged before the server is killed."""
    enough = exchanges.moves + moves
    given = asyncio.create_task(exchanges.until(lambda: exchanges.moves >= enough))
    await asyncio.wait([given, death], timeout=LONGEST_S, return_when=asyncio.FIRST_COMPLETED)
    assert given.done() or death.done(), "the players were not answered"
    given.cancel()
    return not death.done()


async def kill_repeatedly(
    server: CrashingServer,
    crash_plans: Sequence[CrashPlan],
    dice: random.Random,
    killed: Callable[[], None] = lambda: None,
) -> None:
    """Kill a server from outside, then by each plan; check that nothing was lost once all matches have ended.

    `killed` is called after each kill by a plan, while no server runs.
    """
    workload = Workload(server, dice)
    assert await server.begin(CrashPlan())
    await workload.register()
    watching = asyncio.create_task(workload.watch())
    async with workload.playing():
        await asyncio.wait_for(workload.exchanges.until(lambda: workload.exchanges.moves > MOST_MOVES), LONGEST_S)
        server.kill()
        await server.ended()
    deaths: list[EventKind | None] = [None]
    for plan in crash_plans:
        deaths.append(await run_until_killed(server, workload, plan, dice))
        killed()
        print(
            f"{len(server.ends)}: killed at {deaths[-1] or 'no record'} {server.within[-1]} for {plan}, "
            f"{workload.exchanges.moves} moves so far"
        )
    assert set(deaths) >= {plan.kind for plan in crash_plans}, "the server was never killed at some kind of record"
    assert await server.begin(CrashPlan())
    workload.last = True
    async with workload.playing():
        await asyncio.wait_for(workload.exchanges.until(lambda: workload.over), LONGEST_S)
    await check(server, workload, deaths)
    print(", ".join(f"{many} at {kind or 'no record'}" for kind, many in Counter(deaths).items()))
    watching.cancel()
    server.kill(signal.SIGTERM)
    assert await server.ended() == 0
    check_lists(server)


@pytest.mark.timeout(0)  # a thousand kills take long; each step has its own limit
async def test_nothing_is_lost_whenever_the_server_is_killed(tmp_path: Path, kills: int) -> None:
    dice = random.Random(kills)
    async with crashing_server(tmp_path) as server:
        await kill_repeatedly(server, kills_of(kills - 1, dice), dice)


async def test_the_lists_agree_with_the_record_when_the_server_is_killed_within_a_commit(tmp_path: Path) -> None:
    """In the middle of its statements and after them, in the thread that commits moves and ends of matches."""
    thread = unlocked_commits.THREAD if unlocked_commits.is_there() else "store-writer"
    plans = [
        CrashPlan(kind, point, 1, MOVES_BEFORE, thread)
        for kind in (EventKind.MOVED, EventKind.ENDED)
        for point in WITHIN_COMMIT
    ]
    async with crashing_server(tmp_path) as server:
        await kill_repeatedly(server, plans, random.Random(1), partial(check_lists, server))
    assert server.within == ["", *(thread for _ in plans), ""]


def check_lists(server: CrashingServer) -> None:
    """Assert that in the store of a server, which does not run, the lists and counts are those of the record."""
    assert check_store(server.store, lambda _done, _all: None, server.keys).faults == ()


async def check(server: CrashingServer, workload: Workload, deaths: Sequence[EventKind | None]) -> None:
    """Compare the record with what all players and the observer received.

    deaths: for each run that was killed, the kind of record at which it was, None if from outside.
    """
    async with arb.Client(server.address, token=server.admin_token) as client:
        info = await client.server_info()
        known = await client.list_matches(most=2 * len(workload.made))
        lines = {match.match_id: await client.transcript(match.match_id) for match in known}
    assert lines.keys() == set(workload.made.values()), "a match is lost, or created twice"
    keys = checking([PublicKey(key.key_id, key.key, key.valid_from_ms) for key in info.public_keys], holds)
    for text in lines.values():
        transcript.verify(text, keys)
    matches = {match_id: events_of(text) for match_id, text in lines.items()}
    for events in matches.values():
        check_match(events, server.ends)
    moves = moves_by_run(matches, server.ends)
    idle = [run for run, kind in enumerate(deaths) if kind not in UNSURE and not moves[run]]
    assert not idle, f"runs {idle} of {deaths} were killed before any move"
    acts = check_received(workload.exchanges, matches)
    print(f"{len(server.ends)} ends, {len(matches)} matches, {acts}, {workload.exchanges.repeats} repeats")
    assert workload.exchanges.repeats
    await asyncio.wait_for(
        workload.exchanges.until(lambda: len(workload.seen) >= sum(map(len, matches.values()))), LONGEST_S
    )
    kept([Received(event.match_id, event.revision) for event in workload.seen])
    for event in workload.seen:
        assert json.loads(event.record) == matches[event.match_id][event.revision - 1], (
            "an observer received an event that the record no longer has"
        )
