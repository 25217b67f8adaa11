"""The addresses of NATS servers, as the setting `bus` has them."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit

from arbiter.errors import OperatorError

FORM: Final = "nats://HOST:PORT or tls://HOST:PORT, several of them with commas between"
PORT: Final = 4222


def servers_of(setting: str) -> list[str]:
    """Return the URLs of the servers, with a user or token where the setting has one. Raises OperatorError."""
    return [_url(each.strip()) for each in setting.split(",")]


def shown(setting: str) -> str:
    """Return the addresses without passwords and tokens, for display. Raises OperatorError."""
    return ",".join(f"{url.scheme}://{_host(url)}:{url.port}" for url in map(urlsplit, servers_of(setting)))


def _url(text: str) -> str:
    try:
        url = urlsplit(text if "://" in text else f"nats://{text}")
        port = url.port or PORT
        wrong = url.scheme not in ("nats", "tls") or not url.hostname or url.path not in ("", "/") or url.query
    except ValueError:
        wrong = True
    if wrong or url.fragment or not _is_plain(text):
        without = text.rpartition("@")[2]
        raise OperatorError(f"{without!r} is no address of a bus: write {FORM}")
    user = f"{url.netloc.rpartition('@')[0]}@" if "@" in url.netloc else ""
    return f"{url.scheme}://{user}{_host(url)}:{port}"


def _host(url: SplitResult) -> str:
    host = url.hostname or ""
    return f"[{host}]" if ":" in host else host


def _is_plain(text: str) -> bool:
    return text.isprintable() and " " not in text
