"""Messages between servers as bytes: a seal, then JSON.

The seal is 16 bytes of BLAKE2b (RFC 7693) in its keyed mode. Its key, and the subject on which the messages of a store
travel, come from the oldest signing key, which all servers of the store have, and which never changes. So several
stores can share a NATS, and messages of others who use it are recognised.

A message of a kind that is not known here is from a newer server, and is ignored.
"""

from __future__ import annotations

from hashlib import blake2b, sha256
from hmac import compare_digest
from typing import Any, Final

import orjson

from arbiter.service.ports.bus import Message, Report, StreamOpened
from arbiter.service.ports.journal import StoredRecord, Subject

DOMAIN: Final = b"arbiter bus v1\n"  #: the signing key's signature of this is the secret
_SEAL_BYTES: Final = 16
_SUBJECTS: Final = {subject.value: subject for subject in Subject}
_REPORT: Final = "report"
_STREAM: Final = "stream"


class Envelopes:
    """Seals and opens messages. signature: of DOMAIN, by the oldest signing key. subject: where they are published."""

    def __init__(self, signature: bytes) -> None:
        secret = sha256(signature).digest()
        self._state = blake2b(key=secret, digest_size=_SEAL_BYTES)
        self.subject = "arbiter." + blake2b(b"subject", key=secret, digest_size=12).hexdigest()

    def seal(self, message: Message) -> bytes:
        """Return a message as bytes."""
        body = orjson.dumps(_values(message))
        return self._seal(body) + body

    def open(self, data: bytes) -> Message | None:
        """Return the message in some bytes; None if no server of this store has sealed them, or if it is unknown."""
        seal, body = data[:_SEAL_BYTES], data[_SEAL_BYTES:]
        if not compare_digest(self._seal(body), seal):
            return None
        try:
            return _message(*orjson.loads(body))
        except (ValueError, TypeError, LookupError):
            return None

    def _seal(self, body: bytes) -> bytes:
        state = self._state.copy()
        state.update(body)
        return state.digest()


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
