"""What all servicers share: who calls, from where, and pages of lists."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from ipaddress import IPv6Address, ip_address
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

import grpc

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.rpc.rates import Rate
from arbiter.service.players.accounts import Accounts, Caller, Scope, invalid, shut_out

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

AT_ONCE = 256  #: requests of one message of a stream, before others have their turn: it may hold a hundred thousand

HOST_BITS = 64  #: of an IPv6 address that are a host's own to choose


class Unreadable(NamedTuple):
    """Stands for a message that is too large, or none at all."""

    refusal: Refusal


class Door:
    """Authentication, rates, streams that are held open, and paging, for the servicers."""

    def __init__(self, accounts: Accounts, limits: Limits) -> None:
        self._accounts = accounts
        self._limits = limits
        self._held: set[Callable[[Refusal], None]] = set()
        self._streams: Counter[tuple[str, str]] = Counter()
        self._calls = Rate(limits.calls_a_second, 1.0, "calls a second")
        self._registrations = Rate(limits.registrations_a_minute, 60.0, "registrations a minute from one address")

    async def caller(self, context: Context, scope: Scope | None = None) -> Caller:
        """Return who calls; it counts against its calls a second.

        Raises Refusal TOKEN_INVALID, PLAYER_SUSPENDED, RATE_LIMITED, or SCOPE_MISSING without the scope.
        """
        caller = await self._authenticated(context)
        self._calls.count(f"player {caller.player}")
        if scope is not None:
            caller.require(scope)
        return caller

    async def player(self, context: Context) -> Caller:
        """Return who calls to play. No rate stands between a player and its live matches.

        Raises Refusal TOKEN_INVALID, PLAYER_SUSPENDED, SCOPE_MISSING.
        """
        caller = await self._authenticated(context)
        caller.require(Scope.PLAY)
        return caller

    async def reader(self, context: Context) -> Caller:
        """Return who calls to read: any token that may observe, play or organise will do. Raises as `caller` does."""
        caller = await self.caller(context)
        if not (caller.may(Scope.PLAY) or caller.may(Scope.ORGANISE)):
            caller.require(Scope.OBSERVE)
        return caller

    async def newcomer(self, context: Context) -> Caller | None:
        """Return who calls to register a player: somebody with a token, or None for a stranger.

        Raises Refusal as `caller` does for a token that is wrong, and RATE_LIMITED for a stranger that tries too often.
        """
        caller = await self.caller(context) if _token(context) else None
        if caller is None or not caller.may(Scope.ADMIN):
            self._registrations.count(_address(context))
        return caller

    def anybody(self, context: Context) -> None:
        """Let anybody in, token or not, by the rate of its address. Raises Refusal RATE_LIMITED."""
        self._calls.count(f"address {_address(context)}")

    async def name(self, context: Context) -> str:
        """Return under which name a caller's budgets run: the player's, or the address of an anonymous call.

        Raises Refusal PLAYER_SUSPENDED, RATE_LIMITED.
        """
        try:
            caller = await self.caller(context)
        except Refusal as refusal:
            if refusal.reason is not Reason.TOKEN_INVALID:
                raise
            return f"address {_address(context)}"
        return f"player {caller.player}"

    async def _authenticated(self, context: Context) -> Caller:
        try:
            return await self._accounts.authenticate(_token(context))
        except Refusal:
            self._calls.count(f"address {_address(context)}")
            raise

    @contextmanager
    def counted(self, kind: str, name: str, most: int = 0) -> Iterator[None]:
        """Count a stream of a kind that somebody holds open: at most `most`, or as many as a player may.

        Raises Refusal RATE_LIMITED for one too many. Each kind counts apart: observing keeps nobody from playing.
        """
        most, key = most or self._limits.streams_of_player, (kind, name)
        if self._streams[key] >= most:
            raise Refusal(
                Reason.RATE_LIMITED,
                f"{most} streams of {kind} are open for {name}, which is the most: end some first",
                limit=most,
                retry_after_ms=self._limits.bookmark_ms,
            )
        self._streams[key] += 1
        try:
            yield
        finally:
            self._streams[key] -= 1
            if not self._streams[key]:
                del self._streams[key]

    async def send(self, context: Context, message: Any) -> None:
        """Send a part of an answer. Raises Refusal READER_TOO_SLOW if nothing of what was sent is read for long."""
        try:
            async with asyncio.timeout(self._limits.silence_ms / 1000):
                await context.write(message)
        except TimeoutError:
            raise Refusal(
                Reason.READER_TOO_SLOW,
                f"nothing of this answer was read for {self._limits.silence_ms} ms: ask again, and read it",
                resume_from="",
            ) from None

    @asynccontextmanager
    async def holding(self, caller: Caller, kind: str) -> AsyncIterator[None]:
        """Hold a stream of a kind open: it ends with a refusal once its caller is shut out or we drain.

        Raises Refusal TOKEN_INVALID, RATE_LIMITED.
        """
        self._accounts.check(caller)
        scope = asyncio.timeout(None)
        ended: list[Refusal] = []

        def end(refusal: Refusal) -> None:
            if not ended:
                ended.append(refusal)
                scope.reschedule(asyncio.get_running_loop().time())

        def shut(player: str, token_id: str) -> None:
            if player == caller.player and token_id in ("", caller.token_id):
                end(shut_out(player, token_id))

        forget = self._accounts.on_shut_out(shut)
        self._held.add(end)
        try:
            with self.counted(kind, caller.player):
                async with scope:
                    yield
        except TimeoutError:
            if not scope.expired():
                raise
            raise ended[0] from None
        finally:
            self._held.discard(end)
            forget()

    def end_streams(self, refusal: Refusal) -> None:
        """End every stream that is held open, with a reason."""
        for end in list(self._held):
            end(refusal)

    def page_size(self, asked: int) -> int:
        """Return how many items a page has. Raises Refusal ARGUMENT_INVALID for a negative number."""
        if asked < 0:
            raise invalid(asked, "page_size", f"0 to {self._limits.largest_page_size}")
        return min(asked or self._limits.page_size, self._limits.largest_page_size)


async def next_message(context: Context) -> Any:
    """Return the next message of a stream, or EOF. Raises Refusal for one that could not be read."""
    message = await context.read()
    if isinstance(message, Unreadable):
        raise message.refusal
    return message


def number_of_token(token: str, where: str = "page_token") -> int:
    """Return the number that a token of ours holds, 0 for none. Raises Refusal ARGUMENT_INVALID."""
    if not token:
        return 0
    if not (token.isascii() and token.isdigit() and len(token) <= 18):
        raise invalid(token, where, "a token that this server gave, or nothing")
    return int(token)


def _token(context: Context) -> str | None:
    for key, value in context.invocation_metadata() or ():
        if key == "authorization" and isinstance(value, str):
            kind, _, secret = value.partition(" ")
            return secret.strip() if kind.lower() == "bearer" else None
    return None


def _address(context: Context) -> str:
    """Return where a call comes from: the host, for IPv6 its network, of which one host may have all addresses."""
    kind, _, rest = unquote(context.peer()).partition(":")
    host = rest.rpartition(":")[0].strip("[]").partition("%")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return f"{kind}:{host}"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return f"{IPv6Address(int(address) >> HOST_BITS << HOST_BITS)}/{128 - HOST_BITS}"
    return str(address)
