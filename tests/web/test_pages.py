"""Pages work without JavaScript, obey a strict content policy, and escape whatever people write."""

from __future__ import annotations

import gzip
import re
import threading
from collections.abc import AsyncIterator, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from markupsafe import Markup

from arbiter.drawing.palette import INKS
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.games.rule_sheet import examples
from arbiter.matches.commands import Resign
from arbiter.matches.comments import Comment
from arbiter.ratings.rated_matches import Forfeits
from arbiter.ratings.rating_results import Row
from arbiter.tournaments.commands import Enter
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.web import boards, pages
from arbiter.web.assets import assets
from arbiter.web.boards import Shown
from arbiter.web.callers import HEADERS, status_of
from arbiter.web.rating_pages import places
from arbiter.web.rule_pages import html
from tests.plugins.installed import forget_packages
from tests.web.site import Elements, Site, played, site

MOST_BYTES = 200_000  #: bytes of everything that a page's first view loads, compressed
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}"


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as served:
        yield served


async def everything(page: Site) -> list[str]:
    """Return the address of every page, with content on each."""
    ended = await played(page.server, "hop-it", 6, resign=True)
    live = await played(page.server, "pondlife", 3)
    await page.server.caller("alice")
    paths = ["/", "/matches", f"/matches/{ended.id}", f"/matches/{live.id}?ply=1", "/leaderboard", "/players/alice"]
    return [*paths, "/games", *(f"/games/{name}" for name in registry.classes())]


@pytest.mark.parametrize("reason", Reason)
def test_every_refusal_has_a_status_code(reason: Reason) -> None:
    assert 400 <= status_of(Refusal.said(reason, "no", {})) < 600


@pytest.mark.long
async def test_every_page_exists_and_obeys_the_content_policy(page: Site) -> None:
    for path in [*await everything(page), "/nothing", "/matches/none"]:
        answer = await page.get(path)
        assert answer.status_code == (404 if path in ("/nothing", "/matches/none") else 200), path
        assert dict(answer.headers).items() >= HEADERS.items()
        elements = Elements(answer.text)
        assert [name for name, _ in elements.found].count("h1") == 1, path
        for name, attributes in elements.found:
            assert name not in ("style", "iframe", "object", "embed"), path
            assert name != "script" or attributes.get("src") == assets()["/static/page.js"].address, path
            assert not [key for key in attributes if key == "style" or key.startswith("on")], path
            assert not set(attributes.get("class") or "") & set("\"'&;"), path
        ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
        assert len(ids) == len(set(ids)), path


@pytest.mark.long
async def test_the_page_of_a_match_is_complete_without_javascript(page: Site) -> None:
    match = await played(page.server, "hop-it", 6, resign=True)
    elements = Elements((await page.get(f"/matches/{match.id}")).text)
    for said in ("alice", "bob", *match.moves, "bob (Black) wins: resignation", "White", "Black"):
        assert said in elements.words
    shown, times = [attributes for name, attributes in elements.found if attributes.get("role") == "img"]
    said = r"Time of each move, at most \d+\.\d s\. alice: \d+\.\d s in 3 moves; bob: \d+\.\d s in 3 moves"
    assert re.fullmatch(said, times["aria-label"] or "")
    assert shown["aria-label"] == "Hop It!, alice against bob: White to move"
    before = await page.get(f"/matches/{match.id}?ply=2")
    assert "aria-current=step" in before.text
    assert f"{2}/{match.ply}" in before.text


@pytest.mark.long
async def test_texts_of_people_are_escaped(page: Site) -> None:
    caller = await page.server.caller("alice")
    await page.server.arbiter.accounts.describe(caller, HOSTILE)
    for path in (
        "/players/alice",
        f"/matches?game={HOSTILE}",
        f"/matches?player={HOSTILE}",
        f"/leaderboard?game={HOSTILE}",
    ):
        answer = await page.get(path)
        assert HOSTILE in Elements(answer.text).words or answer.status_code == 400, path
        assert "<script>alert" not in answer.text, path
        assert "<img" not in answer.text, path


@pytest.mark.parametrize("path", ["/matches?page=x", "/games/x", "/leaderboard?game=x", "/leaderboard?page=-1"])
async def test_a_refusal_is_a_page_with_the_reason(page: Site, path: str) -> None:
    answer = await page.get(path)
    assert answer.status_code == 400
    assert "That did not work" in answer.text


async def test_a_wrong_number_of_a_ply_shows_the_end(page: Site) -> None:
    match = await played(page.server, "hop-it", 3)
    for ply in ("-1", "99999999999", "x", "²", ""):
        answer = await page.get(f"/matches/{match.id}?ply={ply}")
        assert f"{match.ply}/{match.ply}" in answer.text


@pytest.mark.long
@pytest.mark.parametrize("path", ["/", "/leaderboard", "/games/elevation", "/games/pods"])
async def test_the_first_view_is_small(page: Site, path: str) -> None:
    for game in registry.SEED:
        await played(page.server, game, 2)
        await played(page.server, game, 2)
    match = await played(page.server, "circle-of-life", 40, resign=True)
    files = [path, "/static/page.css", "/static/page.js", "/static/icon.svg"]
    answers = [await page.get(file) for file in (*files, f"/matches/{match.id}")]
    assert all(answer.status_code == 200 for answer in answers)
    *shown, of_match = [len(gzip.compress(answer.content)) for answer in answers]
    assert sum(shown) <= MOST_BYTES
    assert sum(shown[1:]) + of_match <= MOST_BYTES


async def test_downloads(page: Site) -> None:
    match = await played(page.server, "hop-it", 6, resign=True)
    parts = [part async for part in page.server.arbiter.transcripts.parts(match.id)]
    assert (await page.get(f"/matches/{match.id}/transcript.jsonl")).content == b"".join(parts)
    picture = await page.get(f"/matches/{match.id}/picture.svg?ply=3")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert match.moves[2].partition("x")[0].partition("-")[0] in picture.text
    assert "result: bob (Black) wins: resignation" in (await page.get(f"/matches/{match.id}/moves.txt")).text
    (key,) = (await page.get("/keys.json")).json()["keys"]
    assert key["algorithm"] == "ed25519"
    assert len(key["key"]) == 64


async def test_pictures_are_shown_on_their_own_with_their_styles(page: Site) -> None:
    match = await played(page.server, "hop-it", 4, resign=True)
    for path in (f"/matches/{match.id}/picture.svg", f"/matches/{match.id}/animation.svg", "/leaderboard/history.svg"):
        answer = await page.get(path)
        assert answer.headers["content-type"] == "image/svg+xml"
        assert answer.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        assert "<style>" in answer.text


async def test_an_animation_shows_every_ply_and_the_result(page: Site) -> None:
    match = await played(page.server, "pods(size=3)", 5, resign=True)
    shown = (await page.get(f"/matches/{match.id}/animation.svg")).text
    for ply, move in enumerate(match.moves, 1):
        assert f"{ply}. {move}" in shown
    assert "bob (Humpback) wins: resignation" in shown
    assert f'href="/matches/{match.id}/animation.svg"' in (await page.get(f"/matches/{match.id}")).text


async def test_the_sums_of_times_are_shown_once_the_match_is_over(page: Site) -> None:
    live = await played(page.server, "hop-it", 2)  # moves that come later would not be in them
    words = Elements((await page.get(f"/matches/{live.id}")).text).words
    assert "The bars of alice point upwards" in words
    assert "in 1 moves" not in words
    over = await played(page.server, "hop-it", 2, resign=True)
    assert "in 1 moves, the longest" in Elements((await page.get(f"/matches/{over.id}")).text).words


@pytest.mark.long
async def test_expected_scores_are_shown_once_the_match_is_over(page: Site) -> None:
    match = await played(page.server, "hop-it", 4, comments=[Comment(510), Comment(400), None, Comment(125)])
    path = f"/matches/{match.id}"
    assert "Expected score" not in (await page.get(path)).text
    await page.server.arbiter.matches.request("alice", match.id, lambda seat: Resign(seat, "enough"))
    over = Elements((await page.get(path)).text)
    assert "Expected score: alice 51 %, bob 12 %" in over.words
    assert "The score of alice, as expected by alice bob." in " ".join(over.words.split())
    assert "Expected score: alice 51 %, bob 40 %" in Elements((await page.get(f"{path}?ply=3")).text).words
    labels = [attributes.get("aria-label") for _, attributes in over.found]
    said = "alice expected 51 % at first and 51 % in the end; bob expected 40 % at first and 12 % in the end"
    assert f"What each player expected: {said}" in labels
    one = await played(page.server, "hop-it", 2, comments=[Comment(510), None], resign=True)
    words = " ".join(Elements((await page.get(f"/matches/{one.id}")).text).words.split())
    assert "The score of alice, as expected by alice." in words
    silent = await played(page.server, "hop-it", 2, resign=True)
    assert "What each player expected" not in (await page.get(f"/matches/{silent.id}")).text


async def test_a_player_is_told_why_it_has_no_game(page: Site) -> None:
    await page.server.caller("alice")
    tournaments = page.server.arbiter.tournaments
    made = await tournaments.create(Spec("Cup", Format.SWISS, ("hop-it",), "1s", options=Options(rounds=3)), "org", "r")
    await tournaments.act(made.id, Enter("alice", "org", "enter"))
    text = (await page.get("/players/alice")).text
    assert f'<a href="/tournaments/{made.id}">Cup</a>: the tournament has not started.' in text


async def test_a_player_has_results_by_opponent_game_seat_and_reason(page: Site) -> None:
    for players in (("alice", "bob"), ("bob", "alice")):
        await page.server.caller(players[0])
        await played(page.server, "hop-it", 3, resign=True, players=players)
    words = "".join(Elements((await page.get("/players/alice")).text).words.split())
    assert "0won,0drawn,2lost" in words
    assert "OpponentWonDrawnLostScorebob0020%of2" in words
    assert "hop-it,Black0010%of1hop-it,White0010%of1" in words
    assert "resignation0020%of2" in words
    assert 'class="is-lost"' in (await page.get("/players/alice")).text
    assert 'class="is-won"' in (await page.get("/players/bob")).text


@pytest.mark.long
@pytest.mark.parametrize("name", registry.BUNDLED)
async def test_a_game_has_its_rules_and_a_figure_for_each_kind_of_move(page: Site, name: str) -> None:
    shown = (await page.get(f"/games/{name}")).text
    game = registry.game(name)
    assert shown.count("<figcaption>") == len(examples(game)) >= 1
    for example in examples(game):
        assert f"<figcaption><code>{example.move}</code>" in shown
    assert '<em class="ours">ours</em>' in shown
    assert "Rules in full" in shown


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register the game of a package."""
    row = EntryPoint("row", "tests.web.plug_in:Row", registry.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [row] if group == registry.GROUP else [])
    forget_packages()
    yield
    forget_packages()


@pytest.mark.long
async def test_the_boards_of_all_games_are_drawn_for_the_first_visitor_alone_and_beside_the_event_loop(
    page: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, board = set[int](), boards.board

    def drawn(game: AnyGame, position: Shown, name: str) -> Markup:
        threads.add(threading.get_ident())
        return board(game, position, name)

    monkeypatch.setattr(pages, "board", drawn)
    first = await page.get("/games")
    assert threads.isdisjoint({threading.get_ident()})
    monkeypatch.setattr(pages, "board", lambda *_: pytest.fail("it is drawn again"))
    assert (await page.get("/games")).text == first.text


@pytest.mark.long
@pytest.mark.usefixtures("plug_in")
async def test_a_game_of_a_package_has_all_pages(page: Site) -> None:
    match = await played(page.server, "row", 2)
    for path in ("/", "/games", "/games/row", f"/matches/{match.id}", f"/matches/{match.id}/picture.svg"):
        answer = await page.get(path)
        assert answer.status_code == 200, path
        assert "row" in answer.text, path
    elements = Elements((await page.get(f"/matches/{match.id}")).text)
    assert len([given for _, given in elements.found if "data-cell" in given]) == 7
    assert len([given for _, given in elements.found if given.get("href") == "#row-p1"]) == 5
    assert len([given for _, given in elements.found if given.get("href") == "#row-taken"]) == 1
    assert "First to move" in elements.words


@pytest.mark.parametrize("variant", ["openspiel-nim", pytest.param("openspiel-shogi", marks=pytest.mark.long)])
async def test_matches_of_open_spiel_have_pages_with_and_without_a_board(page: Site, variant: str) -> None:
    match = await played(page.server, variant, 3)
    for path in ("", "?ply=1", "/picture.svg", "/plies?from=0"):
        assert (await page.get(f"/matches/{match.id}{path}")).status_code == 200, path
    shown = (await page.get(f"/matches/{match.id}")).text
    assert all(move in shown for move in match.moves)
    cells = [given for _, given in Elements(shown).found if "data-cell" in given]
    assert len(cells) == match.game.board.size
    assert (await page.get(f"/games/{variant}")).status_code == 200


def test_html_in_rules_is_escaped() -> None:
    assert "<script>" not in html("a <script>alert(1)</script>\n\n<img src=x onerror=alert(2)>")
    assert html("| a |\n| --- |\n| ours |").count('<em class="ours">') == 1


async def test_a_replay_is_sent_in_parts(page: Site) -> None:
    match = await played(page.server, "hop-it", 6)
    part = (await page.get(f"/matches/{match.id}/plies?from=2")).json()
    assert part["from"] == 2
    assert len(part["plies"]) == match.ply - 1
    assert {"board", "said", "numbers", "signs"} == set(part["plies"][0])
    assert sum(len(cells) for _, _, cells in part["plies"][0]["board"]["pieces"]) == 18


async def test_style_and_script_are_served_by_us(page: Site) -> None:
    style, script = await page.get("/static/page.css"), await page.get("/static/page.js")
    assert style.headers["content-type"].startswith("text/css")
    assert all(f".on-{ink}" in style.text for ink in INKS)
    assert "prefers-color-scheme:dark" in style.text
    assert script.headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize(
    ("groups", "first", "last", "expected"),
    [
        ([1, 2, 2, 3], True, True, ["1", "2–3", "2–3", "4"]),
        ([1, 2, 2], True, False, ["1", "2–…", "2–…"]),
        ([1, 1, 2], False, True, ["…–2", "…–2", "3"]),
        ([1, 1], False, False, ["…", "…"]),
    ],
)
def test_places_whose_order_is_not_established_are_a_range(
    groups: list[int], first: bool, last: bool, expected: list[str]
) -> None:
    rows = [
        Row(place, group, f"p{place}", 0.0, 0.0, 0.0, 1, False, None, Forfeits())
        for place, group in enumerate(groups, 1)
    ]
    assert places(rows, first, last) == expected


async def test_the_front_page_shows_an_order_that_is_not_established_as_the_leaderboard_does(page: Site) -> None:
    await played(page.server, "hop-it", 6, resign=True, rated=True)
    for path in ("/", "/leaderboard"):
        shown = Elements((await page.get(path)).text).found
        assert len([name for name, given in shown if given.get("class") == "places"]) == 2, path
        assert (await page.get(path)).text.count(">1–2<") == 2, path


async def test_moves_are_shown_in_the_games_own_notation_and_numbers(page: Site) -> None:
    matches = page.server.arbiter.matches
    made = await page.server.create("chess", time="10m", position="8/2p5/8/1P6/8/8/8/K6k b - - 3 40", opening=("c7c5",))
    shown = (await page.get(f"/matches/{made.id}")).text
    assert '<div class="moves own"' in shown
    assert ">40… c5</a>" in shown
    assert "40… c5" in (await page.get(f"/matches/{made.id}/moves.txt")).text
    go = await page.server.create("go", time="10m", opening=("d4", "pass"))
    listed = (await page.get(f"/matches/{go.id}")).text
    assert '<div class="moves"' in listed
    assert ">D4</a>" in listed
    assert (await matches.match(go.id)).moves == ("d4", "pass")
