"""Saves what a bot writes on its standard error (and output), by match, for its author only.

A line belongs to the matches of the bot that were under way when the line was read: from the creation of a match, as
recorded, to its end. Between two matches it belongs to the earlier one, and before the first match to `start.log`. For
a bot that plays one game at a time this is one match. If several are under way, the line does not say to which it
belongs: a line that contains the ids of some of them belongs to these, any other line is saved with each.

Events of matches may arrive shortly after a line was read, so lines wait for `HOLD_MS` before they are saved.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

CAP_BYTES: Final = 65_536  #: of a match; later lines are left out, except for the last lines before a crash
LONGEST_LINE: Final = 4_096  #: bytes; longer lines are split
LAST_LINES: Final = 20  #: kept in memory for a crash
LAST_SHARE: Final = 8  #: their maximum share of the cap
HOLD_MS: Final = 2_000
MOST_WAITING: Final = 4  #: maximum of waiting output, as a multiple of the cap
START: Final = "start"
_OWNER_ONLY: Final = 0o600


class _Match(NamedTuple):
    match_id: str
    begun_ms: int
    ended_ms: int | None


class _Line(NamedTuple):
    """A line and the time at which it was read; or, if this program added it, how the bot ended then."""

    at_ms: int
    text: bytes
    ours: bool


class BotLog:
    """The output of one bot. Times are UTC in milliseconds since 1970, by this machine's clock."""

    def __init__(self, folder: Path, cap_bytes: int = CAP_BYTES) -> None:
        self._folder = folder
        self._cap_bytes = cap_bytes
        self._matches: dict[str, _Match] = {}
        self._rest = b""
        self._waiting: deque[_Line] = deque()
        self._waiting_bytes = 0
        self._last: deque[bytes] = deque(maxlen=LAST_LINES)
        self._cut: set[str] = set()  # matches with lines that were left out
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def file(self, match_id: str) -> Path:
        """Return the file of a match's lines."""
        return self._folder / f"{match_id}.log"

    def begun(self, match_id: str, at_ms: int) -> None:
        """Record that a match of the bot was created."""
        self._matches.setdefault(match_id, _Match(match_id, at_ms, None))

    def ended(self, match_id: str, at_ms: int) -> None:
        """Record that a match has ended. Earlier matches that have ended too are dropped after a while."""
        if match_id in self._matches:
            self._matches[match_id] = self._matches[match_id]._replace(ended_ms=at_ms)

    def wrote(self, data: bytes, now_ms: int) -> None:
        """Add output of the bot."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        while len(self._rest) >= LONGEST_LINE:
            lines.append(self._rest[:LONGEST_LINE])
            self._rest = self._rest[LONGEST_LINE:]
        for line in lines:
            for start in range(0, max(len(line), 1), LONGEST_LINE):
                self._wait(_Line(now_ms, line[start : start + LONGEST_LINE] + b"\n", ours=False))

    def keep(self, until_ms: int) -> None:
        """Save the lines that were read before a given time."""
        while self._waiting and self._waiting[0].at_ms <= until_ms:
            line = self._waiting.popleft()
            self._waiting_bytes -= len(line.text)
            for match_id in self.matches_of(line.text, line.at_ms):
                (self._close if line.ours else self._write)(match_id, line.text)
            if line.ours:
                self._last.clear()
            else:
                self._last.append(line.text)
        self._forget(until_ms)

    def noted(self, words: str, now_ms: int) -> None:
        """Add a line of this program's own: what the bot did."""
        end = b"\n" if self._rest else b""
        self.wrote(end + f"[arbiter] {words}\n".encode(), now_ms)

    def died(self, words: str, now_ms: int) -> None:
        """Record how the bot's process ended. Its last lines are saved even if they exceed the limit."""
        if self._rest:
            self.wrote(b"\n", now_ms)
        self._wait(_Line(now_ms, f"[arbiter] {words}\n".encode(), ours=True))

    def close(self, now_ms: int) -> None:
        """Save everything that is left."""
        if self._rest:
            self.wrote(b"\n", now_ms)
        self.keep(now_ms)

    def matches_of(self, line: bytes, at_ms: int) -> list[str]:
        """Return the matches, by id, to which a line belongs that was read at a given time."""
        begun = [match for match in self._matches.values() if match.begun_ms <= at_ms]
        under_way = [match.match_id for match in begun if match.ended_ms is None or match.ended_ms > at_ms]
        named = [match_id for match_id in under_way if match_id.encode() in line]
        if under_way:
            return named or under_way
        return [max(begun, key=lambda match: match.ended_ms or 0).match_id] if begun else [START]

    def _wait(self, line: _Line) -> None:
        """Queue a line. If a bot writes more at once than may be kept, the oldest lines are lost."""
        self._waiting.append(line)
        self._waiting_bytes += len(line.text)
        while self._waiting_bytes > MOST_WAITING * self._cap_bytes:
            self._waiting_bytes -= len(self._waiting.popleft().text)

    def _close(self, match_id: str, words: bytes) -> None:
        """Write how the bot ended, after its last lines if they were left out."""
        if self._size(match_id) >= 2 * self._cap_bytes:
            return  # a bot may crash again and again
        last = b"".join(self._last)[-self._cap_bytes // LAST_SHARE :] if match_id in self._cut else b""
        self._append(match_id, (b"[arbiter] the last lines:\n" + last if last else b"") + words)

    def _write(self, match_id: str, line: bytes) -> None:
        if match_id in self._cut:
            return
        if self._size(match_id) + len(line) > self._cap_bytes:
            self._cut.add(match_id)
            line = f"[arbiter] {self._cap_bytes} bytes are kept of a match: cut here\n".encode()
        self._append(match_id, line)

    def _size(self, match_id: str) -> int:
        file = self.file(match_id)
        return file.stat().st_size if file.exists() else 0

    def _append(self, match_id: str, data: bytes) -> None:
        handle = os.open(self.file(match_id), os.O_WRONLY | os.O_APPEND | os.O_CREAT, _OWNER_ONLY)
        with os.fdopen(handle, "ab") as file:
            file.write(data)

    def _forget(self, until_ms: int) -> None:
        """Drop matches that ended so long ago that no line can belong to them, except the one that ended last."""
        over = [match for match in self._matches.values() if match.ended_ms is not None and match.ended_ms <= until_ms]
        for match in sorted(over, key=lambda match: match.ended_ms or 0)[:-1]:
            del self._matches[match.match_id]
            self._cut.discard(match.match_id)
