"""The path of a move on the baseline server (`arbiter.bench.bare`), without its stream, which takes coroutines.

Modules with coroutines can't be compiled; this one is where others are. The baseline server loads it either way: as
it is installed, or interpreted from its source.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from arbiter_protos.v1 import play_pb2 as pb

from arbiter.event_json.canonical import encode_plain
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.matches.events import FIRST_PREVIOUS
from arbiter.service.ports.journal import Append, Journal, Record, Subject

AT: Final = 1_790_000_000_000  #: in place of the times in an arbiter's messages
LEFT_MS: Final = 1_800_000  #: in place of the clocks
SEATS: Final = 2

Fill = Callable[[pb.PlayItem], None]
"""Writes something into its place in a message, as an arbiter does: to make it first and then copy it takes longer."""


class OutgoingMessages:
    """The messages that wait to be sent to one player."""

    def __init__(self) -> None:
        self.fills: list[Fill] = []
        self.idle: asyncio.Future[None] | None = None

    def put(self, fill: Fill) -> None:
        """Queue a message."""
        self.fills.append(fill)
        if self.idle is not None and not self.idle.done():
            self.idle.set_result(None)

    def message(self) -> pb.PlayResponse:
        """Return all queued messages as one."""
        fills, self.fills = self.fills, []
        message = pb.PlayResponse()
        for fill in fills:
            fill(message.items.add())
        return message


class PairState:
    """Two players and the matches that they play, one after the other."""

    def __init__(self, game: AnyGame, matches: list[str]) -> None:
        self.streams: dict[int, OutgoingMessages] = {}
        self._game = game
        self._matches: Iterator[str] = iter(matches)
        self.begin()

    def begin(self) -> None:
        """Set up the next match."""
        self.match_id = next(self._matches)
        self.position = self._game.initial()
        self.text = self._game.text(self.position)
        self.revision, self._previous = 0, FIRST_PREVIOUS

    def played(self, act: pb.PlayAct) -> Record:
        """Play a move; return the event to store."""
        seat = self.position.turn
        self.position = self._game.play(self.position, act.move.move)
        self.text = self._game.text(self.position)
        self.revision += 1
        data = encode_plain(
            {
                "at": AT,
                "clocks": [{"remaining_ms": LEFT_MS}, {"remaining_ms": LEFT_MS}],
                "kind": "moved",
                "ledger": {
                    "arrived": AT,
                    "charged": 0,
                    "credited": 0,
                    "handed_over": AT,
                    "left": LEFT_MS,
                    "started": AT,
                },
                "match": self.match_id,
                "move": act.move.move,
                "ply": act.move.ply,
                "position": self.text,
                "previous": self._previous,
                "request": act.request_id,
                "revision": self.revision,
                "seat": seat,
                "turn": self.position.turn,
            }
        )
        self._previous = hashlib.sha256(data).hexdigest()
        return Record(self.match_id, self.revision, data, Subject.MATCH)


class BarePath:
    """The pairs of players, and the way of a move from one to the other."""

    def __init__(self, journal: Journal, game: str, matches: list[list[str]]) -> None:
        self._journal = journal
        self._game = game
        self.pairs = [PairState(registry.game(game), of_pair) for of_pair in matches]

    def connect(self, pair: PairState, seat: int) -> OutgoingMessages:
        """Add a player's stream; the second one of a pair begins its first match."""
        stream = OutgoingMessages()
        stream.put(_hello)
        pair.streams[seat] = stream
        if len(pair.streams) == SEATS:
            self._offer_turn(pair, "")
        return stream

    def play(self, pair: PairState, seat: int, act: pb.PlayAct) -> None:
        """Play a move; it is answered after its commit."""
        written = self._journal.append(Append((pair.played(act),)))
        written.add_done_callback(partial(self._written, pair, seat, act))

    def _written(self, pair: PairState, seat: int, act: pb.PlayAct, written: asyncio.Future[int]) -> None:
        written.result()
        pair.streams[seat].put(partial(_answer, act, pair.revision))
        if pair.position.outcome is not None:
            for stream in pair.streams.values():
                stream.put(partial(_ended, pair.match_id))
            pair.begin()
        self._offer_turn(pair, act.move.move)

    def _offer_turn(self, pair: PairState, last: str) -> None:
        pair.streams[pair.position.turn].put(partial(_turn, self._game, pair, last))


def _hello(item: pb.PlayItem) -> None:
    item.hello.protocol_version = "1.0"


def _answer(act: pb.PlayAct, revision: int, item: pb.PlayItem) -> None:
    item.answer.request_id, item.answer.match_id = act.request_id, act.match_id
    receipt = item.answer.receipt
    receipt.request_id, receipt.match_id = act.request_id, act.match_id
    receipt.revision, receipt.ply = revision, act.move.ply + 1
    ledger = receipt.ledger
    ledger.started_ms = ledger.handed_over_ms = ledger.arrived_ms = AT
    ledger.left_ms = LEFT_MS


def _turn(game: str, pair: PairState, last: str, item: pb.PlayItem) -> None:
    turn, seat = item.turn, pair.position.turn
    turn.match_id, turn.game, turn.seat, turn.ply = pair.match_id, game, seat, pair.revision
    turn.position = pair.text
    if pair.revision:
        move = turn.last_moves.add()
        move.ply, move.seat, move.move = pair.revision - 1, 3 - seat, last
    for _ in range(SEATS):
        clock = turn.clocks.add()
        clock.remaining_ms = clock.available_ms = LEFT_MS
    turn.started_ms = turn.now_ms = AT
    turn.opponent, turn.available_ms, turn.revision = "opponent", LEFT_MS, pair.revision


def _ended(match_id: str, item: pb.PlayItem) -> None:
    item.ended.match_id = match_id
