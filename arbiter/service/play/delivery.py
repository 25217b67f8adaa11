"""From durable events to the Play streams of a match's players: turns, states, draw offers and ends.

The path of every move leads through here, so this module has no coroutines and is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from arbiter.games.contract import Seat
from arbiter.matches.events import Created, DrawOffered, Ended, Moved, Resumed, Started
from arbiter.matches.match import Match, Phase
from arbiter.service.matches.live import LiveMatches, seat_of
from arbiter.service.play.catch_up import CatchUp
from arbiter.service.play.connections import Connections
from arbiter.service.play.move_lists import MoveLists
from arbiter.service.play.session import EndedItem, OfferItem, Session, StateItem, TurnItem, TurnListing
from arbiter.service.ports.environment import Clock
from arbiter.service.record.matches import end_of
from arbiter.service.record.published import Published


@dataclass(init=False, slots=True)
class _SentTurn:
    """When a turn was sent, and on which stream: None if that was opened after the turn had begun.

    A turn is known by its ply and its beginning: many may begin in one millisecond.
    """

    ply: int
    since: int
    at: int
    session: Session | None

    def __init__(self, ply: int, since: int, at: int, session: Session | None) -> None:
        self.ply = ply
        self.since = since
        self.at = at
        self.session = session


class Delivery:
    """Puts on each player's Play stream what happens in its matches, and knows when each turn was sent."""

    def __init__(
        self, connections: Connections, matches: LiveMatches, catch_up: CatchUp, move_lists: MoveLists, clock: Clock
    ) -> None:
        self._sessions = connections.by_player
        self._matches = matches
        self._catch_up = catch_up
        self._move_lists = move_lists
        self._clock = clock
        self._sent: dict[str, _SentTurn] = {}  # the last turn, by match

    def match_changed(self, match: Match, events: Sequence[Published]) -> None:
        """Tell the players of a match which events have just become durable. `match` stands after the last one."""
        if len(events) == 1 and type(events[0].event) is Moved:  # as it mostly is: only the opponent has to be told
            session = self._sessions.get(match.created.players[match.turn - 1])
            if session is not None:
                self.offer_turn(session, match)
            return
        for player in match.holders:
            session, seat = self._sessions.get(player), seat_of(match, player)
            if match.phase is Phase.ENDED:
                self._catch_up.note_change(player)
            if session is not None and seat is not None:
                self._put_events(session, match, seat, events)
        if match.phase is Phase.ENDED:
            self._sent.pop(match.id, None)

    def match_adopted(self, match: Match) -> None:
        """Tell the players of a match that has become live here how it stands, and whose turn it is."""
        for player in match.holders:
            session = self._sessions.get(player)
            if session is not None:
                self.put_state(session, match)
                self.offer_turn(session, match)

    def _put_events(self, session: Session, match: Match, seat: Seat, events: Sequence[Published]) -> None:
        turns = False
        for published in events:
            match published.event:
                case Moved() | Resumed():
                    turns = True
                case Created() | Started():
                    if not turns:  # where it started as it was made, its state is told once
                        self.put_state(session, match)
                    turns = True
                case DrawOffered(seat=offering) if offering != seat:
                    session.put(OfferItem(match.id, published.event.ply))
                case Ended() if not session.has_told_end_of(match.id):
                    session.moves_told.pop(match.id, None)
                    own: Seat = 1 if match.is_self_play else seat
                    opponent = match.players[2 - own]
                    session.put(
                        EndedItem(match.id, match.created.game, own, opponent, end_of(match), published.sequence)
                    )
        if turns and seat == match.turn:
            self.offer_turn(session, match)

    def put_state(self, session: Session, match: Match) -> None:
        """Put a match as it stands on a stream."""
        session.put(StateItem(match))
        note_state(session, match)

    def offer_turn(self, session: Session, match: Match) -> None:
        """Put the turn on a stream, if the match is at a turn of the stream's player."""
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
        """Put a turn on a stream, with the moves since the last turn on it."""
        held_up_ms = session.held_up(self._clock.now_ms())
        session.put(TurnItem(match, seat, session.moves_told.get(match.id, 0), listing, held_up_ms))
        session.moves_told[match.id] = match.ply

    def turn_sent(self, session: Session, turn: TurnItem, now: int) -> None:
        """Note that a turn goes out at an instant.

        Only the first time counts, and only on a stream that was live before the turn began. What the turn has waited
        for behind writes that the bot held up is not the server's delay, and does not count.
        """
        match = turn.match
        if not self._matches.is_current(match):
            return  # the turn is over already
        match_id, ply = match.created.match, len(match.moves)
        sent = self._sent.get(match_id)
        if sent is None or sent.ply != ply or sent.since != match.since:
            at = now - (session.held_up(now) - turn.held_up_ms)
            stream = session if session.opened_ms <= match.since else None
            self._sent[match_id] = _SentTurn(ply, match.since, at, stream)

    def timing(self, session: Session, match: Match, ply: int) -> tuple[int | None, int | None]:
        """Return when the current turn was sent, and the round trip of the stream that took it; None earns no credit.

        Both belong to the stream that was live when the turn began and took it. So a bot that connects again in the
        middle of a turn earns nothing by it: on the new stream, what the server owes for its own delay stands, and the
        network is credited from the next turn on.
        """
        sent = self._sent.get(match.created.match)
        if sent is None or sent.session is None or sent.ply != ply or sent.since != match.turn_started:
            return None, None
        return sent.at, session.round_trip_ms if sent.session is session else None


def note_state(session: Session, match: Match) -> None:
    """Note that a stream has a match as it stands: its turns leave out the moves up to here.

    An opening is not left out: it comes with the first turn.
    """
    session.moves_told[match.id] = 0 if match.ply == len(match.created.opening) else match.ply
