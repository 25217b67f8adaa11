"""Tokens: from the environment, or from a file that only its owner may read.

The file is `$ARBITER_CREDENTIALS`, or `arbiter/credentials.json` in `$XDG_CONFIG_HOME` or `~/.config`:

    {"127.0.0.1:7400": {"alice": "TOKEN"}}

Earlier versions wrote TOML, and `credentials.toml`: such a file is read, and rewritten.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from arbiter_client.errors import CredentialsError
from arbiter_client.text_files import text_of

try:
    import fcntl
except ImportError:  # a system without file locks: the last process to write wins
    fcntl = None  # type: ignore[assignment]

FILE: Final = "credentials.json"

Entries = dict[str, dict[str, str]]
"""Tokens by server address and player name."""


def path() -> Path:
    """Return the path of the credentials file, which need not exist."""
    given = os.environ.get("ARBITER_CREDENTIALS")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "arbiter" / FILE


def entries() -> Entries:
    """Return the content of the file. Raises CredentialsError if it is unreadable or not a credentials file."""
    content, old = _read(path())
    if old is not None:
        with contextlib.suppress(CredentialsError), _change():
            pass  # which writes it as JSON; a file that can't be written is only read
    return content


def parse(text: str) -> tuple[Entries, bool]:
    """Return the entries of a text, and whether it is of the older kind, TOML. Raises ValueError."""
    text = text.removeprefix("\ufeff")
    old = bool(text.strip()) and not text.lstrip().startswith("{")
    content = tomllib.loads(text) if old else json.loads(text if text.strip() else "{}")
    for players in content.values():
        if not isinstance(players, dict) or not all(isinstance(token, str) for token in players.values()):
            raise ValueError('it is no credentials file: expected {"HOST:PORT": {"NAME": "TOKEN"}}')
    return content, old


def _read(file: Path) -> tuple[Entries, Path | None]:
    """Return the content of the file, and the file of an earlier version that holds it, if one does."""
    earlier = file.with_suffix(".toml")
    if not file.exists() and file.name == FILE and not os.environ.get("ARBITER_CREDENTIALS") and earlier.exists():
        file = earlier
    try:
        content, old = parse(text_of(file.read_bytes()))
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError) as error:
        raise CredentialsError(f"can't use the credentials file {file}: {error}; mend it or move it away") from None
    return content, file if old else None


def players(servers: str | Sequence[str]) -> dict[str, str]:
    """Return the tokens of a server by player. Raises CredentialsError as `entries` does.

    With several addresses of one arbiter, a player's token is that of the first address that has one.
    """
    kept = entries()
    return {name: token for each in reversed(_each(servers)) for name, token in kept.get(each, {}).items()}


def find(servers: str | Sequence[str], name: str) -> str | None:
    """Return the token of a player on a server, or None. Raises CredentialsError as `entries` does."""
    return players(servers).get(name)


def given(token: str | None = None) -> str:
    """Return the token that the user gave: the argument, or ARBITER_TOKEN, or ''."""
    return token or os.environ.get("ARBITER_TOKEN") or ""


def token_for(servers: str | Sequence[str], name: str, token: str | None = None) -> str:
    """Return the token to use: the argument, or ARBITER_TOKEN, or the file's entry for the player, or ''."""
    return given(token) or (find(servers, name) if name else None) or ""


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
            content, old = _read(file)
            yield content
            _write(file, content)
            if old is not None and old != file:
                old.unlink()
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
    kept = {server: players for server, players in content.items() if players}
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        json.dump(kept, out, ensure_ascii=False, indent=1)
        out.write("\n")
    Path(draft).replace(file)
