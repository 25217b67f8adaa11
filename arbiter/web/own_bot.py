"""The pages for the author of a bot: its connection, the ends of its streams, its matches, and their logs."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from arbiter.games.contract import Facts
from arbiter.matches.match import Match
from arbiter.service.gate.match_calls import MatchQuery
from arbiter.service.gate.paging import PageRequest
from arbiter.web.callers import call_of
from arbiter.web.rendering import Handlers

MOST_MATCHES: Final = 30  #: matches of the bot, the newest

FAULTS: Final = {
    "time": "its time ran out",
    "rule_violation": "too many illegal moves",
    "absence": "it was not there",
}
"""Causes of an end that are the fault of the bot whose seat is responsible."""


class LogLine(NamedTuple):
    """A line of a match's log: revision, instant (UTC, ms), the seat concerned (0 for none), kind of event, text."""

    revision: int
    at: int
    seat: int
    kind: str
    text: str
    bad: bool = False


class OwnBotPages(Handlers):
    """The handlers of pages for a bot's author."""

    async def bot(self, request: Request) -> Response:
        """Show the connection of the person's bot, its faults, and its matches."""
        viewer, call = await self._templates.viewer(request), call_of(request)
        if not viewer.player:
            return RedirectResponse("/sign-in?onward=/bot", 303)
        connection = await self._gate.players.connection(call)
        page = await self._gate.matches.list(call, MatchQuery(viewer.player), PageRequest(MOST_MATCHES, ""))
        return await self._page(
            request,
            "bot.html",
            viewer=viewer,
            connection=connection,
            now=self._gate.server.facts().now_ms,
            rows=[(item, fault_of(item, viewer.player)) for item in page.items],
        )

    async def log(self, request: Request) -> Response:
        """Show the record of a match as a log: each event with its instant and its time accounting."""
        call, match_id = call_of(request), request.path_params["match"]
        match = await self._gate.matches.get(call, match_id)
        viewer = await self._templates.viewer(request)
        async with self._gate.matches.transcript(call, match_id) as parts:
            lines = [
                log_line(orjson.loads(line), match.game.facts) async for part in parts for line in part.splitlines()
            ]
        own = [seat for seat, name in enumerate(match.players, 1) if name == viewer.player]
        return await self._page(
            request,
            "log.html",
            viewer=viewer,
            match=self._templates.named(match),
            own=own,
            lines=[line for line in lines if line is not None],
        )


def fault_of(item: Any, player: str) -> str:
    """Return the fault by which the bot lost a match; '' if there is none, or while the match is under way."""
    if isinstance(item, Match) or item.end is None:
        return ""
    end = item.end
    players = (item.player_1, item.player_2)
    at_fault = end.party == "players" or (end.party == "player" and players[end.seat - 1] == player)
    return FAULTS.get(end.cause, "") if at_fault else ""


def log_line(event: dict[str, Any], facts: Facts) -> LogLine | None:
    """Return a line of a record as a line of the log; None if it is not an event."""
    kind = event.get("kind")
    if kind is None or "at" not in event:
        return None
    text, bad = _said(kind, event, facts)
    return LogLine(event.get("revision", 0), event["at"], event.get("seat") or 0, kind.replace("_", " "), text, bad)


def _said(kind: str, event: dict[str, Any], facts: Facts) -> tuple[str, bool]:
    """Return the event in words, and whether it was a fault."""
    match kind:
        case "created":
            return f"{event['game']}, {event['time']}, made by {event['creator']}", False
        case "arrived":
            return f"version {event['version']}" if event.get("version") else "", False
        case "left":
            return "not connected any more", True
        case "moved":
            return f"ply {event['ply'] + 1}: {event['move']}; {_ledger(event['ledger'])}", False
        case "refused":
            said = f"ply {event['ply'] + 1}: {event['move']!r}: {event['reason']}: {event['message']}"
            return f"{said}; strike {event['strikes']}", True
        case "rejected":
            return f"{event['asked']['command']}: {event['reason']}: {event['message']}", True
        case "ended":
            return _end(event, facts), event["party"] == "player" and event["cause"] in FAULTS
        case "interrupted":
            return str(event["reason"]).replace("_", " "), False
        case _:
            return "", False


def _end(event: dict[str, Any], facts: Facts) -> str:
    said = f"{'void' if event['result'] == 'void' else 'draw'}: {event['reason']}"
    if event["winner"]:
        said = f"{facts.seat_name(event['winner'])} wins: {event['reason']}"
    late = event.get("late")
    if late is not None:
        said += f"; {late['move']} came too late: {_ledger(late['ledger'])}"
    return said.replace("_", " ") + (f": {event['note']}" if event.get("note") else "")


def _ledger(ledger: dict[str, Any]) -> str:
    """Return the time accounting of a move: charged, credited, round trip, and the time left."""
    parts = [f"charged {ledger['charged']} ms", f"credited {ledger['credited']} ms"]
    if ledger.get("round_trip") is not None:
        parts.append(f"round trip {ledger['round_trip']} ms")
    return ", ".join([*parts, f"left {ledger['left']} ms"])
