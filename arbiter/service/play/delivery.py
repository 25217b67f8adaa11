"""From durable events to the Play streams of a match's players: turns, states, draw offers and ends.

Every move passes through this module, so it has no coroutines and is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from arbiter.games.contract import Seat
from arbiter.matches.events import Created, DrawOffered, Ended, Moved, Resumed, Started
from arbiter.matches.match import Match, Phase
from arbiter.service.matches.attendance import Attendance
from arbiter.service.matches.live import LiveMatches, seat_of
from arbiter.service.matches.live_match import Answer
from arbiter.service.play.catch_up import CatchUp
from arbiter.service.play.connected_players import Connections
from arbiter.service.play.move_lists import MoveLists
from arbiter.service.play.session import EndedItem, OfferItem, Session, StateItem, TurnItem, TurnListing
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.ports.replicas import HandOver
from arbiter.service.record.match_log import end_of
from arbiter.service.record.published import Published

_BEGINS_WAIT: Final = (Created, Started, Moved, Resumed)  #: for players to come, or for a move


@dataclass(init=False, slots=True)
class _SentTurn:
    """When a turn was sent, to whom, and on which stream. session: None if that stream is or was on another server.

    credited: the stream was live when the turn began. A turn is identified by its ply and its beginning, because many
    turns may begin in one millisecond.
    """

    player: str
    ply: int
    since: int
    at: int
    session: Session | None
    credited: bool

    def __init__(self, player: str, ply: int, since: int, at: int, session: Session | None, credited: bool) -> None:
        self.player = player
        self.credited = credited
        self.ply = ply
        self.since = since
        self.at = at
        self.session = session


class Delivery:
    """Puts the events of matches on the Play streams of their players, and records when each turn was sent."""

    def __init__(
        self,
        connections: Connections,
        matches: LiveMatches,
        attendance: Attendance,
        catch_up: CatchUp,
        move_lists: MoveLists,
        clock: Clock,
        late_ms: int,
    ) -> None:
        """late_ms: an outage has kept a turn back if its player has waited for it for this long."""
        self._late_ms = late_ms
        self._sessions = connections.by_player
        self._matches = matches
        self._attendance = attendance
        self._catch_up = catch_up
        self._move_lists = move_lists
        self._clock = clock
        self._sent: dict[str, _SentTurn] = {}  # the last turn, by match
        self._late: dict[str, int] = {}  # the ply of the last turn that began again, by match

    def match_changed(self, match: Match, events: Sequence[Published]) -> None:
        """Put events that have just become durable on the streams of the match's players.

        match: its state after the last event.
        """
        if len(events) == 1 and type(events[0].event) is Moved:  # the usual case: only the opponent gets an item
            kept = events[0].decided_here and self._begins_again_as_stored_late(match)
            session = self._sessions.get(match.created.players[match.turn - 1])
            if session is not None and not kept:
                self.offer_turn(session, match)
            return
        begins = any(type(each.event) in _BEGINS_WAIT for each in events)
        kept = begins and events[0].decided_here and self._begins_again_as_stored_late(match)
        for player in match.holders:
            session, seat = self._sessions.get(player), seat_of(match, player)
            if match.phase is Phase.ENDED:
                self._catch_up.note_change(player)
            if session is not None and seat is not None:
                self._put_events(session, match, seat, events, kept)
        if match.phase is Phase.ENDED:
            self._sent.pop(match.id, None)
            self._late.pop(match.id, None)

    def match_adopted(self, match: Match) -> None:
        """Put the state of a match that has become live here on its players' streams, and the turn."""
        for player in match.holders:
            session = self._sessions.get(player)
            if session is not None:
                self.put_state(session, match)
                self.offer_turn(session, match)

    def _begins_again_as_stored_late(self, match: Match) -> bool:
        """Let a turn begin again, once, if this server could store its beginning only late; return whether it does.

        Until it was stored, no server could tell the player of it, and it does not matter whether the player had a
        stream. The wait for the players of a new match begins again in the same way.
        """
        if match.phase not in (Phase.PENDING, Phase.ACTIVE):
            return False
        late_ms = self._clock.now_ms() - match.since
        match_id, ply = match.created.match, len(match.moves)
        if late_ms < self._late_ms or self._late.get(match_id) == ply:
            return False
        if match.phase is Phase.ACTIVE:
            self._late[match_id] = ply
        self._begin_again(match, match.created.players[match.turn - 1], late_ms)
        return True

    def _begin_again(self, match: Match, player: str, late_ms: int) -> None:
        self._attendance.begin_again(match, player, late_ms, partial(self._offer_if_failed, match, player))

    def _offer_if_failed(self, match: Match, player: str, answer: Answer) -> None:
        """Offer a turn after all if it could not begin again, because the store has failed."""
        session = self._sessions.get(player)
        if isinstance(answer, StoreFailed) and session is not None and self._matches.is_current(match):
            self.offer_turn(session, match)

    def _put_events(self, session: Session, match: Match, seat: Seat, events: Sequence[Published], kept: bool) -> None:
        """kept: the turn is not offered, because it begins again."""
        turns = False
        for published in events:
            match published.event:
                case Moved() | Resumed():
                    turns = True
                case Created() | Started():
                    if not turns:  # a match that starts at once gets only one state item
                        self.put_state(session, match)
                    turns = True
                case DrawOffered(seat=offering) if offering != seat:
                    session.put(OfferItem(match.id, published.event.ply))
                case Ended() if not session.has_sent_end_of(match.id):
                    session.moves_sent.pop(match.id, None)
                    session.turns.pop(match.id, None)
                    session.preparing.discard(match.id)
                    own: Seat = 1 if match.is_self_play else seat
                    opponent = match.players[2 - own]
                    session.put(
                        EndedItem(match.id, match.created.game, own, opponent, end_of(match), published.sequence)
                    )
        if turns and not kept and seat == match.turn:
            self.offer_turn(session, match)

    def put_state(self, session: Session, match: Match) -> None:
        """Put the current state of a match on a stream."""
        session.put(StateItem(match))
        note_state(session, match)

    def offer_turn(self, session: Session, match: Match) -> None:
        """Put the turn on a stream, if the player of the stream is to move."""
        seat = seat_of(match, session.player)
        if match.phase is not Phase.ACTIVE or seat != match.turn:
            return
        extras = session.hello.extras
        if not extras.legal_move_count and not extras.legal_moves_up_to:
            self._put_turn(session, match, seat, None)
        else:
            self._move_lists.request(match, extras, partial(self._put_listed_turn, session, match, seat))

    def _put_listed_turn(self, session: Session, match: Match, seat: Seat, listing: TurnListing | None) -> None:
        if self._matches.is_current(match):  # it may have ended meanwhile, or been interrupted
            self._put_turn(session, match, seat, listing)

    def _put_turn(self, session: Session, match: Match, seat: Seat, listing: TurnListing | None) -> None:
        """Put a turn on a stream, with the moves since the last turn on this stream.

        If the server could not do that for long, because its store kept the move or the stream, nobody is charged: the
        turn begins again. It does so once. A store that is always as slow would otherwise let nobody move.
        """
        now = self._clock.now_ms()
        if now - match.since >= self._late_ms:
            waited_ms = self._waited_ms(session, match, now)
            if waited_ms >= self._late_ms and self._begins_again(session, match):
                self._begin_again(match, session.player, waited_ms)
                return
        reader_delay_ms = session.reader_delay(now)
        session.put(TurnItem(match, seat, session.moves_sent.get(match.id, 0), listing, reader_delay_ms))
        session.moves_sent[match.id] = match.ply
        session.turns[match.id] = match.since

    def _waited_ms(self, session: Session, match: Match, now: int) -> int:
        """Return for how long a player has waited for its turn: since it began, or since the player asks for a stream.

        A player who was told of the turn before, and has lost that stream, waits only since it asks for a new one.
        """
        asked_ms = session.asked.at_ms if self._was_sent(match) else session.asked.waits_since_ms
        return now - max(match.since, asked_ms)

    def _begins_again(self, session: Session, match: Match) -> bool:
        """Return whether a turn that is late begins again.

        It does not if it has begun again before, or if its player has got it since asking for this stream.
        """
        match_id, ply = match.created.match, len(match.moves)
        if session.turns.get(match_id) == match.since or self._late.get(match_id) == ply:
            return False
        if self._was_sent(match) and self._sent[match_id].at >= session.asked.at_ms:
            return False
        self._late[match_id] = ply
        return True

    def turn_sent(self, session: Session, turn: TurnItem, now: int) -> None:
        """Note that a turn is sent at an instant.

        Only the first time counts, and only on a stream that was live before the turn began. The time that the turn has
        waited behind writes that the bot held up is not the server's delay, so it is subtracted.
        """
        match = turn.match
        if not self._matches.is_current(match):
            return  # the turn has ended already
        if not self._was_sent(match):
            match_id, ply = match.created.match, len(match.moves)
            at = now - (session.reader_delay(now) - turn.reader_delay_ms)
            credited = session.opened_ms <= match.since
            self._sent[match_id] = _SentTurn(session.player, ply, match.since, at, session, credited)

    def _was_sent(self, match: Match) -> bool:
        """Return whether the turn of a match was sent before, on whichever stream."""
        sent = self._sent.get(match.created.match)
        return sent is not None and sent.ply == len(match.moves) and sent.since == match.since

    def hand_overs(self, player: str) -> list[HandOver]:
        """Return the last turns that were handed over to a player in time, by this server or before it came here.

        It may have answered some of them. Any thread may ask.
        """
        return [
            HandOver(player, match_id, sent.ply, sent.since, sent.at)
            for match_id, sent in list(self._sent.items())
            if sent.player == player and sent.credited
        ]

    def take_over(self, hand_overs: Sequence[HandOver]) -> None:
        """Note when other servers handed over turns, before their players came to this one."""
        for player, match_id, ply, started_ms, at_ms in hand_overs:
            sent = self._sent.get(match_id)
            if self._matches.find(match_id) is not None and (sent is None or sent.since <= started_ms):
                self._sent[match_id] = _SentTurn(player, ply, started_ms, at_ms, None, True)

    def timing(self, session: Session, match: Match, ply: int) -> tuple[int | None, int | None]:
        """Return when the current turn was sent, and the round trip of that stream. A None earns no credit.

        Both belong to the stream that was live when the turn began and that sent the turn. So a bot gains nothing by
        connecting again in the middle of a turn. On the new stream, also on another server, the credit for the server's
        own delay stays, and credit for the network begins with the next turn.
        """
        sent = self._credited(match, ply)
        if sent is None:
            return None, None
        return sent.at, session.round_trip_ms if sent.session is session else None

    def handed_over(self, match: Match, ply: int) -> int | None:
        """Return when the current turn was sent, as `timing` does."""
        sent = self._credited(match, ply)
        return sent.at if sent is not None else None

    def _credited(self, match: Match, ply: int) -> _SentTurn | None:
        sent = self._sent.get(match.created.match)
        if sent is None or not sent.credited or sent.ply != ply or sent.since != match.turn_started:
            return None
        return sent


def note_state(session: Session, match: Match) -> None:
    """Note that a stream has got the state of a match: its turns then leave out the moves up to here.

    The moves of an opening are not left out: they come with the first turn. If no clock runs, the bot may have to get
    ready for the match.
    """
    session.moves_sent[match.id] = 0 if match.ply == len(match.created.opening) else match.ply
    if session.hello.says_ready and match.phase in (Phase.PENDING, Phase.PAUSED):
        session.preparing.add(match.id)
