"""Tournaments through the whole service in virtual time, with bots that move at once; and invariants of their logs."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from arbiter.service.play.session import TurnItem
from arbiter.service.ports.journal import Filter, MatchSummary, Subject
from arbiter.service.record import tournament_log
from arbiter.service.record.tournament_log import StoredLog
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader, items_of
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.corrections import Replay
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.tournament import Tournament, TournamentPhase

GAME = "circle-of-life(target=1)"
THINK_S = 0.02  #: virtual time until a bot's answer; most games end after one


def spec_of(format_: Format, **given: Any) -> Spec:
    """Return a specification; an argument that is no field of it is an option of the format."""
    fields = {name: given.pop(name) for name in list(given) if name in Spec.__dataclass_fields__}
    options = {"duration_ms": 6_000, "rounds": 3, "most_meetings": 6} | given
    if format_ not in (Format.ARENA, Format.LADDER):
        del options["duration_ms"]
    values: dict[str, Any] = {"games": (GAME,), "time": "10s", "paired": False} | fields
    return Spec(name=f"a {format_.value}", format=format_, options=Options(**options), **values)


class Contest:
    """An arbiter with bots that play all their matches, and reconnect after a crash.

    Each bot resigns in half of its games, chosen by seed, at its first turn, and plays on in the others. The arbiter is
    `server`, or all of several `servers` that share a store: then requests go to them in turn, and so do bots.
    """

    def __init__(
        self,
        players: int,
        seed: int = 1,
        server: InMemoryArbiter | None = None,
        servers: Sequence[InMemoryArbiter] = (),
        **hello: Any,
    ) -> None:
        self.servers = list(servers) or [server or InMemoryArbiter()]
        self._turns = itertools.count()
        self.names = [f"p{number:03}" for number in range(players)]
        self.playing: dict[str, asyncio.Task[None]] = {}
        self._bots: dict[str, StreamReader] = {}
        self._lots = random.Random(seed)
        self._hello = hello
        self._requests = 0

    @property
    def server(self) -> InMemoryArbiter:
        """The server, or the first of several."""
        return self.servers[0]

    def _next(self) -> InMemoryArbiter:
        """Return the server whose turn it is."""
        return self.servers[next(self._turns) % len(self.servers)]

    async def open(self, spec: Spec) -> str:
        """Create a tournament, enter all bots, and connect them; return its id."""
        made = await self._next().arbiter.tournaments.create(spec, "org", f"make {spec.name}")
        for number, name in enumerate(self.names):
            team = f"team {number % 2}" if spec.boards else ""
            await self.act(made.id, do.Enter(name, "org", f"enter {name}", team=team))
            await self.connect(name)
        return made.id

    async def start(self, spec: Spec) -> str:
        """Open a tournament, and start it."""
        tournament_id = await self.open(spec)
        await self.act(tournament_id, do.Start("org", "start"))
        return tournament_id

    async def act(self, tournament_id: str, command: do.Request) -> Tournament:
        """Carry out a request."""
        return await self._next().arbiter.tournaments.act(tournament_id, command)

    async def connect(self, name: str) -> None:
        """Connect a bot, and let it play."""
        if name not in self.playing:
            self._bots[name] = bot = await self._next().connect(name, **self._hello)
            self.playing[name] = asyncio.create_task(self._play(bot))

    async def leave(self, name: str) -> None:
        """Disconnect a bot."""
        task = self.playing.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def crash(self) -> None:
        """Lose all that is not stored, start again, and reconnect."""
        for task in self.playing.values():
            task.cancel()
        self.playing.clear()
        await self.server.restart(at_once=False)
        self.reviving = asyncio.create_task(self.server.arbiter.matches.revive_rest())
        for name in self.names:
            await self.connect(name)

    async def lose(self, server: InMemoryArbiter) -> None:
        """Have one of several servers die; its bots go on at the others."""
        there = [name for name, bot in self._bots.items() if bot.server is server]
        await server.die()
        self.servers.remove(server)
        dead = [self.playing.pop(name) for name in there]
        for name in there:
            await self.connect(name)
        for task in dead:  # only now: a dead server says of no stream that it has ended
            task.cancel()

    async def tournament(self, tournament_id: str) -> Tournament:
        """Return the durable state of a tournament."""
        return await self.server.arbiter.tournaments.get(tournament_id)

    async def ended(self, tournament_id: str, most_s: float = 4_000) -> StoredLog:
        """Wait until a tournament has ended; return its log after checking its invariants."""
        async with asyncio.timeout(most_s):
            while (await self.tournament(tournament_id)).phase is not TournamentPhase.ENDED:  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(1)
        await asyncio.sleep(5)  # its remaining matches have ended too
        return await self.checked(tournament_id)

    async def checked(self, tournament_id: str) -> StoredLog:
        """Assert that a log is valid, and that its games and the matches in the journal agree."""
        log = tournament_log.load(
            tournament_id, await self.server.journal.read(tournament_id, subject=Subject.TOURNAMENT)
        )
        rows = await self.server.journal.summaries(Filter(label=tournament_id), 0, 1_000_000)
        assert violations(log.events) == []
        check_matches(log.events, rows)
        kept = await self.server.arbiter.tournaments.whole(tournament_id)
        assert kept.phase is not TournamentPhase.ENDED or not kept.running, "no game goes on after the end"
        assert (kept.results, kept.revision, kept.phase) == (
            log.tournament.results,
            log.tournament.revision,
            log.tournament.phase,
        ), "the state in memory follows from the log"
        return log

    async def _play(self, bot: StreamReader) -> None:
        try:
            while True:
                for item in await items_of(bot.session):
                    if isinstance(item, TurnItem):
                        await asyncio.sleep(THINK_S)
                        self._move(bot, item)
        finally:
            bot.leave()

    def _move(self, bot: StreamReader, turn: TurnItem) -> None:
        self._requests += 1
        if turn.match.ply < 2 and self._lots.random() < 0.5:
            bot.server.arbiter.acts.resign(bot.session, f"r{self._requests}", turn.match.id)
        else:
            bot.reply(turn)


def check_matches(events: Iterable[ev.Event], rows: Iterable[MatchSummary]) -> None:
    """Assert that no game was lost or played twice: each has one match that counts, whose result is the game's."""
    by_id, events = {row.match_id: row for row in rows}, list(events)
    again = {each.what.game: n for n, each in enumerate(events) if _is_replay(each)}  # type: ignore[union-attr]
    begun = [event for event in events if isinstance(event, ev.Begun)]
    counted = [each for n, each in enumerate(events) if isinstance(each, ev.Begun) and n > again.get(each.game, 0)]
    ended = {event.game: event for event in events if isinstance(event, ev.EndedGame)}
    assert len(begun) == len({event.match for event in begun}), "a match belongs to one game"
    over = any(isinstance(event, ev.Ended) for event in events)
    known = {event.match for event in begun}
    for row in by_id.values():
        if row.match_id not in known:
            assert row.end is None or row.end.result == "void", f"{row.match_id} belongs to no game"
        if over:
            assert row.end is not None, f"{row.match_id} goes on after its tournament"
    counting: Counter[int] = Counter()
    for event in counted:
        end = by_id[event.match].end
        if end is not None and end.result != "void":
            counting[event.game] += 1
            if over or event.game in ended:
                assert event.game in ended, f"the result of {event.match} is lost"
                assert (ended[event.game].match, ended[event.game].winner) == (event.match, end.winner)
    assert all(times == 1 for times in counting.values()), "no game is played twice"
    for game, result in ended.items():
        assert result.match == "" or by_id[result.match].end is not None
        assert result.match == "" or counting[game] == 1 or result.cause == "absence"


def _is_replay(event: ev.Event) -> bool:
    return isinstance(event, ev.Corrected) and isinstance(event.what, Replay)
