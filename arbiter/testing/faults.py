"""A journal with fault injection: it fails, or delays its commits, when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from arbiter.service.ports.journal import (
    Append,
    Filter,
    Journal,
    MatchSummary,
    PlayerResult,
    StoredRecord,
    StoreFailed,
    Subject,
    Tally,
    TournamentFilter,
    TournamentSummary,
    UnfinishedMatch,
)
from arbiter.testing.memory import CallsBack, lose_basis


class FaultyJournal(CallsBack):
    """Wraps any journal and injects faults.

    hold: appends wait, in order, until `release`. refuse: appends store nothing and fail. lie: appends are stored but
    reported as failed, as after a commit whose answer is lost. mute: reads fail. late_s: `read_all` answers late.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._held: list[Callable[[], None]] = []
        self.hold = self.refuse = self.lie = self.mute = False
        self.late_s = 0.0

    @property
    def held(self) -> int:
        """The number of waiting appends."""
        return len(self._held)

    def release(self) -> None:
        """Let the waiting appends go on, and do not hold later ones."""
        self.hold = False
        held, self._held = self._held, []
        for go_on in held:
            go_on()

    def append(self, append: Append) -> asyncio.Future[int]:
        """Store records, or inject a fault. Held and other appends take the same path, so that their order is kept."""
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def go_on() -> None:
            self._append(append).add_done_callback(partial(_pass_on, answer))

        if self.hold:
            self._held.append(go_on)
        else:
            go_on()
        return answer

    def _append(self, append: Append) -> asyncio.Future[int]:
        if not (self.refuse or self.lie):
            return self._journal.append(append)
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        failure = StoreFailed("a fault was asked for")
        if self.refuse:
            lose_basis(append)
        if self.lie:
            self._journal.append(append).add_done_callback(lambda _: answer.set_exception(failure))
            lose_basis(append)
        else:
            answer.set_exception(failure)
        return answer

    def know(self, place: int) -> None:
        """Have appends bring the records of other servers after a journal position."""
        self._journal.know(place)

    def brought(self) -> list[StoredRecord]:
        """Return the records that appends have brought."""
        return self._journal.brought()

    async def read(
        self, match_id: str, after: int = 0, most: int | None = None, subject: Subject = Subject.MATCH
    ) -> list[StoredRecord]:
        """Return the records of a match or tournament after a revision, in order."""
        await self.before_reading()
        return await self._journal.read(match_id, after, most, subject)

    async def read_many(self, match_ids: Sequence[str]) -> list[StoredRecord]:
        """Return all records of some matches, ordered by id and revision."""
        await self.before_reading()
        return await self._journal.read_many(match_ids)

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        """Return the records of all matches after a journal position, in order."""
        await self.before_reading()
        found = await self._journal.read_all(after, most)
        if self.late_s:
            await asyncio.sleep(self.late_s)
        return found

    async def head(self) -> int:
        """Return the journal position of the last record, 0 if there is none."""
        await self.before_reading()
        return await self._journal.head()

    async def last_gap(self, after: int) -> int:
        """Return the last journal position behind `after` that has no record."""
        await self.before_reading()
        return await self._journal.last_gap(after)

    async def unfinished(self) -> list[str]:
        """Return the ids of the unfinished matches, oldest first."""
        await self.before_reading()
        return await self._journal.unfinished()

    async def unfinished_matches(self) -> list[UnfinishedMatch]:
        """Return the unfinished matches, oldest first."""
        await self.before_reading()
        return await self._journal.unfinished_matches()

    async def summary(self, match_id: str) -> MatchSummary | None:
        """Return the summary of a match that lists show."""
        await self.before_reading()
        return await self._journal.summary(match_id)

    async def summary_of_request(self, creator: str, request_id: str) -> MatchSummary | None:
        """Return the match that a request of a caller created."""
        await self.before_reading()
        return await self._journal.summary_of_request(creator, request_id)

    async def summaries(self, which: Filter, before: int, most: int) -> list[MatchSummary]:
        """Return matches whose `sequence` is less than `before` (0: all), newest first."""
        await self.before_reading()
        return await self._journal.summaries(which, before, most)

    async def results(self, player: str, after: int, most: int) -> list[MatchSummary]:
        """Return a player's finished matches whose `ended_sequence` is greater than `after`, in order."""
        await self.before_reading()
        return await self._journal.results(player, after, most)

    async def tallies(self, label: str = "", game: str = "", rated: bool | None = None) -> list[Tally]:
        """Return how often each pairing ended in each way."""
        await self.before_reading()
        return await self._journal.tallies(label, game, rated)

    async def results_by_kind(self, player: str) -> list[PlayerResult]:
        """Return how often a player's finished matches ended in each way."""
        await self.before_reading()
        return await self._journal.results_by_kind(player)

    async def rated_games(self, games: Sequence[str]) -> int:
        """Return the number of finished rated matches."""
        await self.before_reading()
        return await self._journal.rated_games(games)

    async def dated_tallies(self, game: str, period_ms: int) -> list[tuple[int, Tally]]:
        """Return how often each pairing ended in each way in each period."""
        await self.before_reading()
        return await self._journal.dated_tallies(game, period_ms)

    async def first_rated(self, player: str, game: str) -> int:
        """Return when a player's first rated match ended."""
        await self.before_reading()
        return await self._journal.first_rated(player, game)

    async def encounters(self, player: str, other: str, game: str) -> list[tuple[MatchSummary, bytes]]:
        """Return the finished rated matches between two players."""
        await self.before_reading()
        return await self._journal.encounters(player, other, game)

    async def unfinished_tournaments(self) -> list[str]:
        """Return the ids of the unfinished tournaments, oldest first."""
        await self.before_reading()
        return await self._journal.unfinished_tournaments()

    async def tournament_summary(self, tournament_id: str) -> TournamentSummary | None:
        """Return the summary of a tournament that lists show."""
        await self.before_reading()
        return await self._journal.tournament_summary(tournament_id)

    async def tournament_of_request(self, creator: str, request_id: str) -> TournamentSummary | None:
        """Return the tournament that a request of a caller created."""
        await self.before_reading()
        return await self._journal.tournament_of_request(creator, request_id)

    async def tournaments(self, which: TournamentFilter, before: int, most: int) -> list[TournamentSummary]:
        """Return tournaments whose `sequence` is less than `before` (0: all), newest first."""
        await self.before_reading()
        return await self._journal.tournaments(which, before, most)

    async def before_reading(self) -> None:
        """Run before every read. Raises StoreFailed while `mute` is set."""
        if self.mute:
            raise StoreFailed("a fault was asked for")


def _pass_on(answer: asyncio.Future[Any], done: asyncio.Future[Any]) -> None:
    if answer.done():
        return
    error = done.exception()
    if error is None:
        answer.set_result(done.result())
    else:
        answer.set_exception(error)
