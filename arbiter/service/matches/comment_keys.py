"""The keys under which the comments of a match are sealed (see `arbiter.matches.comments`).

A key is the SHA-256 of a signature on the match's id, by the key that was valid when the match was made. Ed25519 is
deterministic: the key is the same after a restart and on every replica, nothing has to be stored, and disclosing it
says nothing about the signing key. A server without that signing key keeps no comments and opens none.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, Protocol

from arbiter.matches.events import Created
from arbiter.matches.public_keys import PublicKey

DOMAIN: Final = b"arbiter comments v1\n"


class CommentSigner(Protocol):
    """The arbiter's keys, as far as they are needed here; see `arbiter.service.matches.transcripts.Signer`."""

    def public_keys(self) -> tuple[PublicKey, ...]:
        """Return the public keys, newest first; replaced ones too."""

    def sign(self, key_id: str, message: bytes) -> bytes:
        """Return the signature of a message by a key; the same each time."""


class CommentKeys:
    """Makes the key of a match."""

    def __init__(self, signer: CommentSigner) -> None:
        self._signer = signer

    def of(self, created: Created) -> bytes:
        """Return the 32 bytes of the key for the match that an event made; none if the signing key is not here."""
        keys = (key for key in self._signer.public_keys() if key.valid_at(created.at))
        key = next(keys, None)
        if key is None:
            return b""
        return sha256(self._signer.sign(key.key_id, DOMAIN + created.match.encode())).digest()
