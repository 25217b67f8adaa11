"""The bot's seats in live matches: the state of each, and its act that is not answered yet."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from arbiter_protos.v1 import match_pb2, play_pb2

from arbiter_client.values.play import LiveMatch, Turn


@dataclass(slots=True, eq=False)
class Seat:
    """A seat of the bot in a live match: the choice that is under way, and the act that is not answered yet.

    In a match of the bot against itself there are two seats, independent of each other.
    """

    match: LiveMatch
    begun: asyncio.Task[None] | None = None  #: the callback `started`
    thought: asyncio.Task[None] | None = None  #: the choice for `thought_ply`
    thought_ply: int = -1
    turn: Turn | None = None  #: the turn that the last choice answered
    request_id: str = ""  #: the move, claim or resignation that waits for its answer
    next_ply: int = 0  #: turns before this one are done
    offer_answered: bool = False

    def describe(self, match: match_pb2.Match) -> None:
        """Note what a match is."""
        self.match.time_control = own_time_control(match, self.match.seat)
        self.match.match_time_control = match.time_control
        self.match.rated = match.rated
        self.match.label = match.label
        self.match.opening_plies = match.opening_plies
        self.match.start_position = match.start_position


def own_time_control(match: match_pb2.Match, seat: int) -> str:
    """Return the time control of a seat: the match's, unless the two differ."""
    return match.time_controls[seat - 1] if len(match.time_controls) >= seat else match.time_control


def joined(moves: tuple[str, ...], message: play_pb2.Turn) -> tuple[str, ...] | None:
    """Return the moves up to a turn, from the known ones and the turn's last ones; None if there is a gap."""
    known = moves[: message.ply]
    for recent in message.last_moves:
        if recent.ply > len(known) or (recent.ply < len(known) and known[recent.ply] != recent.move):
            return None
        if recent.ply == len(known):
            known += (recent.move,)
    return known if len(known) == message.ply else None
