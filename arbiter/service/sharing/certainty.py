"""What waits until it is known what another server of the store has done, or that it is dead.

A flag also waits as long as the store keeps the stream of its player: once that is open, the turn begins again.
"""

from __future__ import annotations

from typing import Final

from arbiter.matches.commands import Play
from arbiter.matches.match import Match, Phase
from arbiter.service.matches.live_match import LiveMatch
from arbiter.service.matches.presence import Presence

ELSEWHERE_MS: Final = 3_000
"""The delay of a flag here if the player to move is on another server, or the player whose absence counts.

If that server is dead, this is known after this time, and the match has been interrupted.
"""

GRACE_MS: Final = 500
"""The delay of a flag, once for each turn, if the player to move has no stream on any server.

Its move may have come to another server in time, which is storing it. Or the turn may be known only now, long after it
began, and another server is about to open its stream.
"""

AGAIN_S: Final = 0.1
"""The time before a move is looked at again, if the server that its player was on may be dead."""

OPENS_MS: Final = 100
"""The time before a flag is looked at again whose player waits for its stream."""


def waits_for_certainty(live: LiveMatch, presence: Presence, player: str, command: Play, due: bool) -> bool:
    """Return whether a move may answer a turn that was handed over by a server that may be dead.

    If that server is dead, the turn is interrupted, and the move costs nothing. So the move waits until this is known.
    due: the deadline of the match has come.
    """
    if due and presence.is_judged_elsewhere(player):
        return True
    left, started = presence.left_at(player), live.newest.turn_started
    return left is not None and started is not None and started <= left and live.newest.turn == command.seat


def flag_waits_ms(match: Match, presence: Presence, waited: bool, shared: bool) -> int:
    """Return how long to wait before the flag of the player to move falls, 0 for not at all.

    The end of a match whose player has not come, or not come back, waits in the same way: for a stream that is about to
    open, for another server, which may not have stored yet that the player is there, and for a log that does not
    answer. waited: the flag has waited before in this turn. shared: other servers may use the store.
    """
    if match.phase is Phase.PAUSED:
        return 0
    players = match.created.players
    mover = players[match.turn - 1] if match.phase is Phase.ACTIVE else None
    awaited = [player for player, there in zip(players, match.present, strict=True) if not there or player == mover]
    if any(presence.is_waiting(player) for player in awaited):
        return OPENS_MS
    if shared and any(presence.is_judged_elsewhere(player) for player in awaited):
        return ELSEWHERE_MS  # that server decides, unless it is dead
    if presence.is_outdated() and not all(presence.is_present(player) for player in awaited):
        return OPENS_MS  # and nothing can be stored now
    return GRACE_MS if shared and mover is not None and not waited and not presence.is_present(mover) else 0
