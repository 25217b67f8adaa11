"""What tests of accounts share."""

from __future__ import annotations

import asyncio

from arbiter.config import Limits
from arbiter.service.players.accounts import Accounts, Caller, Scope
from arbiter.service.ports.directory import Token
from arbiter.testing.memory import CountingIds, MemoryDirectory

LIMITS = Limits(tokens_of_player=5, open_invitations=3)
OPERATOR = Caller("", "", frozenset({"admin"}))


class FixedClock:
    def now_ms(self) -> int:
        return 1_800_000_000_000


class SlowDirectory(MemoryDirectory):
    """A directory whose look-ups of tokens wait when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.lookups = 0

    async def token_of_digest(self, digest: str) -> Token | None:
        token = await super().token_of_digest(digest)
        self.lookups += 1
        await self.gate.wait()  # it is out of date when it arrives
        return token


def make_accounts(registration: str = "open", directory: MemoryDirectory | None = None) -> Accounts:
    return Accounts(directory or MemoryDirectory(), CountingIds(), FixedClock(), registration, LIMITS)


async def registered(accounts: Accounts, name: str) -> tuple[Caller, str]:
    _, secret = await accounts.register(name, "", "", OPERATOR)
    return await accounts.authenticate(secret), secret


def of(*scopes: Scope, player: str = "alice") -> Caller:
    return Caller(player, "t", frozenset(scope.value for scope in scopes))
