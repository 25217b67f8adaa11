"""The signature of a transcript: the line after its last event, with which the arbiter certifies the match.

The line is the canonical JSON of an object with

| field | |
| --- | --- |
| `algorithm` | `ed25519` (RFC 8032) |
| `events` | how many events there are, which is the revision of the last one |
| `head` | SHA-256 of the bytes of the last event, 64 lower-case hexadecimal digits: the head of the chain |
| `key` | the id of the key that signs |
| `kind` | `signature` |
| `match` | the match's id |
| `signature` | the signature, in lower-case hexadecimal digits |

The signed bytes are `DOMAIN` followed by the canonical JSON of the same object without `signature`. So each field of
the line is signed and, through the hash chain, each byte of every event. The domain ensures that no other signature
with these keys can be mistaken for one of a transcript.

The key is the one that was valid at the instant of the last event. Ed25519 is deterministic. So any replica that has
the key can compute the line whenever a transcript is requested, and it is always the same. Nothing needs to be stored
beside the log, a crash cannot separate the end of a match from its signature, and matches that ended before the arbiter
had keys are signed too. The price is that a replaced key must be kept.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from arbiter.matches.canonical import Json, MalformedRecordError, NotCanonicalError, decode, encode
from arbiter.matches.fields import Fields

ALGORITHM: Final = "ed25519"
KIND: Final = "signature"
DOMAIN: Final = b"arbiter transcript v1\n"

_HEX: Final = re.compile(r"(?:[0-9a-f]{2})*", re.ASCII)


class Statement(NamedTuple):
    """What a signature certifies: the number of a match's events, and the hash of the last one.

    key: the id of the signing key. The signature covers the domain and then these canonical bytes.
    """

    match: str
    events: int
    head: str
    key: str
    algorithm: str = ALGORITHM

    def message(self) -> bytes:
        """Return the bytes that are signed."""
        return DOMAIN + encode(self.json())

    def json(self) -> dict[str, Json]:
        """Return the signature line's fields except `signature`."""
        return {**self._asdict(), "kind": KIND}


class Signature(NamedTuple):
    """A statement with its signature."""

    statement: Statement
    signature: bytes

    def line(self) -> bytes:
        """Return the canonical JSON of the signature line, without a line feed."""
        return encode({**self.statement.json(), "signature": self.signature.hex()})


def read_signature(data: bytes) -> Signature:
    """Return the signature of a line. The line must have exactly these fields: any other would not be signed.

    Raises MalformedRecordError for anything else, naming the field.
    """
    try:
        fields = Fields(decode(data), KIND)
    except NotCanonicalError as error:
        raise MalformedRecordError(f"not a signature: {error}") from None
    if fields.text("kind") != KIND:
        raise MalformedRecordError(f"{KIND}.kind: expected {KIND!r}, found {fields.text('kind')[:60]!r}")
    digits = fields.text("signature")
    if not _HEX.fullmatch(digits):
        raise MalformedRecordError(f"{KIND}.signature: expected lower-case hexadecimal digits in pairs")
    statement = Statement(
        match=fields.text("match"),
        events=fields.integer("events"),
        head=fields.text("head"),
        key=fields.text("key"),
        algorithm=fields.text("algorithm"),
    )
    signature = Signature(statement, bytes.fromhex(digits))
    if signature.line() != data:
        raise MalformedRecordError(f"{KIND}: there are other fields, or the bytes are not in canonical form")
    return signature
