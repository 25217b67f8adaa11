"""Play calls on the simulated network, which the server's own servicer handles (`arbiter.rpc.play_stream`).

The messages are those of the protocol. Only gRPC itself is simulated: its call, with metadata, peer, reads and writes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final

import grpc
from arbiter_protos.v1 import play_pb2 as pb

from arbiter.bootstrap.wiring import Arbiter
from arbiter.rpc.play_messages import PlayMessages
from arbiter.rpc.servicing import PlainContext
from arbiter.service.play.session import AnswerItem, Item, Session, TurnItem
from arbiter.service.ports.environment import Clock
from arbiter.testing.memory import MemoryJournal
from arbiter.testing.simulation.observations import (
    AskedStream,
    ReceivedReady,
    Request,
    RunObservations,
    SentAnswer,
    SentTurn,
    ServedStream,
    received,
    true_ms,
)
from arbiter.testing.simulation.simulated_network import Link
from arbiter.wire.version import READY

HELLO: Final = pb.PlayRequest(acts=[pb.PlayAct(hello=pb.ClientHello(protocol_version="1.0"))])
PREPARING_HELLO: Final = pb.PlayRequest(
    acts=[pb.PlayAct(hello=pb.ClientHello(protocol_version="1.0", capabilities=[READY]))]
)
ENDED: Final = "ended"  #: arrives at the client when the server has ended a call: gRPC's trailers

VERBS: Final = {
    "move": "move",
    "offer_draw": "offer",
    "answer_draw": "answer",
    "claim_draw": "claim",
    "resign": "resign",
}


def act_of(ask: Request) -> pb.PlayAct:
    """Return a request as it travels on a Play stream."""
    act = pb.PlayAct(request_id=ask.request, match_id=ask.match_id)
    match ask.verb:
        case "move":
            act.move.ply, act.move.move = ask.ply, ask.move
        case "offer":
            act.offer_draw.SetInParent()
        case "answer":
            act.answer_draw.accept = ask.accept
        case "claim":
            act.claim_draw.SetInParent()
        case _:
            act.resign.SetInParent()
    return act


def ask_of(act: pb.PlayAct) -> Request | None:
    """Return the request in an act, or None: a pong, an acknowledgement, or that the player is ready."""
    verb = VERBS.get(act.WhichOneof("act") or "")
    if verb is None:
        return None
    return Request(act.request_id, act.match_id, verb, act.move.ply, act.move.move, act.answer_draw.accept)


class PlayCall(PlainContext):
    """A Play call of a player over a link, with the parts of gRPC's context that the servicer needs.

    begun: whether the server has written a message. asked: the observation of it.
    """

    def __init__(self, link: Link, secret: str, asked: AskedStream) -> None:
        super().__init__((("authorization", f"Bearer {secret}"),), "simulation:")
        self._link = link
        self._asked = asked
        link.when_cut(self._note_cut)
        self._arrived: deque[pb.PlayRequest] = deque([PREPARING_HELLO if link.prepares else HELLO])
        self._waiting: asyncio.Future[None] | None = None
        self.begun = False
        self._closed = False
        link.on_message_above = self._arrive

    def _arrive(self, message: pb.PlayRequest) -> None:
        self._arrived.append(message)
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def send_initial_metadata(self, metadata: object) -> None:
        """Send the headers of the answer, which tell nothing here."""

    async def read(self) -> Any:
        """Return the next message, EOF once the call is over; a player never closes only its own side."""
        while not self._arrived:
            if self._closed:
                return grpc.aio.EOF
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        if self._asked.asked_ms is None:
            self._asked.asked_ms = true_ms()
        return self._arrived.popleft()

    async def write(self, message: bytes) -> None:
        """Send a serialized message, and wait while too many are under way."""
        began_ms = true_ms()
        if not self.begun:
            self.begun, self._asked.begun_ms = True, began_ms
        self._link.down.send(pb.PlayResponse.FromString(message))
        try:
            await self._link.down.room()
        finally:
            if true_ms() > began_ms:
                self._asked.kept_waiting.append((began_ms, true_ms()))

    def note_end(self) -> None:
        """Note that the call is over."""
        if self._asked.over_ms is None:
            self._asked.over_ms = true_ms()

    def _note_cut(self) -> None:
        self._asked.cut_ms = true_ms()

    def close(self) -> None:
        """Ignore everything that still arrives, and end a read that waits."""
        self.note_end()
        self._closed = True
        self._arrived.clear()
        self._wake()
        self.end()
        self._link.on_message_above = lambda message: None


class RecordedMessages:
    """The messages of a process's Play streams: parsed and built by the servicer's own code, and recorded on the way.

    process: number of the server process; server: of the server. After `crash` no message passes any more.
    """

    def __init__(
        self,
        arbiter: Arbiter,
        clock: Clock,
        history: RunObservations,
        disk: MemoryJournal,
        process: int,
        server: int,
    ) -> None:
        self._messages = PlayMessages(arbiter.acts, arbiter.delivery, arbiter.sessions.acknowledge, clock)
        self._history = history
        self._disk = disk
        self._process = process
        self._server = server
        self._streams: dict[Session, ServedStream] = {}
        self._crashed = False

    def crash(self) -> None:
        """Let no message pass from now on: the process is dead."""
        self._crashed = True

    def act(self, session: Session, act: pb.PlayAct, arrived: int) -> None:
        """Execute a player's act, and record it if it is a request."""
        if self._crashed:
            return
        ask = ask_of(act)
        if ask is not None:
            self._history.asked.append(received(session.player, ask, arrived, True, self._process))
        elif act.HasField("ready"):
            self._history.ready.append(ReceivedReady(session.player, act.match_id, true_ms()))
        self._messages.act(session, act, arrived)

    def message(self, session: Session) -> tuple[bytes, int]:
        """Make a message of a stream's first items, and record its content."""
        items = session.outbox
        if self._crashed:
            items.clear()
            return b"", 0
        before, head = list(items), len(self._disk.records)
        stream = self._streams.get(session)
        if stream is None:
            stream = self._streams[session] = ServedStream(
                session.player,
                head,
                self._server,
                self._history.opened_s.get((session.player, self._server), 0.0),
            )
            self._history.streams.append(stream)
        stream.taken.append((head, true_ms() / 1_000))
        message, now = self._messages.message(session)
        for item in before[: len(before) - len(items)]:
            self._note(session.player, item, now, head)
        return message, now

    def _note(self, player: str, item: Item, now: int, head: int) -> None:
        if isinstance(item, TurnItem):
            match = item.match
            self._history.handed.append(
                SentTurn(player, self._process, match.id, match.revision, match.ply, match.since, now, head, true_ms())
            )
        elif isinstance(item, AnswerItem):
            self._history.given.append(SentAnswer(player, item.match_id, item.request_id, item.answer, head))
