"""The public keys of an arbiter: which key signs when, the file of them, and the check of a signature.

The file is JSON, as `arbiter key export` writes it from what a server publishes:

    {"keys": [{"algorithm": "ed25519", "key": 64 hex digits, "key_id": …, "valid_from_ms": 0, "valid_until_ms": 0}, …]}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from arbiter.matches.canonical import MalformedRecordError, NotCanonicalError, decode, digest
from arbiter.matches.fields import Fields
from arbiter.matches.signature import ALGORITHM, Signature

KEY_BYTES: Final = 32


class PublicKey(NamedTuple):
    """A public key of an arbiter.

    key: 32 bytes for ed25519. It signs matches that end from `valid_from_ms` until before `valid_until_ms` (UTC epoch
    milliseconds). `valid_until_ms` 0: the end is unknown. `valid_from_ms` 0: it has always been valid.
    """

    key_id: str
    key: bytes
    valid_from_ms: int = 0
    valid_until_ms: int = 0
    algorithm: str = ALGORITHM

    def valid_at(self, instant: int) -> bool:
        """Return whether the key signs for matches that end at an instant."""
        return self.valid_from_ms <= instant and (not self.valid_until_ms or instant < self.valid_until_ms)


def id_of_key(key: bytes) -> str:
    """Return the id of a public key: the first 16 hexadecimal digits of the SHA-256 of its bytes."""
    return digest(key)[:16]


def write_keys(keys: Iterable[PublicKey]) -> str:
    """Return the file of public keys."""
    return (
        json.dumps({"keys": [{**key._asdict(), "key": key.key.hex()} for key in keys]}, indent=1, sort_keys=True) + "\n"
    )


def read_keys(data: bytes) -> tuple[PublicKey, ...]:
    """Return the keys of a file. Raises MalformedRecordError, naming the field, if it is malformed."""
    try:
        values = Fields(decode(data), "keys").sequence("keys")
    except NotCanonicalError as error:
        raise MalformedRecordError(f"not a file of public keys: {error}") from None
    keys = tuple(_read_key(Fields(value, f"keys[{number}]")) for number, value in enumerate(values))
    if len({key.key_id for key in keys}) != len(keys):
        raise MalformedRecordError("keys: a key stands there twice, so that it is not clear when it was valid")
    return keys


def _read_key(fields: Fields) -> PublicKey:
    key = PublicKey(
        key_id=fields.text("key_id"),
        key=key_bytes(fields.text("key")),
        valid_from_ms=fields.integer("valid_from_ms"),
        valid_until_ms=fields.integer("valid_until_ms"),
        algorithm=fields.text("algorithm"),
    )
    if key.algorithm != ALGORITHM:
        raise MalformedRecordError(f"algorithm of key {key.key_id[:60]!r} is not {ALGORITHM!r}")
    if key.key_id != id_of_key(key.key):
        raise MalformedRecordError(
            f"key {key.key_id[:60]!r} is not the id of that key, which is {id_of_key(key.key)!r}"
        )
    return key


def key_bytes(digits: str) -> bytes:
    """Return a public key from its 64 hexadecimal digits. Raises MalformedRecordError if they are malformed."""
    try:
        key = bytes.fromhex(digits)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES or len(digits) != 2 * KEY_BYTES:
        raise MalformedRecordError(f"key: expected {2 * KEY_BYTES} hexadecimal digits, found {digits[:80]!r}")
    return key


CheckSignature = Callable[[Signature, int], str]
"""Returns why a signature for the instant of a match's end is invalid, or '' if it is valid."""

Holds = Callable[[bytes, bytes, bytes], bool]
"""Returns whether a signature of a message is valid under a public key (all as bytes)."""


def checking(keys: Iterable[PublicKey], holds: Holds) -> CheckSignature:
    """Return a function that checks signatures against an arbiter's public keys; `holds` implements Ed25519."""
    known = {key.key_id: key for key in keys}

    def check(signature: Signature, ended_at: int) -> str:
        statement = signature.statement
        key = known.get(statement.key)
        if key is None:
            given = ", ".join(known) or "none"
            return f"signature.key is {statement.key[:60]!r}, expected one of the keys that were given: {given}"
        if not statement.algorithm == key.algorithm == ALGORITHM:
            return f"signature.algorithm is {statement.algorithm[:60]!r}, expected {ALGORITHM!r}"
        if not key.valid_at(ended_at):
            until = key.valid_until_ms or "…"
            return (
                f"signature.key is {key.key_id!r}, valid {key.valid_from_ms} to {until}: the match ended at {ended_at}"
            )
        if not holds(key.key, signature.signature, statement.message()):
            return f"signature.signature is not what key {key.key_id!r} signs"
        return ""

    return check
