"""The golden transcripts: unchanged files, valid, and invalid after any change."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from arbiter.event_json.canonical import decode, encode
from arbiter.games import registry
from arbiter.keys.key_ring import holds
from arbiter.matches.clock import Ledger
from arbiter.matches.commands import ResultKind
from arbiter.matches.events import Cause, EventKind, Moved
from arbiter.matches.signing import checking, read_keys
from arbiter.matches.transcript import TranscriptError, Verified, verify
from tests.generators import transcripts
from tests.matches.test_transcript import leaves

GOLDEN = Path(__file__).parent.parent / "golden" / "transcripts"
NAMES = [plan.name for plan in transcripts.MATCH_PLANS]
CHECK = checking(read_keys((GOLDEN / transcripts.KEY_FILE).read_bytes()), holds)


@cache
def data(name: str) -> bytes:
    return (GOLDEN / f"{name}.jsonl").read_bytes()


@cache
def verified_transcript(name: str) -> Verified:
    return verify(data(name), CHECK)


def test_the_files_are_up_to_date() -> None:
    files = dict(transcripts.generated())
    assert sorted(files) == sorted(path.name for path in GOLDEN.iterdir())
    for name, content in files.items():
        assert (GOLDEN / name).read_bytes() == content, f"{name} changed: run make golden, and review the difference"


@pytest.mark.parametrize("name", NAMES)
def test_they_are_valid(name: str) -> None:
    assert verified_transcript(name).match.result is not None


def test_there_is_one_of_every_game_control_kind_and_result() -> None:
    matches = [verified_transcript(name).match for name in NAMES]
    events = [event for name in NAMES for event in verified_transcript(name).events]
    assert set(registry.SEED) <= {match.game.facts.id for match in matches}
    assert len({type(match.controls[0]) for match in matches}) == 8
    assert any(match.controls[0] != match.controls[1] for match in matches)
    assert {event.kind for event in events} == set(EventKind)
    results = [match.result for match in matches if match.result is not None]
    assert {ended.result for ended in results} == set(ResultKind)
    assert {ended.cause for ended in results} == set(Cause)
    ledgers: list[Ledger] = [event.ledger for event in events if isinstance(event, Moved)]
    assert {(ledger.handed_over is None, ledger.round_trip is None) for ledger in ledgers} >= {
        (False, False), (False, True), (True, False),
    }  # fmt: skip
    assert max(ledger.credited for ledger in ledgers) > 350


def flipped(line: bytes, path: tuple[str | int, ...], number: int) -> bytes:
    value = decode(line)
    inner: Any = value
    for name in path[:-1]:
        inner = inner[name]
    old = inner[path[-1]]
    if isinstance(old, bool):
        inner[path[-1]] = not old
    elif isinstance(old, int):
        inner[path[-1]] = old + (1, -1, 1_000)[number % 3]
    else:
        inner[path[-1]] = (old + "0", old[:-1], "1" + old[1:] if old[:1] != "1" else "2" + old[1:])[number % 3]
    return encode(value)


@pytest.mark.long
@pytest.mark.parametrize("share", [10, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", NAMES)
def test_every_field_counts(name: str, share: int) -> None:
    """`make test` changes one field of ten, `make soak` each."""
    lines = data(name).splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        for count, path in list(enumerate(leaves(decode(line)), number))[number % share :: share]:
            changed = flipped(line[:-1], path, count) + b"\n"
            with pytest.raises(TranscriptError) as error:
                verify(b"".join((*lines[: number - 1], changed, *lines[number:])), CHECK)
            assert error.value.line in (number, number + 1), (path, str(error.value))


@pytest.mark.long
@pytest.mark.parametrize("share", [5, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", NAMES)
def test_every_line_counts(name: str, share: int) -> None:
    """`make test` changes one line of five, and the last one; `make soak` each."""
    lines = data(name).splitlines(keepends=True)
    for number in {*range(0, len(lines), share), len(lines) - 1}:
        before, line, after = lines[:number], lines[number], lines[number + 1 :]
        for damaged in ([*before, *after], [*before, line, line, *after], [*before, *after[:1], line, *after[1:]][:-1]):
            with pytest.raises(TranscriptError):
                verify(b"".join(damaged), CHECK)


@pytest.mark.parametrize("name", NAMES)
def test_a_signature_is_of_one_match_and_one_key(name: str) -> None:
    other = NAMES[NAMES.index(name) - 1]
    ours, theirs = data(name).splitlines(keepends=True), data(other).splitlines(keepends=True)
    with pytest.raises(TranscriptError, match=r"signature\.(match|events|head)"):
        verify(b"".join((*ours[:-1], theirs[-1])), CHECK)
    used = verified_transcript(name).signature.statement.key
    (key,) = (key for key in transcripts.public_keys() if key.key_id != used)
    with pytest.raises(TranscriptError, match="expected one of the keys"):
        verify(data(name), checking([key], holds))
