"""An organiser's week: a Swiss of twelve bots by command line and page, in which everything is put right once.

A bot is late, one result is wrongly changed and taken back, a game is played again, a round is paired by hand, the
server is killed overnight, and a cheat is found in round 4. The tournament's files are read by other programs meanwhile
(`py4swiss` pairs the next round from our report), one round is played elsewhere and another tournament goes on from
there, and at the end everything verifies without the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import urllib.request
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import arbiter_client as arb
import pytest
from arbiter_client.bots.random import RandomBot
from playwright.async_api import Page, expect
from py4swiss.engines import DutchEngine
from py4swiss.trf import ParsedTrf, TrfParser
from py4swiss.trf.results import ColorToken, ResultToken, RoundResult

from arbiter.runtime.loopback import free_port
from tests.e2e.processes import Server
from tests.processes import WAIT_S
from tests.web.chromium import chromium

pytestmark = [pytest.mark.toolchain, pytest.mark.long]

BOTS: Final = ("ada", "ben", "cid", "dan", "eve", "fay", "gus", "hal", "ivy", "jon", "kim")
LATE: Final = "lou"
CHEAT: Final = "eve"
ROUNDS: Final = 6


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server.begun(tmp_path, options=("--web", f"127.0.0.1:{free_port()}"))
    yield running
    running.kill()


class Game(NamedTuple):
    """A game of the tournament, as the page's file has it."""

    number: int
    round: int
    players: tuple[str, str]
    points: tuple[float, float]
    is_ruled: bool


class Week:
    """A tournament, as its organiser sees it by command line and page."""

    def __init__(self, server: Server, page: Page, tournament_id: str) -> None:
        self.server = server
        self.page = page
        self.id = tournament_id

    async def tournament(self, command: str, *words: str) -> str:
        """Run a command of the tournament as the organiser."""
        return await asyncio.to_thread(self.server.arbiter, "tournament", command, self.id, *words, "--as", "org")

    async def play_round(self) -> None:
        """Go on, and wait until the round is over and the tournament has paused again."""
        async with self._client() as client:
            await client.correct_tournament(self.id, arb.PauseAfterRound())
            await client.resume_tournament(self.id)
        await self.page.goto("about:blank")  # nobody looks meanwhile: to redraw the page for each move costs much
        await self.becomes(arb.TournamentPhase.PAUSED)

    async def becomes(self, phase: arb.TournamentPhase) -> None:
        """Wait until the tournament is in this phase."""
        async with self._client() as client, asyncio.timeout(WAIT_S):
            while (await client.get_tournament(self.id)).phase is not phase:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    def _client(self) -> arb.Client:
        return arb.Client(self.server.address, token=self.server.admin_token, patience_s=WAIT_S)

    async def games(self, round_: int = 0) -> list[Game]:
        """Return the games of a round, 0 for all."""
        rows = json.loads(await asyncio.to_thread(self.read, f"games.json?round={round_}" if round_ else "games.json"))
        return [
            Game(
                row["game"],
                row["round"],
                (row["player 1"], row["player 2"]),
                (row["points 1"], row["points 2"]),
                bool(row["ruling"]),
            )
            for row in rows
        ]

    async def points(self) -> dict[str, float]:
        """Return each player's points."""
        async with self._client() as client:
            return {row.player: row.points for row in (await client.get_standings(self.id)).rows}

    def read(self, file: str) -> str:
        """Return a file of the tournament, as anyone gets it from the page."""
        with urllib.request.urlopen(f"{self.server.page}tournaments/{self.id}/{file}") as answer:
            return str(answer.read().decode())

    def next_round_elsewhere(self, file: Path) -> set[frozenset[str]]:
        """Return the pairs of the next round as another program pairs them, from the report of the tournament."""
        file.write_text(self.read("tournament.trf"))
        report = TrfParser.parse(file)
        names = {player.starting_number: str(player.name) for player in report.player_sections}
        return {frozenset((names[white], names[black])) for white, black in paired_elsewhere(report) if black}

    async def press(self, button: str, **fields: str) -> None:
        """Fill fields of the desk, and press a button of the same form."""
        await self.page.goto(f"/tournaments/{self.id}")
        form = self.page.locator("form", has=self.page.locator(f"button[value='{button}']"))
        await form.locator("xpath=ancestor::details/summary").click()
        for name, value in fields.items():
            field = form.locator(f"[name={name}]")
            await (field.select_option(value) if name in ("what", "result") else field.fill(value))
        await form.locator(f"button[value='{button}']").click()


@contextlib.asynccontextmanager
async def players(server: Server) -> AsyncIterator[None]:
    """Connect twelve bots, which stay over restarts of the server."""
    with server.client(WAIT_S) as client:
        secrets = [client.create_token(name).secret for name in (*BOTS, LATE)]
    tasks = [
        asyncio.create_task(arb.play(RandomBot(seed), server.address, token=secret))
        for seed, secret in enumerate(secrets)
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def begun(server: Server) -> AsyncIterator[Week]:
    """Let the organiser make the tournament by its form on the page, enter eleven bots, and start it with a pause."""
    scopes = [word for scope in ("play", "organise", "observe") for word in ("--scope", scope)]
    said = await asyncio.to_thread(server.arbiter, "token", "create", "org", *scopes, "--save")
    secret = said.split()[-1]
    async with chromium() as browser:
        page = await browser.new_page(base_url=server.page)
        page.set_default_timeout(WAIT_S * 1000)
        expect.set_options(timeout=WAIT_S * 1000)
        await page.goto("/sign-in?onward=/tournaments/new")
        await page.fill("[name=token]", secret)
        await page.keyboard.press("Enter")
        await page.click("nav.formats >> text=Swiss")
        await page.fill("[name=name]", "The week")
        await page.uncheck("[name='game:circle-of-life']")
        await page.fill("[name=more_games]", "circle-of-life(target=1)")
        await page.fill("[name=time]", "1m+1s")
        await page.uncheck("[name=paired]")
        await page.fill("[name='options.rounds']", str(ROUNDS))
        await page.click("text=Make the tournament")
        await page.wait_for_url(re.compile("/tournaments/t"))
        week = Week(server, page, page.url.rpartition("/")[2])
        await page.fill("[name=names]", " ".join(BOTS))
        await page.click("button:text-is('Enter')")
        await expect(page.locator("#run")).to_contain_text(f"{len(BOTS)} players")
        yield week


async def test_everything_that_goes_wrong_in_a_week_is_put_right(server: Server, tmp_path: Path) -> None:
    async with players(server), begun(server) as week:
        await monday(week)
        await tuesday(week, tmp_path / "week.trf")
        await wednesday(week)
        await overnight(week)
        await thursday(week)
        await elsewhere_and_back(week, tmp_path)
        await friday(week, tmp_path)


async def monday(week: Week) -> None:
    """Round 1, after which a late bot enters."""
    await week.tournament("hold")
    await week.page.click("button:text-is('Start')")
    await week.play_round()
    assert sum((await week.points()).values()) == 6  # of five games and a bye
    await week.tournament("enter", LATE)


async def tuesday(week: Week, file: Path) -> None:
    """Round 2 is paired as another program pairs it; afterwards a result is wrongly changed."""
    elsewhere = await asyncio.to_thread(week.next_round_elsewhere, file)
    await week.play_round()
    second = await week.games(2)
    assert {frozenset(game.players) for game in second} == elsewhere
    game = second[0]
    turned = "0-1" if game.points[0] > game.points[1] else "1-0"
    ruled = {"game": str(game.number), "result": turned, "note": "engine found"}
    before = await week.points()
    await week.press("preview", **ruled)
    await expect(week.page.locator("section[aria-label='Rule on a game'] table")).to_contain_text(game.players[0])
    assert await week.points() == before
    await week.press("rule", **ruled)
    await expect(week.page.locator("main")).to_contain_text("changed to")
    after = await week.points()
    assert {name for name in before if before[name] != after[name]} == set(game.players)


async def wednesday(week: Week) -> None:
    """Round 3 is paired by hand; afterwards the ruling is taken back, and a game of it is played again."""
    await week.tournament("pair-round", "3")
    (one, two), (three, four) = [game.players for game in (await week.games(3))[:2]]
    await week.press("correct", what="pair", about=f"{three} {one} {two} {four}", round="3", why="friends")
    await week.play_round()
    third = await week.games(3)
    assert {(three, one), (two, four)} <= {game.players for game in third}
    changed = next(game.number for game in await week.games() if game.is_ruled)
    await week.press("rule", game=str(changed), result="stands", note="it was not")
    await week.tournament("replay", str(third[0].number), "--note", "wrong opening")


async def overnight(week: Week) -> None:
    """The server is killed in the pause."""
    before = await week.points()
    week.server.kill()
    await asyncio.to_thread(week.server.start)
    assert await week.points() == before
    await week.page.goto(f"/tournaments/{week.id}")
    await expect(week.page.locator("#run")).to_contain_text("Resume")


async def thursday(week: Week) -> None:
    """The game is played again, then round 4; afterwards a cheat is disqualified from the beginning."""
    await week.play_round()
    assert {game.round for game in await week.games()} == {1, 2, 3}
    await week.play_round()
    before = await week.points()
    cheat = {"what": "forfeit", "about": CHEAT, "why": "another's engine"}
    await week.press("preview-correct", **cheat)
    await expect(week.page.locator("section[aria-label='Correct the tournament'] table")).to_contain_text(CHEAT)
    await week.press("correct", **cheat)
    await expect(week.page.locator("main")).to_contain_text("(disqualified)")
    await expect(week.page.locator("main")).to_contain_text("without play by org: another's engine")
    after = await week.points()
    assert after[CHEAT] == 0
    met = {name for game in await week.games() if CHEAT in game.players for name in game.players} - {CHEAT}
    assert all(after[name] - before[name] in (0, 0.5, 1) for name in met)
    assert all(after[name] == before[name] for name in after if name not in (*met, CHEAT))


async def elsewhere_and_back(week: Week, folder: Path) -> None:
    """Another program pairs round 5 and has its results; another tournament goes on here from its report."""
    file, spec = folder / "back.trf", folder / "back.toml"
    file.write_text(await asyncio.to_thread(week.read, "tournament.trf"))
    report = TrfParser.parse(file)
    pairs = play_elsewhere(report)
    report.write_to_file(file)
    spec.write_text(
        f'name = "Back"\nformat = "swiss"\ngames = ["hop-it"]\ntime = "1m+1s"\n[options]\nrounds = {ROUNDS}\n'
    )
    made = await asyncio.to_thread(week.server.arbiter, "tournament", "create", str(spec), "--as", "org")
    back = Week(week.server, week.page, made.strip())
    await back.tournament("hold")
    await back.tournament("import", str(file))
    assert await back.points() == {str(each.name): each.points_times_ten / 10 for each in report.player_sections}
    assert {game.players: game.points for game in await back.games(5)} == dict.fromkeys(pairs, (1, 0))
    await back.becomes(arb.TournamentPhase.PAUSED)
    following = await asyncio.to_thread(back.next_round_elsewhere, file)
    await back.tournament("resume")
    await back.becomes(arb.TournamentPhase.ENDED)
    last = await back.games(6)
    assert {frozenset(game.players) for game in last} == following
    assert all(CHEAT not in game.players for game in last)
    await back.tournament("export", str(folder / "back"))
    keys = str(folder / "back" / "keys.json")
    verified = await asyncio.to_thread(week.server.arbiter, "verify", str(folder / "back"), "--key", keys)
    assert "played elsewhere) with" in verified


def paired_elsewhere(report: ParsedTrf) -> list[tuple[int, int]]:
    """Return the next round of a report as another program pairs it, white first; 0 in second place for a bye."""
    pairs = ((pair.white, pair.black) for pair in DutchEngine.generate_pairings(report))
    return [pair if pair[0] else (pair[1], 0) for pair in pairs]


def play_elsewhere(report: ParsedTrf) -> list[tuple[str, str]]:
    """Add a round to a report, as another program pairs it, in which white wins every game; return its pairs."""
    players = {each.starting_number: each for each in report.player_sections}
    done: dict[int, RoundResult] = {}
    pairs = []
    for white, black in paired_elsewhere(report):
        if not black:
            done[white] = RoundResult(
                id=0, color=ColorToken.BYE_OR_NOT_PAIRED, result=ResultToken.PAIRING_ALLOCATED_BYE
            )
            continue
        done[white] = RoundResult(id=black, color=ColorToken.WHITE, result=ResultToken.WIN)
        done[black] = RoundResult(id=white, color=ColorToken.BLACK, result=ResultToken.LOSS)
        pairs.append((str(players[white].name), str(players[black].name)))
    absent = RoundResult(id=0, color=ColorToken.BYE_OR_NOT_PAIRED, result=ResultToken.ZERO_POINT_BYE)
    for number, each in players.items():
        each.results.append(done.get(number, absent))
        each.points_times_ten += 10 * (each.results[-1].result in (ResultToken.WIN, ResultToken.PAIRING_ALLOCATED_BYE))
    return pairs


async def friday(week: Week, folder: Path) -> None:
    """Rounds 5 and 6; then the tournament verifies without the server, and ratings are computed again."""
    await week.play_round()
    await week.page.goto(f"/tournaments/{week.id}")
    await week.tournament("resume")
    await expect(week.page.locator("main")).to_contain_text("· over ·")
    games = await week.games()
    assert {game.round for game in games} == set(range(1, ROUNDS + 1))
    assert all(CHEAT not in game.players for game in games if game.round > 4)
    await week.tournament("export", str(folder / "exported"))
    admin = partial(asyncio.to_thread, week.server.arbiter)
    verified = await admin("verify", str(folder / "exported"), "--key", str(folder / "exported" / "keys.json"))
    assert f"the places of {len(BOTS) + 1} players and" in verified
    rated = folder / "rated"
    await admin("ratings", "export", str(rated))
    served = await admin("leaderboard", "--json")
    assert await admin("ratings", "recompute", str(rated), "--key", str(rated / "keys.json"), "--json") == served
