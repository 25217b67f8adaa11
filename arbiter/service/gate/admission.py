"""The caller's identity and its rate limits: checked before anything else on every call of every API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.service.cut_off import CutOff
from arbiter.service.gate.addresses import Proxies, counted_as
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
"""Calls without a rate limit: a player can always play its live matches."""


BURST_S: Final = 2
"""A caller that has made no call for this many seconds may make the calls that its rate allows in this time at once."""

PACED_FROM: Final = 20
"""This many calls of a caller may come at once. Beyond them, calls that come faster than its rate are spread evenly."""

REFUSED_TIMES: Final = 2
"""Refusals beyond PACED_FROM at once are spread evenly at this multiple of the call rate, whatever the call."""

CALL_MS: Final = 10  #: time of the event loop that counts as one more call

LONGEST_TURN_MS: Final = 60 * SECOND_MS
"""No refusal waits longer for its turn, so that one burst is not paid for hours."""


NO_PROXIES: Final = Proxies(())


class Call(NamedTuple):
    """The origin of a call. secret: of its token, None without a token. address: of its connection, as text.

    counted: whether it is a part of a request that has been counted as a whole, as those of the page are. forwarded:
    where it comes from, in the words of a proxy (X-Forwarded-For), which count only if the address is a trusted one's.
    """

    secret: str | None
    address: str
    counted: bool = False
    forwarded: str = ""


class Admission:
    """Authentication, scopes and rates of calls. `public`: calls that only read need no token.

    proxies: the trusted ones; a call by one of them counts for the address that this proxy names.

    A call counts as one, and as more if its answer has many rows (`charge`). Calls of one caller that come at once are
    spread evenly, so that other callers have the event loop between them.
    """

    def __init__(
        self,
        accounts: Accounts,
        limits: Limits,
        cut_off: CutOff,
        public: bool = False,
        proxies: Proxies = NO_PROXIES,
    ) -> None:
        self._accounts = accounts
        self._cut_off = cut_off
        self._public = public
        self._proxies = proxies
        most = BURST_S * limits.calls_a_second
        self._calls = TokenBuckets(most, BURST_S * SECOND_MS, f"calls in {BURST_S} seconds")
        self._pace = TokenBuckets(PACED_FROM, max(1, PACED_FROM * SECOND_MS // limits.calls_a_second), "calls at once")
        refusals = max(1, PACED_FROM * SECOND_MS // (REFUSED_TIMES * limits.calls_a_second))
        self._refusals = TokenBuckets(PACED_FROM, refusals, "refusals at once")
        self._rows = limits.call_rows
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # locks in use
        most = limits.unknown_tokens_a_minute
        self._guesses = TokenBuckets(most, MINUTE_MS, "calls a minute from one address with a token that is unknown")
        most = limits.registrations_a_minute
        self._registrations = TokenBuckets(most, MINUTE_MS, "registrations a minute from one address")

    async def caller(self, call: Call, action: Action) -> Caller:
        """Return the caller, if its token allows the action on anything at all; see `arbiter.service.gate.rights`.

        Raises Refusal TOKEN_INVALID, PLAYER_SUSPENDED, RATE_LIMITED, SCOPE_MISSING.
        """
        if self._public and not call.secret and only_reads(action):
            return await self._visitor(call)
        caller = await self._authenticated(call)
        if action not in UNCOUNTED and not call.counted:
            await self._count(caller)
        check_scope(caller, action)
        return caller

    @asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncIterator[None]:
        """Let a caller read many rows from the store; its other calls of this kind wait until this one has ended.

        The caller first waits until its budget has recovered from the rows of its earlier answers. So the long answers
        of one caller come one after the other, evenly spread, however many it requests at once.
        """
        name = _counted_as(caller)
        lock = self._reading.get(name)
        if lock is None:
            lock = self._reading[name] = asyncio.Lock()
        async with lock:
            if not caller.counted:
                await _sleep_ms(self._pace.owe(name, _now_ms(), 0))
            yield

    def charge(self, caller: Caller, rows: int) -> None:
        """Charge a caller for a long answer: one more call for each `limits.call_rows` rows.

        This answer is not refused. The caller's next calls wait, or are refused with RATE_LIMITED, until its budget has
        recovered.
        """
        calls = rows // self._rows
        if calls and not caller.counted:
            self.charge_calls(_counted_as(caller), calls)

    def charge_calls(self, name: str, calls: int) -> None:
        """Charge for an answer as for this many calls. name: under which the caller's budgets are counted."""
        for buckets in (self._calls, self._pace):
            buckets.owe(name, _now_ms(), calls)

    def counted_as(self, call: Call) -> str:
        """Return the name under which a call's budgets are counted: its player's, or its address.

        It is also its address as long as the player has made no other call with this token.
        """
        caller = self._accounts.known(call.secret)
        return _counted_as(caller) if caller is not None else f"address {self._address(call)}"

    async def _count(self, caller: Caller) -> None:
        """Count a call, and wait for its turn. Raises Refusal RATE_LIMITED.

        A call that would be refused waits for a turn among the refusals, at most a second. If the budget has recovered
        by then, it is not refused.
        """
        name = _counted_as(caller)
        try:
            self._calls.use(name, _now_ms())
        except Refusal:
            if self._refusals.owe(name, _now_ms(), 0) > SECOND_MS:
                raise
            await _sleep_ms(self._refusals.owe(name, _now_ms()))
            self._calls.use(name, _now_ms())
        await _sleep_ms(self._pace.owe(name, _now_ms()))

    async def refused(self, call: Call) -> None:
        """Have the caller of any call wait for its turn before it hears of a refusal.

        A refusal costs the server half as much as an answer, and most clients call again at once. The budget is that of
        the player whose token this is, or of the address: nobody else waits.
        """
        if call.counted:
            return
        name, now_ms = self.counted_as(call), _now_ms()
        if self._refusals.owe(name, now_ms, 0) < LONGEST_TURN_MS:
            await _sleep_ms(self._refusals.owe(name, now_ms))
        else:
            await _sleep_ms(LONGEST_TURN_MS)

    async def newcomer(self, call: Call) -> Caller | None:
        """Return the caller that registers a player, or None if it has no token.

        Raises Refusal as `caller` does for an invalid token, and RATE_LIMITED if an address without scope admin
        registers too often.
        """
        caller = await self.caller(call, Action.REGISTER_PLAYER) if call.secret else None
        if caller is None or not caller.may(Scope.ADMIN):
            self._registrations.use(self._address(call), _now_ms())
        return caller

    def anybody(self, call: Call) -> None:
        """Accept a call with or without a token, within the rate limit of its address. Raises Refusal RATE_LIMITED."""
        if call.counted:
            return
        self._calls.use(f"address {self._address(call)}", _now_ms())

    async def name(self, call: Call, action: Action) -> str:
        """Return the name under which a call's budgets are counted: its player's, or its address if it has no token.

        Raises Refusal PLAYER_SUSPENDED, RATE_LIMITED.
        """
        try:
            caller = await self.caller(call, action)
        except Refusal as refusal:
            if refusal.reason is not Reason.TOKEN_INVALID:
                raise
            return f"address {self._address(call)}"
        return f"player {caller.player}"

    async def _visitor(self, call: Call) -> Caller:
        """Return a caller without a token, which may only read.

        It is counted by its address: no player has such a name.
        """
        name = f"address {self._address(call)}"
        visitor = Caller(name, NO_TOKEN, frozenset({Scope.OBSERVE.value}), call.counted)
        if not call.counted:
            await self._count(visitor)
        return visitor

    def _address(self, call: Call) -> str:
        """Return the name under which the address of a call is counted."""
        return counted_as(self._proxies.sender(call.address, call.forwarded))

    async def _authenticated(self, call: Call) -> Caller:
        try:
            async with self._cut_off.waiting():
                caller = await self._accounts.authenticate(call.secret)
            if call.counted:
                return caller._replace(counted=True)
            if caller.session:
                raise Refusal(Reason.TOKEN_INVALID, "this is a browser's session, which is good for the page alone")
            return caller
        except Refusal as refusal:
            address, now_ms = self._address(call), _now_ms()
            self._calls.use(f"address {address}", now_ms)
            if call.secret and refusal.reason is Reason.TOKEN_INVALID:  # it may be guessing tokens
                self._guesses.use(address, now_ms)
            raise


def _counted_as(caller: Caller) -> str:
    """Return the name under which the calls of a caller are counted."""
    return caller.player if caller.token_id == NO_TOKEN else f"player {caller.player}"


async def _sleep_ms(wait_ms: int) -> None:
    if wait_ms:
        await asyncio.sleep(wait_ms / SECOND_MS)


def _now_ms() -> int:
    """Return the instant by which calls are counted, from the event loop's clock; tests of whole servers replace it."""
    return int(asyncio.get_running_loop().time() * 1_000)
