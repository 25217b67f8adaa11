"""The messages of both sides in a situation, with times: situations judge by them, and reports show them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from arbiter_protos.v1 import play_pb2
from google.protobuf import text_format
from google.protobuf.message import Message

from arbiter.errors import shortened

LONGEST_TEXT: Final = 400  #: maximum characters of a message in a trace
LONG_LISTS: Final = ("legal_moves", "board", "last_moves", "moves")  #: fields of which a trace shows only the length


class SentAct(NamedTuple):
    """An action that the bot sent. at_s: seconds of the monotonic clock. stream: the number of the stream, from 1."""

    at_s: float
    stream: int
    act: play_pb2.PlayAct


class ReceivedItem(NamedTuple):
    """An item that was sent to the bot."""

    at_s: float
    stream: int
    item: play_pb2.PlayItem


class ReceivedCall(NamedTuple):
    """A call of the bot besides its stream. method: for example `GameService/LegalMoves`."""

    at_s: float
    method: str
    token: str
    request: Any


class TraceLine(NamedTuple):
    """A line of a trace.

    at_s: seconds since the situation began. who: `bot`, `arbiter` (sent to the bot), `referee` (done to the bot).
    """

    at_s: float
    who: str
    text: str


@dataclass(slots=True)
class OpenedStream:
    """A Play stream that the bot opened.

    met: whether the bot has received the server's hello. closed_s: when the bot closed its sending side. ended_s: when
    the stream ended.
    broken: whether the bot cancelled or lost the stream, instead of waiting for its end.
    """

    at_s: float
    number: int
    token: str
    messages: int = 0
    closed_s: float | None = None
    ended_s: float | None = None
    broken: bool = False
    met: bool = False


@dataclass(slots=True)
class Trace:
    """All messages of one situation. `changed` is set with every entry."""

    began: float = field(default_factory=time.monotonic)
    said: list[SentAct] = field(default_factory=list)
    told: list[ReceivedItem] = field(default_factory=list)
    called: list[ReceivedCall] = field(default_factory=list)
    streams: list[OpenedStream] = field(default_factory=list)
    entries: list[TraceLine] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def now_s(self) -> float:
        """The current instant in seconds of the monotonic clock, as all instants of a trace except its entries'."""
        return time.monotonic()

    def act_received(self, stream: int, act: play_pb2.PlayAct) -> None:
        """Record an action of the bot."""
        self.said.append(SentAct(self.now_s, stream, act))
        self.note(f"{shown(act)}", "bot")

    def item_sent(self, stream: int, item: play_pb2.PlayItem) -> None:
        """Record an item that was sent to the bot."""
        self.told.append(ReceivedItem(self.now_s, stream, item))
        self.note(shown(item), "arbiter")

    def call(self, method: str, token: str, request: Any) -> None:
        """Record a call of the bot."""
        self.called.append(ReceivedCall(self.now_s, method, token, request))
        self.note(f"calls {method} {shown(request)}", "bot")

    def note(self, text: str, who: str = "referee") -> None:
        """Record another event."""
        self.entries.append(TraceLine(self.now_s - self.began, who, text))
        self.changed.set()

    # -- what situations ask -----------------------------------------------------------------------------------------

    def acts(self, kind: str = "", match_id: str = "", after_s: float = 0.0) -> list[SentAct]:
        """Return the bot's actions of a kind (a name of PlayAct.act), in a match, later than an instant."""
        return [
            said
            for said in self.said
            if said.at_s >= after_s and kind in ("", said.act.WhichOneof("act")) and match_id in ("", said.act.match_id)
        ]

    def items(self, kind: str, after_s: float = 0.0) -> list[ReceivedItem]:
        """Return the items of a kind (a name of PlayItem.item) that the bot was sent, later than an instant."""
        return [told for told in self.told if told.at_s >= after_s and told.item.WhichOneof("item") == kind]

    def moves(self, match_id: str, ply: int | None = None) -> list[SentAct]:
        """Return the bot's moves in a match, for a ply if one is given, including repetitions."""
        return [said for said in self.acts("move", match_id) if ply in (None, said.act.move.ply)]


def request_ids(said: Sequence[SentAct]) -> set[str]:
    """Return the request ids of some actions."""
    return {item.act.request_id for item in said}


def shown(message: Message) -> str:
    """Return a message in one line: long lists as their length, long texts cut."""
    short = type(message)()
    short.CopyFrom(message)
    counts = _shorten(short)
    text = text_format.MessageToString(short, as_one_line=True, print_unknown_fields=False)
    text = shortened(text, LONGEST_TEXT)
    return " ".join((text, *counts)) if text or counts else "(nothing)"


def _shorten(message: Message) -> list[str]:
    counts = []
    for descriptor, value in message.ListFields():
        if descriptor.is_repeated and descriptor.name in LONG_LISTS and len(value) > 3:
            counts.append(f"[{len(value)} {descriptor.name}]")
            message.ClearField(descriptor.name)
        elif not descriptor.is_repeated and descriptor.message_type is not None:
            counts += _shorten(value)
    return counts
