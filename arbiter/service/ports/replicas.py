"""Replicas as a port: the servers that share a store, and which replica has each player's Play stream.

Every replica writes its own rows and reads those of the others. The id of a replica says whether it has players: one
that has the page alone opens no Play stream, and leaves to the others what nobody asks for. Heartbeats are compared in
the store's time. Instants at which players leave replicas are in the arbiter's time, as those in the record of a match,
because they are compared with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

PLAYERS: Final = "s"
PAGE: Final = "page"
"""How the id of a replica begins: one that has players, and one that has the page alone."""

NOT_YET: Final = 2**53
"""Stands for the instant at which a player leaves its servers, as long as the next one has not opened its stream."""


def is_page(replica: str) -> bool:
    """Return whether a replica has the page alone."""
    return replica.startswith(PAGE)


class HandOver(NamedTuple):
    """When a replica handed over the turn of a player who has left it in the middle of the turn.

    ply, started_ms: say which turn. at_ms: both instants are in the arbiter's time, in milliseconds since the epoch.
    """

    player: str
    match_id: str
    ply: int
    started_ms: int
    at_ms: int


HandOvers = Callable[[str], Sequence[HandOver]]
"""Returns the last turns of a player that this replica has handed over. Any thread may call it."""


def no_hand_overs(_player: str) -> Sequence[HandOver]:
    """Return nothing: for a replica that hands over no turns."""
    return ()


class PlaySession(NamedTuple):
    """A player's Play stream: the last one that was opened on any replica.

    epoch: grows with each stream of the player. most_matches: the number in its bot's hello, 0 for no limit.
    replica: '' if the last stream is over, or has never been opened, and there are replicas in doubt. A replica is in
    doubt if the player has left it without closing its stream there, and it has been silent since: nobody knows yet
    whether it is gone. left_ms: when the player left the last of these, which is when the next replica opened its
    stream, in milliseconds since the epoch. It is NOT_YET if no replica has opened one, and None if no replica is in
    doubt.
    """

    player: str
    replica: str
    epoch: int
    bot_version: str
    most_matches: int
    left_ms: int | None = None


class Taken(NamedTuple):
    """The row of a new Play stream: its epoch, and `left_ms` as in `PlaySession`.

    hand_overs: the player's turns that the replicas handed over that it has left.
    """

    epoch: int
    left_ms: int | None
    hand_overs: tuple[HandOver, ...] = ()


class LostPlayer(NamedTuple):
    """A player whose Play stream was on a replica when that was last alive. left_ms: when it left; None if it did not.

    Turns that began later were not handed over by that replica.
    """

    player: str
    left_ms: int | None


class Heartbeat(NamedTuple):
    """The answer to a heartbeat. gone: the replicas that this replica has to clean up after.

    sessions: all Play streams. others: the other replicas that nobody cleans up after, by id. hand_overs: as in
    `Taken`, of the players on this replica; each is told once.
    """

    gone: tuple[str, ...]
    sessions: tuple[PlaySession, ...]
    others: tuple[str, ...]
    hand_overs: tuple[HandOver, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether there is no other replica, there or gone."""
        return not (self.others or self.gone)

    @property
    def servers(self) -> int:
        """The number of other replicas for players that nobody cleans up after."""
        return sum(not is_page(replica) for replica in self.others)


class Replicas(Protocol):
    """The rows of the replicas and of their Play streams. Every call raises StoreFailed if the store can't be used."""

    async def enter(self, replica: str) -> None:
        """Add a replica, which is alive from now on. An id is never used again."""

    async def beat(self, replica: str, silence_ms: int, hand_overs: HandOvers = no_hand_overs) -> Heartbeat | None:
        """Record that a replica is alive. Returns None if another replica already cleans up after it.

        Players who have left it for another replica are not in doubt any more because of it. With that, the other one
        is told when their turns were handed over here.

        A replica that has the page alone cleans up after none. If the last one for players is gone, the next one does
        so when it starts: only then do its matches begin to wait for their players.

        A replica that has been silent for `silence_ms` is gone, or sooner if the store knows that its process has
        ended. The first replica that notices cleans up after it (`gone`), and then calls `forget`. If that replica is
        gone before this, the next one does the same.
        """

    async def forget(self, replica: str) -> None:
        """Remove a replica that has left or is gone, and its Play streams."""

    async def lost_players(self, replica: str) -> list[LostPlayer]:
        """Return the players whose Play stream was on a replica when it was last alive, by name."""

    async def take(self, player: str, replica: str, bot_version: str, most_matches: int) -> Taken | None:
        """Record that a player is about to have a Play stream on a replica; it replaces the player's previous one.

        The player has left its previous replica once `arrive` says so: the opening may fail. Returns None, and records
        nothing, if the replica is none any more: others have taken it for gone.
        """

    async def arrive(self, player: str, replica: str, epoch: int, opened_ms: int) -> None:
        """Record when the stream of a row was opened: then its player left the replicas before."""

    async def give_back(
        self,
        player: str,
        replica: str,
        epoch: int,
        hand_overs: Sequence[HandOver] = (),
        opened_ms: int = NOT_YET,
    ) -> bool:
        """Record that a Play stream has ended; return whether it was still the player's current one.

        hand_overs: its turns on this replica, for the one to which the player comes next. opened_ms: as in `arrive`;
        NOT_YET if it was never opened. As long as replicas that the player left before are in doubt, its next stream is
        in doubt too.
        """
