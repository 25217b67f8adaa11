"""From acts on Play streams to matches and back: moves, requests, and their answers.

Every move passes through this module twice, so it has no coroutines and is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, limit_reached
from arbiter.games.contract import Seat
from arbiter.matches.commands import AnswerDraw, ClaimDraw, OfferDraw, Play, Resign, SeatRequest
from arbiter.matches.comments import Comment
from arbiter.service.matches.live_match import Answer
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.play.delivery import Delivery
from arbiter.service.play.session import AnswerItem, Session
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.meter import NO_METER, Meter
from arbiter.service.token_bucket import rate_limited

WRONG_MOVES: Final = frozenset(
    {
        Reason.PLY_MISMATCH,
        Reason.NOT_YOUR_TURN,
        Reason.MATCH_NOT_ACTIVE,
        Reason.REQUEST_ID_REUSED,
        Reason.ARGUMENT_INVALID,
    }
)
"""Refusals of moves that count towards a flood, because the bot is confused.

Illegal and malformed moves do not count: the match's policy handles them. Refusals for a failure of the server do not
count either.
"""


class PlayActs:
    """Executes the acts of bots on Play streams, and puts the answers on the streams."""

    def __init__(
        self, matches: MatchRegistry, delivery: Delivery, clock: Clock, limits: Limits, meter: Meter = NO_METER
    ) -> None:
        self._registry = matches
        self._live = matches.live
        self._decisions = matches.decisions
        self._delivery = delivery
        self._clock = clock
        self._most_acts = limits.acts_a_second
        self._most_unanswered = limits.acts_a_second + limits.open_matches_of_player
        self._meter = meter

    def arrived(self, session: Session, own_count: bool, at: int) -> None:
        """Note an act and the instant of its arrival. own_count: `play` or `ready` counts it, if it is wrong.

        Too many other acts a second end the stream.
        """
        session.last_act_ms = at
        if not own_count:
            self._count(session)

    def ready(self, session: Session, match_id: str) -> None:
        """Note that a bot is ready for a match. For any other match, or a second time, it counts towards a flood."""
        found = self._live.seated(session.player, match_id)
        if found is None or match_id not in session.preparing:
            self._count(session)
            return
        session.preparing.remove(match_id)
        self._registry.attendance.note_present_players(found[0])

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
        """Play a move that arrived at an instant. The answer is put on the stream once it is durable.

        A move for a match that is not a live match of the player counts towards a flood, before the match is looked up.
        """
        found = self._live.seated(session.player, match_id)
        if found is None:
            self._count(session)
            if session.ended is None:
                unmeasured = partial(Play, request=request_id, ply=ply, move=move, arrived=arrived, comment=comment)
                self._request(session, request_id, match_id, unmeasured)
            return
        live, seat = found
        if live.newest.requests.find(session.player, request_id) is not None:
            session.note_other_act(arrived)  # it is sent again, and gets the same answer
        at, round_trip_ms = self._delivery.timing(session, live.newest, ply)
        session.request_arrived()
        self._decisions.play(
            session.player,
            live,
            Play(seat, request_id, ply, move, arrived, at, round_trip_ms, comment),
            partial(self._answer, session, request_id, match_id, False),
            self._delivery.handed_over,
        )

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
        """Resign a match."""
        self._request(session, request_id, match_id, lambda seat: Resign(seat, request_id))

    def _request(
        self,
        session: Session,
        request_id: str,
        match_id: str,
        make: Callable[[Seat], SeatRequest],
    ) -> None:
        most = self._most_unanswered
        if session.request_arrived() > most:
            session.end(limit_reached(f"more than {most} of your requests wait for their answers: connect again", most))
            return
        answered = self._registry.request(session.player, match_id, make)
        answered.add_done_callback(lambda done: self._answer(session, request_id, match_id, True, done.result()))

    def _answer(self, session: Session, request_id: str, match_id: str, counted: bool, answer: Answer) -> None:
        session.put_answer(AnswerItem(request_id, match_id, answer))
        if isinstance(answer, Refusal):
            self._meter.refused(answer)
            if not counted and answer.reason in WRONG_MOVES:
                self._count(session)

    def _count(self, session: Session) -> None:
        wait_ms = session.count_act(self._clock.now_ms())
        if wait_ms:
            session.end(rate_limited(self._most_acts, "acts a second that are not moves in live matches", wait_ms))
