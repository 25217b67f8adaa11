"""What waits until it is known what another server of the store has done, or that it is dead."""

from __future__ import annotations

from typing import Final

from arbiter.matches.commands import Play
from arbiter.matches.match import Match, Phase
from arbiter.service.matches.live_match import LiveMatch
from arbiter.service.matches.presence import Presence

ELSEWHERE_MS: Final = 3_000
"""The delay of a flag here if the player to move is on another server.

If that server is dead, this is known after this time, and the match has been interrupted.
"""

GRACE_MS: Final = 500
"""The delay of a flag if the player to move has no stream on any server.

Its move may have come to another server in time, which is storing it.
"""

AGAIN_S: Final = 0.1
"""The time before a move is looked at again, if the server that its player was on may be dead."""


def waits_for_certainty(live: LiveMatch, presence: Presence, player: str, command: Play, due: bool) -> bool:
    """Return whether a move may answer a turn that was handed over by a server that may be dead.

    If that server is dead, the turn is interrupted, and the move costs nothing. So the move waits until this is known.
    due: the deadline of the match has come.
    """
    if due and presence.is_judged_elsewhere(player):
        return True
    left, started = presence.left_at(player), live.newest.turn_started
    return left is not None and started is not None and started <= left and live.newest.turn == command.seat


def flag_waits_ms(match: Match, presence: Presence, overdue_ms: int) -> int:
    """Return how long to wait before the flag of the player to move falls, 0 or less for not at all.

    overdue_ms: how long ago the deadline has come.
    """
    if match.phase is not Phase.ACTIVE:
        return 0
    player = match.created.players[match.turn - 1]
    if presence.is_judged_elsewhere(player):
        return ELSEWHERE_MS  # that server decides, unless it is dead
    return 0 if presence.is_present(player) else GRACE_MS - overdue_ms
