"""A journal with fault injection: it fails, or delays its commits, when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from arbiter.service.ports.journal import Append, Journal, Record, StoredRecord, StoreFailed
from arbiter.testing.memory import CallsBack, lose_basis

P = ParamSpec("P")
T = TypeVar("T")


class FaultyJournal(CallsBack):
    """A journal around another one, that injects faults; `arbiter.service.ports` says why it names every method.

    hold: appends wait, in order, until `release`. refuse: appends store nothing and fail. lie: appends are stored but
    reported as failed, as after a commit whose answer is lost. mute: reads fail. late_s: `read_all` answers late.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._held: list[Callable[[], None]] = []
        self.hold = self.refuse = self.lie = self.mute = False
        self.late_s = 0.0
        self.read: Final = self._reading(journal.read)
        self.read_many: Final = self._reading(journal.read_many)
        self.head: Final = self._reading(journal.head)
        self.last_gap: Final = self._reading(journal.last_gap)
        self.unfinished: Final = self._reading(journal.unfinished)
        self.unfinished_matches: Final = self._reading(journal.unfinished_matches)
        self.summary: Final = self._reading(journal.summary)
        self.summary_of_request: Final = self._reading(journal.summary_of_request)
        self.summaries: Final = self._reading(journal.summaries)
        self.results: Final = self._reading(journal.results)
        self.tallies: Final = self._reading(journal.tallies)
        self.result_before_last: Final = self._reading(journal.result_before_last)
        self.results_by_kind: Final = self._reading(journal.results_by_kind)
        self.rated_games: Final = self._reading(journal.rated_games)
        self.dated_tallies: Final = self._reading(journal.dated_tallies)
        self.first_rated: Final = self._reading(journal.first_rated)
        self.encounters: Final = self._reading(journal.encounters)
        self.rulings: Final = self._reading(journal.rulings)
        self.rated_matches: Final = self._reading(journal.rated_matches)
        self.unfinished_tournaments: Final = self._reading(journal.unfinished_tournaments)
        self.tournament_summary: Final = self._reading(journal.tournament_summary)
        self.tournament_of_request: Final = self._reading(journal.tournament_of_request)
        self.tournaments: Final = self._reading(journal.tournaments)

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

    async def rule_on_ratings(self, ruling: Record, changes: Mapping[str, int]) -> None:
        """Store a ruling on ratings, or inject a fault."""
        if self.hold:
            released: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._held.append(partial(released.set_result, None))
            await released
        if not self.refuse:
            await self._journal.rule_on_ratings(ruling, changes)
        if self.refuse or self.lie:
            raise StoreFailed("a fault was asked for")

    def know(self, place: int) -> None:
        """Have appends bring the records of other servers after a journal position."""
        self._journal.know(place)

    def brought(self) -> list[StoredRecord]:
        """Return the records that appends have brought."""
        return self._journal.brought()

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        """Return the records of all matches after a journal position, in order."""
        await self.before_reading()
        found = await self._journal.read_all(after, most)
        if self.late_s:
            await asyncio.sleep(self.late_s)
        return found

    def _reading(self, read: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        """Return a read of the journal that runs `before_reading` first."""

        async def call(*arguments: P.args, **named: P.kwargs) -> T:
            await self.before_reading()
            return await read(*arguments, **named)

        return call

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
