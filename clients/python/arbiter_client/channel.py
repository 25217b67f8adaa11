"""The connection to a server: address, transport security, token, and unary calls."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import grpc
from arbiter_protos.v1 import (
    game_pb2_grpc,
    match_pb2_grpc,
    play_pb2_grpc,
    player_pb2_grpc,
    rating_pb2_grpc,
    server_pb2,
    server_pb2_grpc,
    tournament_pb2_grpc,
)
from google.protobuf.message import Message

from arbiter_client.addresses import Addresses, Tries
from arbiter_client.errors import ArbiterError, ClientError, ConnectionFailed, CredentialsError, from_rpc
from arbiter_client.outbox import Opens

LARGEST_MESSAGE_BYTES: Final = 64 * 1024 * 1024

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Tls:
    """Transport security, from PEM files. Without a root certificate, the system's are used.

    A client certificate is given together with its key (mTLS).
    """

    root_certificate: str | Path | None = None
    client_certificate: str | Path | None = None
    client_key: str | Path | None = None
    on: bool = True  #: False only in NO_TLS

    def credentials(self) -> grpc.ChannelCredentials:
        """Return the credentials for gRPC. Raises CredentialsError for an unreadable file, or half a pair."""
        if (self.client_certificate is None) != (self.client_key is None):
            raise CredentialsError("a client certificate and its key go together: give both, or neither")
        return grpc.ssl_channel_credentials(
            _pem(self.root_certificate), _pem(self.client_key), _pem(self.client_certificate)
        )


NO_TLS: Final = Tls(on=False)
"""Plain text, without regard to the environment."""

TLS_VARIABLES: Final = ("ARBITER_ROOT_CERTIFICATE", "ARBITER_CLIENT_CERTIFICATE", "ARBITER_CLIENT_KEY")
"""Environment variables that name PEM files, in the order of the fields of `Tls`."""


def security(tls: Tls | None) -> Tls:
    """Return the transport security to use: the argument, or that of the environment, or plain text."""
    if tls is not None:
        return tls
    root, certificate, key = (os.environ.get(name) or None for name in TLS_VARIABLES)
    return Tls(root, certificate, key) if root or certificate or key else NO_TLS


def _pem(path: str | Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CredentialsError(f"can't read {path}: {error.strerror or error}") from None


class Connection:
    """The connection to one arbiter, at one of its addresses at a time, with a token for every call.

    Channels are opened when they are first used. A call uses the address that is current when it begins.
    """

    def __init__(self, addresses: tuple[str, ...], token: str, tls: Tls, timeout_s: float, patience_s: float) -> None:
        self.addresses = Addresses(addresses)
        self.token = token
        self.timeout_s = timeout_s
        self.patience_s = patience_s
        self.outages = 0  #: how many calls have failed because the arbiter was away or busy
        self.on_wait: Callable[[ConnectionFailed], None] = lambda error: None  #: called with the reason of each wait
        self.direct: Opens | None = None  #: opens sessions in the arbiter's process; None: over the network
        self.up = False  #: whether a Play stream has been greeted, and has not ended
        self.greetings = 0  #: how many Play streams have begun: the arbiter was there then
        self._greeted = asyncio.Event()
        self._tls = tls
        self._channels: dict[str, grpc.aio.Channel] = {}

    def greet(self) -> None:
        """Note that a Play stream has begun: whoever waits for the arbiter waits no longer."""
        self.greetings += 1
        greeted, self._greeted = self._greeted, asyncio.Event()
        greeted.set()

    async def pause(self, seconds: float, greetings: int) -> None:
        """Wait for the arbiter, but no longer than until a Play stream begins: a clock may run from then on.

        greetings: how many had begun before the attempt that failed.
        """
        if greetings == self.greetings:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._greeted.wait()

    async def rest(self, seconds: float, greetings: int, error: ClientError) -> None:
        """Wait after an error: as `pause`, unless the arbiter is there, and asks for the pause."""
        if isinstance(error, ArbiterError) and error.code != "UNAVAILABLE":
            await asyncio.sleep(seconds)
        else:
            await self.pause(seconds, greetings)

    @property
    def address(self) -> str:
        """The address in use, HOST:PORT."""
        return self.addresses.current

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of every call: the token, if there is one."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    @cached_property
    def channel(self) -> grpc.aio.Channel:
        """A channel whose calls use the current address. The first call opens it, on the running event loop."""
        return cast("grpc.aio.Channel", _Current(self))

    def channel_now(self) -> grpc.aio.Channel:
        """Return the channel to the current address."""
        if self.address not in self._channels:
            self._channels[self.address] = self._open(self.address)
        return self._channels[self.address]

    @cached_property
    def server(self) -> server_pb2_grpc.ServerServiceAsyncStub:
        """The methods of ServerService."""
        return server_pb2_grpc.ServerServiceStub(self.channel)

    @cached_property
    def games(self) -> game_pb2_grpc.GameServiceAsyncStub:
        """The methods of GameService."""
        return game_pb2_grpc.GameServiceStub(self.channel)

    @cached_property
    def matches(self) -> match_pb2_grpc.MatchServiceAsyncStub:
        """The methods of MatchService."""
        return match_pb2_grpc.MatchServiceStub(self.channel)

    @cached_property
    def play(self) -> play_pb2_grpc.PlayServiceAsyncStub:
        """The methods of PlayService."""
        return play_pb2_grpc.PlayServiceStub(self.channel)

    @cached_property
    def players(self) -> player_pb2_grpc.PlayerServiceAsyncStub:
        """The methods of PlayerService."""
        return player_pb2_grpc.PlayerServiceStub(self.channel)

    @cached_property
    def tournaments(self) -> tournament_pb2_grpc.TournamentServiceAsyncStub:
        """The methods of TournamentService."""
        return tournament_pb2_grpc.TournamentServiceStub(self.channel)

    @cached_property
    def ratings(self) -> rating_pb2_grpc.RatingServiceAsyncStub:
        """The methods of RatingService."""
        return rating_pb2_grpc.RatingServiceStub(self.channel)

    def _open(self, address: str) -> grpc.aio.Channel:
        loopback = address.startswith(("127.", "localhost:", "[::1]:"))
        options: list[tuple[str, int]] = [
            ("grpc.max_receive_message_length", LARGEST_MESSAGE_BYTES),
            ("grpc.max_send_message_length", LARGEST_MESSAGE_BYTES),
            ("grpc.keepalive_time_ms", 30_000),
            ("grpc.keepalive_timeout_ms", 10_000),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.min_reconnect_backoff_ms", 1_000),  # it is also the smallest timeout of a connection attempt
            ("grpc.max_reconnect_backoff_ms", 2_000),
            ("grpc.enable_http_proxy", 0 if loopback else 1),
            # Bots of one process must not share a connection: one slow reader would delay the others.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if not self._tls.on:
            return grpc.aio.insecure_channel(address, options=options)
        return grpc.aio.secure_channel(address, self._tls.credentials(), options=options)

    async def ask(self, method: grpc.aio.UnaryUnaryMultiCallable[Q, A], request: Q, again: bool = True) -> A:
        """Return the answer to a request; with `again`, repeat it while the server can't be reached.

        A request is repeated for `patience_s`, and only if it may be carried out twice or has a request id. Raises
        ArbiterError and ConnectionFailed.
        """

        async def attempt() -> A:
            return await method(request, timeout=self.timeout_s, metadata=self.metadata)

        return await self.persist(attempt, again)

    async def ask_all(self, method: grpc.aio.UnaryStreamMultiCallable[Q, A], request: Q) -> list[A]:
        """Return all messages of an answer that is a finite stream; repeats and raises as `ask` does."""

        async def attempt() -> list[A]:
            return [part async for part in method(request, timeout=self.timeout_s, metadata=self.metadata)]

        return await self.persist(attempt)

    async def persist(self, attempt: Callable[[], Awaitable[V]], again: bool = True) -> V:
        """Return the result of `attempt`; with `again`, repeat it as `ask` does. Raises as `ask` does.

        If an address can't be used, the next one is tried at once; all of them are tried before it raises.
        """
        clock = asyncio.get_running_loop().time
        give_up_s = clock() + self.patience_s
        tries = self.tries()
        if not again:
            await self._find()
        while True:
            address, greetings = self.address, self.greetings
            try:
                return await attempt()
            except grpc.aio.AioRpcError as failure:
                error = from_rpc(failure, address)
            passes = isinstance(error, ConnectionFailed) or error.temporary
            self.outages += passes
            pause_s = tries.failed(address, error)
            if not (again and passes):
                raise error
            if pause_s and clock() + pause_s > give_up_s:
                raise tries.all_failed(error)
            if pause_s and isinstance(error, ConnectionFailed):
                self.on_wait(error)
            await self.rest(pause_s, greetings, error)

    def tries(self) -> Tries:
        """Return the schedule of attempts for one caller: at which address and when to try again."""
        return Tries(self.addresses)

    async def _find(self) -> None:
        """Make an address current that answers, before a request that is not repeated. Raises ConnectionFailed."""
        if len(self.addresses.listed) > 1:
            with contextlib.suppress(ArbiterError):
                await self.ask(self.server.GetServerInfo, server_pb2.GetServerInfoRequest())

    async def close(self) -> None:
        """Close the channels for good; calls under way end."""
        for channel in self._channels.values():
            await channel.close()


class _Current:
    """A channel for generated stubs: each of their calls uses the channel to the current address."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __getattr__(self, kind: str) -> Callable[..., Callable[..., Any]]:
        """Return the factory of methods of a kind: `unary_unary`, `unary_stream`, `stream_unary`, `stream_stream`."""

        def method(*arguments: Any, **options: Any) -> Callable[..., Any]:
            def call(*request: Any, **more: Any) -> Any:
                return getattr(self._connection.channel_now(), kind)(*arguments, **options)(*request, **more)

            return call

        return method
