"""The files of tournaments for readers: the log and, once a tournament has ended, its standings and the signature."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Final

from arbiter.event_json.canonical import MalformedRecordError
from arbiter.service.matches.transcripts import Signer
from arbiter.service.ports.journal import Journal, RecordDamaged, Subject
from arbiter.service.record.tournament_log import Chain
from arbiter.service.shielding import Shielded
from arbiter.service.tournaments.exported import ending
from arbiter.service.tournaments.own_ratings import Rater, fitted, own_results
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.tournaments.standings import standings
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.tournament import Tournament

PAGE: Final = 50  #: events in one part of a file
KEPT: Final = 20  #: tournaments whose last two lines are kept, the last exported ones


class TournamentFiles:
    """The files of tournaments for readers, signed by the arbiter."""

    def __init__(self, journal: Journal, tournaments: TournamentRegistry, signer: Signer, rater: Rater) -> None:
        self._journal = journal
        self._tournaments = tournaments
        self._signer = signer
        self._rater = rater
        self._endings: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._turn = asyncio.Lock()
        self._shielded = Shielded()  # else the next reader's thread would begin beside that of one who has left

    async def parts(self, tournament_id: str) -> AsyncIterator[bytes]:
        """Yield the file of a tournament, as far as it has come, in parts of whole lines.

        Raises Refusal TOURNAMENT_NOT_FOUND, STORE_UNAVAILABLE, RECORD_DAMAGED, BUDGET_SPENT.
        """
        tournament = copied(await self._tournaments.get(tournament_id))
        chain = Chain(tournament.id)
        while (missing := tournament.revision - chain.revision) > 0:
            after, most = chain.revision, min(missing, PAGE)
            records = await self._journal.read(tournament.id, after, most, Subject.TOURNAMENT)
            if not records:
                raise RecordDamaged(tournament.id, after + 1, "it is missing", "tournament")
            try:
                chain.follow(record.body for record in records)
            except MalformedRecordError as error:
                raise RecordDamaged(tournament.id, after + 1, str(error), "tournament") from None
            yield b"".join(record.body + b"\n" for record in records)
        if tournament.end is not None:
            yield await self._shielded.run(self._ending(tournament, chain))

    async def _ending(self, tournament: Tournament, chain: Chain) -> bytes:
        """Return the last two lines, computed in a thread once for all readers, one tournament at a time."""
        async with self._turn:
            state = tournament.id, chain.revision
            known = self._endings.get(state)
            if known is None:
                ratings = await fitted(await asyncio.to_thread(own_results, tournament), self._rater)
                table = await asyncio.to_thread(standings, tournament, ratings)
                known = self._endings[state] = ending(tournament, chain, self._signer, table)
                if len(self._endings) > KEPT:
                    self._endings.popitem(last=False)
            return known
