"""The protocol's version, and the server's capabilities beyond version 1."""

from __future__ import annotations

from typing import Final

from arbiter.errors import Reason, Refusal

PROTOCOL_VERSION: Final = "1.0"
SOFTWARE: Final = "arbiter"
READY: Final = "ready"  #: of a bot that says when it is ready for a match, and of a server that waits for it
CAPABILITIES: Final[tuple[str, ...]] = (READY,)


def check_version(version: str) -> None:
    """Raise Refusal VERSION_UNSUPPORTED unless a client's protocol version has the major version of this server."""
    if version.partition(".")[0] != PROTOCOL_VERSION.partition(".")[0]:
        raise Refusal(
            Reason.VERSION_UNSUPPORTED,
            f"protocol version {version[:20]!r} is not served here: use a client of version {PROTOCOL_VERSION}",
            supported=PROTOCOL_VERSION,
        )
