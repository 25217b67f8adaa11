"""Transcripts: the signed file of a match, and the verifier, which reports the first wrong line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from arbiter.event_json.canonical import decode, digest, encode
from arbiter.matches import Match, replay, seal, seal_first
from arbiter.matches.commands import AnswerDraw, ClaimDraw, Interrupt, Interruption, Leave, OfferDraw, Play, Tick
from arbiter.matches.comments import Comment
from arbiter.matches.events import Ended, EventKind
from arbiter.matches.record import read
from arbiter.matches.signing import Signature, Statement, read_signature
from arbiter.matches.transcript import TranscriptError, Verified, split, verify, write
from tests.matches.heap import DriftingHeap, games
from tests.matches.logged_match import LoggedMatch, policy, started

KEY = "test-key"


def sign(statement: Statement) -> bytes:
    """Sign with a scheme that a test can read; the tests of keys cover the arbiter's own."""
    return bytes.fromhex(digest(b"secret" + statement.message()))


def check(signature: Signature, ended_at: int) -> str:
    return "" if signature.signature == sign(signature.statement) else "signature.signature is not by that key"


def transcript(log: list[bytes], match: Match) -> bytes:
    statement = Statement(match.id, len(log), digest(log[-1]), KEY)
    return write(log, Signature(statement, sign(statement)))


@cache
def eventful() -> tuple[bytes, ...]:
    """Return the lines of a match with every kind of event, comments and a late move."""
    logged = started("heap(stones=9)", "1m+3x10s", policy(illegal_moves=3))
    logged.match = replace(logged.match, secret=bytes(range(32)))
    logged.play("x" * 300)
    logged.play("7")
    logged.do(Play(1, "too early", 2, "x" * 300, logged.now))
    logged.do(AnswerDraw(1, "to what?", True))
    logged.do(OfferDraw(2, "peace?"))
    logged.do(ClaimDraw(2, "out of turn"))
    logged.do(AnswerDraw(1, "no", False))
    logged.do(Play(1, "said", 0, "3", logged.now + 70_000, comment=Comment(612, ("3", "1"))), after_ms=70_000)
    logged.do(Leave(1))
    logged.do(Interrupt(Interruption.RESTART), after_ms=5)
    logged.do(Tick(), after_ms=30_000)
    logged.play("1", after_ms=1_000)
    logged.do(Interrupt(Interruption.DRAIN), after_ms=5)
    logged.do(Play(1, "says", 2, "2", logged.now + 9, comment=Comment(0)), after_ms=9)
    logged.play("1", after_ms=200_000)
    assert {event.kind for event in logged.events} == set(EventKind)
    assert isinstance(logged.events[-1], Ended)
    assert logged.events[-1].key
    assert len(logged.match.comments) == 2
    return tuple(transcript(logged.log, logged.match).splitlines())


def verified(lines: list[bytes] | tuple[bytes, ...]) -> Verified:
    return verify(b"".join(line + b"\n" for line in lines), check, games)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every string, number and boolean of a JSON value."""
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, name))
    else:
        yield path


def flips(value: Any) -> list[Any]:
    """Return other values of the same type."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, -value - 1]
    return [value + "x", value[:-1], value.swapcase() if value.swapcase() != value else "0" + value[1:]]


def flipped(line: bytes, path: tuple[str | int, ...], flip: int) -> bytes | None:
    """Return a line with another value at a path; None if there is no such value."""
    value = decode(line)
    inner: Any = value
    for name in path[:-1]:
        inner = inner[name]
    others = [other for other in flips(inner[path[-1]]) if other != inner[path[-1]]]
    if flip >= len(others):
        return None
    inner[path[-1]] = others[flip]
    return encode(value)


def test_an_unchanged_transcript_is_valid() -> None:
    lines = eventful()
    read_back = verified(lines)
    assert read_back.match == replay((read(line) for line in lines[:-1]), games)
    assert list(read_back.events) == [read(line) for line in lines[:-1]]
    assert read_back.signature == read_signature(lines[-1])


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(eventful())))
def test_every_field_of_every_line_counts(number: int) -> None:
    """The error names the changed line, or the next one, which has its hash."""
    lines = list(eventful())
    paths = list(leaves(decode(lines[number])))
    assert len(paths) > 5
    for path in paths:
        for flip in range(3):
            changed = flipped(lines[number], path, flip)
            if changed is not None:
                with pytest.raises(TranscriptError) as error:
                    verified([*lines[:number], changed, *lines[number + 1 :]])
                assert error.value.line in (number + 1, number + 2), (path, str(error.value))


@pytest.mark.parametrize("number", range(len(eventful())))
def test_every_field_is_there_and_there_is_no_other(number: int) -> None:
    lines = list(eventful())
    value = decode(lines[number])
    for changed in (
        *({name: item for name, item in value.items() if name != left_out} for left_out in value),
        value | {"extra": 1},
    ):
        with pytest.raises(TranscriptError) as error:
            verified([*lines[:number], encode(changed), *lines[number + 1 :]])
        assert error.value.line in (number + 1, number + 2)


@pytest.mark.parametrize("number", range(len(eventful())))
def test_every_line_counts(number: int) -> None:
    lines = list(eventful())
    before, line, after = lines[:number], lines[number], lines[number + 1 :]
    damaged = [
        [*before, *after],  # removed
        [*before, line, line, *after],  # duplicated
        [*before, b"", line, *after],
        [*before, b"{}", line, *after],
        [*before, line + b"\r", *after],
        [*before, line[:-1], *after],
        [*before, b" " + line, *after],
        lines[:number],  # cut off
    ]
    damaged += [[*before, after[0], line, *after[1:]]] if after else []  # swapped
    for wrong in damaged:
        with pytest.raises(TranscriptError):
            verified(wrong)


@pytest.mark.long
def test_every_byte_counts() -> None:
    data = b"".join(line + b"\n" for line in eventful())
    for place in range(0, len(data), 7):
        for other in (data[place] ^ 1, data[place] ^ 0x80):
            with pytest.raises(TranscriptError):
                verify(data[:place] + bytes((other,)) + data[place + 1 :], check, games)
    for end in (0, 1, len(data) - 1):
        with pytest.raises(TranscriptError):
            verify(data[:end], check, games)


# An arbiter that lies has the key: it can compute the chain again and sign. Rules and clocks find such changes.

TOLD: dict[str, set[tuple[str | int, ...]]] = {
    "created": {
        ("at",), ("creator",), ("label",), ("match",), ("players", 0), ("players", 1), ("rated",), ("request",),
        ("policy", "abandon_ms"), ("policy", "illegal_moves"), ("policy", "move_cap_ms"), ("policy", "no_show_ms"),
        ("policy", "kept_refusals"),
        ("policy", "credit", "bank_ms"), ("policy", "credit", "hand_over_most_ms"),
        ("policy", "credit", "network_most_ms"), ("policy", "credit", "refill_ms"), ("policy", "resume_ms"),
    },
    "arrived": {("at",)},
    "left": {("at",), ("seat",)},
    "refused": {("at",), ("message",), ("request",), ("move",), ("move_digest",), ("reason",)},
    "rejected": {("at",), ("message",), ("request",), ("seat",), ("asked", "move"), ("asked", "move_digest"),
        ("asked", "accept")},
    "draw_offered": {("at",), ("request",), ("seat",)},
    "draw_declined": {("at",), ("request",)},
    "interrupted": {("at",), ("reason",)},
    "moved": {("request",), ("at",)},
    "ended": {("request",), ("at",), ("late", "move")},
}  # fmt: skip
"""Fields that nothing else in a record determines: within bounds, only the signature vouches for them."""


def resigned(lines: list[bytes]) -> bytes:
    """Return the transcript of changed events with the whole chain computed again, and signed."""
    events = [read(line) for line in lines]
    match_id = decode(lines[0])["match"]
    log = [sealed.data for sealed in seal_first(match_id, events[:1])]
    chained = _Chain(match_id, 1, digest(log[0]))
    for event in events[1:]:
        object.__setattr__(event, "_sealed", None)
        data = seal(chained, [event])[0].data
        log.append(data)
        chained = _Chain(match_id, len(log), digest(data))
    statement = Statement(match_id, len(log), digest(log[-1]), KEY)
    return write(log, Signature(statement, sign(statement)))


class _Chain:
    def __init__(self, match_id: str, revision: int, head: str) -> None:
        self.id, self.revision, self.digest = match_id, revision, head


def arrived_before_its_turn(value: Any) -> bool:
    """Return whether a move was sent before its turn began; how long before is charged to nobody."""
    ledger = value.get("ledger")
    return ledger is not None and ledger["charged"] == 0 and ledger["arrived"] < ledger["started"]


def test_a_true_record_that_is_signed_again_is_valid() -> None:
    assert resigned(list(eventful()[:-1])) == b"".join(line + b"\n" for line in eventful())


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(eventful()) - 1))
def test_a_changed_and_signed_record_contradicts_rules_or_clocks(number: int) -> None:
    lines = list(eventful()[:-1])
    value = decode(lines[number])
    asked = 0
    for path in leaves(value):
        if path in {("kind",), ("match",), ("previous",), ("revision",)} | TOLD.get(value["kind"], set()):
            continue
        for flip in range(3):
            changed = flipped(lines[number], path, flip)
            if changed is None or arrived_before_its_turn(decode(changed)):
                continue
            asked += 1
            try:
                data = resigned([*lines[:number], changed, *lines[number + 1 :]])
            except ValueError:  # no event at all
                continue
            try:
                held = verify(data, check, games)
            except TranscriptError:
                continue
            assert path == ("game",), (path, changed)
            assert not held.rules_checked, "a game that is not installed"
    assert asked or value["kind"] in ("left", "interrupted", "draw_declined", "draw_offered", "arrived")


# Error messages


def complaint(lines: list[bytes]) -> str:
    with pytest.raises(TranscriptError) as error:
        verified(lines)
    return str(error.value)


def changed(number: int, **values: Any) -> list[bytes]:
    lines = list(eventful())
    lines[number - 1] = encode(decode(lines[number - 1]) | values)
    return lines


def test_errors_name_line_field_and_expected_value() -> None:
    lines = list(eventful())
    moved = next(n for n, line in enumerate(lines, 1) if b'"moved"' in line)
    ledger = decode(lines[moved - 1])["ledger"]
    assert complaint(changed(moved, ledger=ledger | {"charged": 1})) == (
        f"line {moved}: ledger.charged is 1, expected 70000"
    )
    assert complaint(changed(moved, move="9")) == f"line {moved}: kind is moved, expected refused"
    assert complaint(changed(moved, move="2")) == f'line {moved}: position is "6 2 0", expected "7 2 0"'
    assert complaint(changed(moved, ply=3)) == f"line {moved}: ply is 3, expected 0"
    assert complaint(changed(moved, request="other")).startswith(f"line {moved + 1}: previous is")
    assert complaint(changed(2, revision=3)) == "line 2: revision is 3, expected 2"
    assert complaint(changed(2, match="m2")) == "line 2: match is 'm2', expected 'm1'"
    assert complaint(changed(2, at=5)).startswith("line 2: at is 5, expected 1800000000000 or later")
    assert complaint(changed(1, time="60s+3x10s")) == 'line 1: time is "60s+3x10s", expected "1m+3x10s"'
    assert complaint([lines[0], *lines[2:]]) == "line 2: revision is 3, expected 2"
    assert complaint([*lines[:3], b"{", *lines[3:]]).startswith("line 4: not an event")
    assert complaint([*lines, lines[-1]]).startswith(f"line {len(lines)}: kind is signature, expected an event")
    assert complaint(lines[:-1]) == f"line {len(lines)}: expected the signature, found the end of the file"
    assert complaint(lines[:-2]) == f"line {len(lines) - 1}: expected an event of kind ended: the match has not ended"
    assert complaint([]) == "line 1: expected the event that makes the match, found nothing"
    assert complaint([b"7"]) == "line 1: record: expected an object, found int"
    assert "other fields" in complaint([*lines[:-1], lines[-1].replace(b"{", b'{"a":1,')])
    assert "key" in complaint([*lines[:-1], lines[-1].replace(b'"key":"t', b'"key":"T')])


def test_a_transcript_of_other_rules_is_noticed() -> None:
    with pytest.raises(TranscriptError, match='position is "6 2 0", expected "6 2 7"'):
        verify(b"".join(line + b"\n" for line in eventful()), check, lambda variant: DriftingHeap(stones=9))


def test_a_rule_that_ends_a_game_must_end_the_match() -> None:
    logged = started("heap(stones=1)")
    logged.play("1")
    lines = transcript(logged.log[:-1], logged.match).splitlines()
    assert complaint(lines) == f"line {len(lines)}: expected an event of kind ended: the match has not ended"


def test_a_request_is_answered_once() -> None:
    logged = started("heap(stones=3)")
    logged.play("1", request="same")
    logged.play("1", request="other")
    logged.play("1", request="third")
    lines = [line.replace(b'"third"', b'"same"') for line in logged.log]
    with pytest.raises(TranscriptError, match="request id 'same' was used by another request"):
        verify(resigned(lines), check, games)


def test_no_more_refusals_are_kept_than_the_policy_says() -> None:
    logged = started("heap(stones=3)", policy=policy(kept_refusals=1))
    logged.do(OfferDraw(1, "peace?"))
    logged.do(OfferDraw(1, "peace!"))
    assert [event.kind for event in logged.events[-2:]] == [EventKind.DRAW_OFFERED, EventKind.REJECTED]
    lines = [line.replace(b'"kept_refusals":1', b'"kept_refusals":0') for line in logged.log]
    with pytest.raises(TranscriptError, match=r"line 6: kind is rejected, which can't be here"):
        verify(resigned(lines), check, games)


def test_signature_lines() -> None:
    statement = Statement("m1", 3, "00" * 32, KEY)
    assert statement.message() == (
        b"arbiter transcript v1\n"
        b'{"algorithm":"ed25519","events":3,"head":"' + b"00" * 32 + b'","key":"test-key","kind":"signature",'
        b'"match":"m1"}'
    )
    signature = Signature(statement, b"\xab\xcd")
    assert signature.line().endswith(b'"match":"m1","signature":"abcd"}')
    assert read_signature(signature.line()) == signature


def test_splitting_a_transcript_verifies_nothing() -> None:
    lines = list(eventful())
    data = b"".join(line + b"\n" for line in lines)
    assert split(data) == (lines[:-1], read_signature(lines[-1]))
    assert split(write(lines[:3])) == (lines[:3], None)
    with pytest.raises(TranscriptError, match=r"line 4: cut off"):
        split(write(lines[:3]) + b"{")
    with pytest.raises(TranscriptError, match=r"line 1: signature\.match"):
        split(b'{"kind":"signature","signature":""}\n')


def test_a_match_that_neither_player_joined_is_valid_too() -> None:
    logged = LoggedMatch()
    logged.do(Tick(), after_ms=60_000)
    assert verify(transcript(logged.log, logged.match), check, games).match.result is not None
