"""The faults that bots may show, and the policy of the server for each of them, as published in protos/README.md.

`arbiter.testing.misbehaving` has one player for each fault.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from arbiter.errors import Reason

ABSENCE: Final = ("abandonment", "absence", "player")


class BotFault(StrEnum):
    """A fault of a bot. Each member is exactly one kind of wrong behaviour."""

    STAYS_AWAY = "stays_away"
    DISCONNECTS = "disconnects"
    VANISHES = "vanishes"
    HALF_OPEN = "half_open"
    STALLS = "stalls"
    FLOODS = "floods"
    ILLEGAL_MOVES = "illegal_moves"
    MALFORMED_MOVES = "malformed_moves"
    MOVES_ELSEWHERE = "moves_elsewhere"
    MOVES_NOWHERE = "moves_nowhere"
    MOVES_OUT_OF_TURN = "moves_out_of_turn"
    WRONG_PLY = "wrong_ply"
    REUSES_REQUEST_ID = "reuses_request_id"
    PESTERS = "pesters"
    CONNECTS_TWICE = "connects_twice"
    COMES_AND_GOES = "comes_and_goes"
    GIANT_MESSAGE = "giant_message"
    GARBAGE = "garbage"
    SAYS_NOTHING = "says_nothing"
    SKIPS_HELLO = "skips_hello"
    OTHER_VERSION = "other_version"
    UNKNOWN_FIELDS = "unknown_fields"
    READS_NOTHING = "reads_nothing"


class FaultPolicy(NamedTuple):
    """What the server does about a fault.

    does: what the player does. server: what the server does, in words. setting: the configuration key of the limit, ''
    if there is none. refusal: the reason that the player receives. ends_stream: whether the refusal ends the stream (as
    a notice and as the status of the call); if not, it is the answer to a request. end: reason, cause and responsible
    party of the match's result, or None if the match goes on.
    """

    does: str
    server: str
    setting: str = ""
    refusal: Reason | None = None
    ends_stream: bool = False
    end: tuple[str, str, str] | None = None


POLICIES: Final[dict[BotFault, FaultPolicy]] = {
    BotFault.STAYS_AWAY: FaultPolicy(
        "never connects",
        "the match waits, then the player loses; void if neither player comes",
        "matches.no_show_ms",
        end=("no_show", "absence", "player"),
    ),
    BotFault.DISCONNECTS: FaultPolicy(
        "loses its stream at its turn and reconnects",
        "the turn is sent again, the clock has run on",
        "matches.abandon_ms",
    ),
    BotFault.VANISHES: FaultPolicy(
        "loses its stream and never reconnects",
        "the match is lost once the player has been absent for too long, or its flag has fallen",
        "matches.abandon_ms",
        end=ABSENCE,
    ),
    BotFault.HALF_OPEN: FaultPolicy(
        "neither reads nor sends any more, but its connection stays open",
        "the stream ends after the silence; from then on the player is absent",
        "limits.silence_ms",
        Reason.SESSION_SILENT,
        ends_stream=True,
        end=ABSENCE,
    ),
    BotFault.STALLS: FaultPolicy(
        "never moves, but answers pings",
        "the clock runs until the flag falls; without a time control, for `matches.move_cap_ms`",
        "time control",
        end=("time", "time", "player"),
    ),
    BotFault.FLOODS: FaultPolicy(
        "sends too many acts in a second, not counting moves in its live matches",
        "the stream ends; moves in live matches do not count, unless they are refused as wrong",
        "limits.acts_a_second",
        Reason.RATE_LIMITED,
        ends_stream=True,
    ),
    BotFault.ILLEGAL_MOVES: FaultPolicy(
        "sends moves that the rules forbid",
        "each is refused and counted, and the clock runs on; at the number in the policy (4) the match is lost",
        "matches.illegal_moves",
        Reason.MOVE_ILLEGAL,
        end=("illegal_moves", "rule_violation", "player"),
    ),
    BotFault.MALFORMED_MOVES: FaultPolicy(
        "sends texts that are not moves of the game",
        "like illegal moves, and counted together with them",
        "matches.illegal_moves",
        Reason.MOVE_MALFORMED,
        end=("illegal_moves", "rule_violation", "player"),
    ),
    BotFault.MOVES_ELSEWHERE: FaultPolicy(
        "sends a move in a match of other players", "refused; nothing happens there", refusal=Reason.SEAT_NOT_YOURS
    ),
    BotFault.MOVES_NOWHERE: FaultPolicy(
        "sends a move in a match that does not exist", "refused", refusal=Reason.MATCH_NOT_FOUND
    ),
    BotFault.MOVES_OUT_OF_TURN: FaultPolicy(
        "sends a move for the opponent", "refused; no strike", refusal=Reason.NOT_YOUR_TURN
    ),
    BotFault.WRONG_PLY: FaultPolicy("sends a move for a later ply", "refused; no strike", refusal=Reason.PLY_MISMATCH),
    BotFault.REUSES_REQUEST_ID: FaultPolicy(
        "gives another move the request id of an earlier one", "refused; no strike", refusal=Reason.REQUEST_ID_REUSED
    ),
    BotFault.PESTERS: FaultPolicy(
        "offers a draw again and again",
        "one offer is allowed for each ply; none in games without draw offers",
        refusal=Reason.DRAW_NOT_AVAILABLE,
    ),
    BotFault.CONNECTS_TWICE: FaultPolicy(
        "opens a second stream",
        "the newest wins, and the older one ends; requests on it are still carried out",
        refusal=Reason.SESSION_SUPERSEDED,
        ends_stream=True,
    ),
    BotFault.COMES_AND_GOES: FaultPolicy(
        "opens streams again and again; each start and end causes events in all its matches",
        "as many as the limit come at once, then they are spread over the minute; moves by other calls are played",
        "limits.play_streams_a_minute",
        Reason.RATE_LIMITED,
        ends_stream=True,
    ),
    BotFault.GIANT_MESSAGE: FaultPolicy(
        "sends a message that is too large",
        "the stream ends; a message of four times the limit or more is not read, and only a status comes",
        "limits.message_bytes",
        Reason.MESSAGE_TOO_LARGE,
        ends_stream=True,
    ),
    BotFault.GARBAGE: FaultPolicy(
        "sends bytes that are not a message", "the stream ends", refusal=Reason.ARGUMENT_INVALID, ends_stream=True
    ),
    BotFault.SAYS_NOTHING: FaultPolicy(
        "opens a stream and sends no hello",
        "the stream ends after the silence; it has no effect",
        "limits.silence_ms",
        Reason.SESSION_SILENT,
        ends_stream=True,
    ),
    BotFault.SKIPS_HELLO: FaultPolicy(
        "sends another item first", "the stream ends", refusal=Reason.ARGUMENT_INVALID, ends_stream=True
    ),
    BotFault.OTHER_VERSION: FaultPolicy(
        "uses a version of the protocol that the server does not support",
        "the stream ends",
        refusal=Reason.VERSION_UNSUPPORTED,
        ends_stream=True,
    ),
    BotFault.UNKNOWN_FIELDS: FaultPolicy("sends fields and acts that do not exist", "they are ignored"),
    BotFault.READS_NOTHING: FaultPolicy(
        "sends, but does not read its stream",
        "unread items are kept up to the limit, then the stream ends; from then on the player is absent",
        "limits.session_items",
        Reason.READER_TOO_SLOW,
        ends_stream=True,
        end=ABSENCE,
    ),
}


def table() -> str:
    """Return the published policies as the Markdown table of protos/README.md."""
    rows = ["| fault | the player | the server | limit | refusal | end |", "| -- | -- | -- | -- | -- | -- |"]
    for fault, policy in POLICIES.items():
        refusal = "–"
        if policy.refusal is not None:
            refusal = f"`{policy.refusal}`, {'ends the stream' if policy.ends_stream else 'an answer'}"
        limit = f"`{policy.setting}`" if "." in policy.setting else policy.setting or "–"
        end = ", ".join(policy.end) if policy.end is not None else "–"
        rows.append(f"| `{fault}` | {policy.does} | {policy.server} | {limit} | {refusal} | {end} |")
    return "\n".join(rows) + "\n"
