"""Calendar files (RFC 5545) of the tournaments that are to start, at addresses that stay.

`/tournaments.ics` has all of them, `/tournaments/TOURNAMENT/calendar.ics` one, and `/players/PLAYER/calendar.ics` those
that a player has entered. The first two also have the next DATES dates of each series, as tentative ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from arbiter.plain_text import plain
from arbiter.service.gate.admission import Call
from arbiter.service.gate.gate import Gate
from arbiter.service.gate.paging import PageRequest
from arbiter.service.gate.tournament_calls import TournamentQuery
from arbiter.service.tournaments.rhythm import next_start
from arbiter.tournaments import formats
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.web.callers import call_of

DATES: Final = 10  #: of a series, after the tournament that can be entered
MOST: Final = 100  #: tournaments in a file
LONGEST_LINE: Final = 75  #: octets, without the line end
MEDIA_TYPE: Final = "text/calendar"


class Calendars:
    """The handlers of these files."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def all(self, request: Request) -> Response:
        """Return the calendar of all tournaments that are to start."""
        return self._answer(request, "Tournaments", await self._coming(call_of(request)))

    async def tournament(self, request: Request) -> Response:
        """Return the calendar of one tournament, and of its series."""
        tournament = await self._gate.tournaments.get(call_of(request), request.path_params["tournament"])
        coming = [tournament] if tournament.phase is TournamentPhase.ENTRY else []
        return self._answer(request, tournament.spec.name, coming)

    async def player(self, request: Request) -> Response:
        """Return the calendar of the tournaments that a player has entered. Every name of a player leads to it."""
        call = call_of(request)
        player = (await self._gate.players.get(call, request.path_params["player"])).player
        entered = [each for each in await self._coming(call) if player.name in each.players]
        return self._answer(request, player.shown, entered, dates=0)

    async def _coming(self, call: Call) -> list[Tournament]:
        """Return the newest tournaments that have not started."""
        found = await self._gate.tournaments.list(call, TournamentQuery(ended=False), PageRequest(MOST, ""))
        waiting = [row.tournament_id for row in found.items if row.phase == TournamentPhase.ENTRY]
        return [await self._gate.tournaments.get(call, name) for name in waiting]

    def _answer(self, request: Request, name: str, coming: Iterable[Tournament], dates: int = DATES) -> Response:
        now_ms, base = self._gate.server.facts().now_ms, str(request.base_url)
        lines = (line for each in coming for line in events(each, base, now_ms, dates))
        return Response(calendar(name, lines), media_type=MEDIA_TYPE)


def events(tournament: Tournament, base: str, now_ms: int, dates: int) -> Iterator[str]:
    """Yield the lines of a tournament that is to start, and of the next dates of its series.

    base: the address of the pages, with a slash at its end. now_ms: UTC, milliseconds since 1970.
    """
    spec, start_ms = tournament.spec, tournament.spec.schedule.start_ms
    if not start_ms:
        return
    yield from _event(tournament, base, now_ms, start_ms, "CONFIRMED")
    for _ in range(dates if spec.schedule.every else 0):
        try:
            start_ms = next_start(spec.schedule.every, start_ms)
        except StopIteration:
            return
        yield from _event(tournament, base, now_ms, start_ms, "TENTATIVE")


def _event(tournament: Tournament, base: str, now_ms: int, start_ms: int, status: str) -> Iterator[str]:
    spec = tournament.spec
    about = f"{formats.of(spec).title}, {', '.join(spec.games)}, {spec.time}"
    yield "BEGIN:VEVENT"
    yield f"UID:{tournament.id}-{start_ms}@arbiter"
    yield f"DTSTAMP:{_instant(now_ms)}"
    yield f"DTSTART:{_instant(start_ms)}"
    if spec.options.duration_ms:
        yield f"DURATION:PT{spec.options.duration_ms // 1_000}S"
    yield f"SUMMARY:{_escaped(spec.name)}"
    yield f"DESCRIPTION:{_escaped(about)}"
    yield f"URL:{base}tournaments/{tournament.id}"
    yield f"STATUS:{status}"
    yield "END:VEVENT"


def calendar(name: str, lines: Iterable[str]) -> bytes:
    """Return a calendar of the lines of events, with lines folded as the RFC says."""
    begin = ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Arbiter//Tournaments//EN", f"X-WR-CALNAME:{_escaped(name)}")
    return b"".join(_folded(line) for line in (*begin, *lines, "END:VCALENDAR"))


def _escaped(text: str) -> str:
    r"""Return a text as a value of type TEXT: `\\`, `\;` and `\,` for these characters. It has no line ends."""
    return plain(text).replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")


def _folded(line: str) -> bytes:
    """Return a line with its end, divided into lines of at most 75 octets, between characters."""
    parts, size = [b""], LONGEST_LINE
    for char in line:
        octets = char.encode()
        if len(parts[-1]) + len(octets) > size:
            parts.append(b"")
            size = LONGEST_LINE - 1  # a space is before it
        parts[-1] += octets
    return b"\r\n ".join(parts) + b"\r\n"


def _instant(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y%m%dT%H%M%SZ")
