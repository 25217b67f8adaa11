"""The file of signing keys: made once, readable by its owner alone, shared, rotated; and signatures with its keys."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
import structlog

from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.keys.key_ring import NOTICE_MS, KeyRing, SigningKey, holds, open_ring, rotate
from arbiter.matches.signing import PublicKey, Signature, Statement, checking, id_of_key

NOON = 1_800_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "arbiter.keys"


def test_the_first_start_makes_a_file_that_only_its_owner_reads(path: Path) -> None:
    (key,) = open_ring(path, structlog.get_logger()).public_keys()
    assert path.stat().st_mode & 0o777 == 0o600
    assert (key.valid_from_ms, key.valid_until_ms, key.algorithm, len(key.key)) == (0, 0, "ed25519", 32)
    assert key.key_id == id_of_key(key.key)
    assert open_ring(path, structlog.get_logger()).public_keys() == (key,)
    assert list(path.parent.iterdir()) == [path]


def test_servers_that_start_together_share_one_file(path: Path) -> None:
    rings: list[KeyRing] = []
    threads = [threading.Thread(target=lambda: rings.append(open_ring(path, structlog.get_logger()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({ring.public_keys() for ring in rings}) == 1
    assert list(path.parent.iterdir()) == [path]


def test_a_rotation_takes_effect_without_a_restart_and_without_a_gap(path: Path) -> None:
    ring = open_ring(path, structlog.get_logger())
    (first,) = ring.public_keys()
    second = rotate(path, NOON)
    assert second.valid_from_ms == NOON + NOTICE_MS
    assert ring.public_keys() == (second, first._replace(valid_until_ms=second.valid_from_ms))
    third = rotate(path, NOON - 5)
    assert third.valid_from_ms == second.valid_from_ms + 1
    keys = ring.public_keys()
    for instant in (0, NOON, NOON + NOTICE_MS - 1, NOON + NOTICE_MS, NOON + NOTICE_MS + 1, 2**53 - 1):
        assert sum(key.valid_at(instant) for key in keys) == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_rotations_at_the_same_time_lose_no_key(path: Path) -> None:
    open_ring(path, structlog.get_logger())
    threads = [threading.Thread(target=rotate, args=(path, NOON)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(open_ring(path, structlog.get_logger()).public_keys()) == 9


def test_a_signature_is_valid_for_its_data_and_key_alone(path: Path) -> None:
    ring = open_ring(path, structlog.get_logger())
    (key,) = ring.public_keys()
    signature = ring.sign(key.key_id, b"message")
    assert signature == ring.sign(key.key_id, b"message")
    assert holds(key.key, signature, b"message")
    assert not holds(key.key, signature, b"messages")
    assert not holds(key.key, signature[:-1], b"message")
    assert not holds(key.key[:-1], signature, b"message")
    with pytest.raises(KeyError):
        ring.sign("another", b"message")


def test_the_arithmetic_is_that_of_the_standard() -> None:
    """RFC 8032, section 7.1, test 2."""
    key = SigningKey(bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"), 0)
    assert key.public.key.hex() == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    assert key.sign(b"\x72").hex() == (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )


def test_keys_stay_in_use_if_their_file_becomes_unreadable(path: Path) -> None:
    ring = open_ring(path, structlog.get_logger())
    keys = ring.public_keys()
    path.write_text("{}")
    assert ring.public_keys() == keys
    path.unlink()
    assert ring.public_keys() == keys
    assert ring.sign(keys[0].key_id, b"message")


def damaged(path: Path, **values: Any) -> None:
    ring = json.loads(path.read_text())
    ring["keys"][0] |= {name: value for name, value in values.items() if name in ring["keys"][0]}
    path.write_text(json.dumps(ring | {name: value for name, value in values.items() if name in ring}))


@pytest.mark.parametrize(
    "values",
    [
        {"format": 2},
        {"keys": []},
        {"keys": 7},
        {"keys": [{}]},
        {"key_id": "0"},
        {"algorithm": "rsa"},
        {"private": "00"},
        {"private": "zz"},
        {"private": 7},
        {"valid_from_ms": 1},
        {"valid_from_ms": "0"},
    ],
)
def test_malformed_files_are_refused(path: Path, values: dict[str, Any]) -> None:
    open_ring(path, structlog.get_logger())
    damaged(path, **values)
    with pytest.raises(OperatorError, match="is no ring of signing keys"):
        open_ring(path, structlog.get_logger())


def test_unusable_paths_are_refused(path: Path) -> None:
    path.write_text("nonsense")
    path.chmod(0o600)
    with pytest.raises(OperatorError, match="not JSON"):
        open_ring(path, structlog.get_logger())
    path.chmod(0o640)
    with pytest.raises(OperatorError, match="open to other users: chmod 600"):
        open_ring(path, structlog.get_logger())
    with pytest.raises(OperatorError, match="No such file"):
        KeyRing(path.parent / "nobody", structlog.get_logger())
    for use in (lambda place: open_ring(place, structlog.get_logger()), lambda place: rotate(place, NOON)):
        with pytest.raises(OperatorError, match="No such file"):
            use(path.parent / "nowhere" / "arbiter.keys")


def test_the_path_of_the_file() -> None:
    assert Settings(store="sqlite:///games/arbiter.db").key_ring == Path("games/arbiter.keys")
    assert Settings(store="sqlite:////var/arbiter.db?timeout=5").key_ring == Path("/var/arbiter.keys")
    assert Settings(store="postgresql://host/arbiter").key_ring == Path("arbiter.keys")
    assert Settings(keys=Path("ring")).key_ring == Path("ring")


def signed(private: SigningKey, **values: Any) -> Signature:
    statement = Statement("m1", 3, "00" * 32, private.public.key_id)._replace(**values)
    return Signature(statement, private.sign(statement.message()))


def test_a_check_names_what_is_invalid() -> None:
    private, other = SigningKey(b"\1" * 32, 100, 200), SigningKey(b"\2" * 32, 0)
    check = checking([private.public], holds)
    assert check(signed(private), 100) == ""
    assert check(signed(private), 199) == ""
    assert "the match ended at 99" in check(signed(private), 99)
    assert "valid 100 to 200: the match ended at 200" in check(signed(private), 200)
    assert f"expected one of the keys that were given: {private.public.key_id}" in check(signed(other), 100)
    assert "signature.algorithm is 'rsa', expected 'ed25519'" in check(signed(private, algorithm="rsa"), 100)
    forged = Signature(signed(private).statement, other.sign(b""))
    assert "not what key" in check(forged, 100)
    moved = signed(private)._replace(statement=signed(private, subject="m2").statement)
    assert "not what key" in check(moved, 100)
    anytime = PublicKey(private.public.key_id, private.public.key)
    assert checking([anytime], holds)(signed(private), 5) == ""
