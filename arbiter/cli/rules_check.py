"""Plays the matches of a store, or in a folder, again by the installed rules (`arbiter rules check`)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from arbiter.bootstrap.exporting import open_export
from arbiter.bootstrap.store import shown_store
from arbiter.cli.failure import Failure
from arbiter.cli.store import progress_of
from arbiter.cli.table_options import TableOptions
from arbiter.cli.terminal import counted, remark, table
from arbiter.cli.transcript_files import SUFFIX
from arbiter.cli.verify import read_file
from arbiter.errors import Reason, Refusal, shortened
from arbiter.event_json.canonical import RecordError
from arbiter.games import registry
from arbiter.games.registry import Code
from arbiter.matches import record, transcript
from arbiter.matches.events import Created, Event
from arbiter.matches.same_rules import difference

DIGITS: Final = 12  #: of a hash, in the table
MISSING: Final = "the rules are not installed here"
LONGEST: Final = 200  #: characters of an error that rules have raised


class _Checked(NamedTuple):
    """A match that was played again: its game, the code of then, and how the rules differ.

    difference: '' if they do not, MISSING if they are not there.
    """

    match: str
    game: str
    code: Code | None
    difference: str


def check_folder(folder: Path, output: TableOptions | None) -> None:
    """Print a table of the games, and each match that differs. Raises Failure for these, and for a bad file."""
    if not folder.is_dir():
        raise Failure(f"{folder} is no folder: `arbiter export FOLDER` writes the matches of a store into one")
    checked = [_checked(_events(file), file) for file in sorted(folder.rglob(f"*{SUFFIX}"))]
    _report(checked, f"no match is in {folder}", output)


def check_store(url: str, ring: Path, output: TableOptions | None) -> None:
    """Print the same of the matches of a store. Raises Failure for those that differ, and for a damaged one."""
    _report(asyncio.run(_of_store(url, ring)), f"no match is in {shown_store(url)}", output)


async def _of_store(url: str, ring: Path) -> list[_Checked]:
    async with open_export(url, ring) as source:
        matches = [match_id async for match_id in source.matches()]
        found: list[_Checked] = []
        with progress_of("Playing", "matches") as progress:
            for match_id in reversed(matches):
                try:
                    found.append(_checked(await source.events(match_id), match_id))
                except Refusal as refusal:
                    if refusal.reason is not Reason.RECORD_DAMAGED:
                        raise
                    raise Failure(f"{shown_store(url)}: {refusal.facts['why']}: see `arbiter store check`") from None
                progress(len(found), len(matches))
    return found


def _report(checked: list[_Checked], empty: str, output: TableOptions | None) -> None:
    table(("game", "rules then", "rules now", "matches", "differ"), _rows(checked), empty, output)
    wrong = [match for match in checked if match.difference]
    for match in wrong:
        remark(f"{match.match}, {match.game}: {match.difference}", output)
    missing = sum(match.difference == MISSING for match in wrong)
    said = ("would go differently", len(wrong) - missing), (f"not checked: {MISSING}", missing)
    problems = [f"{counted(n, 'match', 'matches')} of {len(checked):,} {what}" for what, n in said if n]
    if problems:
        raise Failure("; ".join(problems))


def _events(file: Path) -> list[Event]:
    try:
        records, _ = transcript.split(read_file(file))
        return [record.read(line) for line in records]
    except RecordError as error:
        raise Failure(f"{file}: {error}") from None


def _checked(events: Sequence[Event], where: object) -> _Checked:
    created = events[0] if events else None
    if not isinstance(created, Created):
        raise Failure(f"{where}: expected the event that makes the match as its first line")
    try:
        found = difference(created, events[1:])
    except Refusal as refusal:
        if refusal.reason is not Reason.GAME_UNKNOWN:
            raise
        found = MISSING
    except Exception as error:  # rules of a package may raise anything
        found = f"the rules raised {type(error).__name__}: {shortened(str(error), LONGEST)}"
    return _Checked(created.match, created.game, created.code, found)


def _rows(checked: list[_Checked]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield a row for each game and each code that it was played by."""
    counts = Counter((match.game.partition("(")[0], match.code) for match in checked)
    wrong = [match for match in checked if match.difference not in ("", MISSING)]
    differ = Counter((match.game.partition("(")[0], match.code) for match in wrong)
    for (game, then), count in sorted(counts.items(), key=lambda item: (item[0][0], _shown(item[0][1]))):
        yield game, _shown(then), _now(game), f"{count:,}", f"{differ[game, then]:,}"


def _now(game: str) -> str:
    try:
        return _shown(registry.code(game))
    except Refusal:
        return "not installed"


def _shown(code: Code | None) -> str:
    return f"{code.package} {code.version} {code.sha256[:DIGITS]}" if code else "not noted"
