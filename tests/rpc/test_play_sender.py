"""The sender of a Play stream: items of one turn of the event loop share a message; after its end none is sent."""

from __future__ import annotations

import pytest
import structlog
from arbiter_protos.v1 import play_pb2 as pb

from arbiter.config import Limits
from arbiter.errors import limit_reached
from arbiter.rpc.play_sender import PlaySender
from arbiter.rpc.unread import Unread
from arbiter.rpc.writes import Writes
from arbiter.service.play.session import Asked, Hello, Session
from arbiter.service.players.accounts import Caller
from arbiter.testing.clock import VirtualClock, settle, virtually

LIMITS = Limits()


class Sending:
    """A sender, its messages and its call; `sent`: the numbers of the pings in each message that it has written."""

    def __init__(self) -> None:
        self.sent: list[list[int]] = []
        self.fails: Exception | None = None
        self.session = Session(Caller("alice", "", frozenset()), Hello(), LIMITS, Asked(0, 0), 0)
        writes = Writes(self, Unread(LIMITS, lambda _peer: None, structlog.get_logger()), LIMITS, patient=True)
        self.sender = PlaySender(self.session, writes, self, VirtualClock())
        self.over = self.sender.run()

    def act(self, session: Session, act: pb.PlayAct, arrived: int) -> None:
        raise AssertionError("a sender does not read")

    def message(self, session: Session) -> tuple[bytes, int]:
        if self.fails is not None:
            raise self.fails
        numbers = [getattr(item, "number", 0) for item in session.outbox]
        session.outbox.clear()
        return bytes(numbers), 0

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"

    async def write(self, message: bytes) -> None:
        self.sent.append(list(message))


@virtually
async def test_items_of_one_turn_share_a_message() -> None:
    sending = Sending()
    for _ in range(3):
        sending.session.ping()
    assert sending.sent == []
    await settle()
    sending.session.ping()
    await settle()
    assert sending.sent == [[1, 2, 3], [4]]
    assert not sending.over.done()


@virtually
async def test_it_ends_when_the_stream_has_ended_and_all_is_sent() -> None:
    sending = Sending()
    sending.session.ping()
    sending.session.end(limit_reached("enough", 1))
    await settle()
    assert sending.sent == [[1, 0]]
    assert sending.over.done()


@pytest.mark.parametrize("waiting", [True, False])
@virtually
async def test_nothing_is_sent_after_the_stream_is_left(waiting: bool) -> None:
    """Also if an item came just before, so that the sender is to be called in the next turn."""
    sending = Sending()
    if waiting:
        sending.session.ping()
    sending.over.cancel()
    sending.sender.stop()
    sending.session.ping()
    await settle()
    assert sending.sent == []


@virtually
async def test_an_error_in_a_message_ends_it() -> None:
    sending = Sending()
    sending.fails = ValueError("a bug")
    sending.session.ping()
    await settle()
    assert sending.over.exception() is sending.fails
