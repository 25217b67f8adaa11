"""All matches of a server: it creates and finds them, and passes commands to them.

Unfinished matches are live in memory (`arbiter.service.matches.live`). Ended ones are read from the journal; the last
of them are in a cache (`ended`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, argument_invalid, limit_reached, shortened
from arbiter.games import registry
from arbiter.games.contract import Seat
from arbiter.matches import creation, evolution, time_control, transitions
from arbiter.matches.commands import Arrive, Command, Create, Interruption, Leave, Play, SeatRequest
from arbiter.matches.events import Created, Ended
from arbiter.matches.match import Match, Phase
from arbiter.matches.record import seal_first
from arbiter.matches.requests import Receipt
from arbiter.service.lookup import findable
from arbiter.service.sharing.elsewhere import MatchesElsewhere
from arbiter.service.matches.ended import EndedMatches
from arbiter.service.matches.live import DRAINING, LiveMatches, answered_now, seat_of
from arbiter.service.matches.live_match import AdoptionListener, Answer, FailureListener, MatchListener
from arbiter.service.matches.presence import Presence
from arbiter.service.matches.recovery import RETRY_S, Recovery
from arbiter.service.matches.revival import Revival, RevivalListener
from arbiter.service.matches.stall_detector import StallDetector
from arbiter.service.ports.environment import Clock, Ids
from arbiter.service.ports.journal import (
    Filter,
    Journal,
    JournalConflict,
    MatchSummary,
    OpenLimits,
    PlayerResult,
    RecordDamaged,
    StoredRecord,
    StoreFailed,
    TooManyOpen,
)
from arbiter.service.ports.log import Logger
from arbiter.service.record.matches import Loading, event_of, load_match, summary_of
from arbiter.service.record.tournaments import maker
from arbiter.service.shielding import Shielded

LOADED_AT_ONCE = 50  #: records of a match to decode before other tasks have the event loop
SET_ASIDE = "its end is missing, or the match was set aside when the server started"


class MatchRegistry:
    """All matches of a server.

    secret: returns the key of a match's comments, from the first event of the match. listeners: called in order with
    each match and its events, once these are durable; the list may still grow until the first match is created.
    adoption_listeners: called with each match that becomes live here in the state that another server has stored.
    revival_listeners: called with each match that becomes live again after a start, unless the store is shared. shared:
    other servers may use the store; `elsewhere` applies what these do.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        ids: Ids,
        limits: Limits,
        secret: Callable[[Created], bytes],
        presence: Presence,
        listeners: list[MatchListener],
        adoption_listeners: list[AdoptionListener],
        revival_listeners: list[RevivalListener],
        shared: bool,
        stalls: StallDetector,
        log: Logger,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._ids = ids
        self._limits = limits
        self._presence = presence
        self._shared = shared
        self._ended = EndedMatches()
        self._begun = EndedMatches()  # matches after their first event
        failure_listeners: list[FailureListener] = []
        self._live = LiveMatches(
            journal, clock, secret, presence, self._ended, listeners, failure_listeners, shared, stalls, log
        )
        self._recovery = Recovery(journal, self._live, adoption_listeners, log)
        self._revival = Revival(journal, self._live, revival_listeners, shared, log)
        self.elsewhere = MatchesElsewhere(self._live, self._recovery, log)
        failure_listeners.append(self._recovery.append_failed)
        self._shielded = Shielded()
        self._began = 0  # the last sequence number of the journal at the start
        self._log = log

    # -- life ----------------------------------------------------------------------------------------------------

    async def begin(self) -> int:
        """Find the unfinished matches; return how many there are.

        From now on each of them becomes live, and is interrupted, when it or a player of it is asked for. `revive_rest`
        does it for the others. Raises StoreFailed.
        """
        self._began = await self._journal.head()
        return await self._revival.begin()

    async def start(self) -> int:
        """Make all unfinished matches live, and interrupt them; return how many continue.

        If the store is shared, the matches are not interrupted, because other servers may serve them. The matches of a
        dead server are interrupted by the server that cleans up after it (`arbiter.service.sharing.replica`). Call
        `watch_flags` once it is known which servers are there. Raises StoreFailed.
        """
        await self.begin()
        await self._revival.revive_all()
        return len(self._live)

    async def revive_rest(self) -> None:
        """Make all matches live that are not yet, while the server serves. If the store fails, it is read again."""
        began, found = self._clock.now_ms(), len(self._revival)
        while not self.draining:
            try:
                await self._revival.revive_all()
            except Refusal as refusal:
                if not self.draining:
                    self._log.warning("matches_not_read", matches=len(self._revival), error=refusal.message)
                    await asyncio.sleep(RETRY_S)
            else:
                if found:
                    self._log.info("matches_read", matches=found, after_ms=self._clock.now_ms() - began)
                return

    async def revive(self, match_ids: Iterable[str]) -> None:
        """Make those of some matches live that are not yet since the start: all at once costs less than one by one.

        Raises Refusal STORE_UNAVAILABLE, DRAINING.
        """
        await self._revival.revive(match_ids)

    async def revive_of(self, *players: str) -> None:
        """Make the unfinished matches of some players live. Raises Refusal STORE_UNAVAILABLE, DRAINING."""
        await self._revival.revive_of(players)

    def watch_flags(self) -> None:
        """Let the flags of all matches fall, from now on, when their time is up."""
        for live in self._live:
            self._live.watch(live)

    def interrupt_for_stall(self) -> None:
        """Interrupt all matches because the server itself stood still, and resume those whose players are present.

        If the store is shared, only those matches are interrupted in which a player who is present here is to move.
        """
        if self._shared:
            self._live.interrupt_turns(Interruption.RESTART, self._presence.is_present)
        else:
            self._live.interrupt_all(Interruption.RESTART)
        for player in self._live.players():
            if self._presence.is_present(player):
                self.player_present(player)

    async def drain(self, is_last: bool = False) -> bool:
        """Accept no more commands, stop the clocks, and wait until all events are durable; return whether they are.

        If the store is shared, and this is not the last server to stop, only matches with a player who is present here
        are interrupted; they continue on another server.
        """
        self._live.stop()
        await self._revival.stop()
        everything = is_last or not self._shared
        answers = await self._live.interrupt_all(Interruption.DRAIN, None if everything else self._is_played_here)
        self._live.cancel_timers()
        await self._recovery.stop()
        return not any(isinstance(answer, StoreFailed) for answer in answers)

    @property
    def draining(self) -> bool:
        """Whether the server is stopping."""
        return self._live.draining

    @property
    def live(self) -> LiveMatches:
        """The unfinished matches."""
        return self._live

    @property
    def recoveries(self) -> int:
        """The number of recoveries under way."""
        return self._recovery.pending

    # -- commands ------------------------------------------------------------------------------------------------

    async def create(self, command: Create, accepted: Mapping[str, int] | None = None) -> Match:
        """Create a match, or return the one that the same request has created before.

        accepted: how many open matches players accept; the limit of the settings holds in any case. A server that is
        alone on its store leaves it to the caller to count these.

        Raises Refusal REQUEST_ID_REUSED, RATE_LIMITED, DRAINING, STORE_UNAVAILABLE, and for invalid values in the
        command.
        """
        if self.draining:
            raise DRAINING
        return await self._shielded.run(self._create(command, accepted or {}))

    async def made(self, command: Create) -> Match | None:
        """Return the match that the same request has created before, or None.

        Raises Refusal REQUEST_ID_REUSED.
        """
        row = await self._journal.summary_of_request(command.creator, command.request)
        if row is None:
            return None
        match = await self.match(row.match_id)
        if not _is_of(match.created, command):
            raise Refusal(
                Reason.REQUEST_ID_REUSED,
                f"request id {command.request!r} has created another match: choose a new one",
                request_id=command.request,
            )
        return match

    async def _create(self, command: Create, accepted: Mapping[str, int]) -> Match:
        known = await self.made(command)
        if known is not None:
            return known
        await self.revive_of(*command.players)  # they count
        await self._check_label(command)
        self._check_limits(command.players)
        match_id = self._ids.new("m")
        events = creation.create(match_id, command, self._clock.now_ms()).events
        first, *others = events
        assert isinstance(first, Created)
        match = evolution.begin(first)
        for event in others:
            match = evolution.evolve(match, event)
        live = self._live.enter(match, durable=False)
        try:
            open_limits = self._open_limits(command.players, accepted)
            appended = self._live.append(live, events, seal_first(match_id, events), summary_of(first), open_limits)
            error = await appended.done()
            if error is not None:
                raise error
        except TooManyOpen as full:  # other servers have created matches of these players meanwhile
            self._live.leave(live)
            raise _crowded(f"matches of {full.player}", full.most) from None
        except JournalConflict:  # the same request came twice, and the other one was stored first
            self._live.leave(live)
            known = await self.made(command)
            assert known is not None
            return known
        except StoreFailed:
            self._live.leave(live)
            self._recovery.creation_failed(match_id)
            raise
        self._live.note_present_players(live)
        return live.durable or match

    async def act(self, match_id: str, command: Command) -> Receipt:
        """Let a match decide a command; return its receipt once its events are durable.

        Raises the refusal of the match, MATCH_NOT_FOUND, DRAINING, STORE_UNAVAILABLE or RECORD_DAMAGED.
        """
        answer = await self.answer(match_id, command)
        if isinstance(answer, Refusal):
            raise answer
        return answer

    def request(self, player: str, match_id: str, make: Callable[[Seat], SeatRequest]) -> asyncio.Future[Answer]:
        """Let a match decide a player's request. make: returns the command, for the seat that the player has.

        A live match decides before this returns. The future gets the answer once the events that it depends on are
        durable. A refusal is an answer too: one of those of `act`, or SEAT_NOT_YOURS.
        """
        live = self._live.find(match_id)
        if live is None or self.draining:
            return asyncio.ensure_future(self._request_later(player, match_id, make))
        seat = seat_of(live.newest, player)
        if seat is None:
            return answered_now(_seat_not_yours(player, match_id))
        command = make(seat)
        if isinstance(command, Play):
            return self._live.answer_to(player, live, command)
        self._live.note_request(live, player)
        return self._live.decide(live, command)

    async def _request_later(self, player: str, match_id: str, make: Callable[[Seat], SeatRequest]) -> Answer:
        try:
            match = await self.match(match_id)
        except Refusal as refusal:
            return refusal
        seat = seat_of(match, player)
        return _seat_not_yours(player, match_id) if seat is None else await self.answer(match_id, make(seat))

    async def answer(self, match_id: str, command: Command) -> Answer:
        """Let a match decide a command, like `act`, but return a refusal instead of raising it."""
        if self.draining:
            return DRAINING
        try:
            match = await self.match(match_id)
        except Refusal as refusal:
            return refusal
        live = self._live.find(match_id)
        if live is not None:
            return await self._live.decide(live, command)
        return transitions.decide(match, command, self._clock.now_ms()).answer  # it has ended: nothing changes

    def player_present(self, player: str) -> None:
        """Let a player's matches decide that it has arrived."""
        for live in self._live.of_player(player):
            self._live.note_presence(live, player, Arrive)

    def player_absent(self, player: str) -> None:
        """Let a player's matches decide that it has left."""
        for live in self._live.of_player(player):
            self._live.note_presence(live, player, Leave)

    # -- reading -------------------------------------------------------------------------------------------------

    async def match(self, match_id: str) -> Match:
        """Return a match in its durable state.

        Raises Refusal MATCH_NOT_FOUND, STORE_UNAVAILABLE, RECORD_DAMAGED.
        """
        if match_id in self._revival:
            await self._revival.revive([match_id])
        live = self._live.find(match_id)
        if live is not None and live.durable is not None:
            return live.durable
        match = self._ended.get(match_id)
        if match is None:
            match = await self._read(match_id)
            if match.phase is not Phase.ENDED:
                return await self._recovery.adopt(match)
            self._ended.keep(match)
        return match

    def known(self, match_id: str) -> Match | None:
        """Return a match after its first event, or in a later state, if it is in memory."""
        live = self._live.find(match_id)
        if live is not None and live.durable is not None:
            return live.durable
        return self._ended.get(match_id) or self._begun.get(match_id)

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
        found = findable(which.player) and findable(which.label)
        return await self._journal.summaries(which, before, most) if found else []

    async def results(self, player: str, after: int, most: int) -> list[MatchSummary]:
        """Return a player's ended matches after a sequence number, in order."""
        return await self._journal.results(player, after, most)

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

    def _is_played_here(self, match: Match) -> bool:
        return any(self._presence.is_present(player) for player in match.players)

    # -- checks --------------------------------------------------------------------------------------------------

    async def _check_label(self, command: Create) -> None:
        """Raise Refusal ARGUMENT_INVALID if a label is a tournament's id, unless that tournament creates the match."""
        label = command.label
        if not label or not findable(label) or command.creator == maker(label):
            return
        if await self._journal.tournament_summary(label):
            raise argument_invalid(
                label, "label", "not a tournament's id: such a label is for the matches of that tournament"
            )

    def _check_limits(self, players: Iterable[str]) -> None:
        limits = self._limits
        for player in players:
            if len(self._live.of_player(player)) >= limits.open_matches_of_player:
                raise _crowded(f"matches of {player}", limits.open_matches_of_player)
        if len(self._live) + len(self._revival) >= limits.open_matches:
            raise _crowded("matches", limits.open_matches)

    def _open_limits(self, players: Iterable[str], accepted: Mapping[str, int]) -> OpenLimits | None:
        """Return what the store has to count, because other servers create matches too; None if there are none."""
        if not self._shared:
            return None
        most = self._limits.open_matches_of_player
        return OpenLimits(tuple((player, min(most, accepted.get(player, most))) for player in dict.fromkeys(players)))

    async def _read(self, match_id: str) -> Match:
        records = await self._journal.read(match_id) if findable(match_id) else []
        if not records:
            raise not_found(match_id)
        if not isinstance(event_of(records[-1]), Ended):
            match = load_match(records)
            if records[-1].sequence <= self._began:
                raise RecordDamaged(match_id, records[-1].revision, SET_ASIDE)
            return match  # it may go on: the caller continues without an await
        loading = Loading()
        for number, stored in enumerate(records, 1):
            loading.add(stored)
            if not number % LOADED_AT_ONCE:
                await asyncio.sleep(0)
        return loading.match


def _is_of(made: Created, command: Create) -> bool:
    """Return whether a match has the values of a command."""
    game = registry.game(command.game)
    return (made.game, made.players, made.time, made.rated, made.label, made.opening, made.adjudication) == (
        game.variant,
        command.players,
        time_control.pair_text(time_control.parse_pair(command.time)),
        command.rated,
        command.label,
        tuple(map(game.canonical, command.opening)),
        command.adjudication or None,
    ) and all(getattr(made.policy, name) == getattr(command.policy, name) for name in command.chosen)


def not_found(match_id: str) -> Refusal:
    """Return the refusal for a match that does not exist."""
    shown = shortened(match_id)
    return Refusal(Reason.MATCH_NOT_FOUND, f"there is no match {shown!r} here", id=shown)


def _seat_not_yours(player: str, match_id: str) -> Refusal:
    return Refusal(Reason.SEAT_NOT_YOURS, f"{player} holds no seat in match {match_id}", seat="none")


def _crowded(what: str, most: int) -> Refusal:
    return limit_reached(f"{most} {what} are open, the maximum: end some first", most)
