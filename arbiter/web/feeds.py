"""Atom feeds (RFC 4287) of the results of a tournament and of a player, at addresses that stay.

`/tournaments/TOURNAMENT/results.atom` has the matches that have ended, the decisions of its organiser, its start and
its end; `/players/PLAYER/results.atom` the matches of a player, under its present name. Both have the newest ENTRIES
entries. The id of an entry follows from what it is about, so it is the same at every address and on every server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree as ET

from starlette.requests import Request
from starlette.responses import Response

from arbiter.plain_text import plain
from arbiter.service.gate.admission import Call
from arbiter.service.gate.game_calls import seats
from arbiter.service.gate.gate import Gate
from arbiter.service.gate.match_calls import MatchQuery
from arbiter.service.gate.paging import PageRequest
from arbiter.service.ports.journal import MatchSummary
from arbiter.tournaments.corrections import in_words
from arbiter.tournaments.game_rulings import in_words as ruling_in_words
from arbiter.tournaments.tournament import Tournament
from arbiter.web.callers import call_of
from arbiter.web.states import result_words

ENTRIES: Final = 50  #: in a feed, the newest ones
ATOM: Final = "http://www.w3.org/2005/Atom"
AUTHOR: Final = "Arbiter"
MEDIA_TYPE: Final = "application/atom+xml"


class Entry(NamedTuple):
    """An entry of a feed. key: what its id follows from. at: UTC, milliseconds since 1970. path: of its page."""

    key: str
    title: str
    at: int
    path: str


class Feeds:
    """The handlers of these files."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def tournament(self, request: Request) -> Response:
        """Return the feed of a tournament."""
        call = call_of(request)
        tournament = await self._gate.tournaments.get(call, request.path_params["tournament"])
        entries = [*await self._matches(call, MatchQuery(label=tournament.id, ended=True)), *self._events(tournament)]
        page = f"tournaments/{tournament.id}"
        return _answer(request, f"{tournament.spec.name}: results", page, entries, tournament.created.at)

    async def player(self, request: Request) -> Response:
        """Return the feed of a player. Every name of a player leads to it."""
        call = call_of(request)
        player = (await self._gate.players.get(call, request.path_params["player"])).player
        entries = await self._matches(call, MatchQuery(player=player.name, ended=True))
        return _answer(
            request, f"{player.shown}: results", f"players/{quote(player.shown)}", entries, player.created_ms
        )

    async def _matches(self, call: Call, query: MatchQuery) -> list[Entry]:
        """Return the matches that ended last among the newest ones."""
        found = await self._gate.matches.list(call, query, PageRequest(ENTRIES, ""))
        rows = [each for each in found.items if isinstance(each, MatchSummary) and each.end is not None]
        return [self._match(row) for row in rows]

    def _match(self, row: MatchSummary) -> Entry:
        assert row.end is not None
        players = [self._gate.accounts.shown(each) for each in (row.player_1, row.player_2)]
        title = f"{players[0]} – {players[1]}, {row.game}: {result_words(row.end, players, seats(row.game))}"
        return Entry(f"match/{row.match_id}", title, row.end.ended_ms, f"matches/{row.match_id}")

    def _events(self, tournament: Tournament) -> Iterator[Entry]:
        """Yield what has happened in a tournament besides its matches."""
        key = page = f"tournaments/{tournament.id}"
        name, shown = tournament.spec.name, self._gate.accounts.shown
        if tournament.started_at is not None:
            yield Entry(f"{key}/start", f"{name} has started", tournament.started_at, page)
        for game, rulings in tournament.rulings.items():
            for number, each in enumerate(rulings):
                words = f"{shown(each.caller)} rules {ruling_in_words(each.decision, each.points)}{_note(each.note)}"
                yield Entry(f"{key}/ruling/{game}/{number}", f"{name}, game {game}: {words}", each.at, page)
        for number, decided in enumerate(tournament.corrections):
            words = f"{in_words(decided.what, shown)}{_note(decided.note)}"
            yield Entry(f"{key}/correction/{number}", f"{name}: {words}", decided.at, page)
        end = tournament.end
        if end is not None:
            yield Entry(f"{key}/end", f"{name} is over ({end.end.value}){_note(end.note)}", end.at, page)


def _answer(request: Request, title: str, page: str, entries: Iterable[Entry], created_ms: int) -> Response:
    """Return a feed as a response. page: the path of the page that it belongs to. created_ms: of what it is about."""
    text = feed(str(request.base_url), request.url.path.lstrip("/"), title, page, entries, created_ms)
    return Response(text, media_type=MEDIA_TYPE)


def feed(base: str, path: str, title: str, page: str, entries: Iterable[Entry], created_ms: int) -> bytes:
    """Return a feed, the newest ENTRIES entries first.

    base: the address of the pages, with a slash at its end. path, page: of the feed and of its page.
    """
    newest = sorted(entries, key=lambda each: (-each.at, each.key))[:ENTRIES]
    root = ET.Element("feed", {"xmlns": ATOM})
    _text(root, "id", _id(page))
    _text(root, "title", title)
    _text(root, "updated", _instant(max((each.at for each in newest), default=created_ms)))
    _text(ET.SubElement(root, "author"), "name", AUTHOR)
    ET.SubElement(root, "link", {"rel": "self", "href": f"{base}{path}"})
    ET.SubElement(root, "link", {"rel": "alternate", "type": "text/html", "href": f"{base}{page}"})
    for each in newest:
        entry = ET.SubElement(root, "entry")
        _text(entry, "id", _id(each.key))
        _text(entry, "title", each.title)
        _text(entry, "updated", _instant(each.at))
        ET.SubElement(entry, "link", {"rel": "alternate", "type": "text/html", "href": f"{base}{each.path}"})
    text: bytes = ET.tostring(root, "utf-8", xml_declaration=True)
    return text


def _note(note: str) -> str:
    return f": {note}" if note else ""


def _text(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, name).text = plain(text)


def _id(key: str) -> str:
    return f"urn:uuid:{uuid5(NAMESPACE_URL, f'arbiter:{key}')}"


def _instant(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
