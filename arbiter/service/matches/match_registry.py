"""All matches of a server: they begin and end with it, and commands are passed to them.

Unfinished matches are live in memory (`arbiter.service.matches.live`); `reading` has the others, and `creating` the
creation of matches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final
from weakref import WeakValueDictionary

from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Seat
from arbiter.matches import transitions
from arbiter.matches.commands import Command, Interruption, Play, SeatRequest
from arbiter.matches.match import Phase
from arbiter.matches.requests import Receipt
from arbiter.service.alone import OtherServers
from arbiter.service.matches.attendance import Attendance
from arbiter.service.matches.creating import Creation
from arbiter.service.matches.decisions import Decisions
from arbiter.service.matches.live import DRAINING, answered_now, seat_of
from arbiter.service.matches.live_match import Answer
from arbiter.service.matches.reading import MatchReader
from arbiter.service.matches.recovery import Recovery
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import RulesMissing, StoreFailed


class MatchRegistry:
    """All matches of a server. others: of the store, who go on with matches that this one leaves."""

    def __init__(
        self,
        reader: MatchReader,
        creation: Creation,
        decisions: Decisions,
        attendance: Attendance,
        recovery: Recovery,
        others: OtherServers,
        clock: Clock,
    ) -> None:
        self.live: Final = decisions.live  #: the unfinished matches
        self.decisions: Final = decisions
        self.attendance: Final = attendance
        self.create: Final = creation.create
        self.made: Final = creation.made
        self.match: Final = reader.match
        self.known: Final = reader.known
        self.begun: Final = reader.begun
        self.unfinished: Final = reader.unfinished
        self.summaries: Final = reader.summaries
        self.results: Final = reader.results
        self.result_before_last: Final = reader.result_before_last
        self.results_by_kind: Final = reader.results_by_kind
        self.record: Final = reader.record
        self.revive: Final = reader.revival.revive
        self.revive_of: Final = reader.revival.revive_of
        self.revive_rest: Final = reader.revival.revive_rest
        self.player_present: Final = attendance.player_present
        self.player_absent: Final = attendance.player_absent
        self._reader = reader
        self._revival = reader.revival
        self.recovery: Final = recovery
        self._others = others
        self._clock = clock
        self._looking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by the player who asks

    # -- life --------------------------------------------------------------------------------------------------------

    async def begin(self) -> int:
        """Find the unfinished matches; return how many continue.

        From now on each of them becomes live, and is interrupted, when it or a player of it is asked for. `revive_rest`
        does it for the others. Raises StoreFailed.
        """
        await self._reader.begin()
        return await self._revival.begin()

    async def start(self) -> int:
        """Make all unfinished matches live, and interrupt them; return how many continue.

        Those are not interrupted that other servers may serve. The matches of a server that is gone are interrupted by
        the one that cleans up after it (`arbiter.service.sharing.replica`). Call `watch_flags` once it is known which
        servers are there. Raises StoreFailed.
        """
        await self.begin()
        await self._revival.revive_all()
        return len(self.live)

    def watch_flags(self) -> None:
        """Let the flags of all matches fall, from now on, when their time is up."""
        for live in self.live:
            self.decisions.watch(live)

    async def drain(self, is_last: bool = False) -> bool:
        """Accept no more commands, stop the clocks, and wait until all events are durable; return whether they are.

        Unless this is the last server of its store to stop, matches are not interrupted that the others go on with.
        """
        self.live.draining = True
        await self._revival.stop()
        which = None if is_last else self._others.is_ours
        answers = await self.attendance.interrupt_all(Interruption.DRAIN, which)
        self.live.cancel_timers()
        await self.recovery.stop()
        return not any(isinstance(answer, StoreFailed) for answer in answers)

    @property
    def draining(self) -> bool:
        """Whether the server is stopping."""
        return self.live.draining

    @property
    def without_rules(self) -> int:
        """The number of unfinished matches at the start whose rules were not installed here: they wait for them."""
        return self._revival.without_rules

    @property
    def recoveries(self) -> int:
        """The number of recoveries under way."""
        return self.recovery.pending

    # -- commands ----------------------------------------------------------------------------------------------------

    async def act(self, match_id: str, command: Command) -> Receipt:
        """Let a match decide a command; return its receipt once its events are durable.

        Raises the refusal of the match, MATCH_NOT_FOUND, DRAINING, STORE_UNAVAILABLE or RECORD_DAMAGED.
        """
        answer = await self.answer(match_id, command)
        if isinstance(answer, Refusal):
            raise answer
        return answer

    def has_answered(self, player: str, match_id: str, request_id: str) -> bool | None:
        """Return whether a live match of a player has answered a request before; None if it is not such a match."""
        found = self.live.seated(player, match_id)
        return None if found is None else found[0].newest.requests.find(player, request_id) is not None

    def request(self, player: str, match_id: str, make: Callable[[Seat], SeatRequest]) -> asyncio.Future[Answer]:
        """Let a match decide a player's request. make: returns the command, for the seat that the player has.

        A live match decides before this returns. The future gets the answer once the events that it depends on are
        durable. A refusal is an answer too: one of those of `act`, or SEAT_NOT_YOURS. A player's requests for matches
        that are not live are answered one after the other: to look for many at once would keep moves waiting.
        """
        live = self.live.find(match_id)
        if live is None or self.draining:
            lock = self._looking.setdefault(player, asyncio.Lock())
            return asyncio.ensure_future(self._request_later(lock, player, match_id, make))
        seat = seat_of(live.newest, player)
        if seat is None:
            return answered_now(_seat_not_yours(player, match_id))
        command = make(seat)
        if isinstance(command, Play):
            return self.decisions.answer_to(player, live, command)
        self.decisions.note_request(live, player)
        return self.decisions.decide(live, command)

    async def _request_later(
        self, lock: asyncio.Lock, player: str, match_id: str, make: Callable[[Seat], SeatRequest]
    ) -> Answer:
        async with lock:
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
        live = self.live.find(match_id)
        if live is not None:
            return await self.decisions.decide(live, command)
        if match.phase is not Phase.ENDED and not match.game.installed:
            return RulesMissing(match_id, match.created.game, match.holders)
        return transitions.decide(match, command, self._clock.now_ms()).answer  # it has ended: nothing changes


def _seat_not_yours(player: str, match_id: str) -> Refusal:
    return Refusal(Reason.SEAT_NOT_YOURS, f"{player} holds no seat in match {match_id}", seat="none")
