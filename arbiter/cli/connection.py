"""The options of all commands that call a server: its address, the token and TLS."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from arbiter_client import DEFAULT_SERVER, ArbiterError, BlockingClient, ClientError, Reason, Tls, credentials
from arbiter_client.addresses import server_addresses
from cyclopts import Group, Parameter

from arbiter.cli.announcing import OPERATOR
from arbiter.cli.failure import Failure

CONNECTION = Group("Connection", sort_key=10)


@Parameter(name="*", group=CONNECTION)
@dataclass(frozen=True)
class Connection:
    """A server, a token and the transport's security, as given on the command line."""

    server: Annotated[
        str,
        Parameter(env_var="ARBITER_SERVER", help="The arbiter, as HOST:PORT; several of its addresses with commas."),
    ] = DEFAULT_SERVER
    token: Annotated[
        str | None, Parameter(help="The token (default: $ARBITER_TOKEN, or the entry in the credentials file).")
    ] = None
    as_: Annotated[
        str | None, Parameter(name="--as", help="Ask as this player, by its token in the credentials file.")
    ] = None
    tls: Annotated[bool, Parameter(negative=(), help="Speak TLS, and trust the system's certificates.")] = False
    tls_root: Annotated[Path | None, Parameter(help="Speak TLS, and trust this certificate (PEM).")] = None
    tls_certificate: Annotated[Path | None, Parameter(help="Our own certificate (PEM), with --tls-key.")] = None
    tls_key: Annotated[Path | None, Parameter(help="The key of our own certificate (PEM).")] = None

    def security(self) -> Tls | None:
        """Return the transport's security, or None for plain text."""
        files = (self.tls_root, self.tls_certificate, self.tls_key)
        return Tls(*files) if self.tls or any(files) else None

    def secret(self) -> str:
        """Return the token to call with, or '' if there is none.

        The order is: an explicit --token, then --as, then $ARBITER_TOKEN, and last the credentials file: the operator's
        entry for the server, or the only entry. Raises Failure if several entries are possible, ClientError if the
        credentials file cannot be read.
        """
        if self.token:
            return self.token
        from_environment = os.environ.get("ARBITER_TOKEN", "")
        if from_environment and not self.as_:
            return from_environment
        kept = credentials.players(server_addresses(self.server))
        if self.as_:
            if self.as_ not in kept:
                known = ", ".join(sorted(kept)) or "nobody"
                raise Failure(
                    f"{credentials.path()} has no token of {self.as_} for {self.server} (it knows {known}): "
                    f"make one with `arbiter token create {self.as_} --save`"
                )
            return kept[self.as_]
        if OPERATOR in kept or len(kept) == 1:
            return kept.get(OPERATOR) or next(iter(kept.values()))
        if kept:
            raise Failure(
                "there are tokens of several players for this server: choose one by --as NAME, one of "
                f"{', '.join(sorted(kept))}, or give a --token"
            )
        return ""


@contextmanager
def connected(connection: Connection | None) -> Iterator[BlockingClient]:
    """Yield a client of the server. Raises Failure, with one clear line, for every error of it."""
    connection = connection or Connection()
    secret = ""
    try:
        secret = connection.secret()
        with BlockingClient(connection.server, token=secret, tls=connection.security()) as client:
            yield client
    except ArbiterError as error:
        if error.reason is Reason.TOKEN_INVALID and not secret and not os.environ.get("ARBITER_TOKEN"):
            raise Failure(
                f"no token for {connection.server}: give --token or $ARBITER_TOKEN, or have its operator make one "
                "with `arbiter token create NAME`"
            ) from None
        raise Failure(error.message) from None
    except ClientError as error:
        raise Failure(str(error)) from None
