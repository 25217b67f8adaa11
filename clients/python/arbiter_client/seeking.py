"""The bot's own seeks: open while there is room for a match, and never more of them than matches it may play."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from arbiter_client.backoff import Backoff
from arbiter_client.client import Client
from arbiter_client.errors import PASSING, ArbiterError, ClientError, Reason, level_of
from arbiter_client.slots import MatchSlots
from arbiter_client.time_control import same
from arbiter_client.values.player import Challenge, Terms

logger = logging.getLogger("arbiter_client")

MOST_LISTED: Final = 100_000  #: length of the list of all seeks in which the bot finds its own


@dataclass(slots=True)
class Place:
    """Terms for which a seek should be open, and the open seek."""

    terms: Terms
    challenge_id: str = ""


class Seeker:
    """Keeps a seek open for each of several terms, while the bot has room for a match.

    A single task makes and withdraws them, so that no seek is made twice; all other methods only wake it.
    """

    def __init__(self, seeks: Sequence[Terms], client: Client, slots: MatchSlots) -> None:
        self._places = [Place(terms) for terms in seeks]
        self._client = client
        self._slots = slots
        self._player = ""
        self._greeted = False
        self._stopped = False
        self._closed: set[str] = set()  # ids that were closed during the call to the server
        self._wake = asyncio.Event()
        self._busy = asyncio.Lock()

    def greeted(self, player: str) -> None:
        """Begin a new stream of a player: the state of the seeks is read from the server again."""
        self._player = player
        self._greeted = True
        self.look()

    def closed(self, challenge_id: str) -> None:
        """React to the end of a challenge or seek, which is no longer open."""
        if self._busy.locked():
            self._closed.add(challenge_id)
        for place in self._places:
            if place.challenge_id == challenge_id:
                place.challenge_id = ""
        self.look()

    def look(self) -> None:
        """Wake the task that makes and withdraws seeks, because something has changed."""
        self._wake.set()

    async def run(self) -> None:
        """Make and withdraw seeks after every change, without end. Raises ArbiterError if terms are refused."""
        backoff = Backoff()
        while True:
            await self._wake.wait()
            self._wake.clear()
            greetings = self._client.connection.greetings
            try:
                async with self._busy:
                    refusal = await self._arrange()
                backoff.reset()
            except ClientError as error:
                asked_s = error.retry_after_s if isinstance(error, ArbiterError) else 0.0
                pause_s = backoff.next_s(asked_s)
                logger.log(level_of(error), "seeks can't be kept open, trying again in %.1f s: %s", pause_s, error)
                await self._client.connection.rest(pause_s, greetings, error)
                self.look()
            else:
                if refusal is not None:
                    raise refusal

    async def close(self) -> None:
        """Make no more seeks, and withdraw those that are open."""
        self._stopped = True
        async with self._busy:
            for place in self._places:
                if place.challenge_id:
                    await self._withdraw(place)

    async def make_room(self) -> bool:
        """Withdraw the seeks that leave no room for the match being agreed on; return False if that is too late."""
        async with self._busy:
            for place in self._places:
                if place.challenge_id and not self._slots.holds(self._open):
                    await self._withdraw(place)
            return not self._stopped and self._slots.holds(self._open)

    @property
    def _open(self) -> int:
        return sum(bool(place.challenge_id) for place in self._places)

    async def _arrange(self) -> ArbiterError | None:
        """Make and withdraw seeks by the current state; return the refusal of terms that the server does not accept."""
        if self._greeted:
            self._greeted = False
            try:
                await self._find_again()
            except ClientError:
                self._greeted = True
                raise
        open_seeks = 0
        for place in sorted(self._places, key=lambda place: not place.challenge_id):  # open seeks come first
            wanted = not self._stopped and self._slots.holds(open_seeks + 1)
            if wanted and self._player and not place.challenge_id:
                refusal = await self._make(place)
                if refusal is not None:
                    return refusal
            elif not wanted and place.challenge_id:
                await self._withdraw(place)
            open_seeks += bool(place.challenge_id)
        return None

    async def _find_again(self) -> None:
        """Find the open seeks: those of before, and those of an earlier run that was killed."""
        self._closed.clear()
        left = {
            challenge.challenge_id: challenge
            for challenge in await self._client.list_challenges(MOST_LISTED)
            if challenge.challenger == self._player and not challenge.opponent
        }
        for challenge_id in self._closed:
            left.pop(challenge_id, None)
        for place in self._places:
            if left.pop(place.challenge_id, None) is None:
                place.challenge_id = ""
        for place in self._places:
            alike = next((seek for seek in left.values() if not place.challenge_id and _fits(seek, place.terms)), None)
            if alike is not None:
                del left[alike.challenge_id]
                place.challenge_id = alike.challenge_id

    async def _make(self, place: Place) -> ArbiterError | None:
        self._closed.clear()
        try:
            seek = await self._client.create_seek(place.terms)
        except ArbiterError as error:
            if error.code in PASSING:
                raise
            return error
        if seek.challenge_id not in self._closed:  # it was not accepted before the answer arrived
            place.challenge_id = seek.challenge_id
        if self._stopped and place.challenge_id:
            await self._withdraw(place)
        return None

    async def _withdraw(self, place: Place) -> None:
        """Withdraw a seek. If another player has just accepted it, it counts until the stream says it is closed."""
        try:
            await self._client.decline_challenge(place.challenge_id)
        except ArbiterError as error:
            if error.reason != Reason.CHALLENGE_NOT_FOUND:
                raise
        else:
            place.challenge_id = ""


def _fits(seek: Challenge, terms: Terms) -> bool:
    """Return whether an open seek has the given terms. Terms that were left to the server match anything."""
    said = seek.terms
    alike = (said.game, said.rated, said.position) == (terms.game, terms.rated, terms.position) and terms.seat in (
        0,
        said.seat,
    )
    patient = terms.abandon_ms in (None, said.abandon_ms)
    return alike and patient and (not terms.time_control or same(terms.time_control, said.time_control))
