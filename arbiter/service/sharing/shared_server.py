"""The answers of a server that shares its store (see `arbiter.service.alone`).

What another server has done may be unknown here, and a server that says nothing may be gone. So some moves and ends of
matches wait for certainty: until this is known. A flag also waits as long as the store keeps the stream of its player:
once that is open, the turn begins again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

from arbiter.games.contract import Seat
from arbiter.matches.commands import Interrupt, Interruption
from arbiter.matches.match import Match, Phase, deadline
from arbiter.service.alone import Opening, PlayStream
from arbiter.service.matches.timers import OPENS_MS
from arbiter.service.play.catch_up import PAGE
from arbiter.service.play.connected_players import Connections
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import Journal, OpenLimits, StoreFailed
from arbiter.service.ports.replicas import NOT_YET, HandOvers, PlaySession, Taken
from arbiter.service.record.published import Published
from arbiter.service.sharing.following import Follower
from arbiter.service.sharing.membership import Membership
from arbiter.service.sharing.ordering import HeldBack
from arbiter.service.sharing.whereabouts import Whereabouts
from arbiter.service.tasks import Tasks

ELSEWHERE_MS: Final = 3_000
"""The delay of a flag here if the player to move is on another server, or the player whose absence counts.

If that server is gone, this is known after this time, and the match has been interrupted.
"""

GRACE_MS: Final = 500
"""The delay of a flag, once for each turn, if the player to move has no stream on any server.

Its move may have come to another server in time, which is storing it. Or the turn may be known only now, long after it
began, and another server is about to open its stream.
"""


class Sharing:
    """What this server asks of the others, and tells them. See `OtherServers` for each method.

    journal, directory: the shared store. held_back: events that wait for those of other servers.
    """

    def __init__(
        self,
        journal: Journal,
        directory: Directory,
        connections: Connections,
        clock: Clock,
        membership: Membership,
        follower: Follower,
        held_back: HeldBack,
    ) -> None:
        self.may_know_more: Final = True
        self.page_only: Final = membership.page
        self.cut_off: Final = membership.cut_off
        self.membership: Final = membership
        self.follower: Final = follower
        self.silence_s: Final = follower.silence_s
        self.whereabouts: Final = Whereabouts()
        self._journal = journal
        self._directory = directory
        self._connections = connections
        self._clock = clock
        self._held_back = held_back
        self._tasks = Tasks()

    # -- matches -----------------------------------------------------------------------------------------------------

    def move_waits(self, match: Match, seat: Seat) -> bool:
        """Return whether a move may answer a turn that was handed over by a server that may be gone.

        If that server is gone, the turn is interrupted, and the move costs nothing. So the move waits until this is
        known.
        """
        player, started = match.created.players[seat - 1], match.turn_started
        if self.whereabouts.is_judged_elsewhere(player):
            due = deadline(match)
            if due is not None and due <= self._clock.now_ms():
                return True
        left = self.whereabouts.left_at(player, self._connections.of(player) is not None)
        return left is not None and started is not None and started <= left and match.turn == seat

    def flag_waits_ms(self, match: Match, awaited: Collection[str], waited: bool) -> int:
        """Return how long to wait before the flag of the player to move falls.

        The end of a match whose player has not come, or not come back, waits in the same way: for another server, which
        may not have stored yet that the player is there, and for a log that does not answer. Where there is the
        page alone, every end waits for the servers that have players, also while there is none.
        """
        if self.page_only:
            return ELSEWHERE_MS
        if any(self.whereabouts.is_judged_elsewhere(player) for player in awaited):
            return ELSEWHERE_MS  # that server decides, unless it is gone
        if not self.whereabouts.known:
            return OPENS_MS  # a server that starts does not know yet who is elsewhere
        if self.follower.is_silent() and not all(self._connections.is_present(player) for player in awaited):
            return OPENS_MS  # and nothing can be stored now
        if match.phase is not Phase.ACTIVE or waited:
            return 0
        return 0 if self._connections.is_present(match.created.players[match.turn - 1]) else GRACE_MS

    def is_ours(self, match: Match) -> bool:
        """Return whether a player of a match is here. No player is when the server starts: the others serve it."""
        return any(self._connections.is_present(player) for player in match.players)

    def interruption(self, match: Match) -> Interrupt | None:
        """Return the command that stops the clock of a player who is here, unless other servers have gone on."""
        started, player = match.turn_started, match.players[match.turn - 1]
        if started is None or not self._connections.is_present(player):
            return None
        return Interrupt(Interruption.RESTART, player, started)

    def counted(self, limits: OpenLimits) -> OpenLimits | None:
        """Return all of it."""
        return limits

    def in_order(self, events: Sequence[Published]) -> Sequence[Published]:
        """Return none: they wait until all events before them are known here."""
        self._held_back.add(events)
        return ()

    # -- players -----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def opening(self, player: str, bot_version: str, most_matches: int) -> AsyncIterator[Opening]:
        """Write the row of a stream that is about to open. Raises StoreFailed."""
        with self.membership.opening(player):
            replica, taken = await self.membership.take(player, bot_version, most_matches)
            self.whereabouts.doubt(player, taken.left_ms)
            yield Opening(taken.hand_overs, partial(self._opened, replica, taken))

    def _opened(self, replica: str, taken: Taken, stream: PlayStream) -> None:
        stream.row = replica, taken.epoch
        if taken.left_ms == NOT_YET:
            self.whereabouts.doubt(stream.player, stream.opened_ms)
            self.note_arrival(stream)

    def note_arrival(self, stream: PlayStream) -> None:
        """Record when a stream was opened; then its player left the servers that are gone."""
        self._tasks.start(self._note_arrival(stream))

    async def _note_arrival(self, stream: PlayStream) -> None:
        with suppress(StoreFailed):  # the next heartbeat tries again
            await self.membership.arrive(stream)

    def closed(self, stream: PlayStream, hand_overs: HandOvers, left: Callable[[str], None]) -> None:
        """Remove the row of a stream.

        If it is by now another stream's, on whichever server, the player is still present.
        """
        self._tasks.start(self._give_back(stream, hand_overs, left))

    async def _give_back(self, stream: PlayStream, hand_overs: HandOvers, left: Callable[[str], None]) -> None:
        with suppress(StoreFailed):  # the next heartbeat tries again
            if await self.membership.give_back(stream, hand_overs):
                left(stream.player)

    async def last_received(self, player: str, cursor: int, received: Collection[int]) -> int:
        """Return the cursor up to which a player has received every result, at most a given one.

        If another server has decided the end of a match, it may arrive after a later end that was decided here.
        """
        known = await self._directory.player(player)
        last = known.acknowledged if known is not None else 0
        while rows := await self._journal.results(player, last, PAGE):
            for row in rows:
                if row.ended_sequence > cursor or row.ended_sequence not in received:
                    return last
                last = row.ended_sequence
        return last

    def elsewhere(self, player: str) -> PlaySession | None:
        """Return a player's Play stream on another server, as of the last heartbeat."""
        return self.whereabouts.elsewhere.get(player)

    def players_elsewhere(self) -> Collection[str]:
        """Return the players whose Play stream is on another server, as of the last heartbeat."""
        return self.whereabouts.elsewhere.keys()

    def noted(self, inform: Callable[[], None]) -> None:
        """Do nothing: the notice comes to all servers, and to this one."""
