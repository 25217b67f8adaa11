"""Tokens: from the environment, or from a file that only its owner may read.

The file is `$ARBITER_CREDENTIALS`, or `arbiter/credentials.toml` in `$XDG_CONFIG_HOME` or `~/.config`:

    ["127.0.0.1:7400"]
    alice = "TOKEN"
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from arbiter_client.errors import CredentialsError
from arbiter_client.text_files import text_of

try:
    import fcntl
except ImportError:  # a system without file locks: the last process to write wins
    fcntl = None  # type: ignore[assignment]

Entries = dict[str, dict[str, str]]
"""Tokens by server address and player name."""


def path() -> Path:
    """Return the path of the credentials file, which need not exist."""
    given = os.environ.get("ARBITER_CREDENTIALS")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "arbiter" / "credentials.toml"


def entries() -> Entries:
    """Return the content of the file. Raises CredentialsError if it is unreadable or not a credentials file."""
    file = path()
    try:
        content = tomllib.loads(text_of(file.read_bytes()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CredentialsError(f"can't use the credentials file {file}: {error}; mend it or move it away") from None
    for players in content.values():
        if not isinstance(players, dict) or not all(isinstance(token, str) for token in players.values()):
            raise CredentialsError(f"{file} is no credentials file: it holds tables of NAME = TOKEN by server address")
    return content


def players(servers: str | Sequence[str]) -> dict[str, str]:
    """Return the tokens of a server by player. Raises CredentialsError as `entries` does.

    With several addresses of one arbiter, a player's token is that of the first address that has one.
    """
    kept = entries()
    return {name: token for each in reversed(_each(servers)) for name, token in kept.get(each, {}).items()}


def find(servers: str | Sequence[str], name: str) -> str | None:
    """Return the token of a player on a server, or None. Raises CredentialsError as `entries` does."""
    return players(servers).get(name)


def token_for(servers: str | Sequence[str], name: str, token: str | None = None) -> str:
    """Return the token to use: the argument, or ARBITER_TOKEN, or the file's entry for the player, or ''."""
    return token or os.environ.get("ARBITER_TOKEN") or (find(servers, name) if name else None) or ""


def save(servers: str | Sequence[str], name: str, token: str) -> None:
    """Store a player's token for each address, in place of an earlier one. Raises CredentialsError."""
    with _change() as content:
        for each in _each(servers):
            content.setdefault(each, {})[name] = token


def forget(servers: str | Sequence[str], name: str) -> bool:
    """Remove a player's token, and return whether there was one. Raises CredentialsError."""
    with _change() as content:
        found = [content.get(each, {}).pop(name, None) for each in _each(servers)]
        return any(token is not None for token in found)


def _each(servers: str | Sequence[str]) -> Sequence[str]:
    return [servers] if isinstance(servers, str) else servers


@contextlib.contextmanager
def _change() -> Iterator[Entries]:
    file = path()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Bots that start together register at the same time: each must see the entries of the others.
        with _lock(file):
            content = entries()
            yield content
            _write(file, content)
    except OSError as error:
        raise CredentialsError(f"can't write the credentials file {file}: {error.strerror or error}") from None


@contextlib.contextmanager
def _lock(file: Path) -> Iterator[None]:
    handle = os.open(file.with_name(file.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write(file: Path, content: Entries) -> None:
    """Replace the file atomically: a reader sees the old one or the new one. `mkstemp` gives it mode 0600."""
    lines = []
    for server, players in content.items():
        if players:
            lines += [
                f"[{json.dumps(server)}]",
                *(f"{json.dumps(name)} = {json.dumps(players[name])}" for name in players),
            ]
            lines.append("")
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write("\n".join(lines))
    Path(draft).replace(file)
