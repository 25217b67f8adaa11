"""A ladder that has run for long, written straight into a store: its log, its snapshot, and the record of each game.

Every event is decided by the rules of tournaments and matches, as on a server; only the players and the clock are made
up. A match has few moves, and then a player resigns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Final

from arbiter.bench.scripts import GAME, scripts
from arbiter.bench.stores import NewStore
from arbiter.bootstrap import open_store
from arbiter.games.contract import Seat
from arbiter.matches import creation, evolution, transitions
from arbiter.matches.commands import Arrive, Command, Play, Resign
from arbiter.matches.events import Created, Event
from arbiter.matches.match import Match
from arbiter.matches.policy import Policy
from arbiter.matches.record import Sealed, seal, seal_first
from arbiter.runtime.ids import SystemIds
from arbiter.runtime.system_clock import SystemClock
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
from arbiter.tournaments.folding import fold
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.tournament import Tournament

PLAYERS: Final = 24
PLIES: Final = 4  #: moves of a match
LASTS_MS: Final = 1_000  #: a game
SEED: Final = 37
ORGANISER: Final = "bench"
AT_ONCE: Final = 100  #: games that are being stored at the same time


async def write_ladder(store: NewStore, games: int) -> str:
    """Write a ladder on which so many games have ended, and which goes on; return its id."""
    ladder = _Ladder(games)
    async with open_store(store.url, ring=store.folder / "arbiter.keys") as opened:
        begun = ladder.begin()
        await opened.journal.append(begun)
        for first in range(0, games, AT_ONCE):
            waiting = []
            for _ in range(first, min(first + AT_ONCE, games)):
                waiting += [opened.journal.append(each) for each in ladder.game()]
            await asyncio.gather(*waiting)
            if ladder.since_snapshot >= opened.snapshots.every:
                await opened.snapshots.keep(ladder.snapshot())
    return ladder.id


class _Ladder:
    """The state from which the next game is made."""

    def __init__(self, games: int) -> None:
        self._random = Random(SEED)
        self._now = SystemClock().now_ms() - games * LASTS_MS
        self._ids = SystemIds(SystemClock())
        self._players = [f"player-{number}" for number in range(PLAYERS)]
        [self._moves] = scripts(GAME, 1)
        self.id = self._ids.new("t")
        self.since_snapshot = 0  #: events

    def begin(self) -> Append:
        """Return the append of its creation, the entries and the start."""
        options = Options(validation=False)
        spec = Spec("A year", Format("ladder"), (GAME,), "1m+1s", paired=False, options=options)
        self._tournament, made = engine.create(self.id, spec, ORGANISER, "create", self._now)
        self._chain = Chain(self.id)
        records = list(self._chain.seal(made.events))
        for player in self._players:
            records += self._decide(do.Enter(player, ORGANISER, f"enter-{player}"))
        records += self._decide(do.Start(ORGANISER, "start"))
        return self._append(records)

    def game(self) -> Sequence[Append]:
        """Return the appends of one more game: its pairing, its match, its result."""
        tournament = self._tournament
        first, second = self._random.sample(self._players, 2)
        paired = do.Arrange(tournament.revision, tournament.rounds + 1, (Pair(first, second),), free=(first, second))
        records = self._decide(paired)
        match, played = self._match(tournament)
        number = len(tournament.games)
        records += self._decide(do.Begin(number, 1, match.id))
        self._now += LASTS_MS
        records += self._decide(report(number, match))
        return played, self._append(records)

    def snapshot(self) -> Snapshot:
        """Return its snapshot, as the server makes one."""
        self.since_snapshot = 0
        return take_snapshot(self._tournament, self._chain)

    def _match(self, tournament: Tournament) -> tuple[Match, Append]:
        game = tournament.games[-1]
        command = create_command(tournament, game, 1, Policy(), Opening())
        match_id = self._ids.new("m")
        events = creation.create(match_id, command, self._now).events
        created = events[0]
        assert isinstance(created, Created)
        match, records = evolution.begin(created), _records(match_id, seal_first(match_id, events))
        loser: Seat = 1 if (game.seat1 < game.seat2) == (self._random.random() < 0.25) else 2
        for ply in range(-2, PLIES + 1):
            act: Command = Arrive(1 if ply == -2 else 2)
            if ply >= 0:
                act = Play(match.turn, str(ply), ply, self._moves[ply], self._now)
            if ply == PLIES:
                act = Resign(loser, "resign")
            done: tuple[Event, ...] = transitions.decide(match, act, self._now).events
            records += _records(match_id, seal(match, done))
            for event in done:
                match = evolution.evolve(match, event)
        return match, Append(tuple(records), summary_of(created), end_of(match))

    def _decide(self, command: do.Command) -> list[Record]:
        decision = engine.decide(self._tournament, command, self._now)
        assert decision.refusal is None, decision.refusal
        for event in decision.events:
            self._tournament.apply(event)
        self.since_snapshot += len(decision.events)
        fold(self._tournament)
        return list(self._chain.seal(decision.events))

    def _append(self, records: Sequence[Record]) -> Append:
        return Append(tuple(records), tournament=tournament_summary_of(self._tournament))


def _records(match_id: str, sealed: Sequence[Sealed]) -> list[Record]:
    return [Record(match_id, item.revision, item.data, Subject.MATCH) for item in sealed]
