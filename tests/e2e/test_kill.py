"""`kill -9` at every kind of record and at any other moment, under load: nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import chain, count, islice
from pathlib import Path

import arbiter_client as arb
import grpc
import pytest

from arbiter.matches import transcript
from arbiter.matches.events import EventKind
from arbiter.matches.public_keys import PublicKey, checking
from arbiter.runtime.keys import holds
from arbiter.testing.crashing import CrashPlan, CrashPoint
from arbiter.testing.guarantees import Received, kept
from tests.e2e.evidence import check_match, check_told, events_of
from tests.e2e.lives import LONGEST_S, Lives, lives
from tests.e2e.witness import Book, Witness

pytestmark = pytest.mark.long

PLAYERS = ("anna", "ben", "cleo", "dan")
GAMES = ("circle-of-life(target=1)", "hop-it", "pondlife")
AT_ONCE = 12  #: matches
OFTEN = {EventKind.MOVED: 60, EventKind.INTERRUPTED: AT_ONCE, EventKind.RESUMED: AT_ONCE // 2}
"""Kinds of which there are many in each life: which one of them is deadly is drawn from so many."""

SELDOM = 2
UNSURE = (EventKind.INTERRUPTED, EventKind.RESUMED)
"""Kinds of which a life has one a match, at its beginning: with fewer matches than it takes, a doom of these never
comes, and the life is ended from outside."""

OWN = [("grpc.use_local_subchannel_pool", 1)]
"""A channel has a connection of its own. One that has lost its server fails every call for a second or more before it
tries again, and without this a channel to the next life may get just that one."""

MOST_ANSWERS = 150  #: before a blow from outside
LATE_ANSWERS = 10 * MOST_ANSWERS  #: before it is plain that an unsure doom won't come


def dooms(dice: random.Random) -> Iterator[CrashPlan]:
    """Yield dooms without end: every kind of record in turn, each time at another moment."""
    moments = tuple(CrashPoint)
    for turn in count():
        for n, kind in enumerate(EventKind):
            yield CrashPlan(kind, moments[(n + turn) % len(moments)], dice.randint(1, OFTEN.get(kind, SELDOM)))


def plan(kills: int, dice: random.Random) -> list[CrashPlan]:
    """Return as many dooms: every kind of record first, then blows from outside and kinds by turns."""
    drawn = dooms(dice)
    first = islice(drawn, len(EventKind))
    rest = chain.from_iterable((CrashPlan(), doom) for doom in drawn)
    return list(islice(chain(first, rest), kills))


class Siege:
    """Players on a server that dies, the matches that they are given, and an observer who sees all."""

    def __init__(self, server: Lives, dice: random.Random) -> None:
        self.book = Book()
        self.made: dict[str, str] = {}  # match by request
        self.seen: list[arb.MatchEvent] = []
        self.tokens: dict[str, str] = {}
        self.last = False  # no more matches are to be made
        self._server = server
        self._dice = dice
        self._numbers = count()
        self._asked: str = ""  # the request for a match that has not been answered

    @property
    def untold(self) -> int:
        """How many results are still to come: each match has one for either player."""
        return 2 * len(self.made) - len(self.book.results)

    @property
    def over(self) -> bool:
        """Whether no match is to be made any more, and all players know how all theirs have ended."""
        return self.last and not self._asked and not self.untold

    async def register(self) -> None:
        """Make the players."""
        async with arb.Client(self._server.address, token=self._server.admin_token) as client:
            self.tokens = {name: (await client.create_token(name)).secret for name in PLAYERS}

    @asynccontextmanager
    async def laid(self) -> AsyncIterator[None]:
        """Have everybody at play for as long as the context lasts: one life of the server."""
        witnesses = []
        async with AsyncExitStack() as stack:
            for name, token in self.tokens.items():
                channel = await stack.enter_async_context(grpc.aio.insecure_channel(self._server.address, OWN))
                metadata = [("authorization", f"Bearer {token}")]
                witness = Witness(name, self.book, self._dice, channel, metadata)
                stack.push_async_exit(witness)
                await witness.come_back()
                witnesses.append(witness)
            client = arb.Client(self._server.address, token=self._server.admin_token, patience_s=0.0)
            await stack.enter_async_context(client)
            making = asyncio.create_task(self._make(client))
            try:
                yield
            except (AssertionError, TimeoutError) as failure:
                failure.add_note(f"the players: {[(witness.ends, witness.failure) for witness in witnesses]}; {making}")
                raise
            finally:
                making.cancel()
                with suppress(asyncio.CancelledError, arb.ConnectionFailed):
                    await making

    async def _make(self, client: arb.Client) -> None:
        """Make matches, so that so many are always open; a request that was not answered is the next one's."""
        while True:
            await self.book.until(lambda: bool(self._asked) or (self.untold < 2 * AT_ONCE and not self.last))
            request = self._asked = self._asked or str(next(self._numbers))
            dice = random.Random(request)
            match = await client.create_match(
                dice.choice(GAMES), dice.sample(PLAYERS, 2), time_control="2m+1s", request_id=request
            )
            self.made[request], self._asked = match.match_id, ""
            self.book.changed.set()

    async def watch(self) -> None:
        """Watch everything from the first event on, through all the server's deaths."""
        async with arb.Client(self._server.address, token=self._server.admin_token) as client:
            async for event in client.observe_all("0", with_record=True):
                self.seen.append(event)
                self.book.changed.set()


async def die(server: Lives, siege: Siege, doom: CrashPlan, dice: random.Random) -> EventKind | None:
    """Have the server live until a doom; return the kind of record that it died of, or none if of a blow."""
    if not await server.begin(doom):
        return doom.kind  # it died as it recovered
    if doom.kind is EventKind.INTERRUPTED:
        assert server.matches < doom.nth, f"every match was interrupted, and {doom} did not come"
    async with siege.laid():
        death = asyncio.create_task(server.ended())
        if doom.kind is None or doom.kind in UNSURE:
            answers = dice.randint(0, MOST_ANSWERS) if doom.kind is None else LATE_ANSWERS
            if await _outlives(siege.book, answers, death):
                server.kill()
                doom = CrashPlan()
        assert await death == -signal.SIGKILL
    return doom.kind


async def _outlives(book: Book, answers: int, death: asyncio.Task[int]) -> bool:
    """Return whether players are given so many answers more before a server's death."""
    enough = len(book.answers) + answers
    given = asyncio.create_task(book.until(lambda: len(book.answers) >= enough))
    await asyncio.wait([given, death], timeout=LONGEST_S, return_when=asyncio.FIRST_COMPLETED)
    assert given.done() or death.done(), "the players were not answered"
    given.cancel()
    return not death.done()


async def besiege(server: Lives, dooms: Sequence[CrashPlan], dice: random.Random) -> None:
    """Have a server killed from outside, then by each doom; hold that nothing was lost once all matches are over."""
    siege = Siege(server, dice)
    assert await server.begin(CrashPlan())
    await siege.register()
    watching = asyncio.create_task(siege.watch())
    async with siege.laid():
        await asyncio.wait_for(siege.book.until(lambda: len(siege.book.answers) > MOST_ANSWERS), LONGEST_S)
        server.kill()
        await server.ended()
    deaths: Counter[EventKind | None] = Counter()
    for doom in dooms:
        died = await die(server, siege, doom, dice)
        deaths[died] += 1
        print(f"{len(server.ends)}: {died or 'a blow'} for {doom}, {len(siege.book.answers)} answers so far")
    assert deaths.keys() >= {doom.kind for doom in dooms}, "a kind of record never was deadly"
    assert await server.begin(CrashPlan())
    siege.last = True
    async with siege.laid():
        await asyncio.wait_for(siege.book.until(lambda: siege.over), LONGEST_S)
    await check(server, siege)
    print(", ".join(f"{many} by {kind or 'a blow'}" for kind, many in deaths.items()))
    watching.cancel()
    server.kill(signal.SIGTERM)
    assert await server.ended() == 0


@pytest.mark.timeout(0)  # a thousand kills take their time; each step has a limit of its own
async def test_nothing_is_lost_whenever_the_server_is_killed(tmp_path: Path, kills: int) -> None:
    dice = random.Random(kills)
    async with lives(tmp_path) as server:
        await besiege(server, plan(kills - 1, dice), dice)


async def check(server: Lives, siege: Siege) -> None:
    """Hold the record against what everybody was told."""
    async with arb.Client(server.address, token=server.admin_token) as client:
        info = await client.server_info()
        known = await client.list_matches(most=2 * len(siege.made))
        lines = {match.match_id: await client.transcript(match.match_id) for match in known}
    assert lines.keys() == set(siege.made.values()), "a match is lost, or there is one more than was asked for"
    keys = checking([PublicKey(key.key_id, key.key, key.valid_from_ms) for key in info.public_keys], holds)
    for text in lines.values():
        transcript.verify(text, keys)
    matches = {match_id: events_of(text) for match_id, text in lines.items()}
    for events in matches.values():
        check_match(events, server.ends)
    acts = check_told(siege.book, matches)
    print(f"{len(server.ends)} ends, {len(matches)} matches, {acts}, {siege.book.repeats} repeats")
    assert siege.book.repeats
    await asyncio.wait_for(siege.book.until(lambda: len(siege.seen) >= sum(map(len, matches.values()))), LONGEST_S)
    kept([Received(event.match_id, event.revision) for event in siege.seen])
    for event in siege.seen:
        assert json.loads(event.record) == matches[event.match_id][event.revision - 1], "it was seen, and is no more"
