"""The keys under which the comments of a match are sealed (see `arbiter.matches.comments`).

A key is the SHA-256 of a signature on the match's id, by the signing key that was valid when the match was created.
Ed25519 is deterministic, so the key is the same after a restart and on every replica, and nothing has to be stored.
Disclosing it reveals nothing about the signing key. A server without that signing key keeps no comments and opens none.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, Protocol

from arbiter.matches.events import Created
from arbiter.matches.signing import PublicKey

DOMAIN: Final = b"arbiter comments v1\n"


class CommentSigner(Protocol):
    """The arbiter's signing keys; see `arbiter.service.matches.transcripts.Signer`."""

    def public_keys(self) -> tuple[PublicKey, ...]:
        """Return the public keys, newest first, with those that have been replaced."""

    def sign(self, key_id: str, message: bytes) -> bytes:
        """Return the signature of a message by a key. The same message always gets the same signature."""


class CommentKeys:
    """Computes the comment key of a match."""

    def __init__(self, signer: CommentSigner) -> None:
        self._signer = signer

    def of(self, created: Created) -> bytes:
        """Return the key of a match, 32 bytes, from its first event; b'' if the signing key is missing."""
        keys = (key for key in self._signer.public_keys() if key.valid_at(created.at))
        key = next(keys, None)
        if key is None:
            return b""
        return sha256(self._signer.sign(key.key_id, DOMAIN + created.match.encode())).digest()
