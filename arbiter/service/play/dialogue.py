"""What players and their matches say to each other on Play streams: moves and requests, answers, turns and ends.

The path of every move leads through here, twice. It is apart from `arbiter.service.play.sessions`, where streams come
and go, so that it has no coroutines and can be compiled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Seat
from arbiter.matches.commands import AnswerDraw, ClaimDraw, OfferDraw, Play, Resign, SeatRequest
from arbiter.matches.comments import Comment
from arbiter.matches.events import Created, DrawOffered, Ended, Moved, Resumed, Started
from arbiter.matches.match import Match, Phase
from arbiter.service.matches.live import Answer, LiveMatches, seat_of
from arbiter.service.play.session import AnswerItem, EndedItem, OfferItem, Session, StateItem, TurnItem, TurnListing
from arbiter.service.ports.environment import Clock
from arbiter.service.record.matches import end_of
from arbiter.service.record.published import Published

Request = Callable[[str, str, Callable[[Seat], SeatRequest]], asyncio.Future[Answer]]
"""Lets a match decide a player's request, as `arbiter.service.matches.Hall.request` does."""

WRONG_MOVES: Final = frozenset(
    {
        Reason.PLY_MISMATCH,
        Reason.NOT_YOUR_TURN,
        Reason.MATCH_NOT_ACTIVE,
        Reason.REQUEST_ID_REUSED,
        Reason.ARGUMENT_INVALID,
    }
)
"""Refusals of moves that count towards a flood: their sender is confused. With illegal and malformed moves the match's
policy deals, and what the server can't take now is no fault of the sender's."""


class _Handed(NamedTuple):
    """When a turn was handed over, and on which stream: None if that was opened after the turn had begun.

    A turn is known by its ply and its beginning: many may begin in one millisecond.
    """

    ply: int
    since: int
    at: int
    session: Session | None


class Dialogue:
    """Takes what bots say on their live streams, of which there is one a player, and tells them what happens.

    `live` are the streams by player. `request` decides what is no move in a live match, `noticed` is told of a player
    with a new result, `list_moves` puts a turn that is to carry legal moves once they are listed.
    """

    def __init__(
        self,
        live: Mapping[str, Session],
        matches: LiveMatches,
        clock: Clock,
        limits: Limits,
        request: Request,
        noticed: Callable[[str], None],
        list_moves: Callable[[Session, Match, Seat], None],
    ) -> None:
        self._live = live
        self._matches = matches
        self._clock = clock
        self._most_acts = limits.acts_a_second
        self._decide = request
        self._noticed = noticed
        self._list_moves = list_moves
        self._handed: dict[str, _Handed] = {}  # by match

    # -- what a bot says -----------------------------------------------------------------------------------------

    def play(
        self,
        session: Session,
        request_id: str,
        match_id: str,
        ply: int,
        move: str,
        arrived: int,
        comment: Comment | None = None,
    ) -> None:
        """Play a move that arrived at an instant; the answer is sent when it is durable.

        A move for any other than a live match of the player's counts towards a flood, before anything is looked up.
        """
        found = self._matches.seated(session.player, match_id)
        if found is None:
            self._count(session)
            if session.ended is None:
                unmeasured = partial(Play, request=request_id, ply=ply, move=move, arrived=arrived, comment=comment)
                self._request(session, request_id, match_id, unmeasured)
            return
        live, seat = found
        at, round_trip_ms = self._measured(session, live.newest, ply)
        session.asked()
        self._matches.play(
            session.player,
            live,
            Play(seat, request_id, ply, move, arrived, at, round_trip_ms, comment),
            partial(self._answer, session, request_id, match_id, False),
        )

    def _measured(self, session: Session, match: Match, ply: int) -> tuple[int | None, int | None]:
        """Return when the turn was handed over, and the round trip of the stream that took it; None earns no credit.

        Both belong to the stream that was live when the turn began and took it. So a bot that connects again in the
        middle of a turn earns nothing by it: on the new stream, what the server owes for its own delay stands, and the
        network is credited from the next turn on.
        """
        handed = self._handed.get(match.created.match)
        if handed is None or handed.session is None or handed.ply != ply or handed.since != match.turn_started:
            return None, None
        return handed.at, session.round_trip_ms if handed.session is session else None

    def offer_draw(self, session: Session, request_id: str, match_id: str) -> None:
        """Offer a draw."""
        self._request(session, request_id, match_id, lambda seat: OfferDraw(seat, request_id))

    def answer_draw(self, session: Session, request_id: str, match_id: str, accept: bool) -> None:
        """Accept or decline a draw offer."""
        self._request(session, request_id, match_id, lambda seat: AnswerDraw(seat, request_id, accept))

    def claim_draw(self, session: Session, request_id: str, match_id: str) -> None:
        """Claim a draw."""
        self._request(session, request_id, match_id, lambda seat: ClaimDraw(seat, request_id))

    def resign(self, session: Session, request_id: str, match_id: str) -> None:
        """Give a match up."""
        self._request(session, request_id, match_id, lambda seat: Resign(seat, request_id))

    def heard(self, session: Session, moves: bool, arrived: int) -> None:
        """Note that something arrived at an instant; a flood of acts that are no moves ends the stream."""
        session.heard_ms = arrived
        if not moves:
            self._count(session)

    def _request(
        self,
        session: Session,
        request_id: str,
        match_id: str,
        make: Callable[[Seat], SeatRequest],
    ) -> None:
        session.asked()
        answered = self._decide(session.player, match_id, make)
        answered.add_done_callback(lambda done: self._answer(session, request_id, match_id, True, done.result()))

    def _answer(self, session: Session, request_id: str, match_id: str, counted: bool, answer: Answer) -> None:
        session.answer(AnswerItem(request_id, match_id, answer))
        if not counted and isinstance(answer, Refusal) and answer.reason in WRONG_MOVES:
            self._count(session)

    def _count(self, session: Session) -> None:
        if session.count(self._clock.now_ms()):
            most = self._most_acts
            session.end(
                Refusal(
                    Reason.RATE_LIMITED,
                    f"more than {most} acts a second that are no moves in live matches: slow down and connect again",
                    limit=most,
                    retry_after_ms=1_000,
                )
            )

    # -- what a bot is told --------------------------------------------------------------------------------------

    def happened(self, match: Match, events: Sequence[Published]) -> None:
        """Tell the players of a match what has just become durable. `match` stands after the last event."""
        if len(events) == 1 and type(events[0].event) is Moved:  # as it mostly is: only the other has to be told
            session = self._live.get(match.created.players[match.turn - 1])
            if session is not None:
                self.offer_turn(session, match)
            return
        for player in match.holders:
            session, seat = self._live.get(player), seat_of(match, player)
            if match.phase is Phase.ENDED:
                self._noticed(player)
            if session is not None and seat is not None:
                self._tell(session, match, seat, events)
        if match.phase is Phase.ENDED:
            self._handed.pop(match.id, None)

    def _tell(self, session: Session, match: Match, seat: Seat, events: Sequence[Published]) -> None:
        turns = False
        for published in events:
            match published.event:
                case Moved() | Resumed():
                    turns = True
                case Created() | Started():
                    if not turns:  # where it started as it was made, its state is told once
                        session.put(StateItem(match))
                        session.shown[match.id] = told(match)
                    turns = True
                case DrawOffered(seat=offering) if offering != seat:
                    session.put(OfferItem(match.id, published.event.ply))
                case Ended() if not session.has_ended(match.id):
                    session.shown.pop(match.id, None)
                    own: Seat = 1 if match.is_self_play else seat
                    opponent = match.players[2 - own]
                    session.put(
                        EndedItem(match.id, match.created.game, own, opponent, end_of(match), published.sequence)
                    )
        if turns and seat == match.turn:
            self.offer_turn(session, match)

    def offer_turn(self, session: Session, match: Match) -> None:
        """Send the turn, if the match is at a turn of the session's player."""
        seat = seat_of(match, session.player)
        if match.phase is not Phase.ACTIVE or seat != match.turn:
            return
        extras = session.hello.extras
        if not extras.legal_move_count and not extras.legal_moves_up_to:
            self.put_turn(session, match, seat, None)
        else:
            self._list_moves(session, match, seat)

    def put_turn(self, session: Session, match: Match, seat: Seat, listing: TurnListing | None) -> None:
        """Have a turn sent, with the moves since the last one that was; a turn that was dropped has shown none."""
        held_up_ms = session.held_up(self._clock.now_ms())
        session.put(TurnItem(match, seat, session.shown.get(match.id, 0), listing, held_up_ms))
        session.shown[match.id] = match.ply

    def handed_over(self, session: Session, turn: TurnItem, now: int) -> None:
        """Note that a turn goes out at an instant.

        Only the first time counts, and only on a stream that was live before the turn began. What the turn has waited
        for behind writes that the bot held up is not the server's delay, and does not count.
        """
        match = turn.match
        if not self._matches.is_current(match):
            return  # over already: nothing is reckoned by it
        match_id, ply = match.created.match, len(match.moves)
        handed = self._handed.get(match_id)
        if handed is None or handed.ply != ply or handed.since != match.since:
            at = now - (session.held_up(now) - turn.held_up_ms)
            stream = session if session.opened_ms <= match.since else None
            self._handed[match_id] = _Handed(ply, match.since, at, stream)


def told(match: Match) -> int:
    """Return the ply up to which the moves of a match that is told as it stands go without saying.

    An opening does not: it comes with the first turn.
    """
    return 0 if match.ply == len(match.created.opening) else match.ply
