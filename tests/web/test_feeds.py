"""Feeds of results and calendars, as other programs read them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import feedparser  # type: ignore[import-untyped]
import httpx
import icalendar
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.plain_text import plain
from arbiter.service.tournaments.rhythm import next_start
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments.corrections import Award
from arbiter.tournaments.events import Created, Decision
from arbiter.tournaments.schedule import Schedule
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.tournament import Tournament
from arbiter.web.calendars import LONGEST_LINE, calendar
from arbiter.web.calendars import events as event_lines
from arbiter.web.feeds import ENTRIES, Entry, feed
from tests.rpc.servers import ONE_OR_TWO
from tests.web.site import played, site

HOUR_MS = 3_600_000


def entries(answer: httpx.Response) -> list[Any]:
    """Return the entries of a feed, as another program reads them, after checking what every feed must have."""
    assert answer.headers["content-type"].startswith("application/atom+xml")
    found = feedparser.parse(answer.content)
    assert not found.bozo, found.get("bozo_exception")
    assert (found.version, found.feed.author) == ("atom10", "Arbiter")
    links = {link.rel: link.href for link in found.feed.links}
    assert links["self"] == str(answer.url)
    for each in found.entries:
        assert each.id.startswith("urn:uuid:")
        assert each.title
        assert each.updated_parsed
        assert each.link.startswith("http://page/")
    assert len({each.id for each in found.entries}) == len(found.entries)
    assert [each.updated for each in found.entries] == sorted((each.updated for each in found.entries), reverse=True)
    assert found.feed.updated == (found.entries[0].updated if found.entries else found.feed.updated)
    return list(found.entries)


def events(answer: httpx.Response) -> list[Any]:
    """Return the events of a calendar, as another program reads them."""
    assert answer.headers["content-type"].startswith("text/calendar")
    return list(icalendar.Calendar.from_ical(answer.content).walk("VEVENT"))


@pytest.mark.long
@pytest.mark.parametrize("servers", ONE_OR_TWO)
async def test_the_feed_of_a_player_has_its_results(servers: int, tmp_path: Path) -> None:
    async with site(tmp_path, servers) as served:
        assert (await served.get("/players/nobody/results.atom")).status_code == 404
        for name in ("alice", "bob"):
            await served.server.caller(name)
        match = await played(served.server, "hop-it", 4, resign=True)
        for name in ("alice", "bob"):
            [entry] = entries(await served.get(f"/players/{name}/results.atom"))
            assert entry.link == f"http://page/matches/{match.id}"
            assert entry.title == "alice – bob, hop-it: bob (Black) wins: resignation"
        assert "/players/bob/results.atom" in (await served.get("/players/bob")).text


async def test_the_feed_of_a_tournament_has_its_start_its_end_and_all_decisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = TournamentRun(Spec("Evening & <b>cup</b>", Format.ROUND_ROBIN, ("hop-it",), "1s"), 3, random.Random(1))
    tournament = run.play()
    run.act(do.Rule("org", "r1", 1, Decision.VOID, (), "engine found"))
    run.act(do.Rule("org", "r2", 1, Decision.STANDS, (), "it was not"))
    run.act(do.Correct("org", "r3", Award("p001", 2), "came first"))

    async def get(call: object, name: str) -> Tournament:
        return tournament

    async with site(tmp_path) as served:
        monkeypatch.setattr(served.gate.tournaments, "get", get)
        where = "/tournaments/t1/results.atom"
        found = entries(await served.get(where))
        again = entries(await served.get(where))
    assert [each.id for each in again] == [each.id for each in found]
    titles = {each.title for each in found}
    name = tournament.spec.name
    assert titles == {
        f"{name} has started",
        f"{name} is over (complete)",
        f"{name}, game 1: org rules void: engine found",
        f"{name}, game 1: org rules stands: it was not",
        f"{name}: p001 gets 1 in the standings: came first",
    }


@given(st.lists(st.tuples(st.text(), st.integers(0, 1 << 42)), max_size=60), st.text())
def test_any_texts_make_a_feed_that_is_read_back(rows: list[tuple[str, int]], title: str) -> None:
    given = [Entry(str(number), text, at, "matches/m1") for number, (text, at) in enumerate(rows)]
    root = ET.fromstring(feed("https://a.example/", "f.atom", title, "tournaments/t1", given, 7))
    space = {"": "http://www.w3.org/2005/Atom"}
    assert root.findtext("title", namespaces=space) == plain(title)
    newest = sorted(given, key=lambda each: (-each.at, each.key))[:ENTRIES]
    assert [each.findtext("title", namespaces=space) for each in root.findall("entry", space)] == [
        plain(each.title) for each in newest
    ]


# Calendars


@pytest.mark.long
@pytest.mark.parametrize("servers", ONE_OR_TWO)
async def test_the_calendars_have_what_is_scheduled(servers: int, tmp_path: Path) -> None:
    async with site(tmp_path, servers) as served:
        tournaments = served.server.arbiter.tournaments
        await served.server.caller("ann")
        start_ms = (served.server.clock.now_ms() // HOUR_MS + 48) * HOUR_MS
        once = Schedule(start_ms)
        arena = Spec(
            "Blitz; an arena, short",
            Format.ARENA,
            ("hop-it",),
            "1s",
            schedule=once,
            options=Options(duration_ms=90_000),
        )
        made = await tournaments.create(arena, "org", "a")
        every = Schedule(start_ms + 1, every="friday 18:00 Europe/Berlin")
        series = await tournaments.create(Spec("Cup", Format.ROUND_ROBIN, ("pods",), "1s", schedule=every), "org", "b")
        plain_one = await tournaments.create(Spec("Later", Format.ROUND_ROBIN, ("pods",), "1s"), "org", "c")
        await tournaments.act(made.id, do.Enter("ann", "org", "e"))

        [blitz] = events(await served.get(f"/tournaments/{made.id}/calendar.ics"))
        assert (blitz["SUMMARY"], blitz["STATUS"]) == ("Blitz; an arena, short", "CONFIRMED")
        assert blitz["DTSTART"].dt == datetime.fromtimestamp(start_ms / 1_000, UTC)
        assert blitz["DURATION"].dt == timedelta(seconds=90)
        assert blitz["URL"] == f"http://page/tournaments/{made.id}"
        assert "hop-it" in blitz["DESCRIPTION"]

        cup = events(await served.get(f"/tournaments/{series.id}/calendar.ics"))
        assert [each["STATUS"] for each in cup] == ["CONFIRMED", *["TENTATIVE"] * 10]
        starts = [round(each["DTSTART"].dt.timestamp() * 1_000) for each in cup[1:]]
        assert starts[0] == next_start(every.every, every.start_ms)
        assert all(later == next_start(every.every, one) for one, later in pairwise(starts))

        everything = events(await served.get("/tournaments.ics"))
        assert {each["UID"] for each in everything} == {each["UID"] for each in [blitz, *cup]}
        assert [each["UID"] for each in events(await served.get("/players/ann/calendar.ics"))] == [blitz["UID"]]
        assert events(await served.get(f"/tournaments/{plain_one.id}/calendar.ics")) == []
        await tournaments.act(made.id, do.Cancel("org", "off", "rain"))
        assert events(await served.get("/players/ann/calendar.ics")) == []
        assert f"/tournaments/{series.id}/calendar.ics" in (await served.get(f"/tournaments/{series.id}")).text
        assert "/tournaments.ics" in (await served.get("/tournaments")).text
        await tournaments.stop()


@given(st.text(max_size=300))
def test_any_name_makes_a_calendar_of_short_lines_that_is_read_back(name: str) -> None:
    spec = Spec(name, Format.ROUND_ROBIN, ("pods",), "1s", schedule=Schedule(HOUR_MS))
    text = calendar(name, event_lines(Tournament(Created(1, "t1", spec, "org", "make")), "https://a.example/", 7, 0))
    assert all(len(line) <= LONGEST_LINE for line in text.split(b"\r\n"))
    for line in text.split(b"\r\n"):
        line.decode()  # no character is divided
    [event] = icalendar.Calendar.from_ical(text).walk("VEVENT")
    assert str(event["SUMMARY"]) == plain(name)
