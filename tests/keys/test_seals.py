"""A seal is valid for one record at one place, by a key that was valid at that time."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog

from arbiter.keys import seals as seals_module
from arbiter.keys.key_ring import KeyRing, open_ring, rotate
from arbiter.keys.seals import RingSeals
from arbiter.service.ports.journal import StoredRecord, Subject

NOON = 1_800_000_000_000
LOG = structlog.get_logger()
RECORD = StoredRecord(7, "m1", 3, b'{"at":1800000000000}', Subject.MATCH)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "arbiter.keys"


@pytest.fixture
def seals(path: Path) -> RingSeals:
    return RingSeals(open_ring(path, LOG))


def test_a_seal_is_valid_for_its_record_also_after_a_restart(path: Path, seals: RingSeals) -> None:
    seal = seals.sealer()(*RECORD)
    assert len(seal) == 24
    assert seals.fault(RECORD, seal) == ""
    assert RingSeals(KeyRing(path, LOG)).fault(RECORD, seal) == ""


@pytest.mark.parametrize(
    "changed",
    [
        RECORD._replace(sequence=8),
        RECORD._replace(match_id="m2"),
        RECORD._replace(match_id="m"),
        RECORD._replace(revision=4),
        RECORD._replace(body=b'{"at":1800000000001}'),
        RECORD._replace(body=b""),
        RECORD._replace(subject=Subject.TOURNAMENT),
    ],
)
def test_a_seal_is_invalid_for_anything_else(seals: RingSeals, changed: StoredRecord) -> None:
    assert "was changed after it was written" in seals.fault(changed, seals.sealer()(*RECORD))


@pytest.mark.parametrize("seal", [None, b""])
def test_a_record_needs_a_seal(seals: RingSeals, seal: bytes | None) -> None:
    assert "it has no seal" in seals.fault(RECORD, seal)


def test_every_change_of_a_bit_invalidates_a_seal(seals: RingSeals) -> None:
    seal = seals.sealer()(*RECORD)
    for bit in range(8 * len(seal)):
        changed = bytearray(seal)
        changed[bit // 8] ^= 1 << bit % 8
        assert seals.fault(RECORD, bytes(changed)), bit
    assert seals.fault(RECORD, seal[:-1])
    assert seals.fault(RECORD, seal + b"\0")


def test_a_seal_by_an_unknown_key_is_named(seals: RingSeals, tmp_path: Path) -> None:
    stranger = RingSeals(open_ring(tmp_path / "other.keys", LOG))
    [key_id] = stranger.key_ids
    assert f"by key {key_id}, which is not among" in seals.fault(RECORD, stranger.sealer()(*RECORD))


@pytest.mark.interpreted
def test_after_a_rotation_old_seals_are_valid_and_new_ones_need_the_new_key(
    path: Path, seals: RingSeals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seals_module, "LOOK_S", 0.0)
    old = seals.sealer()
    key = rotate(path, NOON)
    at_until = RECORD._replace(body=b'{"at":%d}' % key.valid_from_ms)
    assert seals.sealer()(*RECORD)[:8].hex() == key.key_id, "the keys are read again after a change"
    assert seals.fault(RECORD, old(*RECORD)) == ""
    assert seals.fault(RECORD, seals.sealer()(*RECORD)) == ""
    assert seals.fault(at_until, seals.sealer()(*at_until)) == ""
    assert "which had been replaced by then" in seals.fault(at_until, old(*at_until))
    for body in (b"{}", b"[1]", b"no json", b'{"at":true}', b'{"at":"x"}'):
        odd = RECORD._replace(body=body)
        assert "which had been replaced by then" in seals.fault(odd, old(*odd))
