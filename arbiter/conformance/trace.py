"""What both sides said in a situation, with times: what situations judge by, and what a report shows."""

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

LONGEST_TEXT: Final = 400  #: characters of a message in a trace
LONG_LISTS: Final = ("legal_moves", "board", "last_moves", "moves")  #: of which a trace shows the number


class Said(NamedTuple):
    """An act of the bot's. at_s: in seconds of the monotonic clock. stream: the number of the stream, from 1."""

    at_s: float
    stream: int
    act: play_pb2.PlayAct


class Told(NamedTuple):
    """An item that the bot was told."""

    at_s: float
    stream: int
    item: play_pb2.PlayItem


class Called(NamedTuple):
    """A call of the bot's besides its stream. method: such as `GameService/LegalMoves`."""

    at_s: float
    method: str
    token: str
    request: Any


class Entry(NamedTuple):
    """A line of a trace.

    at_s: since the situation began. who: `bot`, `arbiter` (what the bot was told), `referee` (what was done to it).
    """

    at_s: float
    who: str
    text: str


@dataclass(slots=True)
class Opened:
    """A Play stream that the bot opened.

    met: whether the bot has been told the server's hello. closed_s: when the bot said that it says no more (its sending
    side is closed). ended_s: when the stream was over.
    broken: whether the bot broke it off, or lost it, rather than waiting for its end.
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
    """All that was said in one situation. `changed` is set with every entry."""

    began: float = field(default_factory=time.monotonic)
    said: list[Said] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    called: list[Called] = field(default_factory=list)
    streams: list[Opened] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def now_s(self) -> float:
        """The instant now, in seconds of the monotonic clock, as all instants of a trace but those of its entries."""
        return time.monotonic()

    def say(self, stream: int, act: play_pb2.PlayAct) -> None:
        """Keep an act of the bot's."""
        self.said.append(Said(self.now_s, stream, act))
        self.note(f"{shown(act)}", "bot")

    def tell(self, stream: int, item: play_pb2.PlayItem) -> None:
        """Keep an item that the bot was told."""
        self.told.append(Told(self.now_s, stream, item))
        self.note(shown(item), "arbiter")

    def call(self, method: str, token: str, request: Any) -> None:
        """Keep a call of the bot's."""
        self.called.append(Called(self.now_s, method, token, request))
        self.note(f"calls {method} {shown(request)}", "bot")

    def note(self, text: str, who: str = "referee") -> None:
        """Keep what else happened."""
        self.entries.append(Entry(self.now_s - self.began, who, text))
        self.changed.set()

    # -- what situations ask -----------------------------------------------------------------------------------------

    def acts(self, kind: str = "", match_id: str = "", after_s: float = 0.0) -> list[Said]:
        """Return what the bot said of a kind (a name of PlayAct.act), in a match, later than an instant."""
        return [
            said
            for said in self.said
            if said.at_s >= after_s and kind in ("", said.act.WhichOneof("act")) and match_id in ("", said.act.match_id)
        ]

    def items(self, kind: str, after_s: float = 0.0) -> list[Told]:
        """Return what the bot was told of a kind (a name of PlayItem.item), later than an instant."""
        return [told for told in self.told if told.at_s >= after_s and told.item.WhichOneof("item") == kind]

    def moves(self, match_id: str, ply: int | None = None) -> list[Said]:
        """Return the bot's moves in a match, for a ply if one is named; repetitions are among them."""
        return [said for said in self.acts("move", match_id) if ply in (None, said.act.move.ply)]


def request_ids(said: Sequence[Said]) -> set[str]:
    """Return the request ids of some acts."""
    return {item.act.request_id for item in said}


def shown(message: Message) -> str:
    """Return a message in a line: long lists as their number, long texts cut."""
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
