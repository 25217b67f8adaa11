"""Signers (`arbiter.service.matches.transcripts.Signer`) without a file: one without keys, one with a known key."""

from __future__ import annotations

from arbiter.keys.key_ring import SigningKey
from arbiter.matches.signing import PublicKey


class NoKeys:
    """A signer without keys, for tests that need no signature."""

    def public_keys(self) -> tuple[PublicKey, ...]:
        """Return nothing."""
        return ()

    def sign(self, key_id: str, message: bytes) -> bytes:
        """Raise KeyError: there is no key."""
        raise KeyError(key_id)


class OneKey:
    """A signer with one key that is not secret, and is always valid: for files that are verified in tests."""

    def __init__(self) -> None:
        self._key = SigningKey(b"\x01" * 32, 0)

    def public_keys(self) -> tuple[PublicKey, ...]:
        """Return its key."""
        return (self._key.public,)

    def sign(self, key_id: str, message: bytes) -> bytes:
        """Sign with it. Raises KeyError for another key."""
        if key_id != self._key.public.key_id:
            raise KeyError(key_id)
        return self._key.sign(message)
