"""A signer without keys."""

from __future__ import annotations

from arbiter.matches.signing import PublicKey


class NoKeys:
    """A signer (`arbiter.service.matches.transcripts.Signer`) without keys, for tests that need no signature."""

    def public_keys(self) -> tuple[PublicKey, ...]:
        """Return nothing."""
        return ()

    def sign(self, key_id: str, message: bytes) -> bytes:
        """Raise KeyError: there is no key."""
        raise KeyError(key_id)
