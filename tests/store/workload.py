"""Players on several servers of a store, who go from one to the next, and what must be true of their matches."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import combinations, pairwise
from statistics import median, quantiles
from typing import Any, NamedTuple

import arbiter_client as arb
import grpc
from arbiter_protos.v1 import match_pb2, play_pb2

from arbiter.keys.key_ring import holds
from arbiter.matches import transcript
from arbiter.matches.signing import PublicKey, checking
from arbiter.testing.guarantees import Received, kept
from tests.e2e.crashing_server import LONGEST_S, CrashingServer
from tests.e2e.evidence import ENDS_OF_AN_OUTAGE, check_received, events_of
from tests.e2e.recording_bot import Exchanges, RecordingBot

PLAYERS = ("anna", "ben", "cleo", "dan", "eva", "finn")
GAMES = ("circle-of-life(target=1)", "hop-it", "pondlife")
AT_ONCE = 4  #: matches
THINKS_MS = 250
SAME_MS = 5
BETWEEN = 10  #: answers from one event to the next
MOST_KILLS = 500
GOES_ON_MS = 3_000
SLOW_MS = 15_000  #: nine of ten players have gone on by then, on a busy machine too
CHARGED_MS = 2_500  #: of it at most: a thought, or a wait of less than `limits.stall_ms`
STEADY_MS = 200  #: a player that has just opened a stream, or lost it, may be on no server
CUP = arb.TournamentSpec("cup", arb.TournamentFormat.ROUND_ROBIN, ("hop-it",), "2m+1s", paired=False)
CUP_PLAYERS = PLAYERS[:4]
OWN = [("grpc.use_local_subchannel_pool", 1)]


class Kill(NamedTuple):
    """When a server had been killed, in UTC epoch milliseconds, and whose streams were surely there."""

    at: int
    players: frozenset[str]


class Hold(NamedTuple):
    """From when to when the table of the log was locked, in UTC epoch milliseconds."""

    began: int
    ended: int


class Player(RecordingBot):
    """A player on one server, who thinks for a while at each turn, and resigns once it is `tired`.

    live_since: when its stream was there, or None.
    """

    repeated = 5
    went_on: Callable[[], None] = staticmethod(lambda: None)
    tired: Callable[[], bool] = staticmethod(lambda: False)
    live_since: int | None = None

    async def take(self, item: play_pb2.PlayItem) -> None:
        """Note that the stream is there."""
        self.live_since = self.live_since or now_ms()
        await super().take(item)

    def let_go(self) -> None:
        """Note that the stream is lost."""
        self.live_since = None
        super().let_go()

    async def over(self) -> None:
        """Wait until the stream has ended."""
        await self.until(lambda: self.call.done())

    async def choose(self, turn: play_pb2.Turn) -> None:
        self.spawn(self._think(turn))

    async def _think(self, turn: play_pb2.Turn) -> None:
        await asyncio.sleep(THINKS_MS / 1_000)
        if self.tired():
            name = f"{turn.match_id} {turn.ply} tired"
            resign = play_pb2.ResignAct()
            await self._ask(play_pb2.PlayAct(request_id=name, match_id=turn.match_id, resign=resign))
        else:
            await super().choose(turn)

    async def answered(self, answer: match_pb2.MoveAnswer) -> None:
        if answer.HasField("receipt"):
            self.went_on()
        await super().answered(answer)


class Roamer:
    """A player who goes to the next server whenever its stream ends. `at`: the number of its server."""

    def __init__(self, name: str, token: str, at: int, workload: Workload) -> None:
        self.name = name
        self.at = at
        self.streams = 0  # that it has opened, if not for the same server again
        self.moved = 0  # the last one on which it has made a move
        self._bot: Player | None = None
        self._metadata = [("authorization", f"Bearer {token}")]
        self._workload = workload
        self.task = asyncio.create_task(self._roam())

    async def _roam(self) -> None:
        servers = self._workload.servers
        while True:
            address = servers[self.at % len(servers)].address
            async with grpc.aio.insecure_channel(address, OWN) as channel:
                bot = Player(self.name, self._workload.exchanges, self._workload.dice, channel, self._metadata)
                self.streams += 1
                self._bot = bot
                bot.went_on = self._went_on
                bot.tired = lambda: self._workload.last
                try:
                    await bot.come_back()
                    await bot.over()
                finally:
                    await bot.__aexit__(None, None, None)
            self.at += 1
            await asyncio.sleep(0.05)

    @property
    def is_steady(self) -> bool:
        """Whether its stream has been there for a while."""
        since = self._bot.live_since if self._bot is not None else None
        return since is not None and now_ms() - since > STEADY_MS

    def _went_on(self) -> None:
        self.moved = self.streams

    def leave(self) -> None:
        """Go to the next server although the stream has not ended."""
        self.at += 1
        self.task.cancel()
        self.task = asyncio.create_task(self._roam())


class Workload:
    """Players on all servers, the matches that they are given, and an observer of everything."""

    def __init__(self, servers: list[CrashingServer], dice: random.Random) -> None:
        self.servers = servers
        self.dice = dice
        self.exchanges = Exchanges()
        self.made: dict[str, str] = {}  # match by request
        self.visited: set[str] = set()  # the matches of the visitors
        self.kills: list[Kill] = []
        self.holds: list[Hold] = []
        self.cup = ""
        self.seen: list[arb.MatchEvent] = []
        self.last = False
        self.roamers: list[Roamer] = []
        self.token = next(server.admin_token for server in servers if server.admin_token)

    @property
    def addresses(self) -> str:
        return ",".join(server.address for server in self.servers)

    @property
    def untold(self) -> int:
        """How many results are still to come."""
        mine = set(self.made.values())
        return 2 * len(mine) - sum(match_id in mine for _, match_id in self.exchanges.results)

    async def hold_cup(self) -> None:
        """Start a tournament of some of the players."""
        async with arb.Client(self.addresses, token=self.token, patience_s=LONGEST_S) as client:
            self.cup = (await client.create_tournament(CUP, "cup")).tournament_id
            for name in CUP_PLAYERS:
                await client.enter_tournament(self.cup, name, request_id=f"enter {name}")
            await client.start_tournament(self.cup, "start")

    async def end_of_cup(self) -> arb.Tournament:
        """Wait until the tournament has ended; return it as another server sees it."""
        async with arb.Client(self.servers[-1].address, token=self.token, patience_s=LONGEST_S) as client:
            async with asyncio.timeout(LONGEST_S):
                while (cup := await client.get_tournament(self.cup)).phase is not arb.TournamentPhase.ENDED:
                    await self.until(lambda: True)
                    await asyncio.sleep(0.1)
            return cup

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        async with arb.Client(self.addresses, token=self.token, patience_s=LONGEST_S) as client:
            for number, name in enumerate(PLAYERS):
                secret = (await client.create_token(name)).secret
                self.roamers.append(Roamer(name, secret, number, self))
        tasks = [asyncio.create_task(self._make()), asyncio.create_task(self._watch())]
        try:
            yield
        finally:
            for task in (*tasks, *(roamer.task for roamer in self.roamers)):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _make(self) -> None:
        """Make matches, so that so many are always open."""
        async with arb.Client(self.addresses, token=self.token, patience_s=LONGEST_S) as client:
            while not self.last:
                request = str(len(self.made))
                dice = random.Random(request)
                match = await client.create_match(
                    dice.choice(GAMES), dice.sample(PLAYERS, 2), time_control="2m+1s", request_id=request
                )
                self.made[request] = match.match_id
                await self.exchanges.until(lambda: self.untold < 2 * AT_ONCE or self.last)

    async def _watch(self) -> None:
        """Observe everything from the first event on, at whichever server answers."""
        backwards = ",".join(server.address for server in reversed(self.servers))
        async with arb.Client(backwards, token=self.token, patience_s=LONGEST_S) as client:
            async for event in client.observe_all("0", with_record=True):
                self.seen.append(event)
                self.exchanges.changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that becomes true by what players receive."""
        async with asyncio.timeout(LONGEST_S):
            while not condition():
                for roamer in self.roamers:
                    if roamer.task.done():
                        roamer.task.result()
                self.exchanges.changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.exchanges.changed.wait(), 1)

    async def answers(self, more: int = BETWEEN) -> None:
        """Wait for so many more answers."""
        enough = len(self.exchanges.answers) + more
        await self.until(lambda: len(self.exchanges.answers) >= enough)

    def on(self, server: int) -> list[tuple[Roamer, int]]:
        """Return the players who are on a server now, and the number of the stream of each."""
        return [(roamer, roamer.streams) for roamer in self.roamers if roamer.at % len(self.servers) == server]

    async def go_on(self, players: Sequence[tuple[Roamer, int]]) -> None:
        """Wait until one of these players, who were on a server, has moved elsewhere."""
        streams = dict(players)
        await self.until(lambda: not streams or any(roamer.moved > number for roamer, number in streams.items()))


async def check(workload: Workload) -> None:
    """Compare the record with what everybody received."""
    cup = await workload.end_of_cup()
    async with arb.Client(workload.addresses, token=workload.token, patience_s=LONGEST_S) as client:
        info = await client.server_info()
        known = await client.list_matches(most=2 * len(workload.made) + 100)
        lines = {match.match_id: await client.transcript(match.match_id) for match in known}
    of_cup = {match.match_id: match.players for match in known if match.label == cup.tournament_id}
    requested = {*workload.made.values(), *workload.visited}
    assert lines.keys() - of_cup == requested, "a match is lost, or one more than was requested"
    pairs = Counter(frozenset(players) for players in of_cup.values())
    assert pairs == Counter(map(frozenset, combinations(CUP_PLAYERS, 2))), "each game of the tournament is played once"
    keys = checking([PublicKey(key.key_id, key.key, key.valid_from_ms) for key in info.public_keys], holds)
    for text in lines.values():
        transcript.verify(text, keys)
    matches = {match_id: events_of(text) for match_id, text in lines.items()}
    charges: list[int] = []
    for events in matches.values():
        charges += check_events(events)
    acts = check_received(workload.exchanges, {name: matches[name] for name in matches.keys() - workload.visited})
    if workload.kills:
        check_kills(workload.kills, matches)
    if workload.holds:
        check_holds(workload.holds, matches)
    kinds = Counter(event["kind"] for events in matches.values() for event in events)
    print(
        f"{len(matches)} matches, {acts}, {kinds}, {workload.exchanges.repeats} repeats; charged at most {max(charges)}"
    )
    await workload.until(lambda: len(workload.seen) >= sum(map(len, matches.values())))
    kept([Received(event.match_id, event.revision) for event in workload.seen])
    for event in workload.seen:
        assert json.loads(event.record) == matches[event.match_id][event.revision - 1]


def check_kills(kills: Sequence[Kill], matches: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """Hold that no thought is charged that a kill has cut, and that its player has soon moved elsewhere."""
    took = []
    for events in matches.values():
        players = events[0]["players"]
        began: int | None = None  # the turn that is under way, unless its player has left
        for event in events:
            if event["kind"] == "moved":
                ledger, mover = event["ledger"], players[event["seat"] - 1]
                for kill in kills:
                    if mover in kill.players and began is not None and began < kill.at < event["at"]:
                        took.append(event["at"] - kill.at)
                        lived = not ledger["started"] < kill.at < ledger["arrived"]
                        assert lived or not ledger["charged"], f"the outage at {kill.at} is charged: {event}"
            if event["kind"] in ("started", "moved"):
                began = event["at"]
            elif event["kind"] == "left":
                began = None
    assert took, "no kill has cut a thought"
    print(f"{len(kills)} kills have cut {len(took)} thoughts, and none is charged for the outage;")
    print(f"their players have moved elsewhere after {median(took):.0f} ms (median), {max(took)} ms (longest)")
    if len(kills) >= MOST_KILLS:  # `make soak`, on a quiet machine; in virtual time there are exact tests
        check_speed(took)


def check_speed(took: Sequence[int]) -> None:
    """Hold that players have soon moved elsewhere, by how long each has taken, in milliseconds."""
    assert median(took) <= GOES_ON_MS
    slow = quantiles(took, n=10, method="inclusive")[-1]
    assert slow <= SLOW_MS, f"a tenth of the players has moved elsewhere only after {slow:.0f} ms"


def check_holds(holds: Sequence[Hold], matches: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """Hold that nobody is charged for the time in which no server could use the log."""
    stopped = 0
    for events in matches.values():
        for before, event in pairwise(events):
            for hold in holds:
                if event["kind"] == "interrupted":
                    stopped += before["at"] < hold.ended and event["at"] > hold.began
                if event["kind"] == "moved":
                    ledger = event["ledger"]
                    passed = ledger["arrived"] - ledger["started"]
                    met = min(ledger["arrived"], hold.ended) - max(ledger["started"], hold.began)
                    charged = ledger["charged"] - (passed - met)
                    assert met <= 0 or charged < CHARGED_MS, f"the wait for the log at {hold} is charged: {event}"
    assert stopped, "no clock was stopped"
    print(f"{stopped} times a clock was stopped while the log was locked, and nobody is charged for it;")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def check_events(events: Sequence[dict[str, Any]]) -> list[int]:
    """Hold that a match is whole, and that all servers measured in one time; return what its moves were charged."""
    assert [event["revision"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["kind"] == "ended"
    assert events[-1]["reason"] not in ENDS_OF_AN_OUTAGE, "nobody loses by an outage"
    plies = [event["ply"] for event in events if event["kind"] == "moved"]
    assert plies == list(range(len(plies))), "a move is lost, or there twice"
    assert all(before["at"] <= after["at"] for before, after in pairwise(events))
    charges: list[int] = []
    clocks: Any = None
    whole = running = False  # whether the turn began with a move, and nothing has interrupted it
    for event in events:
        match event["kind"]:
            case "started":
                clocks, running = event["clocks"], True
            case "interrupted":
                whole = running = False
            case "resumed":
                assert event["clocks"] == clocks, "an outage is charged"
                running = True
            case "moved":
                ledger = event["ledger"]
                assert running, f"no clock ran: {event}"
                passed = ledger["arrived"] - ledger["started"]
                assert not whole or passed >= THINKS_MS - SAME_MS, f"the clocks of two servers differ: {event}"
                assert ledger["charged"] <= max(0, passed), "more is charged than has passed"
                charges.append(ledger["charged"])
                clocks, whole = event["clocks"], True
    return charges
