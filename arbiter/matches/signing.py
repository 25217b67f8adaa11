"""Signatures of transcripts, and the public keys under which they hold.

The line after the last event of a transcript is a signature, with which the arbiter certifies the match. It is the
canonical JSON of an object with

| field | |
| --- | --- |
| `algorithm` | `ed25519` (RFC 8032) |
| `events` | how many events there are, which is the revision of the last one |
| `head` | SHA-256 of the bytes of the last event, 64 lower-case hexadecimal digits: the head of the chain |
| `key` | the id of the key that signs |
| `kind` | `signature` |
| `match` | the match's id |
| `signature` | the signature, in lower-case hexadecimal digits |

The signed bytes are the domain of `TRANSCRIPT` followed by the canonical JSON of the same object without `signature`.
So each field of the line is signed and, through the hash chain, each byte of every event. The domain ensures that no
other signature with these keys can be mistaken for one of a transcript.

The key is the one that was valid at the instant of the last event. Ed25519 is deterministic. So any replica that has
the key can compute the line whenever a transcript is requested, and it is always the same. Nothing needs to be stored
beside the log, a crash cannot separate the end of a match from its signature, and matches that ended before the arbiter
had keys are signed too. The price is that a replaced key must be kept.

The public keys of an arbiter are a file of JSON, as `arbiter key export` writes it from what a server publishes:

    {"keys": [{"algorithm": "ed25519", "key": 64 hex digits, "key_id": …, "valid_from_ms": 0, "valid_until_ms": 0}, …]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from arbiter.event_json.canonical import Json, MalformedRecordError, NotCanonicalError, decode, digest, encode
from arbiter.event_json.fields import Fields

ALGORITHM: Final = "ed25519"
KEY_BYTES: Final = 32
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})*", re.ASCII)


class Form(NamedTuple):
    """What a kind of signature is of.

    kind: of the line. domain: begins the signed bytes. subject, lines: the names of the fields that say what is signed,
    and how many lines it has.
    """

    kind: str
    domain: bytes
    subject: str
    lines: str


TRANSCRIPT: Final = Form("signature", b"arbiter transcript v1\n", "match", "events")


class Statement(NamedTuple):
    """What a signature certifies: how many lines there are, and the hash of the last one.

    subject: the id of the match or tournament. key: the id of the signing key. The signature covers the domain and then
    these canonical bytes.
    """

    subject: str
    lines: int
    head: str
    key: str
    algorithm: str = ALGORITHM
    form: Form = TRANSCRIPT

    def message(self) -> bytes:
        """Return the bytes that are signed."""
        return self.form.domain + encode(self.json())

    def json(self) -> dict[str, Json]:
        """Return the signature line's fields except `signature`."""
        form = self.form
        return {
            "algorithm": self.algorithm,
            form.lines: self.lines,
            "head": self.head,
            "key": self.key,
            "kind": form.kind,
            form.subject: self.subject,
        }

    def problem(self, subject: str, lines: int, head: str) -> str:
        """Return which field is not what it should be, '' if there is none."""
        found, expected = self.json(), self._replace(subject=subject, lines=lines, head=head).json()
        for name in (self.form.subject, self.form.lines, "head"):
            if found[name] != expected[name]:
                return f"{self.form.kind}.{name} is {found[name]!r}, expected {expected[name]!r}"
        return ""


class Signature(NamedTuple):
    """A statement with its signature."""

    statement: Statement
    signature: bytes

    def line(self) -> bytes:
        """Return the canonical JSON of the signature line, without a line feed."""
        return encode({**self.statement.json(), "signature": self.signature.hex()})


def read_signature(data: bytes, form: Form = TRANSCRIPT) -> Signature:
    """Return the signature of a line. The line must have exactly these fields: any other would not be signed.

    Raises MalformedRecordError for anything else, naming the field.
    """
    kind = form.kind
    try:
        fields = Fields(decode(data), kind)
    except NotCanonicalError as error:
        raise MalformedRecordError(f"not a signature: {error}") from None
    if fields.text("kind") != kind:
        raise MalformedRecordError(f"{kind}.kind: expected {kind!r}, found {fields.text('kind')[:60]!r}")
    digits = fields.text("signature")
    if not _HEX.fullmatch(digits):
        raise MalformedRecordError(f"{kind}.signature: expected lower-case hexadecimal digits in pairs")
    statement = Statement(
        fields.text(form.subject),
        fields.integer(form.lines),
        fields.text("head"),
        fields.text("key"),
        fields.text("algorithm"),
        form,
    )
    signature = Signature(statement, bytes.fromhex(digits))
    if signature.line() != data:
        raise MalformedRecordError(f"{kind}: there are other fields, or the bytes are not in canonical form")
    return signature


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
        """Return whether the key signs for what ends at an instant."""
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
"""Returns why a signature for the instant at which its subject ended is invalid, or '' if it is valid."""

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
                f"signature.key is {key.key_id!r}, valid {key.valid_from_ms} to {until}: "
                f"the {statement.form.subject} ended at {ended_at}"
            )
        if not holds(key.key, signature.signature, statement.message()):
            return f"signature.signature is not what key {key.key_id!r} signs"
        return ""

    return check
