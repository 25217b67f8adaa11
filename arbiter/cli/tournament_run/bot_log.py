"""Saves what a bot writes on its standard error (and output), by match, for its author only, as plain text.

A line belongs to the matches of the bot that were under way when the line was read: from the creation of a match, as
recorded, to its end. Between two matches it belongs to the earlier one, and before the first match to `start.log`. For
a bot that plays one game at a time this is one match. If several are under way, the line may not say to which it
belongs: then it is saved with each. A line that contains the id of a match belongs to that match.

Events of matches may arrive shortly after a line was read, so lines wait for `HOLD_MS` before they are saved. Of a bot
that writes more than may wait, the first and the last lines of each `SLICE_MS` wait, so that no match is without any.
Of a match the first lines are saved, and at its end the last ones; between them the file says how much is left out.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import deque
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, NamedTuple

from arbiter.plain_text import plain

CAP_BYTES: Final = 65_536  #: of the first lines of a match
LONGEST_LINE: Final = 4_096  #: bytes; longer lines are split
LAST_SHARE: Final = 8  #: the share of the cap that the last lines have beside it
HOLD_MS: Final = 2_000
SLICE_MS: Final = 100  #: of this time, as many lines wait as a match keeps
START: Final = "start"
_OWNER_ONLY: Final = 0o600
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


class _Match(NamedTuple):
    match_id: str
    begun_ms: int
    ended_ms: int | None


class _Line(NamedTuple):
    """A line and the time at which it was read; or, if this program added it, how the bot ended then.

    left_out: bytes of lines before it that did not wait.
    """

    at_ms: int
    text: bytes
    ours: bool
    left_out: int = 0


class _Lines:
    """The first lines of many, up to a number of bytes, and the last ones. left_out: bytes between them."""

    def __init__(self, first_bytes: int, last_bytes: int) -> None:
        self._first_left = first_bytes
        self._most = last_bytes
        self.last: deque[_Line] = deque()
        self._last_bytes = 0
        self.left_out = 0

    def is_first(self, line: _Line) -> bool:
        """Return whether a line is one of the first; if not, it is one of the last for now."""
        if line.ours or (len(line.text) <= self._first_left and not self.last and not line.left_out):
            self._first_left -= len(line.text)
            return True
        self.last.append(line)
        self.left_out += line.left_out
        self._last_bytes += len(line.text)
        while self._last_bytes > self._most and len(self.last) > 1:
            gone = len(self.last.popleft().text)
            self._last_bytes -= gone
            self.left_out += gone
        return False

    def rest(self) -> list[_Line]:
        """Return the last lines, of which the first one says how much is left out before it; there are none then."""
        lines = list(self.last)
        if lines:
            lines[0] = lines[0]._replace(left_out=self.left_out)
        self.last.clear()
        self._last_bytes = self.left_out = 0
        return lines


class BotLog:
    """The output of one bot. Times are UTC in milliseconds since 1970, by this machine's clock."""

    def __init__(self, folder: Path, cap_bytes: int = CAP_BYTES) -> None:
        self._folder = folder
        self._cap_bytes = cap_bytes
        self._matches: dict[str, _Match] = {}
        self._rest = b""
        self._waiting: deque[_Line] = deque()
        self._slice = -1  # the number of the time whose lines are read now
        self._of_slice = self._lines()
        self._of_match: dict[str, _Lines] = {}
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def file(self, match_id: str) -> Path:
        """Return the file of a match's lines: in the folder of the day (UTC) on which it began."""
        name, match = f"{match_id}.log", self._matches.get(match_id)
        if match is None:
            return next(self._folder.glob(f"*/{name}"), self._folder / name)
        return self._folder / datetime.fromtimestamp(match.begun_ms / 1_000, UTC).date().isoformat() / name

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
        for line in map(_shown, lines):
            for start in range(0, max(len(line), 1), LONGEST_LINE):
                self._wait(_Line(now_ms, line[start : start + LONGEST_LINE] + b"\n", ours=False))

    def keep(self, until_ms: int) -> None:
        """Save the lines that were read before a given time."""
        if until_ms // SLICE_MS >= self._slice:
            self._end_slice()
        while self._waiting and self._waiting[0].at_ms <= until_ms:
            line = self._waiting.popleft()
            for match_id in self.matches_of(line.text, line.at_ms):
                (self._close if line.ours else self._write)(match_id, line)
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
        for match_id in list(self._of_match):
            self._save_last(match_id)

    def matches_of(self, line: bytes, at_ms: int) -> list[str]:
        """Return the matches, by id, to which a line belongs that was read at a given time."""
        begun = [match for match in self._matches.values() if match.begun_ms <= at_ms]
        under_way = [match.match_id for match in begun if match.ended_ms is None or match.ended_ms > at_ms]
        named = [match.match_id for match in begun if match.match_id.encode() in line]
        if named or under_way:
            return named or under_way
        return [max(begun, key=lambda match: match.ended_ms or 0).match_id] if begun else [START]

    def remove_before(self, day: date) -> None:
        """Remove the folders of the days (UTC) before one, with the output of their matches."""
        for folder in self._folder.iterdir():
            if _DAY.fullmatch(folder.name) and folder.name < day.isoformat():
                shutil.rmtree(folder)

    def _lines(self) -> _Lines:
        return _Lines(self._cap_bytes, self._cap_bytes // LAST_SHARE)

    def _wait(self, line: _Line) -> None:
        """Queue a line."""
        if line.at_ms // SLICE_MS != self._slice:
            self._end_slice()
            self._slice = line.at_ms // SLICE_MS
        if line.ours:
            self._waiting += self._of_slice.rest()
        if self._of_slice.is_first(line):
            self._waiting.append(line)

    def _end_slice(self) -> None:
        self._waiting += self._of_slice.rest()
        self._of_slice = self._lines()

    def _close(self, match_id: str, line: _Line) -> None:
        """Write how the bot ended, after its last lines."""
        self._save_last(match_id)
        if self._size(match_id) < 2 * self._cap_bytes:  # a bot may crash again and again
            self._append(match_id, line.text)

    def _write(self, match_id: str, line: _Line) -> None:
        lines = self._of_match.get(match_id)
        if lines is None:
            first = self._cap_bytes - self._size(match_id)  # of a run that is continued, it has some
            lines = self._of_match[match_id] = _Lines(first, self._cap_bytes // LAST_SHARE)
        if lines.is_first(line):
            self._append(match_id, line.text)

    def _save_last(self, match_id: str) -> None:
        """Save the last lines of a match, if not all were saved at once."""
        lines = self._of_match.get(match_id)
        if lines is not None and lines.last and self._size(match_id) < 2 * self._cap_bytes:
            left_out = lines.left_out
            note = f"[arbiter] {left_out} bytes are left out here\n".encode() if left_out else b""
            self._append(match_id, note + b"".join(line.text for line in lines.rest()))

    def _size(self, match_id: str) -> int:
        file = self.file(match_id)
        return file.stat().st_size if file.exists() else 0

    def _append(self, match_id: str, data: bytes) -> None:
        file = self.file(match_id)
        file.parent.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _OWNER_ONLY)
        with os.fdopen(handle, "ab") as opened:
            opened.write(data)

    def _forget(self, until_ms: int) -> None:
        """Drop matches that ended so long ago that no line can belong to them, except the one that ended last."""
        over = [match for match in self._matches.values() if match.ended_ms is not None and match.ended_ms <= until_ms]
        for match in sorted(over, key=lambda match: match.ended_ms or 0)[:-1]:
            self._save_last(match.match_id)
            del self._matches[match.match_id]
            self._of_match.pop(match.match_id, None)


def _shown(line: bytes) -> bytes:
    """Return a line of a bot as its file has it: what a terminal would obey, and what is no UTF-8, is escaped."""
    return plain(line.decode(errors="backslashreplace").removesuffix("\r"), "\t").encode()
