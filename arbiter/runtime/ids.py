"""Ids, secrets and random numbers from the system's random generator."""

from __future__ import annotations

import secrets

from arbiter.service.ports.environment import Clock

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: it has no letter that looks like a digit


class SystemIds:
    """Ids of 45 bits of time and 75 random bits: they sort by time, and nobody can guess them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def new(self, kind: str) -> str:
        """Return a fresh id: `kind`, then 24 digits."""
        number = (self._clock.now_ms() << 75) | secrets.randbits(75)
        return kind + "".join(_DIGITS[(number >> shift) & 31] for shift in range(115, -1, -5))

    def secret(self) -> str:
        """Return 256 random bits as text that is safe in a URL and on a command line: it never begins with "-"."""
        drawn = secrets.token_urlsafe(32)
        return self.secret() if drawn.startswith("-") else drawn

    def lot(self, size: int) -> int:
        return secrets.randbelow(size)
