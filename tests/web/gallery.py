"""The pictures of the pages: an arbiter with constant content, its pages in Chromium, one file for each.

`python -m tests.web.gallery deploy/pictures/pages` writes them (`make pictures` does). The README shows them, and
`test_pictures.py` compares the present pages with them. So that every machine draws the same, the clocks of server and
browser are constant, nothing is animated, and Chromium has only the fonts of one Debian package.
"""

from __future__ import annotations

import asyncio
import base64
import random
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import uvicorn
from playwright.async_api import Browser

from arbiter.matches.commands import Create, Play, Resign
from arbiter.matches.comments import Comment
from arbiter.matches.match import Match, Phase, with_position
from arbiter.runtime.loopback import free_port
from arbiter.testing.clock import NOON_MS
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import standings
from arbiter.web.application import application
from arbiter.web.browser_connections import BrowserConnection
from tests.generators.pictures import POSITIONS
from tests.web.chromium import chromium
from tests.web.site import Site, site

NAMES: Final = ("ada", "bela", "chen", "dana", "emil", "fay", "goro", "hana")
FONTS: Final = "/usr/share/fonts/truetype/dejavu"
FONT_CONFIG: Final = f"""<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>{FONTS}</dir><cachedir>CACHE</cachedir>
<match target="pattern"><edit name="family" mode="prepend" binding="strong"><string>DejaVu Sans</string></edit></match>
<match target="font"><edit name="hinting" mode="assign"><bool>false</bool></edit>
<edit name="antialias" mode="assign"><bool>true</bool></edit>
<edit name="rgba" mode="assign"><const>none</const></edit></match></fontconfig>"""
ARGUMENTS: Final = (
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
    "--disable-gpu",
    "--hide-scrollbars",
)
QUALITY: Final = 80  #: of WebP, in percent


class Picture(NamedTuple):
    """A picture: its name, the page, and the window in pixels."""

    name: str
    path: str
    width: int = 1_120
    height: int = 780
    scheme: Literal["light", "dark"] = "light"


class ConstantClock:
    """A clock that only the gallery sets."""

    def __init__(self) -> None:
        self.ms = NOON_MS

    def now_ms(self) -> int:
        """Return its time."""
        return self.ms


class _InTime(BrowserConnection):
    patience_s = 20.0


class _Server(uvicorn.Server):
    """A server that says when it accepts connections."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.begun = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        self.begun.set()


class Gallery(NamedTuple):
    """The address of the pages, and their content."""

    url: str
    pictures: Sequence[Picture]


@asynccontextmanager
async def gallery(folder: Path) -> AsyncIterator[Gallery]:
    """Serve the pages of an arbiter in memory on a port, with content."""
    async with site(folder) as served, AsyncExitStack() as present:
        clock = ConstantClock()
        served.server.clock.now_ms = clock.now_ms  # type: ignore[method-assign]
        pictures = await _content(served, clock, present)
        port = free_port()
        pages = application(served.gate, served.server.settings)
        config = uvicorn.Config(pages, http=_InTime, port=port, log_config=None, lifespan="off")
        server = _Server(config)
        running = asyncio.create_task(server.serve())
        await server.begun.wait()
        try:
            yield Gallery(f"http://127.0.0.1:{port}", pictures)
        finally:
            server.should_exit = True
            await running


async def _content(served: Site, clock: ConstantClock, present: AsyncExitStack) -> list[Picture]:
    """Fill an arbiter, and return its content. The players of its live matches are connected during the context."""
    server, lots = served.server, random.Random(7)
    for name in NAMES:
        await server.caller(name)
    for first, second in [(a, b) for a in NAMES for b in NAMES if a != b]:
        stronger = NAMES.index(first) < NAMES.index(second)
        loser = second if lots.random() < (0.75 if stronger else 0.3) else first
        game = lots.choice(sorted(POSITIONS))
        clock.ms += 3_600_000
        await _match(server, clock, game, (first, second), POSITIONS[game].split()[:2], loser=loser)
    expected = (520, 490, 545, 450, 560, 470, 610, 380, 640, 350, 720, 240)
    moves = POSITIONS["hop-it"].split()
    ended = await _match(server, clock, "hop-it", ("ada", "chen"), moves, expected=expected, loser="chen")
    for name in NAMES:
        present.enter_context(server.arbiter.sessions.attending(name))
    live = []
    for number, (game, line) in enumerate(POSITIONS.items()):
        players = (NAMES[number], NAMES[number + 3])
        live.append(await _match(server, clock, game, players, line.split()))
    _tournaments(served, live)
    return [
        Picture("front", "/"),
        Picture("match", f"/matches/{live[2].id}"),
        Picture("replay", f"/matches/{ended.id}?ply=10", height=980),
        Picture("knockout", "/tournaments/knockout", height=900),
        Picture("round-robin", "/tournaments/round-robin?round=3", height=1_100),
        Picture("ratings", "/leaderboard", height=900),
        Picture("player", "/players/ada", height=1_000),
        Picture("game", "/games/hop-it", height=1_000),
        Picture("phone", f"/matches/{live[4].id}", 390, 844),
        Picture("dark", f"/matches/{live[1].id}", scheme="dark"),
        Picture("projector", f"/matches/{live[3].id}", 1_920, 1_080),
    ]


async def _match(
    server: InMemoryArbiter,
    clock: ConstantClock,
    game: str,
    players: tuple[str, str],
    moves: Sequence[str],
    expected: Sequence[int] = (),
    loser: str = "",
) -> Match:
    """Return a match after some moves; with a loser, a rated one in which that player has resigned."""
    matches = server.arbiter.matches
    policy = server.arbiter.policy
    made = Create(game, players, "10m+5s", "org", f"make {clock.ms} {game}", policy, bool(loser), "")
    match_id = (await matches.create(made)).id
    active = asyncio.Event()
    server.arbiter.match_listeners.append(
        lambda match, events: active.set() if match.id == match_id and match.phase is Phase.ACTIVE else None
    )
    with ExitStack() as stack:
        for player in players:
            stack.enter_context(server.arbiter.sessions.attending(player))
        if (await matches.match(match_id)).phase is not Phase.ACTIVE:
            await active.wait()
        for ply, move in enumerate(moves):
            match = with_position(await matches.match(match_id))
            clock.ms += (700 if loser else 70) * (1 + ply * ply * 7 % 11)
            said = Comment(expected[ply % len(expected)]) if expected else None
            play = partial(Play, request=f"ply {ply}", ply=ply, move=move, arrived=clock.ms, comment=said)
            await matches.request(players[match.turn - 1], match_id, play)
        if loser:
            await matches.request(loser, match_id, lambda seat: Resign(seat, "give up"))
    return await matches.match(match_id)


def _tournaments(served: Site, live: Sequence[Match]) -> None:
    """Add two tournaments to the pages without playing their matches; some of the live matches belong to them."""

    def better(game: Any) -> Any:
        return 1 if game.seat1 < game.seat2 else 2

    cup = Spec("Winter cup", Format.KNOCKOUT, ("hop-it",), "10m+5s", options=Options(double=True))
    league = Spec("Winter league", Format.ROUND_ROBIN, ("pods",), "10m+5s", paired=False)
    runs = {"knockout": _run(cup, better, 17), "round-robin": _run(league, better, 17)}

    async def get(call: object, name: str) -> Any:
        return runs[name].tournament

    async def table(call: object, name: str, category: str) -> Any:
        return name, standings(runs[name].tournament)

    found = served.gate.matches.get
    known = dict[str, int]()  # a constant result, independent of the order of requests
    for run in runs.values():
        running = run.tournament.running
        for game in sorted(running, reverse=True):
            known.setdefault(running[game].match, len(known))

    async def match(call: Any, name: str) -> Match:
        if "." not in name:
            return await found(call, name)
        return live[known.setdefault(name, len(known)) % len(live)]

    for where, attribute, value in (
        (served.gate.tournaments, "get", get),
        (served.gate.tournaments, "standings", table),
        (served.gate.matches, "get", match),
    ):
        setattr(where, attribute, value)


def _run(spec: Spec, result: Callable[[Any], Any], steps: int) -> TournamentRun:
    run = _Named(spec, 8, random.Random(5), result)
    for _ in range(steps):
        run.step()
    return run


class _Named(TournamentRun):
    """A tournament of players with names."""

    def enter(self, player: str, rating: int = 0) -> Any:
        """Enter the player with a number under its name."""
        return super().enter(NAMES[int(player[1:])], rating)


@asynccontextmanager
async def picture_browser(folder: Path) -> AsyncIterator[Browser]:
    """Start a Chromium that draws the same on every machine with the same Debian."""
    config = folder / "fonts.conf"
    config.write_text(FONT_CONFIG.replace("CACHE", str(folder / "fonts")))
    async with chromium(*ARGUMENTS, env={"FONTCONFIG_FILE": str(config)}) as browser:
        yield browser


async def taken(browser: Browser, shown: Gallery, picture: Picture) -> bytes:
    """Return a picture of a page, as WebP."""
    context = await browser.new_context(
        base_url=shown.url,
        viewport={"width": picture.width, "height": picture.height},
        color_scheme=picture.scheme,
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
    )
    page = await context.new_page()
    await page.clock.install(time=(NOON_MS) / 1000)
    answered = await page.goto(picture.path)
    assert answered is not None
    assert answered.ok, f"{picture.path}: {answered.status}"
    for image in await page.locator("img[loading=lazy]").all():
        await image.scroll_into_view_if_needed()
        await image.evaluate("image => image.decode()")
    await page.evaluate("() => { document.activeElement?.blur(); scrollTo(0, 0); }")
    session = await context.new_cdp_session(page)
    answer = await session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    await context.close()
    return base64.b64decode(answer["data"])


async def write(folder: Path) -> None:
    """Write every picture to a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        async with gallery(Path(scratch)) as shown, picture_browser(Path(scratch)) as browser:
            for picture in shown.pictures:
                (folder / f"{picture.name}.webp").write_bytes(await taken(browser, shown, picture))


if __name__ == "__main__":
    into = Path(sys.argv[1])
    into.mkdir(parents=True, exist_ok=True)
    asyncio.run(write(into))
