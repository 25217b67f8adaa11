"""Decides commands on live matches: at once in memory. Their events are stored, and then published.

Nobody gets an answer, an event or the next turn before it is durable. So each match has two states: `newest`, on which
commands are decided, and `durable`, which all others see. Timers are in `timers`. After a failed append, a match
accepts no commands until a failure listener (`recovery`) has read it again. If another server wrote a revision first,
nothing has failed: commands wait until a listener has applied the other server's events, and are then decided again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from arbiter.errors import Refusal, RulesAwaited, RulesFailed
from arbiter.matches import evolution, transitions
from arbiter.matches.answers import Decision
from arbiter.matches.commands import (
    NAMES,
    AnswerDraw,
    Arrive,
    ClaimDraw,
    Command,
    Interrupt,
    Leave,
    OfferDraw,
    Play,
    ReportFault,
    Resign,
    Tick,
)
from arbiter.matches.events import Event
from arbiter.matches.match import Match, Phase
from arbiter.matches.record import Sealed, seal
from arbiter.service.alone import OtherServers
from arbiter.service.matches.awaited_rules import AwaitedRules
from arbiter.service.matches.live import DRAINING, LiveMatches, seats_of
from arbiter.service.matches.live_match import Answer, AnswerCallback, LiveMatch, MatchListeners, PendingAppend
from arbiter.service.matches.stall_detector import StallDetector
from arbiter.service.matches.timers import OPENS_MS, Timers, awaited_players
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import (
    Append,
    AppendBase,
    AppendThen,
    JournalConflict,
    MatchSummary,
    OpenLimits,
    Record,
    RecordUnreadable,
    StoredRecord,
    StoreFailed,
    Subject,
)
from arbiter.service.ports.log import Logger
from arbiter.service.record.match_log import end_of
from arbiter.service.record.published import Published, published

AGAIN_S: Final = 0.1
"""The time before a move is looked at again that waits for more to be known of its player's last server."""

HandedOver = Callable[[Match, int], int | None]
"""Returns when the current turn of a match, of a ply, was handed over to its player; None if that is not known."""


class Decisions:
    """Decides the commands on live matches, and stores their events. Only the journal's writes run elsewhere.

    listeners: of durable events and of failures. others: of the store. stalls: is asked before anything is decided.
    """

    def __init__(
        self,
        append_then: AppendThen,
        clock: Clock,
        live: LiveMatches,
        listeners: MatchListeners,
        others: OtherServers,
        stalls: StallDetector,
        log: Logger,
    ) -> None:
        self._append_then = append_then
        self._clock = clock
        self.live: Final = live
        self._presence = live.presence
        self._listeners = listeners
        self._others = others
        self._stalls = stalls
        self._timers = Timers(clock, self._timer_rang)
        self._rules = AwaitedRules(live, self.submit, self._timers.set)
        self._log = log

    def note_presence(self, live: LiveMatch, player: str, command: type[Arrive] | type[Leave]) -> None:
        """Let a match decide that one of its players has arrived or left."""
        seats = seats_of(live.newest, player)
        assert seats
        for seat in seats:
            if not self.live.draining:
                arrives = command is Arrive
                self.decide(live, Arrive(seat, self._presence.version_of(player)) if arrives else Leave(seat))

    def note_request(self, live: LiveMatch, player: str) -> None:
        """Count a player who makes a request as present, if the match still waits for its players."""
        if live.newest.phase is Phase.PENDING:
            self.note_presence(live, player, Arrive)

    def watch(self, live: LiveMatch) -> None:
        """Set the timer of a match that has become live in its stored state."""
        self._timers.set(live)

    def set_aside(self, live: LiveMatch, damage: RecordUnreadable) -> None:
        """Remove a match whose record can't be read. Its waiting commands are refused with the reason."""
        self.live.leave(live)
        self.refuse_waiting(live, damage)
        self.live.note_unreadable(live.newest.id, damage)

    def decide(self, live: LiveMatch, command: Command) -> asyncio.Future[Answer]:
        """Decide a command now. The future gets the answer once the events that it depends on are durable."""
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.submit(live, command, partial(_settle, answered))
        return answered

    def answer_to(self, player: str, live: LiveMatch, command: Play) -> asyncio.Future[Answer]:
        """Decide a move as `play` does; return a future for the answer."""
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.play(player, live, command, partial(_settle, answered))
        return answered

    def play(
        self,
        player: str,
        live: LiveMatch,
        command: Play,
        then: AnswerCallback,
        handed_over: HandedOver | None = None,
    ) -> None:
        """Decide a move of the player who has the command's seat. `then` gets the answer, as with `submit`.

        handed_over: asked again for a move that has to wait, because the player's last server says it meanwhile.
        """
        if self.live.draining:
            then(DRAINING)
        elif not self._put_off(player, live, command, then, handed_over):
            self.note_request(live, player)
            self.submit(live, command, then)

    def _put_off(
        self,
        player: str,
        live: LiveMatch,
        command: Play,
        then: AnswerCallback,
        handed_over: HandedOver | None = None,
    ) -> bool:
        """Return whether a move has to wait for certainty about its player's last server. It is played again later."""
        if not self._others.move_waits(live.newest, command.seat):
            return False
        started = live.newest.turn_started
        asyncio.get_running_loop().call_later(
            AGAIN_S, self._play_again, player, live, command, then, handed_over, started
        )
        return True

    def _play_again(
        self,
        player: str,
        live: LiveMatch,
        command: Play,
        then: AnswerCallback,
        handed_over: HandedOver | None,
        started: int | None,
    ) -> None:
        """Play a move that had to wait, in a turn that began at `started`."""
        again = reseated(live.newest, command)
        assert isinstance(again, Play)
        if live.newest.turn_started != started:
            again = replace(again, handed_over=None, round_trip_ms=None)
        at = handed_over(live.newest, command.ply) if handed_over is not None else None
        if at is not None and at <= command.arrived:  # else it is a later turn: this one was interrupted
            again = replace(again, handed_over=at)
        self.play(player, live, again, then, handed_over)

    def submit(self, live: LiveMatch, command: Command, then: AnswerCallback, level: bool = False) -> None:
        """Decide a command now. `then` gets the answer once the events that it depends on are durable.

        If servers share a store, a refusal without an event may come from an outdated state. Such a command is decided
        again on the stored state, unless the match is known to be current (`level`).
        """
        self._stalls.notice()
        if live.failed:
            then(StoreFailed())
            return
        if live.waiting is not None:
            live.waiting.append((command, then))
            return
        if live.held and self._rules.holds_too(live, command, then):
            return
        try:
            decision = self._decision(live, command)
        except RulesAwaited as awaited:
            self._rules.hold(live, command, then, awaited)
            return
        if decision.events:
            sealed = seal(live.newest, decision.events)
            for event in decision.events:
                live.newest = evolution.evolve(live.newest, event)
            appended = self.append(live, decision.events, sealed)
            appended.then(partial(self._give, live, command, then, decision.answer))
        elif live.tail is None:
            if self._others.may_know_more and not level and isinstance(decision.answer, Refusal):
                self.fall_behind(live, lost=False)
                live.waiting = [(command, then)]
            else:
                then(decision.answer)
        else:
            live.tail.then(partial(self._give, live, command, then, decision.answer))

    def _give(
        self, live: LiveMatch, command: Command, then: AnswerCallback, answer: Answer, error: BaseException | None
    ) -> None:
        """Give an answer once the append that it depends on is done.

        If another server wrote first, the command is decided again. If the store failed, this is the answer.
        """
        if error is None:
            then(answer)
        elif isinstance(error, JournalConflict) and live.waiting is not None:
            live.waiting.append((command, then))
        else:
            then(error if isinstance(error, Refusal) else StoreFailed())

    def _decision(self, live: LiveMatch, command: Command) -> Decision:
        now = self._clock.now_ms()
        try:
            if not live.complete and type(command) is not Interrupt:  # that one needs neither, and meets every match
                self.live.complete(live)
            return transitions.decide(live.newest, command, now)
        except Exception as error:  # an error in the arbiter, or in a game's rules: neither player loses by it
            if isinstance(error, RulesAwaited):
                raise
            match = live.newest
            self._log.exception("match_faulted", match=match.id, ply=match.ply, command=NAMES[type(command)].value)
            note = str(error) if isinstance(error, RulesFailed) else f"the arbiter failed on a command: {error!r}"
            return transitions.decide(match, ReportFault(note), now)

    def append(
        self,
        live: LiveMatch,
        events: Sequence[Event],
        sealed: Sequence[Sealed],
        opened: MatchSummary | None = None,
        open_limits: OpenLimits | None = None,
    ) -> PendingAppend:
        """Store events that the newest state contains. A match's first append has `opened` and `open_limits`."""
        after = live.newest
        match_id = after.created.match
        records = tuple([Record(match_id, item.revision, item.data, Subject.MATCH) for item in sealed])
        closed = end_of(after) if after.phase is Phase.ENDED else None
        pending = live.tail = PendingAppend(live, after, events, records)
        live.writing += 1
        append = Append(records, opened, closed, None, live.basis, open_limits)
        self._append_then(append, partial(self._stored, pending))
        self._timers.set(live)
        return pending

    def _stored(self, pending: PendingAppend, last: int, error: BaseException | None) -> None:
        """Take the result of an append: the number of its last record, or the reason why it failed."""
        live = pending.live
        live.writing -= 1
        if not live.writing:
            live.tail = None
        try:
            self._take_result(live, pending, last, error)
        finally:
            pending.settle(error)

    def _take_result(self, live: LiveMatch, pending: PendingAppend, last: int, error: BaseException | None) -> None:
        if live.failed:
            pass  # the match is being read again, so the result does not matter
        elif error is None:
            live.failures = 0
            records, label = pending.records, pending.after.created.label
            first = last - len(records) + 1
            stored = [Published(first + n, records[n], event, label, True) for n, event in enumerate(pending.events)]
            self.became_durable(live, pending.after, stored)
        elif live.waiting is not None:
            pass  # it builds on a refused append; its command is decided again too
        elif live.durable is not None:
            if isinstance(error, JournalConflict):
                self.fall_behind(live, lost=True)
            else:
                self.fail(live, error)

    def became_durable(self, live: LiveMatch, after: Match, events: Sequence[Published]) -> None:
        """Set the durable state to `after`, the state after some stored events, and call the listeners with them."""
        live.durable = after
        if after.phase is Phase.ENDED:
            self.live.leave(live)
            self.live.ended.keep(after)
        for listener in self._listeners.changed:
            listener(after, events)

    def fail(self, live: LiveMatch, error: BaseException) -> None:
        """Note that the store has failed. The match accepts no commands until a listener has read it again."""
        live.failed = True
        live.failures += 1
        self._log.error("match_not_stored", match=live.newest.id, error=str(error))
        self.refuse_waiting(live, error if isinstance(error, Refusal) else StoreFailed())
        for listener in self._listeners.failed:
            listener(live)

    def fall_behind(self, live: LiveMatch, lost: bool) -> None:
        """Note that another server may have stored events. Commands wait until a listener has applied them.

        lost: it has certainly done so, because an append was refused. If False, there must be no append under way.
        """
        live.waiting, live.lost = [], lost
        for listener in self._listeners.failed:
            listener(live)

    def catch_up(self, live: LiveMatch, match: Match, records: Sequence[StoredRecord], events: Sequence[Event]) -> None:
        """Apply events that another server has stored, up to the state `match`, and decide the waiting commands.

        If the turn has changed, the instant at which it was sent is unknown, and so a waiting move earns no credit.
        """
        before = live.durable
        turn = (before.ply, before.turn_started) if before is not None else None
        self.live.renew(live, match, before)
        live.basis = AppendBase()
        if records:
            self.became_durable(live, live.newest, published(records, events, match.created.label))
        waiting, live.waiting = live.waiting or [], None
        for asked, then in waiting:
            command = reseated(live.newest, asked)
            if not isinstance(command, Play):
                self.submit(live, command, then, level=True)
                continue
            if turn != (live.newest.ply, live.newest.turn_started):  # or a command before it has changed it
                command = replace(command, handed_over=None, round_trip_ms=None)
            player = live.newest.players[command.seat - 1]
            if not self._put_off(player, live, command, then):  # it may be a turn that was not known here before
                self.submit(live, command, then, level=True)
        self._timers.set(live)

    def refuse_waiting(self, live: LiveMatch, refusal: Refusal) -> None:
        """Refuse the waiting commands of a match. Later commands do not wait."""
        waiting, live.waiting = live.waiting or [], None
        for _, then in waiting:
            then(refusal)

    def _timer_rang(self, live: LiveMatch) -> None:
        if self.live.draining or live.failed or live.held or live.waiting is not None:
            return  # its clocks are stopped, or another server has changed them, or a command waits for its rules
        if live.tail is not None and not _is_known(live):
            live.tail.then(lambda _: self._timer_rang(live))  # until then, nobody can answer this turn
            return
        if self._timers.is_due(live):
            since = live.newest.since
            wait_ms = self._flag_waits_ms(live.newest, live.waited == since)
            if wait_ms:
                live.waited = since
                self._timers.delay(live, wait_ms)
                return
            self.decide(live, Tick())
        if self.live.find(live.newest.id) is live:
            self._timers.set(live)

    def _flag_waits_ms(self, match: Match, waited: bool) -> int:
        """Return how long an end by the deadline waits, 0 for not at all: a stream may be about to open.

        waited: it has waited before in this turn.
        """
        awaited = awaited_players(match)
        if any(self._presence.is_waiting(player) for player in awaited):
            return OPENS_MS
        return self._others.flag_waits_ms(match, awaited, waited)


def reseated(match: Match, command: Command) -> Command:
    """Return a command that has waited, for the seat that its player has by now.

    A player against itself has the seat to move: that was another one if this server was behind when the command came.
    """
    first, second = match.players
    if first != second or not isinstance(command, (Play, OfferDraw, AnswerDraw, ClaimDraw, Resign)):
        return command
    return replace(command, seat=match.turn)


def _is_known(live: LiveMatch) -> bool:
    """Return whether players can know the current turn of a match: the event that began it is durable."""
    now, durable = live.newest, live.durable
    return durable is not None and durable.ply == now.ply and durable.turn_started == now.turn_started


def _settle(answered: asyncio.Future[Answer], answer: Answer) -> None:
    if not answered.done():
        answered.set_result(answer)
