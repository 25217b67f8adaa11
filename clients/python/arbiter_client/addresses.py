"""The addresses of one arbiter: which one is in use, and which one to try next if a call fails."""

from __future__ import annotations

import os
from typing import Final

import grpc

from arbiter_client.backoff import Backoff
from arbiter_client.errors import ArbiterError, ClientError, ConnectionFailed

DEFAULT_SERVER: Final = "127.0.0.1:7400"


def server_addresses(server: str | None) -> tuple[str, ...]:
    """Return the addresses to connect to: the argument's, or those of ARBITER_SERVER, or that of `arbiter serve`.

    Raises ConnectionFailed for one that is not HOST:PORT.
    """
    given = [part.strip() for part in (server or os.environ.get("ARBITER_SERVER") or DEFAULT_SERVER).split(",")]
    for number, address in enumerate(given, 1):
        host, colon, port = address.rpartition(":")
        bare = ":" in host and not (host.startswith("[") and host.endswith("]"))
        digits = port.isascii() and port.isdigit()
        if not (colon and host and digits and 0 < int(port) < 65536) or bare or " " in address:
            which = f" (number {number} of {len(given)})" if len(given) > 1 else ""
            how = f"write HOST:PORT, such as {DEFAULT_SERVER} or [::1]:7400, and commas between several"
            raise ConnectionFailed(f"{address!r}{which} is no address: {how}")
    return tuple(dict.fromkeys(given))


class Addresses:
    """The addresses of one arbiter, all equivalent. All calls of a client use the `current` one."""

    def __init__(self, listed: tuple[str, ...]) -> None:
        self.listed = listed
        self.current = listed[0]

    def after(self, address: str) -> list[str]:
        """Return the other addresses, in the order in which they are tried after this one."""
        place = self.listed.index(address)
        return [*self.listed[place + 1 :], *self.listed[:place]]


class Tries:
    """The attempts of one caller: at the next address at once, and after a pause once all addresses have failed."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._backoff = Backoff()
        self._failed: dict[str, ClientError] = {}  # since the last pause

    def failed(self, address: str, error: ClientError) -> float:
        """Return the pause after an attempt at an address, in seconds: 0 if another address is to be tried first.

        The next address is chosen if no arbiter answers at this one, or if it refuses every call for now.
        """
        asked_s = _asked_s(error)
        if isinstance(error, ConnectionFailed) or error_code(error) == "UNAVAILABLE":
            if len(self._failed) == len(self._addresses.listed):
                self._failed = {}
            self._failed[address] = error
            others = self._addresses.after(address)
            left = [other for other in others if other not in self._failed]
            if self._addresses.current in self._failed:
                self._addresses.current = (left or others or [address])[0]
            if left:
                return 0.0
            asked_s = min(map(_asked_s, self._failed.values()))
        return self._backoff.next_s(asked_s)

    def all_failed(self, last: ClientError) -> ClientError:
        """Return the error to raise after the last attempt: its error, or one that names all addresses."""
        if len(self._failed) < max(2, len(self._addresses.listed)):
            return last
        each = ", nor at ".join(f"{address} ({_why(error)})" for address, error in self._failed.items())
        hint = "is one running there, are hosts and ports right, and does it speak TLS or not as you do?"
        error = ConnectionFailed(f"no arbiter answers at {each}: {hint}")
        error.__cause__ = last
        return error

    def reset(self) -> None:
        """Start again from the first pause, after a success."""
        self._failed = {}
        self._backoff.reset()


def error_code(error: ClientError) -> str:
    """Return the status code of a refusal; '' for another error."""
    return error.code if isinstance(error, ArbiterError) else ""


def _asked_s(error: ClientError) -> float:
    return error.retry_after_s if isinstance(error, ArbiterError) else 0.0


def _why(error: ClientError) -> str:
    cause = error.__cause__
    return (cause.details() if isinstance(cause, grpc.aio.AioRpcError) else None) or str(error)
