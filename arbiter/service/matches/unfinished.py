"""Reads the records of unfinished matches after a start, and separates the matches whose record is damaged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from arbiter.matches.match import Match, Phase
from arbiter.service.ports.journal import (
    Journal,
    RecordDamaged,
    RecordUnreadable,
    RulesMissing,
    StoreDamaged,
    StoredRecord,
)
from arbiter.service.record.match_log import Loading

CUT = "later records are missing in the log, up to number {gap}: its end may have been one of them"
"""The reason why a match or tournament is not continued although each of its records is valid."""
LOADED_AT_ONCE = 50  #: records of a match to decode before other tasks have the event loop


async def loaded(records: Iterable[StoredRecord]) -> Match:
    """Return a match as `load_match` does; other tasks run in between."""
    loading = Loading()
    for number, stored in enumerate(records, 1):
        loading.add(stored)
        if not number % LOADED_AT_ONCE:
            await asyncio.sleep(0)
    return loading.match


async def read_unfinished(journal: Journal, ids: Sequence[str], gap: int) -> tuple[list[Match], list[RecordUnreadable]]:
    """Return matches that are listed as unfinished, and the errors of those that can't be read.

    gap: the last number that is missing in the log. A match whose last record is before it is damaged too: its end may
    have been removed. A match that another server ends while this one reads is neither. Raises StoreFailed.
    """
    whole: list[Match] = []
    damages: list[RecordUnreadable] = []
    wrong = dict.fromkeys(ids, "has no record")  # what contradicts the list, by match
    for records in await _read(journal, ids, damages, wrong):
        match_id = records[0].match_id
        del wrong[match_id]
        try:
            await asyncio.sleep(0)
            match = await loaded(records)
        except RecordUnreadable as damage:
            damages.append(damage)
            continue
        if match.phase is Phase.ENDED:
            wrong[match_id] = "has ended"
        elif not match.game.installed:
            damages.append(RulesMissing(match.id, match.created.game, match.holders))
        elif records[-1].sequence < gap:
            damages.append(RecordDamaged(match.id, match.revision, CUT.format(gap=gap)))
        else:
            whole.append(match)
    damages += [
        StoreDamaged(f"match {match_id} {wrong[match_id]}, but is listed as unfinished")
        for match_id in await still_listed(wrong, journal.unfinished)
    ]
    return whole, damages


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
