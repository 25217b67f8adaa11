"""Reads the unfinished matches at a start, and separates those whose record is damaged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
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

    A match whose last record is before a gap in the log is damaged too: its end may have been removed. A match that
    another server ends while this one reads is neither. Raises StoreFailed.
    """
    loaded: list[tuple[Match, int]] = []
    damages: list[RecordUnreadable] = []
    wrong: dict[str, str] = {}  # what contradicts the list, by match
    ids = await journal.unfinished()
    for first in range(0, len(ids), READ_AT_ONCE):
        some = ids[first : first + READ_AT_ONCE]
        wrong |= dict.fromkeys(some, "has no record")
        for records in await _read(journal, some, damages, wrong):
            match_id = records[0].match_id
            del wrong[match_id]
            try:
                match = load_match(records)
            except RecordUnreadable as damage:
                damages.append(damage)
                continue
            if match.phase is Phase.ENDED:
                wrong[match_id] = "has ended"
            else:
                loaded.append((match, records[-1].sequence))
    gap = await journal.last_gap(min(last for _, last in loaded)) if loaded else 0
    damages += [RecordDamaged(match.id, match.revision, CUT.format(gap=gap)) for match, last in loaded if last < gap]
    damages += [
        StoreDamaged(f"match {match_id} {wrong[match_id]}, but is listed as unfinished")
        for match_id in await still_listed(wrong, journal.unfinished)
    ]
    return [match for match, last in loaded if last > gap], damages


async def still_listed(wrong: Collection[str], unfinished: Callable[[], Awaitable[list[str]]]) -> list[str]:
    """Return those ids that are listed as unfinished although their records contradict this.

    The list is read before the records, and another server may write between the two reads. An end changes both in one
    transaction, so an id is wrong only if a list that is read after the records still has it. unfinished: reads the
    list. Raises StoreFailed.
    """
    if not wrong:
        return []
    listed = set(await unfinished())
    return [id_ for id_ in wrong if id_ in listed]


async def _read(
    journal: Journal, ids: Sequence[str], damages: list[RecordUnreadable], wrong: dict[str, str]
) -> Iterable[Sequence[StoredRecord]]:
    """Return the records of some matches.

    If they can't be read together, each match is read alone, and only the undamaged ones are returned; the others are
    no longer in `wrong`.
    """
    try:
        records = await journal.read_many(ids)
    except StoreDamaged as damage:
        if len(ids) == 1:
            damages.append(StoreDamaged(f"match {ids[0]}: {damage.why}"))
            del wrong[ids[0]]
            return []
        return [of_match for id_ in ids for of_match in await _read(journal, [id_], damages, wrong)]
    return [list(of_match) for _, of_match in groupby(records, key=attrgetter("match_id"))]
