"""What a server fills in where a specification leaves it to the server: the start of a series, the facts of a book."""

from __future__ import annotations

from dataclasses import replace

from arbiter.errors import parameter_invalid
from arbiter.service.tournaments.books import plies_of
from arbiter.service.tournaments.rhythm import next_start
from arbiter.service.tournaments.tournament_ports import PairingFailed, PairingWorker
from arbiter.tournaments.spec import OpeningOrder, Spec


async def filled_in(spec: Spec, pairing: PairingWorker, now_ms: int) -> Spec:
    """Return a specification with the start of its series, and the facts of its book. Raises PARAMETER_INVALID."""
    schedule = spec.schedule
    if schedule.every and not schedule.start_ms:
        spec = replace(spec, schedule=replace(schedule, start_ms=next_start(schedule.every, now_ms)))
    return await _with_book(spec, pairing) if spec.openings.book else spec


async def _with_book(spec: Spec, pairing: PairingWorker) -> Spec:
    openings = spec.openings
    try:
        facts = await pairing.book(openings.book, spec.games[0], plies_of(openings))
    except PairingFailed as failure:
        allowed = f"an opening book of {spec.games[0]} ({failure})"
        raise parameter_invalid(openings.book, "openings.book", allowed, of="a tournament") from None
    if openings.book_hash not in ("", facts.digest):
        raise parameter_invalid(openings.book_hash, "openings.book_hash", facts.digest, of="a tournament")
    return replace(spec, openings=replace(openings, book_hash=facts.digest, book_size=facts.size))


def as_before(asked: Spec, made: Spec) -> Spec:
    """Return a specification that is asked for again, with what was filled in for the request before."""
    openings, schedule = asked.openings, asked.schedule
    if made.openings.order is OpeningOrder.MEETING:  # it was created by an older server
        openings = replace(openings, order=OpeningOrder.MEETING)
    if openings.book and openings.book_hash in ("", made.openings.book_hash):
        openings = replace(openings, book_hash=made.openings.book_hash, book_size=made.openings.book_size)
    if schedule.every and schedule.every == made.schedule.every and not schedule.start_ms:
        schedule = replace(schedule, start_ms=made.schedule.start_ms)
    return replace(asked, openings=openings, schedule=schedule)
