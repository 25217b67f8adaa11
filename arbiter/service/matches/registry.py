"""The matches: where matches are made and found, and the one way by which commands reach them.

Matches that have not ended are live in memory (`arbiter.service.matches.live`). Ended ones are read from the journal,
and the last of them are kept.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter

import structlog

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import Seat
from arbiter.matches import evolution, time_control, transitions
from arbiter.matches.commands import Arrive, Command, Create, Interrupt, Interruption, Leave, SeatRequest
from arbiter.matches.events import Created
from arbiter.matches.match import Match, Phase
from arbiter.matches.record import seal_first
from arbiter.matches.requests import Receipt
from arbiter.service.matches.live import DRAINING, Answer, Listener, LiveMatch, LiveMatches, answered_now, seat_of
from arbiter.service.observing.feed import Feed
from arbiter.service.players.accounts import findable, invalid
from arbiter.service.ports.environment import Clock, Ids
from arbiter.service.ports.journal import (
    RETRY_MS,
    Filter,
    Journal,
    JournalConflict,
    MatchSummary,
    StoredRecord,
    StoreFailed,
)
from arbiter.service.record.matches import load_match, summary_of
from arbiter.service.record.published import Published
from arbiter.service.record.tournaments import maker
from arbiter.service.shielding import Shielded

READ_AT_ONCE = 100  #: matches in one read at the start: a read each would cost as much as what is read
ENDED_KEPT = 1_000  #: ended matches that stay in memory, for repeated requests and late readers


class MatchRegistry:
    """All matches of a server. `secret` makes the key of a match's comments, from the event that made it."""

    def __init__(
        self, journal: Journal, clock: Clock, ids: Ids, limits: Limits, secret: Callable[[Created], bytes]
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._ids = ids
        self._limits = limits
        self._ended: OrderedDict[str, Match] = OrderedDict()
        self._listeners: list[Listener] = []
        self._present: Callable[[str], bool] = lambda player: False
        self._version: Callable[[str], str] = lambda player: ""
        self._live = LiveMatches(
            journal,
            clock,
            self._durable,
            lambda player: self._present(player),
            secret,
            lambda player: self._version(player),
            self._read_again,
        )
        self._shielded = Shielded()
        self._log = structlog.get_logger("arbiter.matches")
        self.feed = Feed(journal, limits, self.match)

    def listen(
        self,
        listener: Listener,
        present: Callable[[str], bool] | None = None,
        version: Callable[[str], str] | None = None,
    ) -> None:
        """Have a function called with each match and its events once they are durable.

        `present`, if given, tells whether a player can be reached now: a new match finds it there. `version` tells the
        version of its bot, '' if it is not known.
        """
        self._listeners.append(listener)
        if present is not None:
            self._present = present
        if version is not None:
            self._version = version

    def _durable(self, match: Match, published: Sequence[Published]) -> None:
        if match.phase is Phase.ENDED:
            self._keep(match)
        self.feed.publish(published)
        for listener in self._listeners:
            listener(match, published)

    # -- life ----------------------------------------------------------------------------------------------------

    async def start(self) -> int:
        """Read the matches that have not ended, and let them go on: the outage is charged to nobody.

        Returns how many there are.
        """
        unfinished = await self._journal.unfinished()
        for first in range(0, len(unfinished), READ_AT_ONCE):
            records = await self._journal.read_many(unfinished[first : first + READ_AT_ONCE])
            for _, of_match in groupby(records, key=attrgetter("match_id")):
                self._live.enter(load_match(list(of_match)))
        await self._live.interrupt_all(Interruption.RESTART)
        return len(unfinished)

    async def bear_outage(self) -> None:
        """Interrupt all matches, and let them go on with whoever is there: the server itself was held up."""
        await self._live.interrupt_all(Interruption.RESTART)
        for player in self._live.players():
            if self._present(player):
                self._tell(player, Arrive)

    async def drain(self) -> None:
        """Take nothing more, stop the clocks, and wait until all of it is durable."""
        self._live.stop()
        await self._live.interrupt_all(Interruption.DRAIN)
        await self._live.let_go()

    @property
    def draining(self) -> bool:
        """Whether the server is stopping."""
        return self._live.draining

    @property
    def live(self) -> LiveMatches:
        """The matches that have not ended, for whoever looks after them."""
        return self._live

    # -- commands ------------------------------------------------------------------------------------------------

    async def create(self, command: Create) -> Match:
        """Make a match, or return the one that the same request has made before.

        Raises Refusal REQUEST_ID_REUSED, RATE_LIMITED, DRAINING, STORE_UNAVAILABLE and what the command's values meet.
        """
        if self.draining:
            raise DRAINING
        return await self._shielded.run(self._create(command))

    async def made(self, command: Create) -> Match | None:
        """Return the match that the same request has made before, or None. Raises Refusal REQUEST_ID_REUSED."""
        row = await self._journal.row_of_request(command.creator, command.request)
        if row is None:
            return None
        match = await self.match(row.match_id)
        if not _is_of(match.created, command):
            raise Refusal(
                Reason.REQUEST_ID_REUSED,
                f"request id {command.request!r} made another match before: choose a new one",
                request_id=command.request,
            )
        return match

    async def _create(self, command: Create) -> Match:
        known = await self.made(command)
        if known is not None:
            return known
        await self._check_label(command)
        self._check_room(command.players)
        match_id = self._ids.new("m")
        events = transitions.create(match_id, command, self._clock.now_ms()).events
        first, *others = events
        assert isinstance(first, Created)
        match = evolution.begin(first)
        for event in others:
            match = evolution.evolve(match, event)
        live = self._live.enter(match, durable=False)
        try:
            await self._live.append(live, events, seal_first(match_id, events), opened=summary_of(first))
        except JournalConflict:  # the same request came twice at the same time, and the other was first
            self._live.leave(live)
            known = await self.made(command)
            assert known is not None
            return known
        except StoreFailed:
            self._live.leave(live)
            self._live.pursue(self._look_for(match_id))
            raise
        self._live.welcome(live)
        return live.durable or match

    async def act(self, match_id: str, command: Command) -> Receipt:
        """Let a match decide a command; returns once what it did is durable.

        Raises the refusal, MATCH_NOT_FOUND, DRAINING or STORE_UNAVAILABLE.
        """
        answer = await self.answer(match_id, command)
        if isinstance(answer, Refusal):
            raise answer
        return answer

    def request(self, player: str, match_id: str, make: Callable[[Seat], SeatRequest]) -> asyncio.Future[Answer]:
        """Let a match decide a player's request; `make` makes the command, given the seat that the player holds.

        A live match decides before this returns; the answer comes once all that it rests on is durable. Refusals are
        answers; beyond those of `act` there is SEAT_NOT_YOURS.
        """
        live = self._live.find(match_id)
        if live is None or self.draining:
            return asyncio.ensure_future(self._request_later(player, match_id, make))
        seat = seat_of(live.newest, player)
        if seat is None:
            return answered_now(_seat_not_yours(player, match_id))
        self._live.greet(live, player)
        return self._live.decide(live, make(seat))

    async def _request_later(self, player: str, match_id: str, make: Callable[[Seat], SeatRequest]) -> Answer:
        try:
            match = await self.match(match_id)
        except Refusal as refusal:
            return refusal
        seat = seat_of(match, player)
        return _seat_not_yours(player, match_id) if seat is None else await self.answer(match_id, make(seat))

    async def answer(self, match_id: str, command: Command) -> Answer:
        """Let a match decide a command, as `act` does, but return a refusal as an answer."""
        if self.draining:
            return DRAINING
        try:
            match = await self.match(match_id)
        except Refusal as refusal:
            return refusal
        live = self._live.find(match_id)
        if live is not None:
            return await self._live.decide(live, command)
        return transitions.decide(match, command, self._clock.now_ms()).answer  # it has ended: nothing happens to it

    def present(self, player: str) -> None:
        """Let a player's matches know that it can be reached from now on."""
        self._tell(player, Arrive)

    def absent(self, player: str) -> None:
        """Let a player's matches know that it can be reached no longer."""
        self._tell(player, Leave)

    def _tell(self, player: str, command: type[Arrive] | type[Leave]) -> None:
        for live in self._live.of_player(player):
            self._live.tell(live, player, command)

    # -- reading -------------------------------------------------------------------------------------------------

    async def match(self, match_id: str) -> Match:
        """Return a match as far as it is durable. Raises Refusal MATCH_NOT_FOUND."""
        live = self._live.find(match_id)
        if live is not None and live.durable is not None:
            return live.durable
        match = self._ended.get(match_id)
        if match is None:
            match = await self._read(match_id)
            if match.phase is not Phase.ENDED:
                return await self._adopt(match)
            self._keep(match)
        return match

    async def _look_for(self, match_id: str) -> None:
        """Let a match live on whose making failed, if it was stored all the same; its maker may never ask again."""
        while True:
            await asyncio.sleep(RETRY_MS / 1000)
            try:
                await self.match(match_id)
            except StoreFailed:
                continue
            except Refusal:
                pass  # it is not there
            return

    async def _read_again(self, live: LiveMatch) -> None:
        """Read a match again whose append the journal refused: what is in memory is ahead of the record."""
        match_id = live.newest.id
        if live.failures > 1:
            await asyncio.sleep(RETRY_MS / 1000)
        while True:
            while live.tail is not None:  # what was asked for behind the failure has its answer first
                await asyncio.wait([live.tail])
            try:
                records = await self._journal.read(match_id)
                match = load_match(records)
                break
            except StoreFailed as failure:
                self._log.warning("match_not_read", match=match_id, error=failure.message)
                await asyncio.sleep(RETRY_MS / 1000)
        self._log.info("match_read_again", match=match_id, revision=match.revision)
        if self._live.restore(live, match, records):
            await self._live.decide(live, Interrupt(Interruption.RESTART))
            self._live.welcome(live)

    async def _adopt(self, match: Match) -> Match:
        """Let a match live on whose making was stored, though the journal said that it failed."""
        if self.draining or self._live.find(match.id) is not None:
            return match
        live = self._live.enter(match)
        await self._live.decide(live, Interrupt(Interruption.RESTART))
        self._live.welcome(live)
        return live.durable or match

    def unfinished(self, player: str) -> list[Match]:
        """Return a player's matches that have not ended, as far as they are durable, oldest first."""
        found = [live.durable for live in self._live.of_player(player)]
        return sorted((match for match in found if match is not None), key=lambda match: match.id)

    async def rows(self, which: Filter, before: int, most: int) -> list[MatchSummary]:
        """Return what lists show of matches, newest first."""
        found = findable(which.player) and findable(which.label)
        return await self._journal.rows(which, before, most) if found else []

    async def results(self, player: str, after: int, most: int) -> list[MatchSummary]:
        """Return a player's ended matches after a journal place, in order."""
        return await self._journal.results(player, after, most)

    async def record(self, match_id: str, after: int, most: int) -> list[StoredRecord]:
        """Return records of a match after a revision, in order. Raises Refusal MATCH_NOT_FOUND."""
        records = await self._journal.read(match_id, after, most) if findable(match_id) else []
        if not records and not after:
            raise not_found(match_id)
        return records

    # -- within --------------------------------------------------------------------------------------------------

    async def _check_label(self, command: Create) -> None:
        """Raise Refusal ARGUMENT_INVALID for the id of a tournament, unless it makes the match itself."""
        label = command.label
        if not label or not findable(label) or command.creator == maker(label):
            return
        if await self._journal.tournament_row(label):
            raise invalid(label, "label", "no tournament's id: these are for its own matches")

    def _check_room(self, players: Iterable[str]) -> None:
        limits = self._limits
        for player in players:
            if len(self._live.of_player(player)) >= limits.open_matches_of_player:
                raise _crowded(f"matches of {player}", limits.open_matches_of_player)
        if len(self._live) >= limits.open_matches:
            raise _crowded("matches", limits.open_matches)

    async def _read(self, match_id: str) -> Match:
        records = await self._journal.read(match_id) if findable(match_id) else []
        if not records:
            raise not_found(match_id)
        return load_match(records)

    def _keep(self, ended: Match) -> None:
        self._ended[ended.id] = ended
        if len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)


def _is_of(made: Created, command: Create) -> bool:
    """Say whether a match is what a command asks for."""
    return (made.game, made.players, made.time, made.rated, made.label, made.opening, made.adjudication) == (
        registry.game(command.game).variant,
        command.players,
        time_control.pair_text(time_control.parse_pair(command.time)),
        command.rated,
        command.label,
        command.opening,
        command.adjudication or None,
    ) and all(getattr(made.policy, name) == getattr(command.policy, name) for name in command.chosen)


def not_found(match_id: str) -> Refusal:
    """Return the refusal for a match that is not there."""
    shown = match_id if len(match_id) <= 60 else match_id[:57] + "…"
    return Refusal(Reason.MATCH_NOT_FOUND, f"there is no match {shown!r} here", id=shown)


def _seat_not_yours(player: str, match_id: str) -> Refusal:
    return Refusal(Reason.SEAT_NOT_YOURS, f"{player} holds no seat in match {match_id}", seat="none")


def _crowded(what: str, most: int) -> Refusal:
    return Refusal(
        Reason.RATE_LIMITED, f"{most} {what} are open, which is the most: end some first", limit=most, retry_after_ms=0
    )
