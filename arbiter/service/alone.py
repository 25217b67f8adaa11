"""What a server asks and does because of other servers of its store: the port, and the answers of a server alone.

`arbiter.service.sharing` gives the answers of a server that shares its store.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, NamedTuple, Protocol

from arbiter.games.contract import Seat
from arbiter.matches.commands import Interrupt, Interruption
from arbiter.matches.match import Match
from arbiter.service.cut_off import CutOff
from arbiter.service.ports.journal import OpenLimits
from arbiter.service.ports.replicas import HandOver, HandOvers, PlaySession
from arbiter.service.record.published import Published


class PlayStream(Protocol):
    """A Play stream, as `arbiter.service.play.session.Session` has it. row: the replica and the epoch in its row."""

    player: str
    opened_ms: int
    row: tuple[str, int]


class Opening(NamedTuple):
    """A Play stream that is about to open.

    hand_overs: when other servers handed over turns to its player. opened: to be called with the stream.
    """

    hand_overs: Sequence[HandOver]
    opened: Callable[[PlayStream], None]


class OtherServers(Protocol):
    """The other servers of the store."""

    @property
    def may_know_more(self) -> bool:
        """Whether they may have stored what is not known here: then this server looks before it refuses."""

    @property
    def page_only(self) -> bool:
        """Whether this process has only the page: it does what it is asked, and the others do the rest."""

    @property
    def cut_off(self) -> CutOff:
        """Whether this server can't reach the store, so that clients have to go to the others."""

    # -- matches -----------------------------------------------------------------------------------------------------

    def move_waits(self, match: Match, seat: Seat) -> bool:
        """Return whether a move has to wait until more is known of its player's last server."""

    def flag_waits_ms(self, match: Match, awaited: Collection[str], waited: bool) -> int:
        """Return how long the end of a match by its deadline waits, 0 for not at all.

        awaited: the players on whom it depends. waited: it has waited before in this turn.
        """

    def is_ours(self, match: Match) -> bool:
        """Return whether this server interrupts a match when it starts and stops. If not, another one goes on."""

    def interruption(self, match: Match) -> Interrupt | None:
        """Return the command for a match after a stall of this server; None if the stall does not concern it."""

    def counted(self, limits: OpenLimits) -> OpenLimits | None:
        """Return what the store has to count, because others create too; None if it need not."""

    def in_order(self, events: Sequence[Published]) -> Sequence[Published]:
        """Return those of some durable events that whoever reads all events may get now."""

    # -- players -----------------------------------------------------------------------------------------------------

    def opening(self, player: str, bot_version: str, most_matches: int) -> AbstractAsyncContextManager[Opening]:
        """Note within the context that a player is about to have its Play stream here. Raises StoreFailed."""

    def closed(self, stream: PlayStream, hand_overs: HandOvers, left: Callable[[str], None]) -> None:
        """Note that a stream has ended, and call `left` if its player has no other one. hand_overs: of this server."""

    async def last_received(self, player: str, cursor: int, received: Collection[int]) -> int:
        """Return the cursor up to which a player has received every result, at most a given one. Raises StoreFailed.

        received: the results that it has received on its stream here.
        """

    def elsewhere(self, player: str) -> PlaySession | None:
        """Return a player's Play stream on another server, or None."""

    def players_elsewhere(self) -> Collection[str]:
        """Return the players whose Play stream is on another server."""

    def silence_s(self) -> float:
        """Return for how long the log has not answered, in seconds; 0.0 if it does answer."""

    def noted(self, inform: Callable[[], None]) -> None:
        """Have players informed, on whichever server, of what was stored with a notice. inform: does so here."""


class Alone:
    """There are no other servers. See `OtherServers` for each method."""

    def __init__(self, cut_off: CutOff) -> None:
        self.may_know_more: Final = False
        self.page_only: Final = False
        self.cut_off: Final = cut_off  # it never is

    def move_waits(self, match: Match, seat: Seat) -> bool:
        """Return False: this server has handed over every turn."""
        return False

    def flag_waits_ms(self, match: Match, awaited: Collection[str], waited: bool) -> int:
        """Return 0: players can only be here."""
        return 0

    def is_ours(self, match: Match) -> bool:
        """Return True."""
        return True

    def interruption(self, match: Match) -> Interrupt | None:
        """Return the command that stops every match."""
        return Interrupt(Interruption.RESTART)

    def counted(self, limits: OpenLimits) -> OpenLimits | None:
        """Return None: what is open is known here."""
        return None

    def in_order(self, events: Sequence[Published]) -> Sequence[Published]:
        """Return all of them: they become durable in the order of the log."""
        return events

    @asynccontextmanager
    async def opening(self, player: str, bot_version: str, most_matches: int) -> AsyncIterator[Opening]:
        """Note nothing."""
        yield Opening((), lambda stream: None)

    def closed(self, stream: PlayStream, hand_overs: HandOvers, left: Callable[[str], None]) -> None:
        """Call `left` at once."""
        left(stream.player)

    async def last_received(self, player: str, cursor: int, received: Collection[int]) -> int:
        """Return the cursor: results come in the order of the log."""
        return cursor

    def elsewhere(self, player: str) -> PlaySession | None:
        """Return None."""
        return None

    def players_elsewhere(self) -> Collection[str]:
        """Return nobody."""
        return ()

    def silence_s(self) -> float:
        """Return 0.0: a server alone does not wait for what others write."""
        return 0.0

    def noted(self, inform: Callable[[], None]) -> None:
        """Inform the players here at once."""
        inform()
