"""Reads the unfinished matches at a start, and separates those whose record is damaged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from arbiter.matches.match import Match, Phase
from arbiter.service.ports.journal import Journal, RecordDamaged, RecordUnreadable, StoreDamaged, StoredRecord
from arbiter.service.record.matches import load_match

READ_AT_ONCE: Final = 100  #: matches in one read, because single reads would take twice as long

CUT = "later records are missing in the log, up to number {gap}: its end may have been one of them"
"""The reason why a match or tournament is not continued although each of its records is valid."""


async def unfinished_matches(journal: Journal) -> tuple[list[Match], list[RecordUnreadable]]:
    """Return the unfinished matches, and the errors of those that can't be read.

    A match whose last record is before a gap in the log is damaged too: its end may have been removed. Raises
    StoreFailed.
    """
    loaded: list[tuple[Match, int]] = []
    damages: list[RecordUnreadable] = []
    ids = await journal.unfinished()
    for first in range(0, len(ids), READ_AT_ONCE):
        for records in await _read(journal, ids[first : first + READ_AT_ONCE], damages):
            try:
                match = load_match(records)
            except RecordUnreadable as damage:
                damages.append(damage)
                continue
            if match.phase is Phase.ENDED:  # the list of matches is wrong
                damages.append(StoreDamaged(f"match {match.id} has ended, but is listed as unfinished"))
            else:
                loaded.append((match, records[-1].sequence))
    gap = await journal.last_gap(min(last for _, last in loaded)) if loaded else 0
    damages += [RecordDamaged(match.id, match.revision, CUT.format(gap=gap)) for match, last in loaded if last < gap]
    return [match for match, last in loaded if last > gap], damages


async def _read(
    journal: Journal, ids: Sequence[str], damages: list[RecordUnreadable]
) -> Iterable[Sequence[StoredRecord]]:
    """Return the records of some matches.

    If they can't be read together, each match is read alone, and only the undamaged ones are returned.
    """
    try:
        records = await journal.read_many(ids)
    except StoreDamaged as damage:
        if len(ids) == 1:
            damages.append(StoreDamaged(f"match {ids[0]}: {damage.why}"))
            return []
        return [of_match for id_ in ids for of_match in await _read(journal, [id_], damages)]
    found = [list(of_match) for _, of_match in groupby(records, key=attrgetter("match_id"))]
    missing = set(ids) - {of_match[0].match_id for of_match in found}
    damages += [StoreDamaged(f"match {id_} is listed as unfinished, but has no record") for id_ in missing]
    return found
