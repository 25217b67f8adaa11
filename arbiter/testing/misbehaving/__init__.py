"""Misbehaving players: one for every fault that a bot may have, which has this fault and no other.

Each player behaves as `arbiter.testing.bot_faults.POLICIES` describes, over real gRPC. As far as its fault allows, it
does everything else right: it answers pings, plays legal moves and reconnects after a lost stream. POLICIES also says
what the server does about the fault.

    async with PLAYERS[Fault.STALLS](channel, metadata) as player:
        result = await player.result(match_id)
"""

from __future__ import annotations

from typing import Final

from arbiter.testing.bot_faults import BotFault
from arbiter.testing.misbehaving.connections import (
    ComesAndGoes,
    ConnectsTwice,
    Disconnects,
    HalfOpen,
    ReadsNothing,
    StaysAway,
    Vanishes,
)
from arbiter.testing.misbehaving.messages import (
    Floods,
    Garbage,
    GiantMessage,
    OtherVersion,
    SaysNothing,
    SkipsHello,
    UnknownFields,
)
from arbiter.testing.misbehaving.moves import (
    IllegalMoves,
    MalformedMoves,
    MovesElsewhere,
    MovesNowhere,
    MovesOutOfTurn,
    Pesters,
    ReusesRequestId,
    Stalls,
    WrongPly,
    illegal_move,
)
from arbiter.testing.player import BotClient

__all__ = ["PLAYERS", "GiantMessage", "MovesElsewhere", "illegal_move"]

PLAYERS: Final[dict[BotFault, type[BotClient]]] = {
    BotFault.STAYS_AWAY: StaysAway,
    BotFault.DISCONNECTS: Disconnects,
    BotFault.VANISHES: Vanishes,
    BotFault.HALF_OPEN: HalfOpen,
    BotFault.STALLS: Stalls,
    BotFault.FLOODS: Floods,
    BotFault.ILLEGAL_MOVES: IllegalMoves,
    BotFault.MALFORMED_MOVES: MalformedMoves,
    BotFault.MOVES_ELSEWHERE: MovesElsewhere,
    BotFault.MOVES_NOWHERE: MovesNowhere,
    BotFault.MOVES_OUT_OF_TURN: MovesOutOfTurn,
    BotFault.WRONG_PLY: WrongPly,
    BotFault.REUSES_REQUEST_ID: ReusesRequestId,
    BotFault.PESTERS: Pesters,
    BotFault.CONNECTS_TWICE: ConnectsTwice,
    BotFault.COMES_AND_GOES: ComesAndGoes,
    BotFault.GIANT_MESSAGE: GiantMessage,
    BotFault.GARBAGE: Garbage,
    BotFault.SAYS_NOTHING: SaysNothing,
    BotFault.SKIPS_HELLO: SkipsHello,
    BotFault.OTHER_VERSION: OtherVersion,
    BotFault.UNKNOWN_FIELDS: UnknownFields,
    BotFault.READS_NOTHING: ReadsNothing,
}
"""The player that has each fault."""
