"""Who calls, and how often: asked before anything else of every call, whichever door it came through."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.service.gate.addresses import counted_as
from arbiter.service.gate.rights import Action, check_scope, only_reads
from arbiter.service.players.accounts import NO_TOKEN, Accounts, Caller, Scope
from arbiter.service.token_bucket import MINUTE_MS, SECOND_MS, TokenBuckets

UNCOUNTED: Final = frozenset(
    {
        Action.SUBMIT_MOVE,
        Action.SUBMIT_MOVES,
        Action.OFFER_DRAW,
        Action.ANSWER_DRAW,
        Action.CLAIM_DRAW,
        Action.RESIGN,
        Action.PLAY,
    }
)
"""No rate stands between a player and its live matches."""


class Call(NamedTuple):
    """Who asks for something: the secret of a token, None without one; and the address that it comes from, as text."""

    secret: str | None
    address: str


class Admission:
    """Authentication, scopes and rates of calls. `public`: calls that only look need no token."""

    def __init__(self, accounts: Accounts, limits: Limits, public: bool = False) -> None:
        self._accounts = accounts
        self._public = public
        self._calls = TokenBuckets(limits.calls_a_second, SECOND_MS, "calls a second")
        most = limits.unknown_tokens_a_minute
        self._guesses = TokenBuckets(most, MINUTE_MS, "calls a minute from one address with a token that is unknown")
        most = limits.registrations_a_minute
        self._registrations = TokenBuckets(most, MINUTE_MS, "registrations a minute from one address")

    async def caller(self, call: Call, action: Action) -> Caller:
        """Return who calls, if its token may do something to anything; see `arbiter.service.gate.rights`.

        Raises Refusal TOKEN_INVALID, PLAYER_SUSPENDED, RATE_LIMITED, SCOPE_MISSING.
        """
        if self._public and not call.secret and only_reads(action):
            return self._visitor(call)
        caller = await self._authenticated(call)
        if action not in UNCOUNTED:
            self._calls.use(f"player {caller.player}", _now_ms())
        check_scope(caller, action)
        return caller

    async def newcomer(self, call: Call) -> Caller | None:
        """Return who calls to register a player: somebody with a token, or None for a stranger.

        Raises Refusal as `caller` does for a token that is wrong, and RATE_LIMITED for a stranger that tries too often.
        """
        caller = await self.caller(call, Action.REGISTER_PLAYER) if call.secret else None
        if caller is None or not caller.may(Scope.ADMIN):
            self._registrations.use(counted_as(call.address), _now_ms())
        return caller

    def anybody(self, call: Call) -> None:
        """Let anybody in, token or not, by the rate of its address. Raises Refusal RATE_LIMITED."""
        self._calls.use(f"address {counted_as(call.address)}", _now_ms())

    async def name(self, call: Call, action: Action) -> str:
        """Return under which name a caller's budgets run: the player's, or the address of an anonymous call.

        Raises Refusal PLAYER_SUSPENDED, RATE_LIMITED.
        """
        try:
            caller = await self.caller(call, action)
        except Refusal as refusal:
            if refusal.reason is not Reason.TOKEN_INVALID:
                raise
            return f"address {counted_as(call.address)}"
        return f"player {caller.player}"

    def _visitor(self, call: Call) -> Caller:
        """Return a caller without a token, who is counted by address and may only look. No player has such a name."""
        name = f"address {counted_as(call.address)}"
        self._calls.use(name, _now_ms())
        return Caller(name, NO_TOKEN, frozenset({Scope.OBSERVE.value}))

    async def _authenticated(self, call: Call) -> Caller:
        try:
            return await self._accounts.authenticate(call.secret)
        except Refusal as refusal:
            address, now_ms = counted_as(call.address), _now_ms()
            self._calls.use(f"address {address}", now_ms)
            if call.secret and refusal.reason is Reason.TOKEN_INVALID:  # a guess: whoever has a good token makes none
                self._guesses.use(address, now_ms)
            raise


def _now_ms() -> int:
    """Return the instant by which calls are counted: the event loop's. Tests of whole servers set it by hand."""
    return int(asyncio.get_running_loop().time() * 1_000)
