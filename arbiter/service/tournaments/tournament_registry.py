"""All tournaments of a server: it creates and finds them, and passes commands to them.

Each tournament that has not ended has a driver (`arbiter.service.tournaments.driver`), which decides and stores its
events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, limit_reached
from arbiter.matches.match import Match
from arbiter.matches.match import Phase as MatchPhase
from arbiter.service.lookup import findable
from arbiter.service.matches.live import DRAINING
from arbiter.service.matches.unfinished import CUT, still_listed
from arbiter.service.ports.environment import Ids
from arbiter.service.ports.journal import (
    Append,
    JournalConflict,
    OpenLimits,
    RecordDamaged,
    StoreDamaged,
    StoredRecord,
    Subject,
    TooManyOpen,
    TournamentFilter,
    TournamentSummary,
)
from arbiter.service.record import tournament_log
from arbiter.service.record.published import Published
from arbiter.service.record.tournament_log import Chain, StoredLog
from arbiter.service.shielding import Shielded
from arbiter.service.tasks import Tasks
from arbiter.service.tournaments.driver import HAS_JUST_ENDED, TournamentDriver
from arbiter.service.tournaments.ended import EndedTournaments
from arbiter.service.tournaments.game_matches import abort, check, tournament_of
from arbiter.service.tournaments.live_log import Listener, LogReader, TournamentLog, copy_for
from arbiter.service.tournaments.specification import as_before, filled_in
from arbiter.service.tournaments.tournament_ports import Dependencies
from arbiter.tournaments import commands as do
from arbiter.tournaments import engine
from arbiter.tournaments import events as ev
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.spec import Spec
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.tournaments.unpaired_reasons import Unpaired

SET_ASIDE: Final = "its end is missing, or the tournament was set aside when the server started"


class TournamentRegistry:
    """All tournaments of a server. Those that have not ended have a driver.

    `listeners` are called in order with each tournament and its events, once these are durable.
    """

    def __init__(self, dependencies: Dependencies, ids: Ids, limits: Limits, listeners: Iterable[Listener]) -> None:
        self._dependencies = dependencies
        self._ids = ids
        self._limits = limits
        self._drivers: dict[str, TournamentDriver] = {}
        self._ended = EndedTournaments()
        self._listeners = listeners
        self._logs = LogReader(dependencies)
        self._ruling = asyncio.Lock()  # one ruling after the end of a tournament at a time
        self._shielded = Shielded()
        self._aside: set[str] | None = None  # tournaments that were set aside at the start; None before it is over
        self._aborting = Tasks()
        self._stopped = False
        self._began = 0  # the last sequence number of the journal at the start
        self._log = dependencies.log

    def open(self) -> Iterator[Tournament]:
        """Yield the tournaments that have not ended, in their durable states."""
        found = (driver.tournament for driver in self._drivers.values())
        return (tournament for tournament in found if tournament.phase is not TournamentPhase.ENDED)

    def unpaired(self, player: str) -> list[Unpaired]:
        """Return in which open tournaments a player has no game under way, and why."""
        found = ((driver, driver.why_unpaired(player)) for driver in self._drivers.values())
        return [Unpaired(driver.id, driver.tournament.spec.name, why) for driver, why in found if why is not None]

    # -- life ----------------------------------------------------------------------------------------------------

    async def start(self) -> int:
        """Resume the tournaments that have not ended; return how many were resumed.

        Matches of tournaments that go on without them are aborted: those that are live now, and the others when they
        become live (`match_revived`).

        Tournaments with a damaged log are set aside; the server's log names them. Raises StoreFailed.
        """
        journal = self._dependencies.journal
        self._began = await journal.head()
        unfinished = await journal.unfinished_tournaments()
        damages: dict[str, StoreDamaged] = {}
        wrong: dict[str, str] = {}  # what contradicts the list, by tournament
        for tournament_id in unfinished:
            try:
                log, last = await self._logs.read(tournament_id)
                gap = await journal.last_gap(last)
                if gap:
                    raise RecordDamaged(tournament_id, log.chain.revision, CUT.format(gap=gap), "tournament")
            except StoreDamaged as damage:
                damages[tournament_id] = damage
            except Refusal as refusal:
                if refusal.reason is not Reason.TOURNAMENT_NOT_FOUND:
                    raise
                wrong[tournament_id] = "has no record"
            else:
                if log.tournament.phase is TournamentPhase.ENDED:
                    wrong[tournament_id] = "has ended"
                else:
                    self._admit(log)
        for tournament_id in await still_listed(wrong, journal.unfinished_tournaments):
            what = f"tournament {tournament_id} {wrong[tournament_id]}"
            damages[tournament_id] = StoreDamaged(f"{what}, but is listed as unfinished")
        for tournament_id, error in damages.items():
            self._log.error("tournament_set_aside", tournament=tournament_id, error=error.message)
        self._aside = set(damages)
        for live in self._dependencies.matches.live:
            if self._is_left_over(live.newest):
                await abort(self._dependencies.matches, live.newest.id, tournament_of(live.newest))
        return len(unfinished) - len(damages.keys() | wrong.keys())

    def match_revived(self, match: Match) -> None:
        """Abort a match that has become live again after the start, if its tournament goes on without it."""
        if self._aside is not None and self._is_left_over(match):
            self._aborting.start(abort(self._dependencies.matches, match.id, tournament_of(match)))

    def _is_left_over(self, match: Match) -> bool:
        """Return whether a match's tournament goes on without it: a crash came before the match's end was stored."""
        if self._dependencies.others.page_only:
            return False  # they look too
        made_by = tournament_of(match)
        if not made_by or made_by in (self._aside or ()):
            return False
        driver = self._drivers.get(made_by)
        return driver is None or not driver.matches.expects(match)

    async def stop(self) -> None:
        """Stop all drivers. After the next start, the tournaments continue from their logs."""
        self._stopped = True
        await asyncio.gather(self._aborting.cancel(), *(driver.close() for driver in self._drivers.values()))

    # -- commands ------------------------------------------------------------------------------------------------

    async def create(self, spec: Spec, creator: str, request: str) -> Tournament:
        """Create a tournament, or return the one that the same request has created before.

        Raises Refusal REQUEST_ID_REUSED, PARAMETER_INVALID, RATE_LIMITED, DRAINING, STORE_UNAVAILABLE.
        """
        if self._stopped:
            raise DRAINING
        check(spec, self._dependencies.policy, self._dependencies.judges)
        return await self._shielded.run(self._create(spec, creator, request))

    async def _create(self, spec: Spec, creator: str, request: str) -> Tournament:
        known = await self._made(spec, creator, request)
        if known is not None:
            return known
        most = self._limits.open_tournaments
        if len(self._drivers) >= most:
            raise _crowded(most)
        now = self._dependencies.clock.now_ms()
        spec = await filled_in(spec, self._dependencies.pairing, now)
        tournament_id = self._ids.new(tournament_log.ID_PREFIX)
        tournament, made = engine.create(tournament_id, spec, creator, request, now)
        chain = Chain(tournament_id)
        limits = self._dependencies.others.counted(OpenLimits(tournaments=most))
        append = Append(chain.seal(made.events), tournament=tournament_log.summary_of(tournament), open_limits=limits)
        try:
            place = await self._dependencies.appends.append(append)
        except TooManyOpen:  # other servers have created tournaments meanwhile
            raise _crowded(most) from None
        except JournalConflict:  # the same request came twice, and the other one was stored first
            known = await self._made(spec, creator, request)
            assert known is not None
            return known
        [record], [event] = append.records, made.events
        self._dependencies.feed.subscribers.publish([Published(place, record, event, tournament_id)])
        admitted = self._admit(StoredLog([event], tournament, chain))
        self._call_listeners(admitted, [event])
        return admitted

    async def _made(self, spec: Spec, creator: str, request: str) -> Tournament | None:
        """Return the tournament that the same request has created before, or None. Raises REQUEST_ID_REUSED."""
        row = await self._dependencies.journal.tournament_of_request(creator, request)
        if row is None:
            return None
        tournament = await self.get(row.tournament_id)
        if tournament.spec != as_before(spec, tournament.spec):
            raise Refusal(
                Reason.REQUEST_ID_REUSED,
                f"request id {request!r} has created another tournament: choose a new one",
                request_id=request,
            )
        return tournament

    async def act(self, tournament_id: str, command: do.Request) -> Tournament:
        """Let a tournament decide a request; return the tournament once the request's events are durable.

        Raises the refusal of the tournament, TOURNAMENT_NOT_FOUND, DRAINING, STORE_UNAVAILABLE or RECORD_DAMAGED.
        """
        if self._stopped:
            raise DRAINING
        tournament = await self.get(tournament_id)
        driver = self._drivers.get(tournament_id)
        if driver is None and isinstance(command, do.AfterTheEnd):
            return await self._shielded.run(self._decide_after_the_end(tournament_id, command))
        if driver is None:  # it has ended: the request changes nothing
            refusal = engine.decide(tournament, command, self._dependencies.clock.now_ms()).refusal
        else:
            refusal = await driver.request(command)
        if refusal is HAS_JUST_ENDED and isinstance(command, do.AfterTheEnd):
            return await self._shielded.run(self._decide_after_the_end(tournament_id, command))
        if refusal is not None:
            raise refusal
        return tournament if driver is None else driver.tournament

    async def _decide_after_the_end(self, tournament_id: str, command: do.AfterTheEnd) -> Tournament:
        """Rule on a game of a tournament that has ended, or correct it: it has no driver, and its log goes on."""
        async with self._ruling:
            while True:
                log, _ = await self._logs.read(tournament_id)
                state = TournamentLog(self._dependencies, log, self._call_listeners)
                await state.fetch([command])
                refusal = state.decide(command).refusal
                if refusal is not None:
                    raise refusal
                with suppress(JournalConflict):  # another server has ruled meanwhile: decide anew
                    await state.store()
                    self._ended.keep(state.durable)
                    return state.durable

    async def preview(self, tournament_id: str, command: do.AfterTheEnd) -> Tournament:
        """Return a tournament as a ruling or correction would leave it. Raises as `act`."""
        twin = await copy_for(self._dependencies, await self.get(tournament_id), command)
        decision = engine.decide(twin, command, self._dependencies.clock.now_ms())
        if decision.refusal is not None:
            raise decision.refusal
        for event in decision.events:
            apply(twin, event)
        return twin

    def match_changed(self, match: Match, published: Sequence[Published]) -> None:
        """Inform tournaments of events of a match that have just become durable."""
        if not self._drivers:
            return  # every move comes here
        made_by = tournament_of(match)
        if made_by in self._drivers:
            self._drivers[made_by].matches.changed(match, published)
        if match.phase is MatchPhase.ENDED:  # its players may be free for other tournaments now
            for driver in self._drivers.values():
                if any(player in driver.tournament.entrants for player in match.players):
                    driver.queue.wake()

    def log_grown(self, found: Sequence[StoredRecord]) -> None:
        """Inform tournaments of records of other servers, and start drivers for tournaments that they have created."""
        for record in found:
            if record.subject is Subject.TOURNAMENT:
                is_kept = self._ended.grown(record.match_id, record.revision)
                driver = self._drivers.get(record.match_id)
                if driver is not None:
                    driver.log_grown(record.revision)
                elif not is_kept and not self._stopped:
                    self._take_up(record.match_id, record.revision)

    # -- reading -------------------------------------------------------------------------------------------------

    async def get(self, tournament_id: str) -> Tournament:
        """Return a tournament in its durable state, which grows while the tournament goes on. Only for reading.

        Raises Refusal TOURNAMENT_NOT_FOUND, STORE_UNAVAILABLE, RECORD_DAMAGED.
        """
        driver = self._drivers.get(tournament_id)
        if driver is not None:
            return driver.tournament
        ended = self._ended.get(tournament_id)
        if ended is not None:
            return ended
        log, last = await asyncio.shield(self._logs.read_soon(tournament_id))  # other callers may wait for it too
        if (
            log.tournament.phase is not TournamentPhase.ENDED
            and last <= self._began
            and tournament_id not in self._drivers
        ):
            raise RecordDamaged(tournament_id, log.chain.revision, SET_ASIDE, "tournament")
        return self._admit(log)

    async def log(self, tournament_id: str) -> list[ev.Event]:
        """Return all events of a tournament. Raises as `get`."""
        return (await self._logs.read(tournament_id, folded=False))[0].events

    async def whole(self, tournament_id: str) -> Tournament:
        """Return a tournament with all its games, of which a ladder keeps only the newest in memory. Only for reading.

        To read all events of a long ladder takes minutes. Raises as `get`.
        """
        tournament = await self.get(tournament_id)
        if not tournament.old:
            return tournament
        log, _ = await self._logs.read(tournament_id, folded=False)
        return log.tournament

    async def organiser(self, tournament_id: str) -> str:
        """Return the creator of a tournament, '' if there is no such tournament. Raises Refusal STORE_UNAVAILABLE."""
        driver = self._drivers.get(tournament_id)
        if driver is not None:
            return driver.tournament.created.creator
        row = await self._dependencies.journal.tournament_summary(tournament_id)
        return row.creator if row is not None else ""

    async def summaries(self, which: TournamentFilter, before: int, most: int) -> list[TournamentSummary]:
        """Return list entries of tournaments whose `sequence` is less than `before` (0: all), newest first."""
        return await self._dependencies.journal.tournaments(which, before, most) if findable(which.creator) else []

    # -- drivers -------------------------------------------------------------------------------------------------

    def _take_up(self, tournament_id: str, revision: int) -> None:
        """Start a driver for a tournament that another server has created, and read its log up to a revision."""
        self._logs.read_soon(tournament_id).add_done_callback(partial(self._take_up_read, tournament_id, revision))

    def _take_up_read(self, tournament_id: str, revision: int, reading: asyncio.Task[tuple[StoredLog, int]]) -> None:
        if reading.cancelled() or reading.exception() is not None or self._stopped:
            return  # the next call or record about it tries again
        log, _ = reading.result()
        if tournament_id not in self._drivers and self._ended.get(tournament_id) is None:
            self._call_listeners(self._admit(log), log.events)
        driver = self._drivers.get(tournament_id)
        if driver is not None:
            driver.log_grown(revision)

    def _admit(self, log: StoredLog) -> Tournament:
        """Start the driver of a tournament, or cache the tournament if it has ended; return its durable state.

        A tournament may have been stored although the store reported a failure of its creation. It gets its driver with
        the first call about it.
        """
        tournament = log.tournament
        if tournament.phase is TournamentPhase.ENDED:
            self._ended.keep(tournament)
            return tournament
        driver = self._drivers.get(tournament.id)
        if driver is None:
            driver = TournamentDriver(self._dependencies, log, self._call_listeners, self)
            if not self._stopped:
                self._drivers[tournament.id] = driver
                driver.start(self._driver_ended)
        return driver.tournament

    def _call_listeners(self, tournament: Tournament, events: Sequence[ev.Event]) -> None:
        for listener in self._listeners:
            listener(tournament, events)

    def _driver_ended(self, driver: TournamentDriver) -> None:
        del self._drivers[driver.id]
        self._ended.keep(driver.tournament)


def _crowded(most: int) -> Refusal:
    return limit_reached(f"{most} tournaments are open, the maximum: end some first", most)
