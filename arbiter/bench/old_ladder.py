"""A ladder that has run for long, written straight into a store: its log, its snapshot, and the record of each game.

Every event of the ladder is decided by its rules, as on a server; only the players and the clock are made up. A match
has few moves, and then a player resigns. The first match of two players with each end is decided by the rules too; each
later one is the same but for its id, its number and its time (`_Pattern`), since a million games are to be written in
minutes. `tests/bench/test_old_ladder.py` has the whole store checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from arbiter.bench.scripts import GAME, scripts
from arbiter.bench.stores import NewStore
from arbiter.bootstrap.store import open_store
from arbiter.event_json.canonical import digest
from arbiter.games.contract import Seat
from arbiter.matches import creation, evolution, transitions
from arbiter.matches.commands import Arrive, Command, Play, Resign
from arbiter.matches.events import FIRST_PREVIOUS, Created, Event
from arbiter.matches.match import Match
from arbiter.matches.policy import Policy
from arbiter.matches.record import seal, seal_first
from arbiter.runtime.ids import SystemIds
from arbiter.runtime.system_clock import SystemClock
from arbiter.service.players.accounts import ADMIN
from arbiter.service.ports.directory import Directory, Player
from arbiter.service.ports.journal import Append, Record, Subject
from arbiter.service.ports.snapshots import Snapshot
from arbiter.service.record.match_log import end_of, summary_of
from arbiter.service.record.snapshots import take_snapshot
from arbiter.service.record.tournament_log import Chain
from arbiter.service.record.tournament_log import summary_of as tournament_summary_of
from arbiter.service.tournaments.game_matches import creation as create_command
from arbiter.service.tournaments.game_matches import report
from arbiter.tournaments import commands as do
from arbiter.tournaments import engine
from arbiter.tournaments.book_order import Opening
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.folding import fold
from arbiter.tournaments.meetings import Pair, ScheduledGame
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.tournament import Tournament

PLAYERS: Final = 24
PLIES: Final = 4  #: moves of a match
LASTS_MS: Final = 1_000  #: a game
SEED: Final = 37
ORGANISER: Final = "bench"
AT_ONCE: Final = 100  #: games that are being stored at the same time


async def write_ladder(store: NewStore, games: int) -> str:
    """Write a ladder on which this many games have ended, and which goes on; return its id."""
    ladder = _Ladder(games)
    async with open_store(store.url, ring=store.folder / "arbiter.keys") as opened:
        begun = ladder.begin()
        await opened.journal.append(begun)
        for first in range(0, games, AT_ONCE):
            some = ladder.games(min(AT_ONCE, games - first))
            await asyncio.gather(*map(opened.journal.append, some))
            if ladder.since_snapshot >= opened.snapshots.every:
                await opened.snapshots.keep(ladder.snapshot())
        await _acknowledge(opened.directory, ladder.players, await opened.journal.head())
    return ladder.id


async def _acknowledge(directory: Directory, players: Sequence[str], head: int) -> None:
    """Have all players acknowledge their results, as bots do: whoever has not is sent all of them when it comes."""
    await directory.add_player(Player(ADMIN, SystemClock().now_ms()), None)  # a first start would make it
    for player in players:
        await directory.add_player(Player(player, SystemClock().now_ms()), None)
        await directory.acknowledge(player, head)


class _Pattern:
    """The append and the report of a match, from which those of other matches are made that are played alike."""

    def __init__(self, match: Match, bodies: Sequence[bytes]) -> None:
        created = match.created
        self._opened, self._closed, self._report = summary_of(created), end_of(match), report(0, match)
        self._bodies = []
        previous = FIRST_PREVIOUS
        for body in bodies:
            pattern = body.replace(b"%", b"%%")
            for found, name in (
                (previous, "%(previous)s"),
                (match.id, "%(id)s"),
                (str(created.at), "%(at)d"),
                (f'"request":"{created.request}"', '"request":"%(request)s"'),
            ):
                pattern = pattern.replace(found.encode(), name.encode())
            self._bodies.append(pattern)
            previous = digest(body)

    def played(self, match_id: str, number: int, at: int) -> tuple[Append, do.ReportResult]:
        """Return the append of a match, and what it reports to the ladder. number: of its game. at: UTC epoch ms."""
        request, previous = f"{number}/1", FIRST_PREVIOUS
        values: dict[bytes, bytes | int] = {b"id": match_id.encode(), b"at": at, b"request": request.encode()}
        records = []
        for revision, pattern in enumerate(self._bodies, 1):
            values[b"previous"] = previous.encode()
            body = pattern % values
            records.append(Record(match_id, revision, body, Subject.MATCH))
            previous = digest(body)
        opened = replace(self._opened, match_id=match_id, request_id=request, created_ms=at)
        append = Append(tuple(records), opened, replace(self._closed, ended_ms=at))
        return append, replace(self._report, game=number, match=match_id)


class _Ladder:
    """The state from which the next game is made."""

    def __init__(self, games: int) -> None:
        self._random = Random(SEED)
        self._now = SystemClock().now_ms() - games * LASTS_MS
        self._ids = SystemIds(SystemClock())
        self.players = [f"player-{number}" for number in range(PLAYERS)]
        [self._moves] = scripts(GAME, 1)
        self._patterns: dict[tuple[str, str, Seat], _Pattern] = {}
        self.id = self._ids.new("t")
        self.since_snapshot = 0  #: events

    def begin(self) -> Append:
        """Return the append of its creation, the entries and the start."""
        options = Options(validation=False)
        spec = Spec("A year", Format("ladder"), (GAME,), "1m+1s", paired=False, options=options)
        self._tournament, made = engine.create(self.id, spec, ORGANISER, "create", self._now)
        self._chain = Chain(self.id)
        records = list(self._chain.seal(made.events))
        for player in self.players:
            records += self._decide(do.Enter(player, ORGANISER, f"enter-{player}"))
        records += self._decide(do.Start(ORGANISER, "start"))
        return self._append(records)

    def games(self, count: int) -> list[Append]:
        """Return the appends of some more games: their matches, and one with their pairings and results."""
        appends: list[Append] = []
        records: list[Record] = []
        for _ in range(count):
            tournament = self._tournament
            first, second = self._random.sample(self.players, 2)
            paired = do.Arrange(
                tournament.revision, tournament.rounds + 1, (Pair(first, second),), free=(first, second)
            )
            records += self._decide(paired)
            played, reported = self._play(tournament.games[-1])
            records += self._decide(do.Begin(reported.game, 1, reported.match))
            self._now += LASTS_MS
            records += self._decide(reported)
            appends.append(played)
        return [*appends, self._append(records)]

    def snapshot(self) -> Snapshot:
        """Return its snapshot, as the server makes one."""
        self.since_snapshot = 0
        return take_snapshot(self._tournament, self._chain)

    def _play(self, game: ScheduledGame) -> tuple[Append, do.ReportResult]:
        loser: Seat = 1 if (game.seat1 < game.seat2) == (self._random.random() < 0.25) else 2
        alike = (game.seat1, game.seat2, loser)
        if alike not in self._patterns:
            self._patterns[alike] = self._decided(self._tournament, game, loser)
        return self._patterns[alike].played(self._ids.new("m"), game.number, self._now)

    def _decided(self, tournament: Tournament, game: ScheduledGame, loser: Seat) -> _Pattern:
        command = create_command(tournament, game, 1, Policy(), Opening())
        match_id = self._ids.new("m")
        events = creation.create(match_id, command, self._now).events
        created = events[0]
        assert isinstance(created, Created)
        match, bodies = evolution.begin(created), [each.data for each in seal_first(match_id, events)]
        for ply in range(-2, PLIES + 1):
            act: Command = Arrive(1 if ply == -2 else 2)
            if ply >= 0:
                act = Play(match.turn, str(ply), ply, self._moves[ply], self._now)
            if ply == PLIES:
                act = Resign(loser, "resign")
            done: tuple[Event, ...] = transitions.decide(match, act, self._now).events
            bodies += [each.data for each in seal(match, done)]
            for event in done:
                match = evolution.evolve(match, event)
        return _Pattern(match, bodies)

    def _decide(self, command: do.Command) -> list[Record]:
        decision = engine.decide(self._tournament, command, self._now)
        assert decision.refusal is None, decision.refusal
        for event in decision.events:
            apply(self._tournament, event)
        self.since_snapshot += len(decision.events)
        fold(self._tournament)
        return list(self._chain.seal(decision.events))

    def _append(self, records: Sequence[Record]) -> Append:
        return Append(tuple(records), tournament=tournament_summary_of(self._tournament))
