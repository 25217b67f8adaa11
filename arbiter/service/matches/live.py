"""Live matches. A command is decided at once in memory; its events are stored, and then published.

Nobody gets an answer, an event or the next turn before it is durable. So each match has two states: `newest`, on which
commands are decided, and `durable`, which all others see. Timers are in `timers`. After a failed append, a match
accepts no commands until a failure listener (`recovery`) has read it again. If another server wrote a revision first,
nothing has failed: commands wait until a listener has applied the other server's events, and are then decided again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Seat
from arbiter.matches import evolution, transitions
from arbiter.matches.answers import Decision
from arbiter.matches.commands import (
    NAMES,
    AnswerDraw,
    Arrive,
    ClaimDraw,
    Command,
    Interrupt,
    Interruption,
    Leave,
    OfferDraw,
    Play,
    ReportFault,
    Resign,
    Tick,
)
from arbiter.matches.events import Created, Event
from arbiter.matches.match import Match, Phase, with_position
from arbiter.matches.record import Sealed, seal
from arbiter.service.sharing.certainty import AGAIN_S, flag_waits_ms, waits_for_certainty
from arbiter.service.matches.ended import EndedMatches
from arbiter.service.matches.live_match import (
    Answer,
    AnswerCallback,
    FailureListener,
    LiveMatch,
    MatchListener,
    PendingAppend,
)
from arbiter.service.matches.presence import Presence
from arbiter.service.matches.stall_detector import StallDetector
from arbiter.service.matches.timers import Timers, cancel
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import (
    Append,
    AppendBase,
    Journal,
    JournalConflict,
    MatchSummary,
    OpenLimits,
    Record,
    RecordTooNew,
    RecordUnreadable,
    StoredRecord,
    StoreFailed,
    Subject,
)
from arbiter.service.ports.log import Logger
from arbiter.service.record.matches import end_of
from arbiter.service.record.published import Published, published

SEATS: Final[tuple[Seat, Seat]] = (1, 2)

HandedOver = Callable[[Match, int], int | None]
"""Returns when the current turn of a match, of a ply, was handed over to its player; None if that is not known."""

DRAINING: Final = Refusal(Reason.DRAINING, "the server is stopping: connect again in a while", retry_after_ms=1_000)


class LiveMatches:
    """All live matches. Everything here runs on one event loop; only the journal's writes run elsewhere.

    secret: returns the key of a match's comments, from the first event of the match. ended: the cache that ended
    matches go to. listeners: called in order with each match and its events, once these are durable. failure_listeners:
    called with each match whose append has failed, or which another server may have changed. shared: other servers may
    use the store. stalls: is asked before anything is decided.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        secret: Callable[[Created], bytes],
        presence: Presence,
        ended: EndedMatches,
        listeners: list[MatchListener],
        failure_listeners: list[FailureListener],
        shared: bool,
        stalls: StallDetector,
        log: Logger,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._secret = secret
        self._presence = presence
        self._ended = ended
        self._listeners = listeners
        self._failure_listeners = failure_listeners
        self._shared = shared
        self._stalls = stalls
        self._live: dict[str, LiveMatch] = {}
        self._of_player: dict[str, dict[str, None]] = {}  # ids in order of creation
        self._timers = Timers(clock, self._timer_rang)
        self._too_new: set[str] = set()  # unfinished matches that only newer servers can serve
        self._draining = False
        self.decided_here = False  #: whether the listeners are told of events that this server has decided itself
        self._log = log

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[LiveMatch]:
        return iter(list(self._live.values()))

    @property
    def draining(self) -> bool:
        """Whether the server is stopping."""
        return self._draining

    def find(self, match_id: str) -> LiveMatch | None:
        """Return a live match, or None."""
        return self._live.get(match_id)

    def of_player(self, player: str) -> Collection[LiveMatch]:
        """Return a player's live matches."""
        return [self._live[match_id] for match_id in self._of_player.get(player, ())]

    def players(self) -> list[str]:
        """Return the players of live matches, in the order of their first match."""
        return list(self._of_player)

    def interrupt_all(
        self, reason: Interruption, which: Callable[[Match], bool] | None = None
    ) -> asyncio.Future[list[Answer]]:
        """Stop the clocks of all matches, or of those for which `which` returns True.

        The future is done once the store has accepted or refused every interruption.
        """
        live = [each for each in self._live.values() if which is None or which(each.newest)]
        return asyncio.gather(*[self.decide(match, Interrupt(reason)) for match in live])

    def interrupt_turns(self, reason: Interruption, which: Callable[[str], bool]) -> asyncio.Future[list[Answer]]:
        """Stop the running clocks of the players for whom `which` returns True.

        If it is no longer that turn, because other servers have gone on with the match, nothing happens to it.
        """
        turns = [
            (live, live.newest.players[live.newest.turn - 1], live.newest.turn_started) for live in self._live.values()
        ]
        return asyncio.gather(
            *[
                self.decide(live, Interrupt(reason, player, started))
                for live, player, started in turns
                if started is not None and which(player)
            ]
        )

    def begin_again(self, match: Match, player: str, late_ms: int, then: AnswerCallback) -> None:
        """Interrupt a turn of which its player could not be told for long, and begin it again once the player is here.

        So nobody is charged for what kept servers from telling it. If it is no longer that turn, nothing happens.
        `then` gets the answer, as with `submit`, unless the match is interrupted anyway.
        """
        live = self._live.get(match.id)
        if live is None or live.failed or self._draining:
            return
        self._log.warning("turn_late", match=match.id, ply=match.ply, late_ms=late_ms)
        self.submit(live, Interrupt(Interruption.RESTART, player, match.since), then)
        self.note_present_players(live)

    def stop(self) -> None:
        """Accept no more commands."""
        self._draining = True

    def cancel_timers(self) -> None:
        """Turn every timer off."""
        for live in self._live.values():
            cancel(live)

    def note_presence(self, live: LiveMatch, player: str, command: type[Arrive] | type[Leave]) -> None:
        """Let a match decide that one of its players has arrived or left."""
        seats = seats_of(live.newest, player)
        assert seats
        for seat in seats:
            if not self._draining:
                arrives = command is Arrive
                self.decide(live, Arrive(seat, self._presence.version_of(player)) if arrives else Leave(seat))

    def note_present_players(self, live: LiveMatch) -> None:
        """Let a match decide that those of its players have arrived who are present now."""
        for player in live.newest.holders:
            if self._presence.is_present(player) and not live.failed and not self._has_arrived(live, player):
                self.note_presence(live, player, Arrive)

    def _has_arrived(self, live: LiveMatch, player: str) -> bool:
        """Return whether a match surely knows that a player is present, with the version that it has now."""
        match, version = live.newest, self._presence.version_of(player)
        if live.waiting is not None:
            return False  # other servers may have changed this
        return all(
            match.present[seat - 1] and version in ("", match.bots.arrived[seat - 1])
            for seat in seats_of(match, player)
        )

    def note_request(self, live: LiveMatch, player: str) -> None:
        """Count a player who makes a request as present, if the match still waits for its players."""
        if live.newest.phase is Phase.PENDING:
            self.note_presence(live, player, Arrive)

    def seated(self, player: str, match_id: str) -> tuple[LiveMatch, Seat] | None:
        """Return a live match in which a player has a seat, and the seat; None if there is no such match."""
        live = self._live.get(match_id)
        seat = seat_of(live.newest, player) if live is not None else None
        return (live, seat) if live is not None and seat is not None else None

    def is_current(self, match: Match) -> bool:
        """Return whether a match is still at the same turn in its durable state."""
        live = self._live.get(match.created.match)
        now = live.durable if live is not None else None
        if now is match:
            return True
        return now is not None and now.phase is match.phase and now.since == match.since and now.ply == match.ply

    def enter(self, match: Match, durable: bool = True) -> LiveMatch:
        """Make a match live. durable: whether the journal has it already.

        The first command computes what only commands need: at a start most matches have to wait for others.
        """
        if match.comments:  # others read them too
            match = replace(match, secret=self._secret(match.created))
        live = self._live[match.id] = LiveMatch(match, match if durable else None)
        for player in match.holders:
            self._of_player.setdefault(player, {})[match.id] = None
        return live

    def completed(self, match: Match, before: Match | None = None) -> Match:
        """Return a match with its position and the key of its comments, which take as long as a dozen records.

        With an earlier state that has them, they take as long as the moves since then.
        """
        whole = with_position(match, before)
        return whole if whole.secret else replace(whole, secret=self._secret(match.created))

    def watch(self, live: LiveMatch) -> None:
        """Set the timer of a match that has become live in its stored state."""
        self._timers.set(live)

    def leave(self, live: LiveMatch) -> None:
        """Remove a match that has ended, or whose creation failed."""
        match = live.newest
        del self._live[match.id]
        cancel(live)
        for player in match.holders:
            matches = self._of_player[player]
            matches.pop(match.id, None)
            if not matches:
                del self._of_player[player]

    def set_aside(self, live: LiveMatch, damage: RecordUnreadable) -> None:
        """Remove a match whose record can't be read. Its waiting commands are refused with the reason."""
        self.leave(live)
        self.refuse_waiting(live, damage)
        self.note_unreadable(live.newest.id, damage)

    def note_unreadable(self, match_id: str, damage: RecordUnreadable) -> None:
        """Log that a match is not served here. If newer servers have continued it, its players have to go there."""
        if not isinstance(damage, RecordTooNew):
            self._log.error("match_set_aside", match=match_id, error=damage.why)
            return
        self._log.warning("match_too_new", match=match_id, error=damage.why)
        self._too_new.add(match_id)
        for player in damage.players:
            self._presence.turn_away(player, match_id, damage)

    def is_too_new(self, match_id: str) -> bool:
        """Return whether a match was continued by newer servers while this one ran, and has not ended yet."""
        return match_id in self._too_new

    def note_end_elsewhere(self, match_id: str) -> None:
        """Note that a match that is too new has ended: its players may come back."""
        self._too_new.discard(match_id)
        self._presence.let_in(match_id)

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
        if self._draining:
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
        if not (self._shared and waits_for_certainty(live, self._presence, player, command, self._timers.is_due(live))):
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

        If servers share a store, a refusal without an event may come from an outdated state. So a refused command is
        decided again on the stored state, unless the match is known to be current (`level`).
        """
        self._stalls.notice()
        if live.failed:
            then(StoreFailed())
            return
        if live.waiting is not None:
            live.waiting.append((command, then))
            return
        decision = self._decision(live, command)
        if decision.events:
            sealed = seal(live.newest, decision.events)
            for event in decision.events:
                live.newest = evolution.evolve(live.newest, event)
            appended = self.append(live, decision.events, sealed)
            appended.then(partial(self._give, live, command, then, decision.answer))
        elif live.tail is None:
            if self._shared and not level and isinstance(decision.answer, Refusal):
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
                self._complete(live)
            return transitions.decide(live.newest, command, now)
        except Exception as error:  # an error in the arbiter: neither player loses by it
            match = live.newest
            self._log.exception("match_faulted", match=match.id, ply=match.ply, command=NAMES[type(command)].value)
            return transitions.decide(match, ReportFault(f"the arbiter failed on a command: {error!r}"), now)

    def _complete(self, live: LiveMatch) -> None:
        whole = self.completed(live.newest)
        if live.durable is live.newest:
            live.durable = whole
        live.newest, live.complete = whole, True

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
        self._journal.append_then(append, partial(self._stored, pending))
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
            stored = [Published(first + n, records[n], event, label) for n, event in enumerate(pending.events)]
            self.decided_here = True
            try:
                self.became_durable(live, pending.after, stored)
            finally:
                self.decided_here = False
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
            self.leave(live)
            self._ended.keep(after)
        for listener in self._listeners:
            listener(after, events)

    def fail(self, live: LiveMatch, error: BaseException) -> None:
        """Note that the store has failed. The match accepts no commands until a listener has read it again."""
        live.failed = True
        live.failures += 1
        self._log.error("match_not_stored", match=live.newest.id, error=str(error))
        self.refuse_waiting(live, error if isinstance(error, Refusal) else StoreFailed())
        for listener in self._failure_listeners:
            listener(live)

    def fall_behind(self, live: LiveMatch, lost: bool) -> None:
        """Note that another server may have stored events. Commands wait until a listener has applied them.

        lost: it has certainly done so, because an append was refused. If False, there must be no append under way.
        """
        live.waiting, live.lost = [], lost
        for listener in self._failure_listeners:
            listener(live)

    def catch_up(self, live: LiveMatch, match: Match, records: Sequence[StoredRecord], events: Sequence[Event]) -> None:
        """Apply events that another server has stored, up to the state `match`, and decide the waiting commands.

        If the turn has changed, the instant at which it was sent is unknown, and so a waiting move earns no credit.
        """
        before = live.durable
        turn = (before.ply, before.turn_started) if before is not None else None
        live.newest, live.complete = self.completed(match, before), True
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
        if self._draining or live.failed or live.waiting is not None:
            return  # its clocks are stopped, or another server has changed them
        if live.tail is not None and not _is_known(live):
            live.tail.then(lambda _: self._timer_rang(live))  # until then, nobody can answer this turn
            return
        if self._timers.is_due(live):
            since = live.newest.since
            wait_ms = flag_waits_ms(live.newest, self._presence, live.waited == since, self._shared)
            if wait_ms:
                live.waited = since
                self._timers.delay(live, wait_ms)
                return
            self.decide(live, Tick())
        if self._live.get(live.newest.id) is live:
            self._timers.set(live)


def seat_of(match: Match, player: str) -> Seat | None:
    """Return the seat of a player in a match, or None. A player against itself has the seat to move."""
    first, second = match.players
    if first == second == player:
        return match.turn
    return 1 if player == first else 2 if player == second else None


def reseated(match: Match, command: Command) -> Command:
    """Return a command that has waited, for the seat that its player has by now.

    A player against itself has the seat to move: that was another one if this server was behind when the command came.
    """
    first, second = match.players
    if first != second or not isinstance(command, (Play, OfferDraw, AnswerDraw, ClaimDraw, Resign)):
        return command
    return replace(command, seat=match.turn)


def seats_of(match: Match, player: str) -> tuple[Seat, ...]:
    """Return the seats of a player in a match: none, one, or both if it plays against itself."""
    return tuple(seat for seat, holder in zip(SEATS, match.players, strict=True) if holder == player)


def answered_now(answer: Answer) -> asyncio.Future[Answer]:
    """Return a future that already has this answer."""
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    future.set_result(answer)
    return future


def _is_known(live: LiveMatch) -> bool:
    """Return whether players can know the current turn of a match: the event that began it is durable."""
    now, durable = live.newest, live.durable
    return durable is not None and durable.ply == now.ply and durable.turn_started == now.turn_started


def _settle(answered: asyncio.Future[Answer], answer: Answer) -> None:
    if not answered.done():
        answered.set_result(answer)
