"""Event streams for pages: ordered, resumed by id, small, drawn once for all viewers; and who may see them."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from arbiter.bootstrap.running_server import serving
from arbiter.config import load
from arbiter.errors import Reason, Refusal
from arbiter.matches.commands import Create, Play, Resign
from arbiter.matches.events import Moved
from arbiter.matches.match import Match, Phase, with_position
from arbiter.runtime.loopback import free_port
from arbiter.runtime.system_clock import SystemClock
from arbiter.service.cut_off import CutOff
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.rights import Action, only_reads, open_to_all
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.record.match_log import load_match
from arbiter.service.record.published import Published
from arbiter.testing.memory import MemoryJournal
from arbiter.testing.served import served
from arbiter.web import boards, drawings
from arbiter.web.drawings import Drawings
from arbiter.web.states import state_of
from tests.certificates import Identity
from tests.refusals import refusing
from tests.rpc.servers import sharing
from tests.rpc.test_matches import signing
from tests.web.site import Elements, Site, played, site

MOST_BYTES = 2_500  #: bytes of an event


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as served_site:
        yield served_site


def events(text: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the events of a stream that have an id: (id, data)."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in block.splitlines() if not line.startswith(":"))
        if "id" in fields:
            data = json.loads(fields["data"])
            assert data.pop("now") > 0
            found.append((int(fields["id"]), data))
    return found


async def test_a_match_is_streamed_in_order_from_any_revision(page: Site) -> None:
    match = await played(page.server, "hop-it", 8, resign=True)
    path = f"/matches/{match.id}/events"
    whole = await page.get(path)
    assert whole.headers["content-type"].startswith("text/event-stream")
    assert whole.text.endswith("event: over\ndata:\n\n")
    received = events(whole.text)
    assert [number for number, _ in received] == list(range(1, match.revision + 1))
    assert [data["move"]["move"] for _, data in received if "move" in data] == list(match.moves)
    assert received[-1][1]["result"] == "bob (Black) wins: resignation"
    assert events((await page.get(f"{path}?after=5")).text) == received[5:]
    back = await page.get(f"{path}?after=1", **{"Last-Event-ID": "7"})
    assert events(back.text) == received[7:]


async def test_an_event_that_is_in_the_journal_before_the_live_match_has_it_is_sent_correctly(
    page: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    match = await played(page.server, "hop-it", 3, resign=True)
    matches = page.server.arbiter.matches
    early = load_match(await matches.record(match.id, 0, 1))

    async def behind(match_id: str) -> Match:
        return early

    monkeypatch.setattr(matches, "match", behind)
    monkeypatch.setattr(matches, "begun", behind)
    received = events((await page.get(f"/matches/{match.id}/events")).text)
    assert [data["revision"] for _, data in received] == [number for number, _ in received]
    assert [data["move"]["move"] for _, data in received if "move" in data] == list(match.moves)
    assert received[-1][1]["result"] == "bob (Black) wins: resignation"


@pytest.mark.parametrize("game", ["circle-of-life", "elevation", "hop-it", "pods", "pondlife"])
async def test_an_event_is_small(page: Site, game: str) -> None:
    match = await played(page.server, game, 24, resign=True)
    answer = await page.get(f"/matches/{match.id}/events")
    assert max(map(len, answer.content.split(b"\n\n"))) <= MOST_BYTES


async def test_an_event_is_drawn_once_for_all(page: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = 0

    def counted(*given: Any) -> Any:
        nonlocal drawn
        drawn += 1
        return shown(*given)

    shown = boards.shown
    monkeypatch.setattr(drawings, "shown", counted)
    match = await played(page.server, "hop-it", 0)
    kept = Drawings()
    published: list[Published] = []
    page.server.arbiter.match_listeners.append(lambda match, events: published.extend(events))
    await played(page.server, "hop-it", 4)
    moves = [event for event in published if event.event.kind == "moved"]
    found = partial(page.server.arbiter.matches.match, moves[0].match_id)
    await asyncio.gather(*(kept.of(moves[2], found, 0) for _ in range(50)))  # those that connect later, all at once
    for event in moves * 3:
        await kept.of(event, found, 0)
    assert drawn == len(moves) == 4
    assert match.ply == 0


@pytest.mark.parametrize("over", [False, True])
async def test_the_events_of_a_match_lead_to_its_state_whenever_each_of_them_is_drawn(page: Site, over: bool) -> None:
    matches: list[Match] = []
    published: list[Published] = []

    def keep(match: Match, events: Sequence[Published]) -> None:
        matches.append(match)
        published.extend(events)

    page.server.arbiter.match_listeners.append(keep)
    await played(page.server, "elevation", 6, resign=over, offers=True)
    page.server.arbiter.match_listeners.remove(keep)  # the players leave now
    last = matches[-1]
    assert {"moved", "draw_offered"} <= {event.event.kind for event in published}
    for late in (0, 1, 2, len(published)):  # events by which the match is further when an event is drawn
        state: dict[str, Any] = {"ply": 0, "over": False}
        for number, event in enumerate(published, 1):
            drawn_at = next((match for match in matches if match.revision >= number + late), last)

            async def found(drawn_at: Match = drawn_at) -> Match:
                return drawn_at

            received = json.loads(await Drawings().of(event, found, 0))
            assert received["revision"] == number
            if isinstance(event.event, Moved):
                assert received["move"]["ply"] == state["ply"], "a page has received a move before the match has it"
            else:
                assert received.get("ply", state["ply"]) == state["ply"]
            event.forms.clear()
            state |= received
            assert state["over"] == (over and number == last.revision)
        whole = json.loads(orjson.dumps(state_of(last, 0)))
        assert {name: state[name] for name in whole} == whole


async def test_a_stream_of_several_matches_begins_with_their_states() -> None:
    port = free_port()
    async with served(web=f"127.0.0.1:{port}") as server, httpx.AsyncClient() as browser:
        arbiter = server.running.arbiter
        matches = [
            await arbiter.matches.create(
                Create("hop-it", ("ann", "ben"), "10m", "org", f"make {number}", arbiter.policy, False, "")
            )
            for number in range(3)
        ]
        query = "&".join(f"match={match.id}" for match in matches[:2])
        async with browser.stream("GET", f"{server.running.page}live?{query}") as answer:
            received = (json.loads(line[6:]) async for line in answer.aiter_lines() if line.startswith("data: "))
            found = [await anext(received) for _ in range(2)]
            assert {state["match"] for state in found} == {match.id for match in matches[:2]}
            assert all(state["board"]["pieces"] for state in found)
            with arbiter.sessions.attending("ann"), arbiter.sessions.attending("ben"):
                assert (await anext(received))["match"] in {match.id for match in matches[:2]}


def merged(received: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """Return the state that a page shows after some events."""
    return {name: value for _, data in received for name, value in data.items()}


@pytest.mark.long
@pytest.mark.parametrize("listen", [pytest.param("127.0.0.1:0", id="with players"), pytest.param("", id="alone")])
async def test_a_page_of_one_server_shows_live_what_is_played_at_another(listen: str) -> None:
    world, page = sharing(MemoryJournal(), signing), "127.0.0.1:0"
    async with (
        serving(load(None, listen="127.0.0.1:0", web=page), world) as elsewhere,
        serving(load(None, listen=listen, web=page), world) as here,
        httpx.AsyncClient() as browser,
    ):
        assert bool(here.port) == bool(listen)
        matches = elsewhere.arbiter.matches
        command = Create("hop-it", ("ann", "ben"), "10m", "org", "make", elsewhere.arbiter.policy, False, "")
        match = await matches.create(command)
        path = f"matches/{match.id}/events"
        async with browser.stream("GET", f"{here.page}{path}") as answer:
            lines, text = answer.aiter_lines(), ""
            with elsewhere.arbiter.sessions.attending("ann"), elsewhere.arbiter.sessions.attending("ben"):
                while (await matches.match(match.id)).phase is not Phase.ACTIVE:
                    text += await anext(lines) + "\n"
                for ply in range(6):
                    now = with_position(await matches.match(match.id))
                    move = min(now.game.moves(now.position))
                    at = SystemClock().now_ms()
                    play = partial(Play, request=f"ply {ply}", ply=ply, move=move, arrived=at)
                    await matches.request(now.players[now.turn - 1], match.id, play)
                    while f'"move":"{move}"' not in (line := await anext(lines)):  # before the next move is played
                        text += line + "\n"
                    text += line + "\n"
                await matches.request("ann", match.id, lambda seat: Resign(seat, "enough"))
                text += "\n".join([line async for line in lines])
        assert text.rstrip().endswith("event: over\ndata:")
        live, whole = events(text), events((await browser.get(f"{elsewhere.page}{path}")).text)
        assert [number for number, _ in live] == [number for number, _ in whole]
        assert merged(live) == merged(whole)
        assert "ben (Black) wins: resignation" in (await browser.get(f"{here.page}matches/{match.id}")).text


@pytest.mark.long
@pytest.mark.parametrize("label", ["", "cup"])
async def test_a_stream_of_several_matches_says_when_another_match_has_begun(label: str) -> None:
    port = free_port()
    async with served(web=f"127.0.0.1:{port}") as server, httpx.AsyncClient() as browser:
        arbiter = server.running.arbiter

        async def begin(number: int, of: str) -> Match:
            command = Create("hop-it", ("ann", "ben"), "10m", "org", f"make {number}", arbiter.policy, False, of)
            return await arbiter.matches.create(command)

        with arbiter.sessions.attending("ann"), arbiter.sessions.attending("ben"):
            first = await begin(1, "cup")
            path = f"live?match={first.id}&begun={label}"
            async with browser.stream("GET", f"{server.running.page}{path}") as answer:
                lines = answer.aiter_lines()
                while not (await anext(lines)).startswith("data: {"):  # the state of the first match: it has begun
                    pass
                await begin(2, "elsewhere")
                await begin(3, "cup")
                await arbiter.matches.request("ann", first.id, lambda seat: Resign(seat, "enough"))
                received = []
                while '"over":true' not in (line := await anext(lines)):
                    received.append(line)
        assert received.count("event: begun") == (1 if label else 2)


@pytest.mark.parametrize("path", ["/matches/{match}/events", "/live"])
async def test_a_browser_asks_again_by_itself_when_the_server_is_cut_off_from_its_store(page: Site, path: str) -> None:
    """As it does when its stream is ended by that: it never repeats a request that had an error's status."""
    match = await played(page.server, "pondlife", 2)
    page.server.arbiter.cut_off.begin(StoreFailed())
    answer = await page.get(path.format(match=match.id))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("retry: 1000\n\nevent: refusal\n")


async def test_refusals_before_a_stream_are_answers(page: Site) -> None:
    for path in ("/matches/none/events", "/live?after=x"):
        answer = await page.get(path)
        assert answer.status_code in (400, 404)
        assert answer.json()["message"]


@pytest.mark.long
async def test_without_public_reading_nothing_is_shown(tmp_path: Path) -> None:
    async with site(tmp_path, public=False) as closed:
        match = await played(closed.server, "hop-it", 2)
        for path in (
            "/",
            "/matches",
            f"/matches/{match.id}",
            "/leaderboard",
            "/players/alice",
            f"/matches/{match.id}/plies",
            f"/matches/{match.id}/events",
            f"/matches/{match.id}/transcript.jsonl",
            "/live?match=x",
        ):
            answer = await closed.get(path)
            assert answer.status_code == 401, path
            assert "alice" not in Elements(answer.text).words, path
        assert (await closed.get("/games")).status_code == 200


async def test_a_visitor_may_only_read(tmp_path: Path) -> None:
    async with site(tmp_path) as opened:
        accounts, limits = opened.server.arbiter.accounts, opened.server.settings.limits
        visitor = Call(None, "192.0.2.1")
        for public in (True, False):
            admission = Admission(accounts, limits, CutOff(), public)
            for action in Action:
                if public and only_reads(action):
                    assert not (await admission.caller(visitor, action)).player.isidentifier()
                elif not open_to_all(action):
                    with refusing(Reason.TOKEN_INVALID):
                        await admission.caller(visitor, action)
        with pytest.raises(Refusal):
            await Admission(accounts, limits, CutOff(), True).caller(Call("guess", "192.0.2.1"), Action.GET_MATCH)


async def test_a_server_has_pages_beside_grpc() -> None:
    port = free_port()
    async with served(web=f"127.0.0.1:{port}") as server:
        assert server.running.page == f"http://127.0.0.1:{port}/"
        async with httpx.AsyncClient() as browser:
            answer = await browser.get(server.running.page)
    assert answer.status_code == 200
    assert "Nothing is being played now" in answer.text


async def test_the_pages_have_the_servers_certificate_and_secure_cookies(tmp_path: Path) -> None:
    own, port = Identity(tmp_path, "arbiter"), free_port()
    given = {"tls_certificate": own.certificate_file, "tls_key": own.key_file}
    async with served(web=f"0.0.0.0:{port}", **given):
        known = ssl.create_default_context(cafile=str(own.certificate_file))
        async with httpx.AsyncClient(verify=known) as browser:
            answer = await browser.get(f"https://127.0.0.1:{port}/sign-in")
    assert answer.status_code == 200
    (cookie,) = answer.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-arbiter-visit=")
    assert "Secure" in cookie.split("; ")


async def test_a_stream_ends_with_the_server() -> None:
    port = free_port()
    async with httpx.AsyncClient() as browser:
        async with served(web=f"127.0.0.1:{port}") as server:
            request = browser.build_request("GET", f"{server.running.page}live")
            answer = await browser.send(request, stream=True)
            lines = answer.aiter_lines()
            assert await anext(lines) == "retry: 1000"
        assert "event: refusal" in [line async for line in lines]
