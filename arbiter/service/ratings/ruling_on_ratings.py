"""Rulings on ratings as a use case: which games count, and the log of the decisions (`arbiter.ratings.rulings`).

The log is in the store, and every call reads what is new in it: it is the same on all servers of the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from arbiter.errors import Reason, Refusal, argument_invalid, limit_reached
from arbiter.event_json.canonical import RecordError
from arbiter.matches.signing import CheckSignature, Form, Signature, Statement, read_signature
from arbiter.ratings.rulings import NO_GAMES, Command, Decision, Ruling, Rulings, ruled
from arbiter.service.matches.transcripts import Signer
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import (
    RETRY_MS,
    RULINGS,
    Journal,
    JournalConflict,
    Record,
    RecordDamaged,
    StoredRecord,
    Subject,
)

TRIES = 5  #: attempts, each of which fails if another ruling is stored first


class Ruled(NamedTuple):
    """A ruling: its number, 0 in a preview, and the matches that it changes or would change.

    A repeated request gets the ruling that it has made, with all matches of it.
    """

    number: int
    ruling: Ruling
    matches: tuple[str, ...]


class RatingRulings:
    """The rulings on ratings. most: of the matches of one ruling."""

    def __init__(self, journal: Journal, clock: Clock, signer: Signer, most: int) -> None:
        self._journal = journal
        self._clock = clock
        self._signer = signer
        self._most = most
        self._log = Rulings()
        self._turn = asyncio.Lock()

    async def log(self) -> Rulings:
        """Return the log with all rulings that are stored by now. Only for reading.

        Raises Refusal STORE_UNAVAILABLE, RECORD_DAMAGED.
        """
        async with self._turn:
            follow(self._log, await self._journal.rulings(self._log.revision))
            return self._log

    async def rule(self, command: Command, *, preview: bool) -> Ruled:
        """Make a ruling, or with `preview` only try it.

        A request that is repeated gets the ruling that it has made. Raises Refusal ARGUMENT_INVALID, RATINGS_CHANGED,
        REQUEST_ID_REUSED, RATE_LIMITED (too many matches), STORE_UNAVAILABLE.
        """
        for _ in range(TRIES):
            log = await self.log()
            made = log.made(command)
            if made:
                return Ruled(made, log.all[made - 1], tuple(sorted(log.all[made - 1].matches)))
            log.check(command)
            seen, matches = log.revision, await self._matches(command)
            if log.revision != seen:
                continue  # another ruling was stored first: decide on what there is now
            at = max(self._clock.now_ms(), log.all[-1].at if log.all else 0)
            ruling = ruled(command, at, matches)
            changes, number = log.changes(ruling), log.revision + 1
            if preview:
                return Ruled(0, ruling, tuple(changes))
            record = Record(RULINGS, number, log.line(ruling), Subject.RATINGS)
            try:
                await self._journal.rule_on_ratings(record, changes)
            except JournalConflict:
                continue
            return Ruled(number, ruling, tuple(changes))
        raise Refusal(
            Reason.STORE_UNAVAILABLE,
            "other rulings on ratings were stored first, again and again: send the same request again in a while",
            retry_after_ms=RETRY_MS,
        )

    async def with_tournament(self, command: Command, *, preview: bool) -> tuple[str, ...]:
        """Make a ruling that goes with a decision on a tournament, if there is anything to rule on.

        It makes the games of its selection unrated, or takes back the newest ruling that has done so. Returns the
        matches that this changes, or would. Raises as `rule`.
        """
        log = await self.log()
        made = log.of_request(command.caller, command.request)
        if command.decision is Decision.TAKEN_BACK:
            number = made.ruling if made is not None else log.newest_on(command.selection)
            command = replace(command, selection=NO_GAMES, ruling=number)
            nothing = not number
        else:
            nothing = made is None and not await self._journal.rated_matches(command.selection, 1)
        return () if nothing else (await self.rule(command, preview=preview)).matches

    async def _matches(self, command: Command) -> list[str]:
        """Return the matches that a command is about. Raises Refusal ARGUMENT_INVALID, RATE_LIMITED."""
        if command.decision is Decision.TAKEN_BACK:
            return []
        wanted = command.selection
        if len(wanted.matches) > self._most:
            raise self._too_many()
        found = await self._journal.rated_matches(wanted, self._most + 1)
        if len(found) > self._most:
            raise self._too_many()
        missing = sorted(set(wanted.matches) - set(found))
        if missing or not found:
            what = missing[0] if missing else "no match"
            raise argument_invalid(what, "selection", "rated matches that have ended and are not void, at least one")
        return found

    def _too_many(self) -> Refusal:
        message = f"a ruling may be about {self._most} matches: choose a shorter time, and rule on the rest in parts"
        return limit_reached(message, self._most)

    async def on_match(self, match_id: str) -> tuple[int, Ruling] | None:
        """Return the ruling by which a rated match does not count, with its number; None if it counts.

        Raises Refusal STORE_UNAVAILABLE, RECORD_DAMAGED.
        """
        row = await self._journal.summary(match_id)
        if row is None or not row.ruling:
            return None
        return row.ruling, (await self.log()).all[row.ruling - 1]

    async def file(self) -> bytes:
        """Return the log as a file, signed as it is now. Raises as `ruling_file`."""
        return await ruling_file(self._journal, self._signer)


async def ruling_file(journal: Journal, signer: Signer) -> bytes:
    """Return the log of rulings as a file with its signature; nothing if there is no ruling yet.

    Raises Refusal STORE_UNAVAILABLE, RECORD_DAMAGED.
    """
    records = await journal.rulings()
    log = Rulings()
    follow(log, records)
    return written(log, [record.body for record in records], signer)


def follow(log: Rulings, records: list[StoredRecord]) -> None:
    """Add the next rulings of the store to a log. Raises RecordDamaged."""
    for record in records:
        try:
            log.follow(record.body)
        except RecordError as error:
            raise RecordDamaged(RULINGS, record.revision, str(error), "rulings") from None


FORM: Final = Form("ratings_signature", b"arbiter ratings v1\n", "log", "rulings")


class RulingsError(Exception):
    """A file of rulings is not what the arbiter has signed. The message says in which line, and what was expected."""


def written(log: Rulings, lines: Sequence[bytes], signer: Signer) -> bytes:
    """Return the file of a log, given its lines; nothing for an empty one."""
    if not log.all:
        return b""
    at = log.all[-1].at
    key = next(key for key in signer.public_keys() if key.valid_at(at))
    statement = Statement(RULINGS, log.revision, log.head, key.key_id, form=FORM)
    signature = Signature(statement, signer.sign(key.key_id, statement.message()))
    return b"".join(line + b"\n" for line in (*lines, signature.line()))


def read(data: bytes, check_signature: CheckSignature) -> Rulings:
    """Return the log of a file, whose chain and signature hold. Raises RulingsError for the first fault."""
    log = Rulings()
    if not data:
        return log
    *lines, last = data.removesuffix(b"\n").split(b"\n")
    try:
        for line in lines:
            log.follow(line)
        signature = read_signature(last, FORM)
    except RecordError as error:
        raise RulingsError(f"line {log.revision + 1}: {error}") from None
    fault = signature.statement.problem(RULINGS, log.revision, log.head)
    fault = fault or ("" if log.all else "there is no ruling before it")
    fault = fault or check_signature(signature, log.all[-1].at)
    if fault:
        raise RulingsError(f"line {log.revision + 1}: {fault}")
    return log
