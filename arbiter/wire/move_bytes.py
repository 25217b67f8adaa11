"""The two items that every move sends, composed as bytes: the turn to the opponent, and the answer to the mover.

Objects of the generated classes would live for a microsecond, and cost several times as much. What is rare in these
items comes from such objects, and so do all other items.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from arbiter_protos.v1 import match_pb2, play_pb2

from arbiter.errors import Refusal, RulesAwaited, RulesFailed
from arbiter.games.contract import Seat
from arbiter.matches.clock import UNLIMITED_MS, Ledger
from arbiter.matches.match import Match, available_ms, claimable, with_position
from arbiter.matches.requests import Receipt
from arbiter.matches.time_control import Unlimited
from arbiter.service.play.session import Extras, TurnItem
from arbiter.wire.encoding import key, number, part, text
from arbiter.wire.game_messages import contents
from arbiter.wire.match_messages import result_message
from arbiter.wire.refusal_messages import refusal_message
from arbiter.wire.rules_messages import move_messages

_TURN: Final = play_pb2.Turn
_MATCH_ID: Final = key(_TURN, "match_id")
_GAME: Final = key(_TURN, "game")
_SEAT: Final = key(_TURN, "seat")
_PLY: Final = key(_TURN, "ply")
_POSITION: Final = key(_TURN, "position")
_LAST_MOVES: Final = key(_TURN, "last_moves")
_CLOCKS: Final = key(_TURN, "clocks")
_STARTED: Final = key(_TURN, "started_ms")
_NOW: Final = key(_TURN, "now_ms")
_DRAW_CLAIM: Final = key(_TURN, "draw_claim")
_DRAW_OFFERED: Final = key(_TURN, "draw_offered")
_OPPONENT: Final = key(_TURN, "opponent")
_AVAILABLE: Final = key(_TURN, "available_ms")
_REVISION: Final = key(_TURN, "revision")

_MOVE_PLY: Final = key(play_pb2.RecentMove, "ply")
_MOVE_SEAT: Final = key(play_pb2.RecentMove, "seat")
_MOVE_MOVE: Final = key(play_pb2.RecentMove, "move")

_CLOCK_REMAINING: Final = key(match_pb2.Clock, "remaining_ms")
_CLOCK_AVAILABLE: Final = key(match_pb2.Clock, "available_ms")
_CLOCK_PERIODS: Final = key(match_pb2.Clock, "periods_left")
_CLOCK_MOVES: Final = key(match_pb2.Clock, "moves_left")

_ANSWER_REQUEST: Final = key(match_pb2.MoveAnswer, "request_id")
_ANSWER_MATCH: Final = key(match_pb2.MoveAnswer, "match_id")
_ANSWER_RECEIPT: Final = key(match_pb2.MoveAnswer, "receipt")
_ANSWER_REFUSAL: Final = key(match_pb2.MoveAnswer, "refusal")

_RECEIPT_REQUEST: Final = key(match_pb2.Receipt, "request_id")
_RECEIPT_MATCH: Final = key(match_pb2.Receipt, "match_id")
_RECEIPT_REVISION: Final = key(match_pb2.Receipt, "revision")
_RECEIPT_PLY: Final = key(match_pb2.Receipt, "ply")
_RECEIPT_LEDGER: Final = key(match_pb2.Receipt, "ledger")
_RECEIPT_RESULT: Final = key(match_pb2.Receipt, "result")

_LEDGER_STARTED: Final = key(match_pb2.Ledger, "started_ms")
_LEDGER_HANDED_OVER: Final = key(match_pb2.Ledger, "handed_over_ms")
_LEDGER_ARRIVED: Final = key(match_pb2.Ledger, "arrived_ms")
_LEDGER_CREDITED: Final = key(match_pb2.Ledger, "credited_ms")
_LEDGER_CHARGED: Final = key(match_pb2.Ledger, "charged_ms")
_LEDGER_LEFT: Final = key(match_pb2.Ledger, "left_ms")
_LEDGER_ROUND_TRIP: Final = key(match_pb2.Ledger, "round_trip_ms")


def turn_bytes(item: TurnItem, now: int, extras: Extras) -> bytes:
    """Return a `Turn`. `now`: the instant of sending. `extras`: the extras that the bot asked for."""
    match, seat = item.match, item.seat
    created, available_now = match.created, available_ms(match, seat)
    return b"".join(
        (
            text(_MATCH_ID, created.match),
            text(_GAME, created.game),
            number(_SEAT, seat),
            number(_PLY, len(match.moves)),
            text(_POSITION, match.text),
            _last_moves(match, item.first_ply),
            _clocks(match),
            number(_STARTED, match.since),
            number(_NOW, now),
            text(_DRAW_CLAIM, claimable(match) or ""),
            number(_DRAW_OFFERED, match.offer is not None and match.offer.seat != seat),
            text(_OPPONENT, created.players[2 - seat]),
            _extras(item, extras) if extras.board or item.listing is not None else b"",
            number(_AVAILABLE, available_now) if available_now < UNLIMITED_MS else b"",
            number(_REVISION, match.revision),
        )
    )


def _last_moves(match: Match, first_ply: int) -> bytes:
    moves, turns = match.moves, match.turns
    made: list[bytes] = []
    for ply in range(first_ply, len(moves)):
        move = number(_MOVE_PLY, ply) + number(_MOVE_SEAT, turns[ply]) + text(_MOVE_MOVE, moves[ply])
        made.append(part(_LAST_MOVES, move))
    return b"".join(made)


def _clocks(match: Match) -> bytes:
    """Return both clocks; without a time control, none."""
    if isinstance(match.controls[0], Unlimited) and isinstance(match.controls[1], Unlimited):
        return b""
    return _clock(match, 1) + _clock(match, 2)


def _clock(match: Match, seat: Seat) -> bytes:
    clock = match.clocks[seat - 1]
    fields = (
        number(_CLOCK_REMAINING, clock.remaining_ms),
        number(_CLOCK_AVAILABLE, available_ms(match, seat)),
        number(_CLOCK_PERIODS, clock.periods),
        number(_CLOCK_MOVES, clock.moves_left),
    )
    return part(_CLOCKS, b"".join(fields))


def _extras(item: TurnItem, extras: Extras) -> bytes:
    turn, match = play_pb2.Turn(), item.match
    if extras.board:
        with suppress(RulesAwaited, RulesFailed):  # the turn is sent without its board
            turn.board.extend(contents(match.game, with_position(match).position))
    if item.listing is not None:
        if extras.legal_move_count:
            turn.legal_move_count = item.listing.total
        turn.legal_moves.extend(move_messages(item.listing.moves))
    return turn.SerializeToString()


def answer_bytes(request_id: str, match_id: str, answer: Receipt | Refusal) -> bytes:
    """Return a `MoveAnswer`."""
    known = text(_ANSWER_REQUEST, request_id) + text(_ANSWER_MATCH, match_id)
    if isinstance(answer, Refusal):
        return known + part(_ANSWER_REFUSAL, refusal_message(answer).SerializeToString())
    ledger, result = answer.ledger, answer.result
    receipt = (
        text(_RECEIPT_REQUEST, request_id),
        text(_RECEIPT_MATCH, match_id),
        number(_RECEIPT_REVISION, answer.revision),
        number(_RECEIPT_PLY, answer.ply),
        part(_RECEIPT_LEDGER, _ledger(ledger)) if ledger is not None else b"",
        part(_RECEIPT_RESULT, result_message(result).SerializeToString()) if result is not None else b"",
    )
    return known + part(_ANSWER_RECEIPT, b"".join(receipt))


def _ledger(ledger: Ledger) -> bytes:
    fields = (
        number(_LEDGER_STARTED, ledger.started),
        number(_LEDGER_HANDED_OVER, ledger.handed_over or 0),
        number(_LEDGER_ARRIVED, ledger.arrived),
        number(_LEDGER_CREDITED, ledger.credited),
        number(_LEDGER_CHARGED, ledger.charged),
        number(_LEDGER_LEFT, min(ledger.left, UNLIMITED_MS)),
        number(_LEDGER_ROUND_TRIP, ledger.round_trip or 0),
    )
    return b"".join(fields)
