"""Messages between servers as bytes: a nonce of 12 random bytes, then JSON, encrypted by ChaCha20-Poly1305 (RFC 8439).

The key, and the subject on which the messages of a store travel, come from the oldest signing key, which all servers of
the store have, and which never changes. So several stores can share a NATS. Others who use it can read nothing, and
what they publish is recognised: the cipher also proves that a message is from a server of the store, for this subject.

A message of a kind that is not known here is from a newer server, and is ignored.
"""

from __future__ import annotations

from hashlib import blake2b, sha256
from os import urandom
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from arbiter.service.ports.bus import Message, Report, StreamOpened
from arbiter.service.ports.journal import StoredRecord, Subject

DOMAIN: Final = b"arbiter bus v2\n"  #: the signing key's signature of this is the secret
_NONCE_BYTES: Final = 12
_SUBJECTS: Final = {subject.value: subject for subject in Subject}
_REPORT: Final = "report"
_STREAM: Final = "stream"


class Envelopes:
    """Encrypts and opens messages.

    signature: of DOMAIN, by the oldest signing key. subject: where they are published.
    """

    def __init__(self, signature: bytes) -> None:
        secret = sha256(signature).digest()
        self._cipher = ChaCha20Poly1305(blake2b(b"contents", key=secret, digest_size=32).digest())
        self.subject = "arbiter." + blake2b(b"subject", key=secret, digest_size=12).hexdigest()

    def seal(self, message: Message) -> bytes:
        """Return a message as bytes."""
        return self._seal(orjson.dumps(_values(message)))

    def open(self, data: bytes) -> Message | None:
        """Return the message in some bytes; None if no server of this store has sent them, or if it is unknown."""
        try:
            body = self._cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], self.subject.encode())
            return _message(*orjson.loads(body))
        except (InvalidTag, ValueError, TypeError, LookupError):
            return None

    def _seal(self, body: bytes) -> bytes:
        nonce = urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, body, self.subject.encode())


def _values(message: Message) -> list[Any]:
    if isinstance(message, StreamOpened):
        return [_STREAM, *message]
    records = [
        (record.sequence, record.match_id, record.revision, record.body.decode(), record.subject.value)
        for record in message.records
    ]
    return [_REPORT, message.server, message.at_ms, message.place, message.notice, records]


def _message(kind: str, *values: Any) -> Message:
    """Return a message by its values. Raises ValueError, TypeError, LookupError for values that it can't have."""
    if kind == _STREAM:
        server, player = values
        return StreamOpened(_text(server), _text(player))
    if kind != _REPORT:
        raise LookupError(kind)
    server, at_ms, place, notice, records = values
    return Report(
        _text(server), _number(at_ms), _number(place), _number(notice), tuple(_record(*values) for values in records)
    )


def _record(sequence: Any, match_id: Any, revision: Any, body: Any, subject: Any) -> StoredRecord:
    return StoredRecord(_number(sequence), _text(match_id), _number(revision), _text(body).encode(), _SUBJECTS[subject])


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _number(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(value)
    return value
