"""The bot's side of its stream: items of the server become calls of the bot, and their results become acts."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from arbiter_protos.v1 import match_pb2, play_pb2
from arbiter_protos.v1.play_pb2 import PlayAct

from arbiter_client.backoff import Backoff
from arbiter_client.bot import Bot, Choice, ClaimDraw, Move, OfferDraw, Resign, Run
from arbiter_client.calling import Caller, OnError, of_the_bot
from arbiter_client.errors import PASSING, ArbiterError, ClientError, Reason, away, from_refusal, level_of
from arbiter_client.hooks import Hooks, call
from arbiter_client.outbox import Acts
from arbiter_client.policies import Policies
from arbiter_client.seats import Seat, joined
from arbiter_client.slots import MatchSlots
from arbiter_client.values.match import Phase, comment_message
from arbiter_client.values.play import DrawOffer, FinishedMatch, LiveMatch, Turn
from arbiter_client.values.reading import read

logger = logging.getLogger("arbiter_client")

REPEAT_S: Final = 0.5  #: the pause after a temporary refusal, if it does not name one
SEATS: Final = 2
STALE: Final = (Reason.PLY_MISMATCH, Reason.NOT_YOUR_TURN, Reason.MATCH_NOT_ACTIVE)


class BotRunner:
    """Plays a bot: handles the items of its stream, calls its methods, and sends its acts.

    At most `thinkers` choices are under way at once. `outcome` is done once `most` matches have ended and been
    acknowledged and no other is under way; it carries the exception that ends the run, if there is one.
    """

    def __init__(
        self, bot: Bot, run: Run, outbox: Acts, hooks: Hooks, on_error: OnError, thinkers: int, most: int | None
    ) -> None:
        self.bot = bot
        self.hooks = hooks
        self.player = ""  #: the bot's player, as the server's hello names it
        self._caller = Caller(bot, on_error)
        self._slots = MatchSlots(bot, run, most)
        assert run.client is not None
        self._policies = Policies(self._caller, run.client, self._slots)
        self._client = run.client
        self._outbox = outbox
        self._most = most
        self._ended = 0
        self._untold = 0  # ends that the bot has not handled yet
        self._thinkers = asyncio.Semaphore(thinkers)
        self._seats: dict[str, dict[int, Seat]] = {}  # by match and number
        self._asked: dict[str, Seat] = {}  # by the id of the request that the seat is waiting for
        self._ends: asyncio.Queue[tuple[str, asyncio.Task[None] | None]] = asyncio.Queue()  # cursors, and `ended`
        self._caller.spawn(self._acknowledge())
        self._slots.watchers.append(self._see_if_done)
        self._handlers: dict[str, Callable[[Any], None]] = {
            "match": self._on_match,
            "turn": self._on_turn,
            "answer": self._on_answer,
            "ended": self._on_ended,
            "draw_offered": self._on_draw_offered,
            **self._policies.handlers,
        }

    @property
    def outcome(self) -> asyncio.Future[None]:
        """Done once the run is."""
        return self._caller.outcome

    def greeted(self, player: str) -> None:
        """Begin a new stream of a player."""
        self.player = player
        self._policies.greeted(player)

    def take(self, item: play_pb2.PlayItem) -> None:
        """Handle an item of the stream, without waiting; unknown items are ignored."""
        arm = item.WhichOneof("item")
        if arm in self._handlers:
            self._handlers[arm](getattr(item, arm))

    def stop_thinking(self) -> None:
        """Tell the running choices of all matches that their results are not needed any more."""
        for seats in self._seats.values():
            for seat in seats.values():
                seat.match.over = True

    async def withdraw(self) -> None:
        """Withdraw the bot's open seeks. Raises ArbiterError, ConnectionFailed."""
        await self._policies.close()

    def close(self) -> None:
        """Stop everything."""
        self.stop_thinking()
        self._caller.close()

    # ---- matches -------------------------------------------------------------------------------------------------

    def _on_match(self, match: match_pb2.Match) -> None:
        phase = Phase(match.phase)
        if phase == Phase.ENDED or self.player not in match.players or self._slots.is_over(match.match_id):
            return
        if len(match.players) != SEATS:
            return  # newer than this client
        for number, player in enumerate(match.players, 1):
            if player == self.player:
                seat = self._seat(match.match_id, match.game, number, match.players[2 - number])
                seat.describe(match)
                self._begin(seat, match.ply, match.turn)
                if match.draw_offered_by and match.draw_offered_by != number:
                    self._answer_offer(seat)
        if phase in (Phase.PENDING, Phase.PAUSED):
            self._caller.spawn(self._say_ready(match.match_id))

    def _seat(self, match_id: str, game: str, number: int, opponent: str) -> Seat:
        seats = self._seats.setdefault(match_id, {})
        if number not in seats:
            seats[number] = Seat(LiveMatch(match_id, game, number, opponent))
            self._slots.begun(match_id)
        return seats[number]

    def _begin(self, seat: Seat, ply: int, turn: int) -> asyncio.Task[None]:
        """Tell the bot of a match, once. ply, turn: where it is; it goes on if the bot has moved in it before."""
        if seat.begun is None:
            match = seat.match
            played = ply - match.opening_plies
            begins = "goes on" if played > 1 or (played == 1 and turn != match.seat) else "begins"
            told = (match.match_id, begins, match.game, match.seat, match.opponent)
            logger.info("%s %s: %s as seat %d against %s", *told)
            seat.begun = self._caller.spawn(self._caller.callback(self.bot.started, seat.match, default=None))
        return seat.begun

    async def _say_ready(self, match_id: str) -> None:
        """Say that the bot is ready for a match, once `started` has returned: no clock of the match starts before."""
        await asyncio.wait([seat.begun for seat in self._seats[match_id].values() if seat.begun is not None])
        if match_id in self._seats:
            self._outbox.say(PlayAct(match_id=match_id, ready=play_pb2.ReadyAct()))

    def _on_ended(self, message: play_pb2.MatchEnded) -> None:
        seats = self._seats.pop(message.match_id, {})
        for seat in seats.values():
            seat.match.over = True
            for task in (seat.thought, seat.begun):
                if task is not None:
                    task.cancel()
            self._outbox.answered(seat.request_id)
            self._asked.pop(seat.request_id, None)
        told = None
        self._untold += 1
        if self._slots.ended(message.match_id):
            own = seats.get(message.seat)
            finished = read(FinishedMatch, message, match=own.match if own else None)
            logger.info("%s has ended: %s", finished.match_id, _told(finished))
            told = self._caller.spawn(self._caller.callback(self.bot.ended, finished, default=None))
        self._ends.put_nowait((message.cursor, told))

    async def _acknowledge(self) -> None:
        """Acknowledge results in their order, each once the bot has handled it and all before it."""
        while True:
            cursor, told = await self._ends.get()
            if told is not None:
                await asyncio.wait([told])
                self._ended += 1
            self._outbox.say(PlayAct(acknowledge=play_pb2.Acknowledgement(cursor=cursor)))
            self._untold -= 1
            self._see_if_done()

    def _see_if_done(self) -> None:
        enough = self._most is not None and self._ended >= self._most
        if enough and not self._untold and self._slots.empty and not self.outcome.done():
            self.outcome.set_result(None)

    # ---- turns ---------------------------------------------------------------------------------------------------

    def _on_turn(self, message: play_pb2.Turn) -> None:
        if self._slots.is_over(message.match_id):
            return
        seat = self._seat(message.match_id, message.game, message.seat, message.opponent)
        if message.draw_offered:
            self._answer_offer(seat)
        if message.ply < seat.next_ply or self._is_dealt_with(seat, message.ply):
            return  # a repeated turn: its choice exists, and has been or will be sent again
        if seat.thought is not None and not seat.thought.done():
            if message.ply <= seat.thought_ply:
                return
            seat.thought.cancel()
        seat.thought_ply = message.ply
        seat.thought = self._caller.spawn(self._think(seat, message))

    def _is_dealt_with(self, seat: Seat, ply: int) -> bool:
        """Return whether the unanswered act of a seat answers the turn at a ply.

        A move for an earlier ply does not: that move has been played, since otherwise this turn would not exist, and
        its answer is on the way. This happens if one seat moves twice in a row.
        """
        act = self._outbox.unanswered(seat.request_id)
        return act is not None and not (act.HasField("move") and act.move.ply < ply)

    async def _think(self, seat: Seat, message: play_pb2.Turn) -> None:
        turn = read(Turn, message, match=seat.match)
        begun = self._begin(seat, turn.ply, turn.seat)
        if not begun.done():
            await asyncio.wait([begun])
        try:
            await self._bring_line(seat.match, message)
            await self._choose(seat, turn)
        except Exception as error:
            self._fail(seat, turn, error)

    async def _bring_line(self, match: LiveMatch, message: play_pb2.Turn) -> None:
        """Complete the match's moves up to a turn, from the turn's last moves; if these leave a gap, ask the server."""
        moves = joined(match.moves, message)
        backoff, connection = Backoff(), self._client.connection
        while moves is None:
            greetings = connection.greetings
            try:
                whole = await self._client.get_match(match.match_id, with_moves=True)
                moves = whole.moves[: message.ply]
            except ClientError as error:
                if isinstance(error, ArbiterError) and error.code not in PASSING:
                    raise
                await connection.pause(backoff.next_s(), greetings)
        match.moves = moves

    async def _choose(self, seat: Seat, turn: Turn) -> None:
        async with self._thinkers:
            choice = await self._asked_of_bot(self.bot.choose, turn)
        call(self.hooks.thought, turn, (time.monotonic() - turn.received_s) * 1000)
        self._act(seat, turn, choice)

    async def _asked_of_bot(self, method: Callable[..., Any], turn: Turn, *more: Any) -> Any:
        """Return the choice of a method of the bot. It is called again if it failed while the arbiter was away.

        That is so if its error, or one behind it, shows it, or if any call failed in that way meanwhile: a bot may wrap
        an error in any way, or keep only its text.
        """
        backoff = Backoff()
        connection = self._client.connection
        while True:
            outages, greetings = connection.outages, connection.greetings
            try:
                return await self._caller.call(method, turn, *more)
            except Exception as error:
                if connection.outages == outages and not away(error):
                    raise
                level = level_of(error) if connection.up else logging.DEBUG
                logger.log(level, "the choice in match %s is made again: %s", turn.match.match_id, error)
            await connection.pause(backoff.next_s(), greetings)

    async def _choose_again(self, seat: Seat, turn: Turn, refusal: ArbiterError) -> None:
        try:
            if turn.refused is not None:
                raise refusal
            again = replace(turn, refused=refusal)
            async with self._thinkers:
                choice = await self._asked_of_bot(self.bot.refused, turn, refusal)
                if choice is None:
                    choice = await self._asked_of_bot(self.bot.choose, again)
            call(self.hooks.thought, again, (time.monotonic() - turn.received_s) * 1000)
            self._act(seat, again, choice)
        except Exception as error:
            self._fail(seat, turn, error)

    def _act(self, seat: Seat, turn: Turn, choice: Choice) -> None:
        match_id, round_trip_s = seat.match.match_id, 0.0
        if isinstance(choice, OfferDraw):
            self._request(seat, PlayAct(match_id=match_id, offer_draw=play_pb2.OfferDrawAct()))
            choice = choice.move
        if isinstance(choice, str):
            choice = Move(choice)
        if isinstance(choice, Move):
            if choice.thought_s is not None:
                round_trip_s = max(0.0, time.monotonic() - turn.received_s - choice.thought_s)
            comment = comment_message(choice.evaluation, choice.line, choice.search)
            act = PlayAct(match_id=match_id, move=play_pb2.MoveAct(ply=turn.ply, move=choice.text, comment=comment))
        elif isinstance(choice, ClaimDraw):
            act = PlayAct(match_id=match_id, claim_draw=play_pb2.ClaimDrawAct())
        elif isinstance(choice, Resign):
            act = PlayAct(match_id=match_id, resign=play_pb2.ResignAct())
        else:
            raise TypeError(f"choose returned {choice!r}: expected a move or its text, OfferDraw, ClaimDraw or Resign")
        seat.turn = turn
        seat.request_id = self._request(seat, act, round_trip_s)

    def _request(self, seat: Seat, act: PlayAct, round_trip_s: float = 0.0) -> str:
        request_id = self._outbox.request(act, round_trip_s)
        self._asked[request_id] = seat
        return request_id

    def _fail(self, seat: Seat, turn: Turn, error: Exception) -> None:
        """Handle an error of the bot in its turn: log it, and do what the run's policy says."""
        where = f"{self.bot.name or 'the bot'} failed in match {seat.match.match_id} at ply {turn.ply}"
        if self._caller.on_error == "raise":
            self._caller.stop_for(where, error)
            return
        cost = "it resigns" if self._caller.on_error == "resign" else "its clock runs on"
        # The text of a refusal is clear by itself; any other error needs its traceback.
        trace = None if isinstance(error, ArbiterError) else of_the_bot(error)
        logger.error("%s, and %s: %s: %s", where, cost, type(error).__name__, error, exc_info=trace)
        if self._caller.on_error == "resign":
            self._act(seat, turn, Resign())

    # ---- answers -------------------------------------------------------------------------------------------------

    def _on_answer(self, answer: match_pb2.MoveAnswer) -> None:
        act = self._outbox.unanswered(answer.request_id)
        if act is None:
            return  # answered before
        if answer.WhichOneof("answer") == "refusal":
            self._on_refusal(act, from_refusal(answer.refusal))
            return
        seat = self._settled(answer.request_id)
        if seat is not None and act.HasField("move"):
            seat.next_ply = max(seat.next_ply, act.move.ply + 1)
            seat.offer_answered = False  # a move ends the opponent's offer
            if len(seat.match.moves) == act.move.ply and answer.receipt.ply == act.move.ply + 1:
                seat.match.moves += (act.move.move,)

    def _settled(self, request_id: str) -> Seat | None:
        """Mark a request as answered; return the seat that made it, or None if its match is over."""
        self._outbox.answered(request_id)
        seat = self._asked.pop(request_id, None)
        return seat if seat is not None and not seat.match.over else None

    def _on_refusal(self, act: PlayAct, refusal: ArbiterError) -> None:
        if refusal.temporary:
            pause_s = refusal.retry_after_s or REPEAT_S
            asyncio.get_running_loop().call_later(pause_s, self._outbox.again, act.request_id)
            return
        seat = self._settled(act.request_id)
        answers_turn = act.WhichOneof("act") in ("move", "claim_draw")
        if seat is None or refusal.reason in STALE:
            logger.debug("%s came too late: %s", act.WhichOneof("act"), refusal)
        elif answers_turn and seat.turn is not None and seat.request_id == act.request_id:
            logger.warning("refused in match %s: %s", act.match_id, refusal)
            call(self.hooks.refused, seat.turn, refusal)
            seat.thought_ply = seat.turn.ply
            seat.thought = self._caller.spawn(self._choose_again(seat, seat.turn, refusal))
        else:
            logger.warning("%s refused in match %s: %s", act.WhichOneof("act"), act.match_id, refusal)

    # ---- draws ----------------------------------------------------------------------------------------------------

    def _on_draw_offered(self, message: play_pb2.DrawOffered) -> None:
        for seat in self._seats.get(message.match_id, {}).values():
            self._answer_offer(seat)

    def _answer_offer(self, seat: Seat) -> None:
        if not seat.offer_answered:
            seat.offer_answered = True
            self._caller.spawn(self._consider_offer(seat))

    async def _consider_offer(self, seat: Seat) -> None:
        accept = await self._caller.callback(self.bot.draw_offered, DrawOffer(seat.match), default=False)
        if not seat.match.over:
            answer = play_pb2.AnswerDrawAct(accept=bool(accept))
            self._request(seat, PlayAct(match_id=seat.match.match_id, answer_draw=answer))


def _told(finished: FinishedMatch) -> str:
    words = {None: "it does not count", 1.0: "won", 0.5: "drawn", 0.0: "lost"}
    return f"{words[finished.score]}, by {finished.result.reason}"
