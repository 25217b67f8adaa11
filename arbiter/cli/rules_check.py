"""Plays the matches in a folder again by the installed rules (`arbiter rules check`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from arbiter.cli.counts import counted
from arbiter.cli.failure import Failure
from arbiter.cli.table_options import TableOptions
from arbiter.cli.terminal import remark, table
from arbiter.cli.transcript_files import SUFFIX
from arbiter.cli.verify import read_file
from arbiter.errors import Reason, Refusal
from arbiter.event_json.canonical import RecordError
from arbiter.games import registry
from arbiter.games.registry import Code
from arbiter.matches import record, transcript
from arbiter.matches.events import Created, Event
from arbiter.matches.same_rules import difference

DIGITS: Final = 12  #: of a hash, in the table


class _Checked(NamedTuple):
    """A match that was played again: its game, the code of then, and how the rules differ ('': they do not)."""

    match: str
    game: str
    code: Code | None
    difference: str


def check_folder(folder: Path, output: TableOptions | None) -> None:
    """Print a table of the games, and each match that differs. Raises Failure for these, and for a bad file."""
    if not folder.is_dir():
        raise Failure(f"{folder} is no folder: `arbiter export FOLDER` writes the matches of a store into one")
    checked = [_checked(file) for file in sorted(folder.rglob(f"*{SUFFIX}"))]
    table(("game", "rules then", "rules now", "matches", "differ"), _rows(checked), f"no match is in {folder}", output)
    wrong = [match for match in checked if match.difference]
    for match in wrong:
        remark(f"{match.match}, {match.game}: {match.difference}", output)
    if wrong:
        raise Failure(f"{counted(len(wrong), 'match', 'matches')} of {len(checked):,} would go differently")


def _checked(file: Path) -> _Checked:
    try:
        records, _ = transcript.split(read_file(file))
        events: list[Event] = [record.read(line) for line in records]
    except RecordError as error:
        raise Failure(f"{file}: {error}") from None
    created = events[0] if events else None
    if not isinstance(created, Created):
        raise Failure(f"{file}: expected the event that makes the match as its first line")
    try:
        found = difference(created, events[1:])
    except Refusal as refusal:
        if refusal.reason is not Reason.GAME_UNKNOWN:
            raise
        found = "the rules are not installed here"
    return _Checked(created.match, created.game, created.code, found)


def _rows(checked: list[_Checked]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield a row for each game and each code that it was played by."""
    counts = Counter((match.game.partition("(")[0], match.code) for match in checked)
    differ = Counter((match.game.partition("(")[0], match.code) for match in checked if match.difference)
    for (game, then), count in sorted(counts.items(), key=lambda item: (item[0][0], _shown(item[0][1]))):
        yield game, _shown(then), _now(game), f"{count:,}", f"{differ[game, then]:,}"


def _now(game: str) -> str:
    try:
        return _shown(registry.code(game))
    except Refusal:
        return "not installed"


def _shown(code: Code | None) -> str:
    return f"{code.package} {code.version} {code.sha256[:DIGITS]}" if code else "not noted"
