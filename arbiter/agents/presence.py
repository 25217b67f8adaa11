"""The presence of an agent's player: its Play stream, and what has happened on it.

An agent acts when it likes, by calls. Its stream shows the server that the player is there, and brings turns, offers
and challenges, which are kept here until the agent asks.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import OrderedDict, deque
from typing import Final

import arbiter_client as arb
from arbiter_client.playing import play_with
from arbiter_client.session import Waiting

MOST_ENDED: Final = 100  #: ended matches that are remembered
MOST_MATCHES: Final = 1_000  #: turns that wait for the agent at once
PATIENCE_S: Final = 10.0  #: how long to wait for a server that was never reached
OFFER: Final = ""  #: in place of a move: an offer of a draw
FULL: Final = "this player has as many matches as it can answer"


class Presence(arb.Bot):
    """One player's stream and its news. Every act is a call of `client`; the stream's own choices never end.

    `calls` is that client. `gone` says why the stream has ended for good, or is ''. `let_go`: nobody keeps it
    any more.
    """

    name = "MCP agent"

    def __init__(self, client: arb.Client) -> None:
        self.calls = client
        self.gone = ""
        self.let_go = False
        self.turns: dict[str, arb.Turn] = {}  #: by match: the turn that waits for the agent
        self.live: dict[str, arb.LiveMatch] = {}
        self.ended_matches: OrderedDict[str, arb.FinishedMatch] = OrderedDict()
        self.untold: deque[arb.FinishedMatch | arb.ChallengeClosed] = deque(maxlen=MOST_ENDED)  #: the agent asks for it
        self.offers: dict[str, asyncio.Future[bool]] = {}  #: by match: the opponent's draw offer
        self.challenges: dict[str, arb.Challenge] = {}
        self._answers: dict[str, asyncio.Future[bool | str]] = {}  # to challenges
        self._requests: dict[tuple[str, int, str], str] = {}  # request ids, by match, ply and move or `OFFER`
        self._news = asyncio.Event()

    # ---- what the stream brings ----------------------------------------------------------------------------------

    async def started(self, match: arb.LiveMatch) -> None:
        """Note a match."""
        self.live[match.match_id] = match
        self.tell()

    async def choose(self, turn: arb.Turn) -> arb.Choice:
        """Keep the turn for the agent; its move is a call, and the next turn or the end cancels this wait."""
        self.turns[turn.match.match_id] = turn
        self.tell()
        return await asyncio.Future()

    async def draw_offered(self, offer: arb.DrawOffer) -> bool:
        """Keep the offer until the agent answers."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.offers[offer.match.match_id] = answer
        self.tell()
        return await answer

    async def challenged(self, challenge: arb.Challenge) -> bool | str:
        """Keep the challenge until the agent answers."""
        if len(self.challenges) >= MOST_MATCHES:
            return FULL
        answer: asyncio.Future[bool | str] = asyncio.get_running_loop().create_future()
        self.challenges[challenge.challenge_id] = challenge
        self._answers[challenge.challenge_id] = answer
        self.tell()
        return await answer

    async def challenge_closed(self, closed: arb.ChallengeClosed) -> None:
        """Forget a challenge that is no longer open."""
        self.challenges.pop(closed.challenge_id, None)
        answer = self._answers.pop(closed.challenge_id, None)
        if answer is not None and not answer.done():
            answer.cancel()
        if not closed.match_id:
            self.untold.append(closed)
        self.tell()

    async def ended(self, finished: arb.FinishedMatch) -> None:
        """Note how a match has ended."""
        match_id = finished.match_id
        self.turns.pop(match_id, None)
        self.live.pop(match_id, None)
        offer = self.offers.pop(match_id, None)
        if offer is not None and not offer.done():
            offer.cancel()
        self._requests = {key: request for key, request in self._requests.items() if key[0] != match_id}
        self.ended_matches[match_id] = finished
        self.untold.append(finished)
        while len(self.ended_matches) > MOST_ENDED:
            self.ended_matches.popitem(last=False)
        self.tell()

    # ---- what the agent does -------------------------------------------------------------------------------------

    async def news(self, seconds: float) -> None:
        """Wait until something has happened on the stream, or for this many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):  # `wait_for` of Python 3.11 may swallow a cancellation
                await self._news.wait()

    async def move(self, match_id: str, ply: int, move: arb.Move) -> arb.Receipt:
        """Play a move. The same move for the same ply is the same request, so it is never played twice.

        Raises ArbiterError, ConnectionFailed.
        """
        request = self._requests.setdefault((match_id, ply, move.text), secrets.token_hex(16))
        receipt = await self.calls.submit_move(
            match_id, ply, move.text, request, evaluation=move.evaluation, line=move.line
        )
        turn = self.turns.get(match_id)
        if turn is not None and turn.ply == ply:
            del self.turns[match_id]
            offer = self.offers.pop(match_id, None)  # a move declines it
            if offer is not None and not offer.done():
                offer.cancel()
        return receipt

    async def offer_draw(self, match_id: str, ply: int) -> None:
        """Offer a draw with the move for a ply; the same offer is the same request. Raises as `move` does."""
        request = self._requests.setdefault((match_id, ply, OFFER), secrets.token_hex(16))
        await self.calls.offer_draw(match_id, request)

    def answer_offer(self, match_id: str, accept: bool) -> bool:
        """Answer the opponent's draw offer; return whether there was one."""
        offer = self.offers.pop(match_id, None)
        if offer is None or offer.done():
            return False
        offer.set_result(accept)
        return True

    def answer_challenge(self, challenge_id: str, answer: bool | str) -> bool:
        """Accept a challenge, or decline it for a reason; return whether it was open."""
        waiting = self._answers.pop(challenge_id, None)
        self.challenges.pop(challenge_id, None)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True

    def end(self) -> None:
        """Note that nobody keeps this player any more: whoever waits for news stops."""
        self.let_go = True
        self.tell()

    def tell(self) -> None:
        """Wake everybody who waits for news."""
        self._news.set()
        self._news = asyncio.Event()


async def keep(presence: Presence) -> None:
    """Hold a player's stream until this is cancelled, or the server refuses it for good: then `gone` says why."""
    try:
        await play_with(presence.calls, presence, None, MOST_MATCHES, "wait", Waiting(PATIENCE_S))
    except arb.ClientError as error:
        presence.gone = str(error)
        presence.tell()
