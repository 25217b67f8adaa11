"""The requests that a match has carried out or refused, each with the data for its answer.

A request is identified by its caller (a player's or organiser's id) and its own id. A repeated request must ask for the
same (`arbiter.matches.origins.asked`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from arbiter.errors import Reason, Refusal
from arbiter.event_json.canonical import digest
from arbiter.matches.clock import Ledger
from arbiter.matches.commands import RequestContent, Text
from arbiter.matches.events import Ended, EventKind, Refused, Rejected
from arbiter.plain_text import check_plain

LONGEST_REQUEST = 100  #: characters of a request id
LONGEST_SHOWN_MOVE = 200  #: maximum recorded characters of a refused move


@dataclass(init=False, slots=True, unsafe_hash=True)
class Receipt:
    """A command was carried out. The receipt is sent once its events are durable.

    revision: of the event that carried it out; for a move that came too late, of the event that ended the match.
    kind: that event's kind; None if there was nothing to do, and then the revision is that of the last event.
    ply: the number of moves played after it.
    ledger: for a move. result: the end, if this command caused it.
    """

    revision: int
    kind: EventKind | None
    ply: int
    ledger: Ledger | None
    result: Ended | None

    def __init__(
        self, revision: int, kind: EventKind | None, ply: int, ledger: Ledger | None = None, result: Ended | None = None
    ) -> None:
        self.revision = revision
        self.kind = kind
        self.ply = ply
        self.ledger = ledger
        self.result = result


@dataclass(init=False, slots=True)
class Answered:
    """A recorded request: what it asked for and its answer, a receipt or a refusal.

    position: the text of the position in which a refused move was answered.
    """

    asked: RequestContent
    receipt: Receipt
    refused: Refused | Rejected | None
    position: str

    def __init__(
        self, asked: RequestContent, receipt: Receipt, refused: Refused | Rejected | None = None, position: str = ""
    ) -> None:
        self.asked = asked
        self.receipt = receipt
        self.refused = refused
        self.position = position


class Requests:
    """The answered requests of a match at one revision: an immutable value; `with_answer` returns the next one.

    All versions share one dictionary, which only grows; each version sees the entries that existed when it was created.
    So adding takes constant time. Adding to an older version copies the dictionary.
    """

    __slots__ = ("_entries", "_size")

    def __init__(self, entries: dict[tuple[str, str], tuple[int, Answered]] | None = None, size: int = 0) -> None:
        self._entries = {} if entries is None else entries
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requests) and self._own() == other._own()

    __hash__ = None  # type: ignore[assignment]

    def find(self, caller: str, request: str) -> Answered | None:
        """Return the answered request of a caller with this request id, or None."""
        entry = self._entries.get((caller, request))
        return entry[1] if entry is not None and entry[0] < self._size else None

    def with_answer(self, caller: str, request: str, answered: Answered) -> Requests:
        """Return the requests with one more."""
        entries = self._entries if len(self._entries) == self._size else self._own()
        entries[caller, request] = (self._size, answered)
        return Requests(entries, self._size + 1)

    def _own(self) -> dict[tuple[str, str], tuple[int, Answered]]:
        return dict(islice(self._entries.items(), self._size))


def shown(move: str) -> Text:
    """Return the text of a move in the form that a record keeps for a move that is not played.

    Requests compare by it.
    """
    if len(move) <= LONGEST_SHOWN_MOVE and move.isascii():
        return Text(move)
    text = move.encode(errors="backslashreplace").decode()  # a record must not contain lone surrogates
    if len(text) <= LONGEST_SHOWN_MOVE:
        return Text(text)
    return Text(text[:LONGEST_SHOWN_MOVE], digest(text.encode()))


def check_request_id(request: str) -> None:
    """Raise Refusal ARGUMENT_INVALID unless a request id has 1 to 100 printable characters."""
    check_plain(request, "request id", LONGEST_REQUEST, 1)


def request_id_reused(request: str) -> Refusal:
    """Return the refusal for a request id that an earlier, different request has used."""
    return Refusal(
        Reason.REQUEST_ID_REUSED,
        f"request id {request!r} was used by another request to this match: choose a new one",
        request_id=request,
    )
