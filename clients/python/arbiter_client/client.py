"""The asyncio client: every call of a server except the Play stream, with typed answers and named errors."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from arbiter_client import credentials
from arbiter_client.addresses import server_addresses
from arbiter_client.calls.games import GameCalls
from arbiter_client.calls.matches import MatchCalls
from arbiter_client.calls.observing import ObserveCalls
from arbiter_client.calls.players import PlayerCalls
from arbiter_client.calls.ratings import RatingCalls
from arbiter_client.calls.tournaments import TournamentCalls
from arbiter_client.channel import Connection, Tls, security


class Client(GameCalls, MatchCalls, ObserveCalls, PlayerCalls, TournamentCalls, RatingCalls):
    """A client of one arbiter.

    `server` is HOST:PORT, or several addresses of that arbiter, separated by commas (default: ARBITER_SERVER, or
    127.0.0.1:7400). If a server is gone or about to stop, the client uses the next address. The token is the argument,
    or ARBITER_TOKEN, or the entry of player `name` in the credentials file, or none. Without `tls` the certificates of
    the environment are used (ARBITER_ROOT_CERTIFICATE, ARBITER_CLIENT_CERTIFICATE, ARBITER_CLIENT_KEY), or plain text.
    `timeout_s` is the time limit of one call; `patience_s` is how long an unreachable server is tried. Refusals are
    raised as ArbiterError; if no arbiter answers, as ConnectionFailed. Use it in one event loop:

        async with Client("127.0.0.1:7400") as client:
            print(await client.list_games())
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        token: str | None = None,
        name: str = "",
        tls: Tls | None = None,
        timeout_s: float = 30.0,
        patience_s: float = 1.0,
    ) -> None:
        addresses = server_addresses(server)
        secret = credentials.token_for(addresses, name, token)
        self.connection = Connection(addresses, secret, security(tls), timeout_s, patience_s)

    @property
    def server(self) -> str:
        """The address in use, HOST:PORT."""
        return self.connection.address

    @property
    def servers(self) -> tuple[str, ...]:
        """All addresses, HOST:PORT, as they were given."""
        return self.connection.addresses.listed

    async def close(self) -> None:
        """Close the connection; calls under way end."""
        await self.connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
