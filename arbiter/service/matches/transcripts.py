"""Transcripts for readers: the records of a match and, once it has ended, the arbiter's signature."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, Protocol

from arbiter.event_json.canonical import digest
from arbiter.matches.events import Ended
from arbiter.matches.record import read
from arbiter.matches.signing import PublicKey, Signature, Statement
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.matches.reading import SET_ASIDE
from arbiter.service.ports.journal import RecordDamaged, StoredRecord

PAGE = 50  #: records in one part of a transcript


class Signer(Protocol):
    """The arbiter's signing keys. Exactly one of them is valid at every instant."""

    def public_keys(self) -> tuple[PublicKey, ...]:
        """Return the public keys, newest first, with replaced ones, whose signatures stay valid."""

    def sign(self, key_id: str, message: bytes) -> bytes:
        """Return the signature of a message by a key. Raises KeyError for an unknown key.

        The same message always gets the same signature.
        """


class Transcripts:
    """The transcripts of matches, signed by the arbiter."""

    def __init__(self, matches: MatchRegistry, signer: Signer) -> None:
        self._matches = matches
        self._signer = signer
        self.public_keys: Final = signer.public_keys

    async def parts(self, match_id: str) -> AsyncIterator[bytes]:
        """Yield the transcript of a match in parts of whole lines; the last line of an ended match is the signature.

        Raises Refusal MATCH_NOT_FOUND, STORE_UNAVAILABLE, DRAINING, and RECORD_DAMAGED, also if the end of the record
        is missing.
        """
        await self._matches.revive([match_id])  # only so is it known whether it goes on
        last: StoredRecord | None = None
        goes_on = True
        while True:
            while records := await self._matches.record(match_id, last.revision if last is not None else 0, PAGE):
                yield b"".join(record.body + b"\n" for record in records)
                last = records[-1]
            assert last is not None
            event = read(last.body)
            if isinstance(event, Ended):
                yield signature_of(self._signer, last, event).line() + b"\n"
                return
            if not goes_on:
                raise RecordDamaged(match_id, last.revision, SET_ASIDE)
            goes_on = self._matches.live.find(match_id) is not None
            if goes_on or not (await self._matches.begun(match_id)).game.installed:
                return  # otherwise it may have ended meanwhile: read once more


def signature_of(signer: Signer, last: StoredRecord, ended: Ended) -> Signature:
    """Return the arbiter's signature of a match. last, ended: its last record, and the event in it."""
    key = next(key for key in signer.public_keys() if key.valid_at(ended.at))
    statement = Statement(last.match_id, last.revision, digest(last.body), key.key_id)
    return Signature(statement, signer.sign(key.key_id, statement.message()))
