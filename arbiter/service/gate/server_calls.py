"""The call about the server, for every API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arbiter.config import Settings
from arbiter.matches.signing import PublicKey
from arbiter.service.matches.transcripts import Transcripts
from arbiter.service.ports.environment import Clock


class ServerFacts(NamedTuple):
    """The facts about a server: limits by name, public keys (newest first), mode of registration, clock (UTC, ms)."""

    limits: Mapping[str, int]
    public_keys: Sequence[PublicKey]
    registration: str
    now_ms: int


class ServerGate:
    """The call about the server; it needs no token."""

    def __init__(self, settings: Settings, clock: Clock, transcripts: Transcripts) -> None:
        self._clock = clock
        self._transcripts = transcripts
        self._registration = settings.registration
        matches = {name: value for name, value in settings.matches.model_dump().items() if isinstance(value, int)}
        self._limits = settings.limits.model_dump() | settings.credit.model_dump() | matches

    def facts(self) -> ServerFacts:
        """Return the limits, the public keys, the mode of registration, and the time."""
        return ServerFacts(self._limits, self._transcripts.public_keys(), self._registration, self._clock.now_ms())
