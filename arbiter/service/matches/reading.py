"""Reads matches: unfinished ones are live in memory, ended ones in the journal, the last of them in a cache."""

from __future__ import annotations

from typing import Final

from arbiter.errors import Reason, Refusal, shortened
from arbiter.matches.events import Ended
from arbiter.matches.match import Match, Phase
from arbiter.service.lookup import findable
from arbiter.service.matches.live import EndedMatches, LiveMatches
from arbiter.service.matches.recovery import Recovery
from arbiter.service.matches.revival import Revival
from arbiter.service.matches.unfinished import loaded
from arbiter.service.ports.journal import Filter, Journal, MatchSummary, PlayerResult, RecordDamaged, StoredRecord
from arbiter.service.record.match_log import event_of, load_match

SET_ASIDE = "its end is missing, or the match was set aside when the server started"


class MatchReader:
    """Reads matches and their records."""

    def __init__(self, journal: Journal, live: LiveMatches, recovery: Recovery, revival: Revival) -> None:
        self._journal = journal
        self.results: Final = journal.results
        self.result_before_last: Final = journal.result_before_last
        self._live = live
        self._recovery = recovery
        self.revival: Final = revival
        self._begun = EndedMatches()  # matches after their first event
        self._began = 0  # the last sequence number of the journal at the start

    async def begin(self) -> None:
        """Note that the server starts now: what the journal has of unfinished matches is about to be read.

        Raises StoreFailed.
        """
        self._began = await self._journal.head()

    async def match(self, match_id: str) -> Match:
        """Return a match in its durable state.

        Raises Refusal MATCH_NOT_FOUND, STORE_UNAVAILABLE, RECORD_DAMAGED.
        """
        if match_id in self.revival:
            await self.revival.revive([match_id])
        live = self._live.find(match_id)
        if live is not None and live.durable is not None:
            return live.durable
        match = self._live.ended.get(match_id)
        if match is None:
            match = await self._read(match_id)
            if match.phase is not Phase.ENDED:
                return await self._recovery.adopt(match)
            self._live.ended.keep(match)
        return match

    def known(self, match_id: str) -> Match | None:
        """Return a match after its first event, or in a later state, if it is in memory."""
        live = self._live.find(match_id)
        if live is not None and live.durable is not None:
            return live.durable
        return self._live.ended.get(match_id) or self._begun.get(match_id)

    async def begun(self, match_id: str) -> Match:
        """Return a match after its first event, or in a later state. Only its first record is read.

        Raises Refusal MATCH_NOT_FOUND, STORE_UNAVAILABLE, RECORD_DAMAGED.
        """
        match = self.known(match_id)
        if match is None:
            records = await self._journal.read(match_id, 0, 1) if findable(match_id) else []
            if not records:
                raise not_found(match_id)
            match = load_match(records)
            self._begun.keep(match)
        return match

    def unfinished(self, player: str) -> list[Match]:
        """Return a player's unfinished matches in their durable states, oldest first."""
        found = [live.durable for live in self._live.of_player(player)]
        return sorted((match for match in found if match is not None), key=lambda match: match.id)

    async def summaries(self, which: Filter, before: int, most: int) -> list[MatchSummary]:
        """Return list entries of matches, newest first."""
        found = all(map(findable, (which.player, which.label, which.variants_of)))
        return await self._journal.summaries(which, before, most) if found else []

    async def results_by_kind(self, player: str) -> list[PlayerResult]:
        """Return how often a player's ended matches ended in each way, in order."""
        return await self._journal.results_by_kind(player) if findable(player) else []

    async def record(self, match_id: str, after: int, most: int) -> list[StoredRecord]:
        """Return records of a match after a revision, in order.

        Raises Refusal MATCH_NOT_FOUND, STORE_UNAVAILABLE, RECORD_DAMAGED.
        """
        records = await self._journal.read(match_id, after, most) if findable(match_id) else []
        if not records and not after:
            raise not_found(match_id)
        for expected, record in enumerate(records, after + 1):
            if record.revision != expected:
                raise RecordDamaged(match_id, expected, "it is missing")
        return records

    async def _read(self, match_id: str) -> Match:
        records = await self._journal.read(match_id) if findable(match_id) else []
        if not records:
            raise not_found(match_id)
        if not isinstance(event_of(records[-1]), Ended):
            match = load_match(records)
            if records[-1].sequence <= self._began and match.game.installed:
                raise RecordDamaged(match_id, records[-1].revision, SET_ASIDE)
            return match  # it may go on: the caller continues without an await
        return await loaded(records)


def not_found(match_id: str) -> Refusal:
    """Return the refusal for a match that does not exist."""
    shown = shortened(match_id)
    return Refusal(Reason.MATCH_NOT_FOUND, f"there is no match {shown!r} here", id=shown)
