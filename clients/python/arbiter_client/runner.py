"""The bot's side of its stream: what the server says becomes calls of the bot, what the bot says becomes acts."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from arbiter_protos.v1 import match_pb2, play_pb2, player_pb2
from arbiter_protos.v1.play_pb2 import PlayAct

from arbiter_client.backoff import Backoff
from arbiter_client.bot import Bot, Choice, ClaimDraw, Move, OfferDraw, Resign
from arbiter_client.client import Client
from arbiter_client.errors import ArbiterError, BotFailed, ClientError, ConnectionFailed, Reason, from_refusal
from arbiter_client.outbox import Outbox
from arbiter_client.values.match import Phase, comment_message
from arbiter_client.values.play import DrawOffer, FinishedMatch, LiveMatch, Turn
from arbiter_client.values.player import Challenge, ChallengeClosed
from arbiter_client.values.reading import read

logger = logging.getLogger("arbiter_client")

OnError = Literal["resign", "wait", "raise"]
"""What a bot's error at its turn costs: the match, the time on its clock, or the whole run."""

LONGEST_REASON: Final = 200  #: characters of the reason for declining a challenge
REMEMBERED_ENDS: Final = 10_000
STALE: Final = (Reason.PLY_MISMATCH, Reason.NOT_YOUR_TURN, Reason.MATCH_NOT_ACTIVE)
_DEFAULTS: Final = {
    getattr(Bot, name) for name in ("refused", "started", "ended", "draw_offered", "challenged", "challenge_closed")
}


@dataclass(slots=True, eq=False)
class Seat:
    """A seat of the bot's in a live match: the thought that is under way, and what has been said but not answered.

    In a match of the bot against itself there are two, which know nothing of each other.
    """

    match: LiveMatch
    begun: asyncio.Task[None] | None = None  #: the callback `started`
    thought: asyncio.Task[None] | None = None  #: choosing for `thought_ply`
    thought_ply: int = -1
    turn: Turn | None = None  #: the turn that the last choice answered
    request_id: str = ""  #: the move, claim or resignation that waits for its answer
    next_ply: int = 0  #: turns before this one have been dealt with
    offer_answered: bool = False


class BotRunner:
    """Plays a bot: takes the items of its stream, calls its methods, puts acts into the outbox.

    At most `thinkers` choices are under way at once. `outcome` is done once `most_ended` matches have ended and been
    acknowledged, or carries the exception that ends the run.
    """

    def __init__(
        self, bot: Bot, client: Client, outbox: Outbox, on_error: OnError, thinkers: int, most_ended: int | None
    ) -> None:
        self.bot = bot
        self.player = ""  #: the bot's player, as the server's hello names it
        self.outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._client = client
        self._outbox = outbox
        self._on_error = on_error
        self._most_ended = most_ended
        self._thinkers = asyncio.Semaphore(thinkers)
        # Callbacks shall not wait for a thread behind long thoughts.
        self._threads = ThreadPoolExecutor(thinkers + 4, thread_name_prefix="arbiter-bot")
        self._seats: dict[str, dict[int, Seat]] = {}  # by match and number
        self._asked: dict[str, Seat] = {}  # by the id of the request that the seat is waiting for
        self._ends: asyncio.Queue[tuple[play_pb2.MatchEnded, Seat | None]] = asyncio.Queue()
        self._ended: dict[str, None] = {}
        self._challenges: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._spawn(self._deal_with_ends())
        self._handlers: dict[str, Callable[[Any], None]] = {
            "match": self._on_match,
            "turn": self._on_turn,
            "answer": self._on_answer,
            "ended": self._on_ended,
            "draw_offered": self._on_draw_offered,
            "challenge": self._on_challenge,
            "challenge_closed": self._on_challenge_closed,
        }

    def take(self, item: play_pb2.PlayItem) -> None:
        """Take an item of the stream. It returns at once; items that this client does not know are passed over."""
        arm = item.WhichOneof("item")
        if arm in self._handlers:
            self._handlers[arm](getattr(item, arm))

    def close(self) -> None:
        """Stop thinking, in all matches."""
        for seats in self._seats.values():
            for seat in seats.values():
                seat.match.over = True
        for task in self._tasks:
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)
        if not self.outcome.done():
            self.outcome.cancel()

    # ---- matches -------------------------------------------------------------------------------------------------

    def _on_match(self, match: match_pb2.Match) -> None:
        phase = Phase(match.phase)
        if phase == Phase.ENDED or self.player not in match.players or match.match_id in self._ended:
            return
        for number, player in enumerate(match.players, 1):
            if player == self.player:
                seat = self._seat(match.match_id, match.game, number, match.players[2 - number])
                seat.match.time_control = match.time_control
                seat.match.rated = match.rated
                seat.match.label = match.label
                seat.match.opening_plies = match.opening_plies
                if phase in (Phase.ACTIVE, Phase.PAUSED):
                    self._begin(seat)
                if match.draw_offered_by and match.draw_offered_by != number:
                    self._answer_offer(seat)

    def _seat(self, match_id: str, game: str, number: int, opponent: str) -> Seat:
        seats = self._seats.setdefault(match_id, {})
        if number not in seats:
            seats[number] = Seat(LiveMatch(match_id, game, number, opponent))
            self.bot.playing = len(self._seats)
        return seats[number]

    def _begin(self, seat: Seat) -> asyncio.Task[None]:
        if seat.begun is None:
            seat.begun = self._spawn(self._callback(self.bot.started, seat.match, default=None))
        return seat.begun

    def _on_ended(self, message: play_pb2.MatchEnded) -> None:
        seats = self._seats.pop(message.match_id, {})
        self.bot.playing = len(self._seats)
        for seat in seats.values():
            seat.match.over = True
            for task in (seat.thought, seat.begun):
                if task is not None:
                    task.cancel()
            self._outbox.answered(seat.request_id)
            self._asked.pop(seat.request_id, None)
        self._ends.put_nowait((message, seats.get(message.seat)))

    async def _deal_with_ends(self) -> None:
        """Tell the bot of ended matches one after the other: an acknowledgement covers all results before it."""
        count = 0
        while True:
            message, seat = await self._ends.get()
            if message.match_id not in self._ended:
                self._ended[message.match_id] = None
                if len(self._ended) > REMEMBERED_ENDS:
                    del self._ended[next(iter(self._ended))]
                finished = replace(read(FinishedMatch, message), match=seat.match if seat else None)
                await self._callback(self.bot.ended, finished, default=None)
                count += 1
            self._outbox.say(PlayAct(acknowledge=play_pb2.Acknowledgement(cursor=message.cursor)))
            if count == self._most_ended and not self.outcome.done():
                self.outcome.set_result(None)

    # ---- turns ---------------------------------------------------------------------------------------------------

    def _on_turn(self, message: play_pb2.Turn) -> None:
        if message.match_id in self._ended:
            return
        seat = self._seat(message.match_id, message.game, message.seat, message.opponent)
        if message.draw_offered:
            self._answer_offer(seat)
        if message.ply < seat.next_ply or self._is_dealt_with(seat, message.ply):
            return  # told again: the choice has been made and will be, or has been, sent again
        if seat.thought is not None and not seat.thought.done():
            if message.ply <= seat.thought_ply:
                return
            seat.thought.cancel()
        seat.thought_ply = message.ply
        seat.thought = self._spawn(self._think(seat, message))

    def _is_dealt_with(self, seat: Seat, ply: int) -> bool:
        """Say whether what a seat has said, and not been answered, answers the turn at a ply.

        A move for an earlier ply does not: it has been played, or there would be no such turn, and its answer is on
        the way. So it is where one seat moves twice in a row.
        """
        act = self._outbox.unanswered(seat.request_id)
        return act is not None and not (act.HasField("move") and act.move.ply < ply)

    async def _think(self, seat: Seat, message: play_pb2.Turn) -> None:
        turn = replace(read(Turn, message), match=seat.match)
        await asyncio.wait([self._begin(seat)])
        try:
            await self._bring_line(seat.match, message)
            await self._choose(seat, turn)
        except Exception as error:
            self._fail(seat, turn, error)

    async def _bring_line(self, match: LiveMatch, message: play_pb2.Turn) -> None:
        """Bring the match's moves up to a turn: from the turn's last moves, or where these leave a gap, by asking."""
        moves = joined(match.moves, message)
        backoff = Backoff()
        while moves is None:
            try:
                whole = await self._client.get_match(match.match_id, with_moves=True)
                moves = whole.moves[: message.ply]
            except ClientError as error:
                if isinstance(error, ArbiterError) and not error.temporary:
                    raise
                await asyncio.sleep(backoff.next_s())
        match.moves = moves

    async def _choose(self, seat: Seat, turn: Turn) -> None:
        async with self._thinkers:
            choice = await self._call(self.bot.choose, turn)
        self._act(seat, turn, choice)

    async def _choose_again(self, seat: Seat, turn: Turn, refusal: ArbiterError) -> None:
        try:
            if turn.refused is not None:
                raise refusal
            again = replace(turn, refused=refusal)
            async with self._thinkers:
                choice = await self._call(self.bot.refused, turn, refusal)
                if choice is None:
                    choice = await self._call(self.bot.choose, again)
            self._act(seat, again, choice)
        except Exception as error:
            self._fail(seat, turn, error)

    def _act(self, seat: Seat, turn: Turn, choice: Choice) -> None:
        match_id = seat.match.match_id
        if isinstance(choice, OfferDraw):
            self._request(seat, PlayAct(match_id=match_id, offer_draw=play_pb2.OfferDrawAct()))
            choice = choice.move
        if isinstance(choice, str):
            choice = Move(choice)
        if isinstance(choice, Move):
            comment = comment_message(choice.evaluation, choice.line)
            act = PlayAct(match_id=match_id, move=play_pb2.MoveAct(ply=turn.ply, move=choice.text, comment=comment))
        elif isinstance(choice, ClaimDraw):
            act = PlayAct(match_id=match_id, claim_draw=play_pb2.ClaimDrawAct())
        elif isinstance(choice, Resign):
            act = PlayAct(match_id=match_id, resign=play_pb2.ResignAct())
        else:
            raise TypeError(f"choose returned {choice!r}: expected a move or its text, OfferDraw, ClaimDraw or Resign")
        seat.turn = turn
        seat.request_id = self._request(seat, act)

    def _request(self, seat: Seat, act: PlayAct) -> str:
        request_id = self._outbox.request(act)
        self._asked[request_id] = seat
        return request_id

    def _fail(self, seat: Seat, turn: Turn, error: Exception) -> None:
        """Deal with a bot that failed at its turn, loudly and as the run's policy says."""
        where = f"{self.bot.name or 'the bot'} failed in match {seat.match.match_id} at ply {turn.ply}"
        if self._on_error == "raise":
            self._stop_for(where, error)
            return
        cost = "it resigns" if self._on_error == "resign" else "its clock runs on"
        # A refusal that was raised on the way has a clear text of its own; the trace of anything else is the news.
        trace = None if isinstance(error, ArbiterError) else error
        logger.error("%s, and %s: %s: %s", where, cost, type(error).__name__, error, exc_info=trace)
        if self._on_error == "resign":
            self._act(seat, turn, Resign())

    def _stop_for(self, where: str, error: Exception) -> None:
        if not self.outcome.done():
            failure = BotFailed(f"{where}: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self.outcome.set_exception(failure)

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
        """Take a request for answered; return the seat that made it, or None if its match is over."""
        self._outbox.answered(request_id)
        seat = self._asked.pop(request_id, None)
        return seat if seat is not None and not seat.match.over else None

    def _on_refusal(self, act: PlayAct, refusal: ArbiterError) -> None:
        if refusal.temporary:
            pause_s = refusal.retry_after_s or 0.5
            asyncio.get_running_loop().call_later(pause_s, self._outbox.again, act.request_id)
            return
        seat = self._settled(act.request_id)
        answers_turn = act.WhichOneof("act") in ("move", "claim_draw")
        if seat is None or refusal.reason in STALE:
            logger.debug("%s came too late: %s", act.WhichOneof("act"), refusal)
        elif answers_turn and seat.turn is not None and seat.request_id == act.request_id:
            logger.warning("refused in match %s: %s", act.match_id, refusal)
            seat.thought_ply = seat.turn.ply
            seat.thought = self._spawn(self._choose_again(seat, seat.turn, refusal))
        else:
            logger.warning("%s refused in match %s: %s", act.WhichOneof("act"), act.match_id, refusal)

    # ---- draws and challenges ------------------------------------------------------------------------------------

    def _on_draw_offered(self, message: play_pb2.DrawOffered) -> None:
        for seat in self._seats.get(message.match_id, {}).values():
            self._answer_offer(seat)

    def _answer_offer(self, seat: Seat) -> None:
        if not seat.offer_answered:
            seat.offer_answered = True
            self._spawn(self._consider_offer(seat))

    async def _consider_offer(self, seat: Seat) -> None:
        accept = await self._callback(self.bot.draw_offered, DrawOffer(seat.match), default=False)
        if not seat.match.over:
            answer = play_pb2.AnswerDrawAct(accept=bool(accept))
            self._request(seat, PlayAct(match_id=seat.match.match_id, answer_draw=answer))

    def _on_challenge(self, message: player_pb2.Challenge) -> None:
        challenge = read(Challenge, message)
        if challenge.challenger != self.player and challenge.challenge_id not in self._challenges:
            self._challenges.add(challenge.challenge_id)
            self._spawn(self._consider_challenge(challenge))

    async def _consider_challenge(self, challenge: Challenge) -> None:
        verdict = await self._callback(self.bot.challenged, challenge, default="the bot failed to consider it")
        try:
            if verdict is True:
                await self._client.accept_challenge(challenge.challenge_id)
            else:
                reason = verdict if isinstance(verdict, str) else ""
                await self._client.decline_challenge(challenge.challenge_id, reason[:LONGEST_REASON])
        except (ArbiterError, ConnectionFailed) as error:
            logger.warning("the challenge of %s can't be answered: %s", challenge.challenger, error)
        finally:
            self._challenges.discard(challenge.challenge_id)

    def _on_challenge_closed(self, message: play_pb2.ChallengeClosed) -> None:
        self._spawn(self._callback(self.bot.challenge_closed, read(ChallengeClosed, message), default=None))

    # ---- calling the bot -----------------------------------------------------------------------------------------

    async def _call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a method of the bot returns: awaited where it is async, in a thread where it is not."""
        if inspect.iscoroutinefunction(method) or getattr(method, "__func__", None) in _DEFAULTS:
            answer = method(*arguments)
        else:
            answer = await asyncio.get_running_loop().run_in_executor(self._threads, method, *arguments)
        return await answer if inspect.isawaitable(answer) else answer

    async def _callback(self, method: Callable[..., Any], argument: Any, default: Any) -> Any:
        """Return what a callback returns, or the default where it raises."""
        try:
            return await self._call(method, argument)
        except Exception as error:
            where = f"{self.bot.name or 'the bot'} failed in {method.__name__}"
            if self._on_error == "raise":
                self._stop_for(where, error)
            else:
                logger.exception(where)
            return default

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None and not self.outcome.done():
            # An error of this client's own: it must not disappear in a task that nobody reads.
            self.outcome.set_exception(task.exception() or AssertionError)


def joined(moves: tuple[str, ...], message: play_pb2.Turn) -> tuple[str, ...] | None:
    """Return the moves up to a turn, from those known and the turn's last ones; None where they leave a gap."""
    known = moves[: message.ply]
    for recent in message.last_moves:
        if recent.ply > len(known) or (recent.ply < len(known) and known[recent.ply] != recent.move):
            return None
        if recent.ply == len(known):
            known += (recent.move,)
    return known if len(known) == message.ply else None
