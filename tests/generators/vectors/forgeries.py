"""Transcripts with impossible content that an arbiter's own key has signed: one for each check of a verifier.

Each changes one thing in the record of a match; the hash chain is computed again and signed by the key of that time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import shake_256
from typing import Any, Final, NamedTuple

from arbiter.event_json.canonical import Json, digest, encode
from arbiter.matches import transcript
from arbiter.matches.signing import ALGORITHM, Signature, Statement
from tests.generators import transcripts as golden

Events = list[dict[str, Any]]


class Forgery(NamedTuple):
    """A change that is made before a transcript is signed.

    do: changes the events in place. late: how many lines later a reader notices it that does not know the game's rules;
    None: never. signs: what the signature says instead, by field of the statement.
    """

    name: str
    what: str
    plan: str
    do: Callable[[Events], None]
    late: int | None = 0
    signs: Mapping[str, Any] = {}


def forged(events: Events, signs: Mapping[str, Any]) -> list[bytes]:
    """Return the lines of events with a valid hash chain, and a valid signature of what it `signs`."""
    lines, previous = list[bytes](), "0" * 64
    for event in events:
        lines.append(encode(event | {"previous": previous}))
        previous = digest(lines[-1])
    key = next(key for key in golden.KEYS if key.public.valid_at(events[-1]["at"]))
    values = {"subject": events[0]["match"], "lines": len(lines), "head": previous, "algorithm": ALGORITHM, **signs}
    statement = Statement(key=key.public.key_id, **values)
    return transcript.write(lines, Signature(statement, key.sign(statement.message()))).splitlines()


def _of(events: Events, kind: str, number: int = 0) -> dict[str, Any]:
    return [event for event in events if event["kind"] == kind][number]


def _set(kind: str, number: int = 0, **values: Any) -> Callable[[Events], None]:
    """Return a function that gives new values to some fields of the n-th event of a kind."""
    return lambda events: _of(events, kind, number).update(values)


def _ledger(name: str) -> Callable[[Events], None]:
    def change(events: Events) -> None:
        _of(events, "moved", 3)["ledger"][name] += 1

    return change


def _other_seat(events: Events) -> None:
    moved, before = _of(events, "moved", 1), _of(events, "moved")["clocks"]
    mine = moved["clocks"][moved["seat"] - 1]
    moved["seat"] = 3 - moved["seat"]
    moved["clocks"] = [mine if seat == moved["seat"] else before[seat - 1] for seat in (1, 2)]


def _arrives_late(events: Events) -> None:
    moved = _of(events, "moved", 3)
    ledger = moved["ledger"]
    ledger.update(arrived=ledger["arrived"] + 50, charged=ledger["charged"] + 50, left=ledger["left"] - 50)


def _at_of(kind: str, by_ms: int) -> Callable[[Events], None]:
    def change(events: Events) -> None:
        _of(events, kind)["at"] += by_ms

    return change


def _twice(kind: str) -> Callable[[Events], None]:
    """Return a function that duplicates the first event of a kind; the copy has a revision of its own."""

    def change(events: Events) -> None:
        where = next(n for n, event in enumerate(events) if event["kind"] == kind)
        events.insert(where + 1, dict(events[where]))
        for n, event in enumerate(events):
            event["revision"] = n + 1

    return change


def _begins_late(events: Events) -> None:
    del events[0]
    for n, event in enumerate(events):
        event["revision"] = n + 1


def _moved_before_start(events: Events) -> None:
    where = next(n for n, event in enumerate(events) if event["kind"] == "started")
    events[where], events[where + 1] = events[where + 1], events[where]
    for n, event in enumerate(events):
        event["revision"] = n + 1


def _refused_before_start(events: Events) -> None:
    started = next(n for n, event in enumerate(events) if event["kind"] == "started")
    refused = next(n for n, event in enumerate(events) if event["kind"] == "refused")
    events.insert(started, events.pop(refused) | {"at": events[started]["at"], "ply": 0})
    for n, event in enumerate(events):
        event["revision"] = n + 1


def _comment(text: bytes) -> Callable[[Events], None]:
    """Return a function that puts another comment, sealed with the match's key, on the last move that has one."""

    def change(events: Events) -> None:
        moved = [event for event in events if "comment" in event][-1]
        key = bytes.fromhex(events[-1]["key"])
        stream = shake_256(key + b"\n%d" % moved["ply"]).digest(len(text))
        moved["comment"] = bytes(one ^ other for one, other in zip(text, stream, strict=True)).hex()

    return change


def _padded(value: dict[str, Json]) -> bytes:
    text = encode(value)
    return text + b" " * (-len(text) % 64)


def _own_policy(**values: Any) -> Callable[[Events], None]:
    return lambda events: events[0]["policy"].update(values)


def _not_late(events: Events) -> None:
    ledger = events[-1]["late"]["ledger"]
    ledger.update(arrived=ledger["handed_over"] + 1_000, charged=1_000 - 60, left=6_823)


def _at_own_ply(events: Events) -> None:
    rejected = _of(events, "rejected")
    ply = int(rejected["facts"]["expected"])
    rejected["asked"]["ply"] = ply
    rejected["facts"] = {"actual": str(ply), "expected": str(ply)}


FORGERIES: Final = (
    Forgery(
        "of-other-match", "the signature is of another match", "unlimited", lambda _: None, signs={"subject": "m-x"}
    ),
    Forgery("of-fewer-events", "the signature is of fewer events", "unlimited", lambda _: None, signs={"lines": 2}),
    Forgery("of-other-head", "the signature is of another head", "unlimited", lambda _: None, signs={"head": "0" * 64}),
    Forgery("other-algorithm", "another algorithm", "unlimited", lambda _: None, signs={"algorithm": "ed448"}),
    Forgery("begins-late", "the event that makes the match is left out", "unlimited", _begins_late),
    Forgery("other-revision", "a revision is left out", "unlimited", _set("moved", 4, revision=1000)),
    Forgery("other-match", "an event of another match", "unlimited", _set("moved", 4, match="m-other")),
    Forgery("earlier", "an event is earlier than the one before", "unlimited", _at_of("left", -100_000)),
    Forgery("position-no-text", "a start position that is no text", "opening", _set("created", position=1)),
    Forgery("opening-no-text", "an opening move that is no text", "opening", _set("created", opening=[1])),
    Forgery("rated-self-play", "rated, of a player against itself", "self-play", _set("created", rated=True)),
    Forgery("rated-time-odds", "rated, with time odds", "time-odds", _set("created", rated=True)),
    Forgery("time-unknown", "a time control that does not exist", "unlimited", _set("created", time="5x")),
    Forgery("ledger-started", "the turn began at another instant", "unlimited", _ledger("started")),
    Forgery("ledger-credited", "a millisecond more is credited", "unlimited", _ledger("credited")),
    Forgery("ledger-charged", "a millisecond more is charged", "unlimited", _ledger("charged")),
    Forgery("ledger-left", "a millisecond more is left", "unlimited", _ledger("left")),
    Forgery("arrived-late", "a move arrives after its event", "unlimited", _arrives_late),
    Forgery("ply", "a move at another ply", "unlimited", _set("moved", 3, ply=9)),
    Forgery("seat", "a move of the other seat, with clocks to fit", "bronstein", _other_seat),
    Forgery("clocks", "other clocks at the start", "bronstein", _set("started", clocks=[{"remaining_ms": 1}] * 2)),
    Forgery("turn", "another seat is to move after an interruption", "unlimited", _set("resumed", turn=1)),
    Forgery("strikes", "a strike too many", "unlimited", _set("refused", strikes=2)),
    Forgery("facts", "other facts of a refusal", "unlimited", _set("rejected", facts={"actual": "3", "expected": "7"})),
    Forgery("own-ply", "a refusal because of the ply, at that ply", "unlimited", _at_own_ply),
    Forgery("kept-refusals", "more refusals than are kept", "unlimited", _own_policy(kept_refusals=1)),
    Forgery("created-twice", "the match is made twice", "unlimited", _twice("created")),
    Forgery("started-twice", "the match starts twice", "unlimited", _twice("started")),
    Forgery("resumed-twice", "the match goes on twice", "unlimited", _twice("resumed")),
    Forgery("moved-before-start", "a move before the start", "unlimited", _moved_before_start),
    Forgery("refused-before-start", "a refused move before the start", "unlimited", _refused_before_start),
    Forgery("comment-cut", "a comment that is not whole blocks", "unlimited", _comment(b'{"evaluation":500}')),
    Forgery("comment-beyond", "an evaluation beyond 1000", "unlimited", _comment(_padded({"evaluation": 2000}))),
    Forgery("comment-more", "a comment with another field", "unlimited", _comment(_padded({"evaluation": 1, "x": 1}))),
    Forgery("key-short", "a key that is too short", "unlimited", _set("ended", key="00")),
    Forgery(
        "key-upper", "a key in upper case", "unlimited", lambda events: events[-1].update(key=events[-1]["key"].upper())
    ),
    Forgery(
        "not-agreed",
        "the comments do not bear out the end",
        "by-evaluation",
        _set("created", adjudication={"evaluation": 350, "evaluation_plies": 4}),
    ),
    Forgery("not-that-long", "the match is not that long", "by-length", _set("created", adjudication={"plies": 10})),
    Forgery("longer", "the match goes on beyond its length", "by-length", _set("created", adjudication={"plies": 6})),
    Forgery("strikes-left", "lost by illegal moves with strikes left", "pondlife", _own_policy(illegal_moves=5)),
    Forgery(
        "late-ply", "the late move is for another ply", "bronstein", lambda events: events[-1]["late"].update(ply=9)
    ),
    Forgery("not-late", "the late move was in time", "bronstein", _not_late),
    Forgery("loser", "who lost by time is the other seat", "bronstein", _set("ended", seat=1)),
)
