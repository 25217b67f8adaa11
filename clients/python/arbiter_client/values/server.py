"""Facts about the server: what ServerService says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key whose signatures are the server's. It signs from `valid_from_ms` until `valid_until_ms` (0: not known)."""

    key_id: str
    algorithm: str
    key: bytes
    valid_from_ms: int
    valid_until_ms: int


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server is. `limits` are by name, in the unit that ends the name; `registration` says who may register."""

    protocol_version: str
    software: str
    software_version: str
    capabilities: tuple[str, ...]
    limits: Mapping[str, int]
    public_keys: tuple[PublicKey, ...]
    registration: str
    now_ms: int
