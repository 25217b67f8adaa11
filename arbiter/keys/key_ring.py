"""The arbiter's signing keys: a key ring in a file, and Ed25519 signatures.

The ring is a JSON file that only its owner can read. Each key has a start time. It signs the matches that end between
its start and the start of the next key. The first key has no start time, so that every match has a key. Replaced keys
stay in the ring: a transcript is signed when it is requested, with the key that was valid when the match ended.
Replicas share the file or hold copies of it. The arbiter reads the file again when it changes, so a rotation needs no
restart.

    {"format": 1, "keys": [{"algorithm": "ed25519", "key_id": …, "private": 64 hex digits, "valid_from_ms": 0}, …]}
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from arbiter.errors import OperatorError
from arbiter.event_json.canonical import LARGEST_INTEGER
from arbiter.matches.signing import ALGORITHM, PublicKey, id_of_key
from arbiter.service.ports.log import Logger

FORMAT: Final = 1
NOTICE_MS: Final = 60_000  #: from a rotation to the new key's first signature: replicas need time, and clocks differ
_OTHERS: Final = 0o077  #: permissions of the group and of others


class SigningKey:
    """A private key of the ring. `public` is its public part, with the time of its validity."""

    __slots__ = ("_private", "public")

    def __init__(self, private: bytes, valid_from_ms: int, valid_until_ms: int = 0) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(private)
        key = self._private.public_key().public_bytes_raw()
        self.public = PublicKey(id_of_key(key), key, valid_from_ms, valid_until_ms)

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message, 64 bytes. The same message always gets the same signature."""
        return self._private.sign(message)

    def json(self) -> dict[str, Any]:
        """Return the key in the form that the file has."""
        return {
            "algorithm": ALGORITHM,
            "key_id": self.public.key_id,
            "private": self._private.private_bytes_raw().hex(),
            "valid_from_ms": self.public.valid_from_ms,
        }


def holds(key: bytes, signature: bytes, message: bytes) -> bool:
    """Return whether a signature of a message is valid under an Ed25519 public key."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


class _Stamp(NamedTuple):
    """The attributes of a file that change with its content."""

    inode: int
    size: int
    modified_ns: int


class KeyRing:
    """The key ring of a file, as the file is now."""

    def __init__(self, path: Path, log: Logger) -> None:
        """Read the ring. Raises OperatorError if the file is missing, readable for others, or malformed."""
        self._path = path
        self._stamp, self._keys = _load(path)
        self._log = log

    def public_keys(self) -> tuple[PublicKey, ...]:
        """Return the public keys, newest first."""
        return tuple(key.public for key in reversed(self._fresh()))

    def sign(self, key_id: str, message: bytes) -> bytes:
        """Sign a message with one key. Raises KeyError if the ring does not have that key."""
        return {key.public.key_id: key for key in self._fresh()}[key_id].sign(message)

    def _fresh(self) -> Sequence[SigningKey]:
        """Return the keys. Read the file again if it has changed; if that fails, keep the keys as they were."""
        try:
            if _stamp(self._path) != self._stamp:
                self._stamp, self._keys = _load(self._path)
                self._log.info("keys_read_again", keys=len(self._keys))
        except (OSError, OperatorError) as error:
            self._log.warning("keys_not_read", error=str(error))
        return self._keys


def open_ring(path: Path, log: Logger) -> KeyRing:
    """Open a ring file. If it is missing, create it with one key. Raises OperatorError."""
    if not path.exists():
        _make(path)
    return KeyRing(path, log)


def rotate(path: Path, now_ms: int) -> PublicKey:
    """Add a key to a ring file; return its public part.

    The key signs the matches that end a minute from now or later. Raises OperatorError.
    """
    with _locked(path):
        _, keys = _load(path)
        begins = max(now_ms + NOTICE_MS, keys[-1].public.valid_from_ms + 1)
        key = SigningKey(os.urandom(32), begins)
        fresh = _write(path, [*keys, key])
        try:
            fresh.replace(path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise _unusable(path, error) from None
        return key.public


def _make(path: Path) -> None:
    fresh = _write(path, [SigningKey(os.urandom(32), 0)])
    try:
        os.link(fresh, path)  # fail if another process has just created a ring here
    except FileExistsError:
        pass
    except OSError as error:
        raise _unusable(path, error) from None
    finally:
        fresh.unlink(missing_ok=True)


def _write(path: Path, keys: Sequence[SigningKey]) -> Path:
    """Write a ring durably to a new file in the same folder, readable for its owner alone.

    Return the new file's path.
    """
    text = json.dumps({"format": FORMAT, "keys": [key.json() for key in keys]}, indent=1)
    try:
        handle, name = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unusable(path, error) from None
    return Path(name)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock the ring against other rotations. The lock is on the folder, because a rotation replaces the file."""
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _stamp(path: Path) -> _Stamp:
    found = path.stat()
    return _Stamp(found.st_ino, found.st_size, found.st_mtime_ns)


def _load(path: Path) -> tuple[_Stamp, tuple[SigningKey, ...]]:
    try:
        mode, stamp = path.stat().st_mode, _stamp(path)
        if mode & _OTHERS:
            raise OperatorError(f"the signing keys {path} are open to other users: chmod 600 {path}")
        values = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise _unusable(path, error) from None
    except (ValueError, RecursionError) as error:
        raise OperatorError(f"the signing keys {path} are not JSON: {error}") from None
    try:
        return stamp, _read(values)
    except (KeyError, TypeError, ValueError) as error:
        raise OperatorError(f"{path} is no ring of signing keys: {error}") from None


def _read(values: Any) -> tuple[SigningKey, ...]:
    """Parse a ring's JSON and return its keys. Raises KeyError, TypeError or ValueError if it is malformed."""
    if values["format"] != FORMAT:
        raise ValueError(f"format {values['format']} is not known here")
    entries = values["keys"]
    begins = [entry["valid_from_ms"] for entry in entries]
    if begins[:1] != [0] or not all(_follows(*pair) for pair in pairwise(begins)):
        raise ValueError("the first key begins at 0, and each other one after the one before")
    ends = [*begins[1:], 0]
    keys = tuple(
        SigningKey(bytes.fromhex(entry["private"]), begin, end)
        for entry, begin, end in zip(entries, begins, ends, strict=True)
    )
    for key, entry in zip(keys, entries, strict=True):
        if entry["algorithm"] != ALGORITHM or entry["key_id"] != key.public.key_id:
            raise ValueError(f"key {entry['key_id']} does not have the id of its key")
    return keys


def _follows(before: object, after: object) -> bool:
    return type(before) is int and type(after) is int and before < after <= LARGEST_INTEGER


def _unusable(path: Path, error: OSError) -> OperatorError:
    return OperatorError(f"the signing keys {path} can't be used: {error.strerror or error}")
