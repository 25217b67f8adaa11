"""Damaged stores: a small store in a folder, a start on it without worker processes, and what the start serves."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arbiter.bootstrap.running_server import started
from arbiter.bootstrap.store import check_store, open_record, open_store
from arbiter.bootstrap.wiring import wire
from arbiter.bootstrap.world import World
from arbiter.config import Settings, load
from arbiter.errors import OperatorError, Reason, Refusal
from arbiter.runtime.system_clock import SystemClock
from arbiter.service.ports.directory import Challenge, Player, Token
from arbiter.service.ports.journal import Append
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.service.record import tournament_log
from arbiter.service.record.tournament_log import Chain
from arbiter.service.tournaments.tournament_ports import InProcessPairing
from arbiter.testing.memory import CountingIds, PlainRules
from arbiter.tournaments import engine
from arbiter.tournaments.spec import Format, Spec
from tests.store.records import NOON, appends
from tests.store.test_derived import silent

TOURNAMENT = "t1"
LATER = NOON + 10_000_000


@dataclass
class Outcome:
    """What a start reported and served.

    `refused`: the message if it did not start. served: the transcript of each match; reasons: why others are not
    served.
    """

    refused: str = ""
    served: dict[str, bytes] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


class Store:
    """A store with its signing keys in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "arbiter.db"
        self.url = f"sqlite:///{self.file}"
        self.settings: Settings = load(None, store=self.url, listen="127.0.0.1:0")

    def copy(self, folder: Path) -> Store:
        """Return a copy of the store in a new folder."""
        shutil.copytree(self.folder, folder)
        return Store(folder)

    def change(self, *statements: str, constraints: bool = True) -> None:
        """Change the database by SQL; without `constraints`, also against the schema."""
        raw = sqlite3.connect(self.file, isolation_level=None)
        if not constraints:
            raw.execute("PRAGMA writable_schema = ON")
            raw.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE type = 'table'")
            raw.close()
            raw = sqlite3.connect(self.file, isolation_level=None)
        for statement in statements:
            raw.execute(statement)
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
        raw.close()

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        raw = sqlite3.connect(self.file)
        rows = raw.execute(query).fetchall()
        raw.close()
        return rows

    def check(self) -> tuple[str, ...]:
        """Return the faults that `arbiter store check` finds; a store that it can't read is one fault."""
        try:
            return check_store(self.url, silent, self.settings.key_ring).faults
        except OperatorError as error:
            return (str(error),)

    async def start(self, matches: tuple[str, ...]) -> Outcome:
        """Start on the store, read the transcripts of matches, and stop."""
        outcome = Outcome()
        try:
            async with open_record(self.settings) as (store, ring):
                rules, clock = PlainRules(), SystemClock(LATER)
                world = World(store, clock, CountingIds(), rules, rules, ring, InProcessPairing(), InProcessRating())
                arbiter = wire(self.settings, world)
                await started(arbiter)
                for match_id in matches:
                    try:
                        parts = [part async for part in arbiter.transcripts.parts(match_id)]
                        outcome.served[match_id] = b"".join(parts)
                    except Refusal as refusal:
                        if refusal.reason not in (Reason.RECORD_DAMAGED, Reason.MATCH_NOT_FOUND):
                            raise
                        outcome.reasons[match_id] = refusal.message
                await arbiter.tournaments.stop()
                await arbiter.matches.drain()
        except OperatorError as error:
            outcome.refused = str(error)
        return outcome


async def _fill(store: Store) -> None:
    ring = store.settings.key_ring
    async with open_store(store.url, alone=True, ring=ring) as opened:
        for number, name in enumerate(("admin", "anna", "ben")):
            token = Token(f"k{number}", name, f"{number:064}", ("play",), "", 1)
            await opened.directory.add_player(Player(name, 5, games=("pods",)), token)
        await opened.directory.add_challenge(
            Challenge("c1", "anna", "ben", "pods", "1m", False, 1, "r", 1, "open", "", ""), 10
        )
        await asyncio.gather(*(opened.journal.append(append) for append in appends(8, 6)))
        tournament, created = engine.create(
            TOURNAMENT, Spec("cup", Format.ROUND_ROBIN, ("pods",), "1m"), "org", "r", NOON
        )
        sealed = Chain(TOURNAMENT).seal(created.events)
        await opened.journal.append(Append(sealed, tournament=tournament_log.summary_of(tournament)))


def made(folder: Path) -> Store:
    """Make a store with 6 matches, two of them running, and a tournament; a server has been started on it once."""
    folder.mkdir()
    store = Store(folder)
    asyncio.run(_fill(store))
    outcome = asyncio.run(store.start(()))
    assert not outcome.refused
    store.change()  # all in one file
    return store
