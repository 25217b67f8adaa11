"""A transcript: the record of a match as a file of events. If the match has ended, the last line is the signature.

Every line is canonical JSON and ends with a line feed. `verify` reads the lines in order and stops at the first fault.
`protos/TRANSCRIPT.md` describes the format for other implementations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from arbiter.errors import Reason, Refusal
from arbiter.event_json.canonical import MalformedRecordError, NotCanonicalError, RecordError, decode, digest, encode
from arbiter.games.registry import game as registered_game
from arbiter.matches.events import FIRST_PREVIOUS, Created, Ended, Event
from arbiter.matches.evolution import Games
from arbiter.matches.match import Match
from arbiter.matches.record import ChainedEvent, read_record
from arbiter.matches.signing import TRANSCRIPT, CheckSignature, Signature, read_signature
from arbiter.matches.verification import Outline, Verification


class TranscriptError(RecordError):
    """An invalid transcript. `line` is the number of the faulty line, from 1; `problem` describes the fault."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem


class Verified(NamedTuple):
    """A valid transcript: the match as it ended, its events, and the signature.

    rules_checked: False if the rules of the game are not installed: then neither moves nor clocks were checked.
    """

    match: Match
    events: tuple[Event, ...]
    signature: Signature
    rules_checked: bool = True


def write(records: Iterable[bytes], signature: Signature | None = None) -> bytes:
    """Return the transcript of a match's records, with the signature if the match has ended."""
    lines = [*records, signature.line()] if signature is not None else records
    return b"".join(line + b"\n" for line in lines)


def split(data: bytes) -> tuple[list[bytes], Signature | None]:
    """Split a transcript into its records and its signature (None: there is none), without verification.

    Raises TranscriptError if the last line is incomplete, or is a malformed signature.
    """
    *lines, rest = data.split(b"\n")
    if rest:
        raise TranscriptError(len(lines) + 1, "cut off: the line has no end")
    if not lines or not _is_signature(lines[-1]):
        return lines, None
    try:
        return lines[:-1], read_signature(lines[-1])
    except MalformedRecordError as error:
        raise TranscriptError(len(lines), str(error)) from None


def verify(data: bytes, check_signature: CheckSignature, games: Games = registered_game) -> Verified:
    """Return a transcript's content after verifying all of it: format, chain, rules, clocks, ledgers, signature.

    Where the rules of the game are not installed, it verifies what can be without them: format, chain, signature, and
    that each event may follow the one before. Raises TranscriptError for the first fault; it names the line, the field
    and what was expected.
    """
    *lines, rest = data.split(b"\n")
    reader, events = _Reader(), []
    verification: Verification | Outline = Verification(games)
    signed = len(lines) - 1 if lines and not rest and _is_signature(lines[-1]) else len(lines)
    for number, line in enumerate(lines[:signed], 1):
        event = _read(reader, line, number)
        if isinstance(event, Created) and number == 1 and not _is_known(event.game, games):
            verification = Outline(games)
        _verify_event(verification, event, reader.previous, number)
        events.append(event)
    if rest:
        raise TranscriptError(len(lines) + 1, "cut off: the line has no end")
    match = verification.match
    if match is None:
        raise TranscriptError(1, "expected the event that makes the match, found nothing")
    ended = match.result
    if verification.due is not None or ended is None:
        kind = "ended" if verification.due is None else verification.due.kind.value
        raise TranscriptError(signed + 1, f"expected an event of kind {kind}: the match has not ended")
    if signed == len(lines):
        raise TranscriptError(signed + 1, "expected the signature, found the end of the file")
    signature = _signature(lines[-1], match, ended, check_signature)
    return Verified(match, tuple(events), signature, match.game.installed)


def _is_known(variant: str, games: Games) -> bool:
    try:
        games(variant)
    except Refusal as refusal:
        return refusal.reason is not Reason.GAME_UNKNOWN
    return True


class _Reader:
    """The last event that was read: its match, its hash and its instant."""

    __slots__ = ("at", "match", "previous")

    def __init__(self) -> None:
        self.match: str | None = None
        self.previous = FIRST_PREVIOUS
        self.at = 0


def _read(reader: _Reader, line: bytes, number: int) -> Event:
    """Return the event of a line after checking its format and its position in the chain; advance the reader."""
    try:
        value = decode(line)
        canonical = encode(value)
    except NotCanonicalError as error:
        raise TranscriptError(number, f"not an event: {error}") from None
    if canonical != line:
        same = next((n for n, pair in enumerate(zip(line, canonical, strict=False)) if pair[0] != pair[1]), None)
        place = min(len(line), len(canonical)) if same is None else same
        raise TranscriptError(number, f"not in canonical form from byte {place + 1} on")
    if isinstance(value, dict) and value.get("kind") == TRANSCRIPT.kind:
        raise TranscriptError(number, "kind is signature, expected an event: the signature is the last line")
    try:
        record = read_record(line)
    except MalformedRecordError as error:
        raise TranscriptError(number, str(error).removeprefix("record.")) from None
    _check_place(reader, record, number)
    reader.match, reader.previous, reader.at = record.match, digest(line), record.event.at
    return record.event


def _check_place(reader: _Reader, record: ChainedEvent, number: int) -> None:
    if reader.match is not None and record.match != reader.match:
        raise TranscriptError(number, f"match is {record.match!r}, expected {reader.match!r}")
    if record.revision != number:
        raise TranscriptError(number, f"revision is {record.revision}, expected {number}")
    if record.previous != reader.previous:
        at_fault = "the first event has zeros" if number == 1 else "this line or the one before was changed"
        raise TranscriptError(number, f"previous is {record.previous[:64]!r}, expected {reader.previous!r}: {at_fault}")
    if record.event.at < reader.at:
        raise TranscriptError(number, f"at is {record.event.at}, expected {reader.at} or later")


def _verify_event(verification: Verification | Outline, event: Event, head: str, number: int) -> None:
    try:
        verification.step(event, head)
    except RecordError as error:
        raise TranscriptError(number, str(error)) from None
    except NotCanonicalError as error:  # instants near the largest integer can overflow when added
        raise TranscriptError(number, f"what follows from this event can't be recorded: {error}") from None


def _is_signature(line: bytes) -> bool:
    try:
        value = decode(line)
    except NotCanonicalError:
        return False
    return isinstance(value, dict) and value.get("kind") == TRANSCRIPT.kind


def _signature(line: bytes, match: Match, ended: Ended, check: CheckSignature) -> Signature:
    number = match.revision + 1
    try:
        signature = read_signature(line)
    except MalformedRecordError as error:
        raise TranscriptError(number, str(error)) from None
    problem = signature.statement.problem(match.id, match.revision, match.digest) or check(signature, ended.at)
    if problem:
        raise TranscriptError(number, problem)
    return signature
