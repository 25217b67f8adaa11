"""Challenges, open seeks of other players, and tournaments: asks the bot, and carries out its decisions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from arbiter_protos.v1 import play_pb2, player_pb2

from arbiter_client.calling import Caller
from arbiter_client.client import Client
from arbiter_client.errors import ArbiterError, ConnectionFailed, Reason, level_of
from arbiter_client.seeking import Seeker
from arbiter_client.slots import MatchSlots
from arbiter_client.values.play import TournamentCall
from arbiter_client.values.player import Challenge, ChallengeClosed
from arbiter_client.values.reading import read

logger = logging.getLogger("arbiter_client")

LONGEST_REASON: Final = 200  #: characters of the reason for declining a challenge
NO_ROOM: Final = "this bot has agreed to as many matches as it plays"


class Policies:
    """Handles the items of the stream that ask whether the bot wants to play, and keeps its own seeks open.

    The bot is never asked twice at once about the same item. A tournament that has refused the bot is not entered
    again.
    """

    def __init__(self, caller: Caller, client: Client, slots: MatchSlots) -> None:
        self.player = ""  #: the bot's player, as the server's hello names it
        self.handlers: dict[str, Callable[[Any], None]] = {
            "challenge": self._on_challenge,
            "challenge_closed": self._on_challenge_closed,
            "seek": self._on_seek,
            "tournament": self._on_call,
        }
        self._bot = caller.bot
        self._caller = caller
        self._client = client
        self._slots = slots
        self._seeker = Seeker(self._bot.seeks, client, slots)
        self._asked: set[str] = set()  # ids of the challenges and seeks that the bot considers
        self._refused: set[str] = set()  # ids of tournaments
        slots.watchers.append(self._seeker.look)
        if self._bot.seeks:
            caller.spawn(self._seeker.run())

    def greeted(self, player: str) -> None:
        """Begin a new stream of a player."""
        self.player = player
        self._seeker.greeted(player)

    async def close(self) -> None:
        """Withdraw the bot's open seeks."""
        await self._seeker.close()

    # ---- challenges and seeks ------------------------------------------------------------------------------------

    def _on_challenge(self, message: player_pb2.Challenge) -> None:
        challenge = read(Challenge, message)
        if challenge.challenger != self.player and challenge.challenge_id not in self._asked:
            self._asked.add(challenge.challenge_id)
            self._caller.spawn(self._consider_challenge(challenge))

    async def _consider_challenge(self, challenge: Challenge) -> None:
        try:
            challenge = await self._rated(challenge)
            failed = "the bot failed to consider it"
            verdict = await self._caller.callback(self._bot.challenged, challenge, default=failed)
            if verdict is True and not await self._accept(challenge):
                verdict = NO_ROOM
            if verdict is not True:
                reason = verdict if isinstance(verdict, str) else ""
                await self._client.decline_challenge(challenge.challenge_id, reason[:LONGEST_REASON])
        except (ArbiterError, ConnectionFailed) as error:
            logger.log(level_of(error), "the challenge of %s can't be answered: %s", challenge.challenger, error)
        finally:
            self._asked.discard(challenge.challenge_id)

    def _on_seek(self, message: player_pb2.Challenge) -> None:
        seek = read(Challenge, message)
        if self._bot.accept_seeks and seek.challenger != self.player and seek.challenge_id not in self._asked:
            self._asked.add(seek.challenge_id)
            self._caller.spawn(self._consider_seek(seek))

    async def _consider_seek(self, seek: Challenge) -> None:
        try:
            seek = await self._rated(seek)
            if await self._caller.callback(self._bot.sought, seek, default=False) is True:
                await self._accept(seek)
        except (ArbiterError, ConnectionFailed) as error:
            faster = isinstance(error, ArbiterError) and error.reason == Reason.CHALLENGE_NOT_FOUND
            level = logging.DEBUG if faster else level_of(error)
            logger.log(level, "the seek of %s can't be accepted: %s", seek.challenger, error)
        finally:
            self._asked.discard(seek.challenge_id)

    async def _rated(self, challenge: Challenge) -> Challenge:
        """Return a challenge with its challenger's rating in the game, if the bot has limits for it."""
        if self._bot.least_rating is None and self._bot.most_rating is None:
            return challenge
        try:
            rows = (await self._client.get_rating(challenge.challenger, challenge.terms.game)).versions
        except ArbiterError as error:
            if error.reason != Reason.PLAYER_NOT_FOUND:
                raise
            rows = ()
        return replace(challenge, rating=rows[0].rating.value if rows else None)

    async def _accept(self, challenge: Challenge) -> bool:
        """Accept a challenge or seek if there is room for its match; return whether there was."""
        if not self._slots.holds(1):
            return False
        with self._slots.agreeing():
            if not await self._seeker.make_room():
                return False
            match = await self._client.accept_challenge(challenge.challenge_id)
            self._slots.expect(match.match_id)
        return True

    def _on_challenge_closed(self, message: play_pb2.ChallengeClosed) -> None:
        closed = read(ChallengeClosed, message)
        if closed.match_id:
            self._slots.expect(closed.match_id)
        self._seeker.closed(closed.challenge_id)
        self._caller.spawn(self._caller.callback(self._bot.challenge_closed, closed, default=None))

    # ---- tournaments ---------------------------------------------------------------------------------------------

    def _on_call(self, message: play_pb2.TournamentCall) -> None:
        call = read(TournamentCall, message)
        wanted = self._bot.enter_tournaments and not call.entered
        if wanted and call.tournament_id not in self._asked | self._refused:
            self._asked.add(call.tournament_id)
            self._caller.spawn(self._consider_call(call))

    async def _consider_call(self, call: TournamentCall) -> None:
        try:
            if await self._caller.callback(self._bot.called, call, default=False) is True:
                await self._client.enter_tournament(call.tournament_id)
        except (ArbiterError, ConnectionFailed) as error:
            if isinstance(error, ArbiterError) and not error.temporary:
                self._refused.add(call.tournament_id)
            name = call.name or call.tournament_id
            logger.log(level_of(error), "the tournament %s can't be entered: %s", name, error)
        finally:
            self._asked.discard(call.tournament_id)
