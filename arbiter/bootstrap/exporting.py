"""The matches of a store, read without a server, while one may be running: their events, and signed transcripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import structlog

from arbiter.bootstrap.store import adapters, seals_of
from arbiter.errors import OperatorError
from arbiter.event_json.canonical import RecordError
from arbiter.keys.key_ring import KeyRing
from arbiter.matches.events import Event
from arbiter.matches.match import Match
from arbiter.matches.record import check_chain
from arbiter.matches.signing import PublicKey
from arbiter.service.lookup import findable
from arbiter.service.matches.transcripts import signature_of
from arbiter.service.ports.journal import Filter, Journal, RecordDamaged, StoredRecord, Subject
from arbiter.service.ratings.ruling_on_ratings import ruling_file
from arbiter.service.record.match_log import Loading, end_of_record, load_match
from arbiter.service.record.tournament_log import load
from arbiter.store.database import opened
from arbiter.tournaments import events as ev

PAGE = 500  #: list entries in one read
EVERY = Filter()


class Exporting(NamedTuple):
    """An open store, and the keys that sign its transcripts."""

    journal: Journal
    ring: KeyRing

    @property
    def public_keys(self) -> tuple[PublicKey, ...]:
        """The keys that verify the transcripts, newest first."""
        return self.ring.public_keys()

    async def ended(self, player: str, game: str, label: str) -> AsyncIterator[str]:
        """Yield the ids of finished matches, newest first: of a player, a variant, a label ('' for any).

        Raises StoreFailed.
        """
        if findable(player) and findable(label):
            async for match_id in self.matches(Filter(player, game, label, ended=True)):
                yield match_id

    async def matches(self, which: Filter = EVERY) -> AsyncIterator[str]:
        """Yield the ids of matches, newest first; those that have not ended too. Raises StoreFailed."""
        before = 0
        while page := await self.journal.summaries(which, before, PAGE):
            for row in page:
                yield row.match_id
            before = page[-1].sequence

    async def ended_count(self, player: str, game: str, label: str) -> int:
        """Return how many matches `ended` yields. Raises StoreFailed."""
        if not findable(label):
            return 0
        tallies = await self.journal.tallies(label, game)
        return sum(tally.games for tally in tallies if player in ("", tally.player_1, tally.player_2))

    async def match(self, match_id: str) -> tuple[Match, list[Event]]:
        """Return a finished match and its events.

        Every record and the chain of their hashes are checked first. Raises RecordDamaged, StoreFailed.
        """
        loading = Loading()
        events = [loading.add(record) for record in await self._records(match_id)]
        end_of_record(loading.match)
        return loading.match, events

    async def events(self, match_id: str) -> list[Event]:
        """Return the events of a match, finished or not, without playing them by its rules.

        Every record and the chain of their hashes are checked first. Raises RecordDamaged, StoreFailed.
        """
        records = await self._records(match_id)
        try:
            return check_chain([record.body for record in records])
        except RecordError as error:
            raise RecordDamaged(match_id, f"1 to {len(records)}", str(error)) from None

    async def transcript(self, match_id: str) -> bytes:
        """Return the signed transcript of a finished match, byte for byte what a server hands out.

        Every record and the chain of their hashes are checked first. Raises RecordDamaged, StoreFailed.
        """
        records = await self._records(match_id)
        ended = end_of_record(load_match(records))
        lines = [record.body for record in records]
        return b"".join(line + b"\n" for line in (*lines, signature_of(self.ring, records[-1], ended).line()))

    async def tournament(self, tournament_id: str) -> tuple[bytes, list[str]]:
        """Return the signed file of a tournament that has ended, and the ids of its matches in the order of its log.

        Every record and the chain of their hashes are checked first. Raises OperatorError if there is no such
        tournament, or if it has not ended, RecordDamaged, StoreFailed.
        """
        # numpy takes a while to load, and no other export needs it
        from arbiter.service.ratings.rating_work import InProcessRating
        from arbiter.service.tournaments.exported import exported

        records = await self.journal.read(tournament_id, subject=Subject.TOURNAMENT) if findable(tournament_id) else []
        if not records:
            raise OperatorError(f"there is no tournament {tournament_id} in this store")
        log = load(tournament_id, records)
        if log.tournament.end is None:
            raise OperatorError(f"tournament {tournament_id} has not ended: only then it is signed")
        data = await exported(log, [record.body for record in records], self.ring, InProcessRating())
        return data, list(dict.fromkeys(event.match for event in log.events if isinstance(event, ev.Begun)))

    async def rulings(self) -> bytes:
        """Return the signed log of rulings on ratings, nothing if there is none. Raises RecordDamaged, StoreFailed."""
        return await ruling_file(self.journal, self.ring)

    async def _records(self, match_id: str) -> list[StoredRecord]:
        records = await self.journal.read(match_id)
        if not records:
            raise RecordDamaged(match_id, 1, "it is missing")
        return records


@asynccontextmanager
async def open_export(store_url: str, ring: Path) -> AsyncIterator[Exporting]:
    """Open a store that is there, and its signing keys, for an export. Raises OperatorError, StoreTooNew."""
    _check_there(ring)
    with opened(store_url, existing=True) as engine:
        async with adapters(engine, None, seals_of(store_url, ring)) as store:
            yield Exporting(store.journal, KeyRing(ring, structlog.get_logger("arbiter.keys")))


def _check_there(ring: Path) -> None:
    if not ring.exists():
        raise OperatorError(f"there are no signing keys at {ring}: name the file of the server's keys with --keys")
