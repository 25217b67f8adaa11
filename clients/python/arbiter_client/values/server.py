"""Facts about the server: the values of ServerService."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A signing key of the server, in use from `valid_from_ms` until `valid_until_ms` (0: not known)."""

    key_id: str
    algorithm: str
    key: bytes
    valid_from_ms: int
    valid_until_ms: int


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The facts about a server. `limits` are by name, whose end is the unit; `registration` says who may register."""

    protocol_version: str
    software: str
    software_version: str
    capabilities: tuple[str, ...]
    limits: Mapping[str, int]
    public_keys: tuple[PublicKey, ...]
    registration: str
    now_ms: int
