"""Seals on stored records, made with the arbiter's signing keys (`arbiter.keys.key_ring`).

A seal is 24 bytes: the first 8 bytes of the key's id, then 16 bytes of BLAKE2b (RFC 7693) in its keyed mode over the
record and its place in the log. The secret of a key is the SHA-256 of an Ed25519 signature by it, which is
deterministic. So replicas with the same key ring, and later starts, have the same secrets, nothing more has to be
stored, and a secret says nothing about the signing key.

Records are sealed with the newest key of the ring. A seal by a replaced key holds for records of the time until the key
was replaced: whoever has stolen an old key cannot seal a new record with it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import blake2b, sha256
from hmac import compare_digest
from time import monotonic
from typing import Final, NamedTuple, TypeAlias

from arbiter.event_json.canonical import NotCanonicalError, decode
from arbiter.keys.key_ring import KeyRing
from arbiter.service.ports.journal import StoredRecord

DOMAIN: Final = b"arbiter store v1\n"
_ID_BYTES: Final = 8
_BYTES: Final = 16
LOOK_S: Final = 1.0  #: interval between two looks at the key ring: a new key is announced a minute before its time


_State: TypeAlias = blake2b  #: BLAKE2b after it was given a secret


class _Key(NamedTuple):
    state: _State
    valid_until_ms: int


class RingSeals:
    """Seals by the keys of a ring; see `arbiter.service.ports.journal.Seals`. Safe to use from several threads.

    agree: called with the ids of the keys before the first seal and every LOOK_S from then on, where several servers
    seal: it enters them for the others, and raises StoreFailed if the others have a key that is lacking here.
    """

    def __init__(self, ring: KeyRing, agree: Callable[[set[str]], None] | None = None) -> None:
        self._ring = ring
        self._agree = agree
        self._keys: dict[bytes, _Key] = {}
        self._sealer: Callable[[int, str, int, bytes, str], bytes] | None = None
        self._look_again_s = 0.0

    @property
    def key_ids(self) -> set[str]:
        """The ids of the keys whose seals hold."""
        return {key.key_id for key in self._ring.public_keys()}

    def sealer(self) -> Callable[[int, str, int, bytes, str], bytes]:
        """Return a function that seals with the newest key, as it was at most LOOK_S ago. Raises StoreFailed."""
        now = monotonic()
        if self._sealer is None or now >= self._look_again_s:
            self._load()
            if self._agree is not None:
                self._agree(self.key_ids)
            self._look_again_s = now + LOOK_S
            key_id = bytes.fromhex(self._ring.public_keys()[0].key_id)
            self._sealer = partial(_seal, key_id, self._keys[key_id].state)
        return self._sealer

    def fault(self, record: StoredRecord, seal: bytes | None) -> str:
        """Return why a record's seal does not hold, as a clause; '' if it holds."""
        if not seal:
            return "it has no seal: it was not written by this arbiter"
        key_id = seal[:_ID_BYTES]
        key = self._keys.get(key_id)
        if key is None:
            self._load()
            key = self._keys.get(key_id)
            if key is None:
                if self._agree is not None:
                    self._agree(self.key_ids)  # if another server has that key, nothing is wrong with the record
                return f"its seal is by key {key_id.hex()}, which is not among the signing keys"
        if not compare_digest(_seal(key_id, key.state, *record), seal):
            return "its seal does not hold: it was changed after it was written"
        if key.valid_until_ms and not _is_before(record.body, key.valid_until_ms):
            return f"it is sealed by key {key_id.hex()}, which had been replaced by then"
        return ""

    def _load(self) -> None:
        keys = self._ring.public_keys()
        self._keys = {bytes.fromhex(key.key_id): _Key(self._state(key.key_id), key.valid_until_ms) for key in keys}

    def _state(self, key_id: str) -> _State:
        secret = sha256(self._ring.sign(key_id, DOMAIN)).digest()
        return blake2b(key=secret, digest_size=_BYTES)


def _seal(
    key_id: bytes, state: _State, sequence: int, match_id: str, revision: int, body: bytes, subject: str
) -> bytes:
    mac = state.copy()
    mac.update(f"{sequence} {revision} {subject} {len(match_id)} {match_id}\n".encode() + body)
    return key_id + mac.digest()


def _is_before(body: bytes, instant: int) -> bool:
    """Return whether an event happened before an instant."""
    try:
        event = decode(body)
    except NotCanonicalError:
        return False
    at = event.get("at") if isinstance(event, dict) else None
    return type(at) is int and at < instant
