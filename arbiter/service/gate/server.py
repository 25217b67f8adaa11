"""What this server is, for every door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arbiter.config import Settings
from arbiter.matches.public_keys import PublicKey
from arbiter.service.matches.transcripts import Transcripts
from arbiter.service.ports.environment import Clock


class ServerFacts(NamedTuple):
    """What a server says of itself: limits by name, public keys newest first, how it registers, its clock (UTC, ms)."""

    limits: Mapping[str, int]
    public_keys: Sequence[PublicKey]
    registration: str
    now_ms: int


class ServerGate:
    """The call about the server; anybody may make it."""

    def __init__(self, settings: Settings, clock: Clock, transcripts: Transcripts) -> None:
        self._clock = clock
        self._transcripts = transcripts
        self._registration = settings.registration
        matches = {name: value for name, value in settings.matches.model_dump().items() if isinstance(value, int)}
        self._limits = settings.limits.model_dump() | settings.credit.model_dump() | matches

    def facts(self) -> ServerFacts:
        """Return limits, public keys, how players register, and the time."""
        return ServerFacts(self._limits, self._transcripts.public_keys(), self._registration, self._clock.now_ms())
