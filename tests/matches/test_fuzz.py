"""Fuzz tests of what is read from files and requests: time controls, JSON, events, transcripts, texts, key files."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import OperatorError, Reason, Refusal
from arbiter.event_json.canonical import LARGEST_INTEGER, NotCanonicalError, RecordError, decode, encode
from arbiter.keys.key_ring import holds, open_ring
from arbiter.matches import evolution, notation, time_control
from arbiter.matches.record import read
from arbiter.matches.signing import checking, key_bytes, read_keys
from arbiter.matches.transcript import TranscriptError, split, verify
from tests.fuzz import effort, near, sendable, texts
from tests.generators import transcripts

pytestmark = pytest.mark.long

GOLDEN = Path(__file__).parents[1] / "golden" / "transcripts"
NAMES = [plan.name for plan in transcripts.MATCH_PLANS]
CHECK = checking(read_keys((GOLDEN / transcripts.KEY_FILE).read_bytes()), holds)
CONTROLS = ("5m", "5m+3s", "5m+3sd", "5m+3sb", "300ms/move", "300ms/move+10s", "1m+3x10s", "40/30m", "none", "168h")
DEEP = b"[" * 100_000


@cache
def lines(name: str) -> tuple[bytes, ...]:
    return tuple((GOLDEN / f"{name}.jsonl").read_bytes().split(b"\n")[:-1])


def values() -> st.SearchStrategy[Any]:
    """Return values of JSON, and a few that have no canonical form."""
    edges = st.sampled_from((0, -1, LARGEST_INTEGER, LARGEST_INTEGER + 1, 10**30, 1.5, None, True, "", "\ud800", "é\0"))
    leaves = st.one_of(edges, st.integers(), st.text(max_size=8))
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    )


@st.composite
def changed(draw: st.DrawFn, line: bytes) -> bytes:
    """Draw a line of a transcript with a change: a field added, removed or renamed, or bytes changed."""
    value: Any = json.loads(line)
    change = draw(st.integers(0, 4))
    if change == 4:
        return sendable(draw(near([line.decode()]))).encode().replace(b"\n", b"")
    place = value
    while isinstance(place, dict) and place:
        key = draw(st.sampled_from(sorted(place)))
        inner = place[key]
        if isinstance(inner, dict) and inner and draw(st.booleans()):
            place = inner
            continue
        if change == 0:
            del place[key]
        elif change == 1:
            place[draw(st.text(max_size=4))] = place.pop(key)
        elif change == 2 and type(inner) is int:
            place[key] = inner + draw(st.sampled_from((-1, 1, 2, -(2**40), LARGEST_INTEGER)))
        else:
            place[key] = draw(values())
        break
    try:
        return encode(value)
    except (TypeError, NotCanonicalError):
        return json.dumps(value).encode()


def one_line(error: Exception, longest: int = 2_000) -> None:
    """Assert that an error is one short line."""
    assert 0 < len(str(error)) <= longest
    assert "\n" not in str(error)


def check_reason(refusal: Refusal, reason: Reason) -> None:
    """Assert the reason of a refusal."""
    assert refusal.reason is reason


def check_line(line: int, last: int) -> None:
    """Assert that an error names a line of the file, or the missing one."""
    assert 1 <= line <= last


@effort(3)
@given(text=texts(CONTROLS))
def test_time_controls(text: str) -> None:
    try:
        control = time_control.parse(text)
    except Refusal as refusal:
        one_line(refusal, 300)
        check_reason(refusal, Reason.PARAMETER_INVALID)
        return
    assert time_control.parse(str(control)) == control


@effort()
@given(value=values())
def test_canonical_json_is_read_back(value: Any) -> None:
    try:
        data = encode(value)
    except (NotCanonicalError, TypeError):
        return
    assert encode(decode(data)) == data


@effort(2)
@given(data=st.one_of(st.binary(max_size=60), st.sampled_from(NAMES).flatmap(lambda name: changed(lines(name)[2]))))
def test_json_and_events(data: bytes) -> None:
    try:
        assert decode(encode(decode(data))) == decode(data)
    except NotCanonicalError as error:
        one_line(error)
    try:
        read(data)
    except RecordError as error:
        one_line(error)


@pytest.mark.parametrize("data", [DEEP, b'{"a":' * 100_000, b"9" * 100_000, b"\xff", b"", b"null", b"1e5", b"NaN"])
def test_extreme_json(data: bytes) -> None:
    for reader in (read, read_keys):
        with pytest.raises(RecordError) as caught:
            reader(data)
        one_line(caught.value)


@pytest.mark.parametrize("name", NAMES)
@effort(0.4)
@given(data=st.data())
def test_transcripts(name: str, data: st.DataObject) -> None:
    true = lines(name)
    number = data.draw(st.integers(0, len(true) - 1))
    change = data.draw(st.integers(0, 5))
    wrong = list(true)
    if change == 0:
        del wrong[number]
    elif change == 1:
        wrong.insert(number, wrong[data.draw(st.integers(0, len(true) - 1))])
    elif change == 2:
        wrong = wrong[:number]
    else:
        wrong[number] = data.draw(changed(true[number]))
    whole = b"".join(line + b"\n" for line in wrong)
    try:
        verified = verify(whole, CHECK)
    except TranscriptError as error:
        one_line(error)
        check_line(error.line, len(wrong) + 1)
    else:
        assert whole == b"".join(line + b"\n" for line in true), verified  # every other transcript is refused
    try:
        records, _ = split(whole)
        evolution.replay(map(read, records), trust=True)
    except RecordError as error:
        one_line(error)


@cache
def written(name: str) -> str:
    records, _ = split((GOLDEN / f"{name}.jsonl").read_bytes())
    return notation.write([read(record) for record in records])


@pytest.mark.parametrize("name", NAMES)
@effort(0.3)
@given(data=st.data())
def test_matches_as_text(name: str, data: st.DataObject) -> None:
    try:
        game = notation.read(data.draw(near([written(name)], 3)))
    except notation.NotationError as error:
        one_line(error)
        check_line(error.line, LARGEST_INTEGER)
    else:
        assert len(game.moves) <= len(written(name))


@effort()
@given(data=st.data())
def test_files_of_public_keys(data: st.DataObject) -> None:
    file = (GOLDEN / transcripts.KEY_FILE).read_bytes()
    try:
        keys = read_keys(data.draw(changed(file) | st.binary(max_size=60)))
    except RecordError as error:
        one_line(error)
    else:
        assert all(key_bytes(key.key.hex()) == key.key for key in keys)


class Ring(NamedTuple):
    """A file of signing keys that a test may damage, and its original content."""

    path: Path
    content: bytes


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Ring:
    path = tmp_path_factory.mktemp("ring") / "arbiter.keys"
    open_ring(path, structlog.get_logger())
    return Ring(path, path.read_bytes())


@effort()
@given(data=st.data())
def test_files_of_signing_keys(ring: Ring, data: st.DataObject) -> None:
    spoilt = st.sampled_from((DEEP, b"", b"null", b"\xff", ring.content))
    ring.path.write_bytes(data.draw(changed(ring.content) | st.binary(max_size=60) | spoilt))
    try:
        opened = open_ring(ring.path, structlog.get_logger())
    except OperatorError as error:
        one_line(error)
    else:
        assert opened.public_keys()
