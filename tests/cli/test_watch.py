"""Two real bots are watched while they play; and the view of a match."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import select
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

import arbiter_client as arb
import pytest
from rich.console import Console

from arbiter.cli import match_view, stepping
from arbiter.cli.connection import Connection, connected
from arbiter.cli.terminal import clock_text
from arbiter.testing.memory import MemoryJournal
from arbiter.testing.served import served
from tests.cli.command import COMMAND, WAIT_S, Arbiter, Server, clean_environment
from tests.rpc.calls import Stubs
from tests.rpc.servers import read_all, sharing

LINE = ("e5", "e7", "e6")  #: a whole game of `circle-of-life(target=1)`


@pytest.mark.long
def test_a_match_is_watched_to_its_end(server: Server, arbiter: Arbiter) -> None:
    names = ("walter", "wendy")
    for name in names:
        arbiter("token", "create", name, "--save")
    match_id = arbiter("match", "create", "circle-of-life(target=1)", *names, "--time", "1m").out.strip()
    with (
        server.running("watch", match_id) as watcher,
        server.bot("random", names[0]) as first,
        server.bot("random", names[1]) as second,
    ):
        out, _ = watcher.communicate(timeout=WAIT_S)
        assert (first.wait(WAIT_S), second.wait(WAIT_S)) == (0, 0)
    assert watcher.returncode == 0
    lines = out.splitlines()
    assert lines[0].endswith("circle-of-life(target=1): walter against wendy, 1m")
    moves = [line for line in lines if re.search(r"  \d+\. \S+ by (walter|wendy) in \d", line)]
    assert moves
    assert any(re.search(r"  (walter|wendy) wins: target eaten$", line) for line in lines)
    assert re.search(r"^circle-of-life\(target=1\) – seat [12] wins: target eaten$", out, re.MULTILINE)
    shown = arbiter("match", "show", match_id).out
    assert f"ply {len(moves)}, " in shown

    # A stream of everything from the first record has the match's own events, in order.
    with server.running("watch", "--all", "--from-start") as everything:
        assert everything.stdout is not None
        found: list[str] = []
        while not found or "wins" not in found[-1]:
            line = everything.stdout.readline()
            if match_id in line:
                found.append(line.split(match_id)[1].strip())
    assert found == [line[10:] for line in lines if re.match(r"\d\d:\d\d:\d\d  ", line)]


@pytest.mark.long
async def test_a_match_is_watched_at_the_next_address_when_its_server_stops(tmp_path: Path) -> None:
    journal = MemoryJournal()
    shared = sharing(journal)
    async with served(shared) as other, AsyncExitStack() as stack:
        async with served(shared) as first:
            stubs = await Stubs(first).enter()
            match_id = (await stubs.match(game="circle-of-life(target=1)")).match_id
            environment = clean_environment(
                ARBITER_SERVER=f"{first.address},{other.address}",
                ARBITER_TOKEN=stubs.org[0][1].removeprefix("Bearer "),
                ARBITER_CREDENTIALS=str(tmp_path / "credentials.json"),
            )
            watcher = await asyncio.create_subprocess_exec(
                *COMMAND, "watch", match_id, env=environment, stdout=subprocess.PIPE
            )
            stack.push_async_callback(ended, watcher)
            assert watcher.stdout is not None
            await stubs.move(1, match_id, 0, LINE[0])
            lines = [await asyncio.wait_for(watcher.stdout.readline(), WAIT_S)]
            while b" by alice" not in lines[-1]:
                lines.append(await asyncio.wait_for(watcher.stdout.readline(), WAIT_S))
                assert lines[-1]
        await read_all([other.running.arbiter], journal)
        elsewhere = Stubs(other)
        elsewhere.alice, elsewhere.bob = stubs.alice, stubs.bob
        for ply, move in enumerate(LINE[1:], 1):
            await elsewhere.move(1 + ply % 2, match_id, ply, move)
        rest, _ = await asyncio.wait_for(watcher.communicate(), WAIT_S)
    assert watcher.returncode == 0
    shown = b"".join([*lines, rest]).decode()
    assert re.findall(r"  \d+\. (\S+) by (alice|bob)", shown) == list(zip(LINE, ("alice", "bob", "alice"), strict=True))
    assert "alice wins: target eaten" in shown


async def ended(process: asyncio.subprocess.Process) -> None:
    """End a process, if it has not ended itself."""
    if process.returncode is None:
        process.kill()
    await process.wait()


CLOCK = arb.Clock(remaining_ms=60_000, available_ms=60_000, periods_left=0, moves_left=0)


def match(game: str) -> arb.Match:
    return arb.Match(
        *("m1", game, ("ann", "ben"), "1m", False, "", arb.Phase.PENDING, 1, 0, 1, "", (), (), 0, 0, None, 0, 0),
        policy=arb.Policy(),
    )


def event(revision: int, kind: str, what: arb.Happening | None, at_ms: int = 0) -> arb.MatchEvent:
    return arb.MatchEvent("m1", revision, at_ms, kind, b"", what)


def rendered(view: match_view.MatchView, now_ms: float) -> str:
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        console.print(match_view.picture(view, now_ms, colour=False))
    return capture.get()


START = "...../....../......./......../........./......../......./....../..... 1 0 0"
AFTER = "...../....../......./......../....S..../......../......./....../..... 2 0 0"


def test_a_view_begins_with_the_opening() -> None:
    created = arb.MatchCreated("pods(size=3)", ("ann", "ben"), "1m", False, "", ("a1", "e3", "b1"))
    view = match_view.after(match_view.first(match("pods(size=3)")), event(1, "created", created))
    assert view.ply == 3
    assert view.lines == ("pods(size=3): ann against ben, 1m, from a1 e3 b1",)
    assert view.steps
    started = match_view.after(view, event(2, "started", arb.TurnStarted(2, view.text, (CLOCK, CLOCK), 3)))
    assert (started.position, started.turn) == (view.position, 2)
    assert "▶ ben (Humpback)  1:00" in rendered(started, 0)
    unknown = match_view.after(match_view.first(match("chess")), event(1, "created", created))
    assert (unknown.game, unknown.ply) == (None, 3)
    other_rules = arb.MatchCreated("pods(size=3)", ("ann", "ben"), "1m", False, "", ("z9",))
    assert match_view.after(match_view.first(match("pods(size=3)")), event(1, "created", other_rules)).game is None


def test_a_view_follows_the_events_and_its_clock_runs() -> None:
    view = match_view.first(match("circle-of-life"))
    assert view.phase == "waiting for players"
    view = match_view.after(view, event(2, "started", arb.TurnStarted(1, START, (CLOCK, CLOCK), 0), at_ms=1_000))
    assert "▶ ann (seat 1)  0:50" in rendered(view, 11_000)
    assert "  ben (seat 2)  1:00" in rendered(view, 11_000)
    moved = arb.MovePlayed(0, 1, "e5", AFTER, 2, None, (CLOCK, CLOCK))
    view = match_view.after(view, event(3, "moved", moved, at_ms=12_000))
    assert (view.text, view.ply, view.turn) == (AFTER, 1, 2)
    picture = rendered(view, 72_000)
    assert "[S1]" in picture
    assert "▶ ben (seat 2)  0:00.0" in picture
    view = match_view.after(view, event(4, "interrupted", arb.Interrupted("drain"), at_ms=20_000))
    assert match_view.time_left(view, 2, 50_000) == 60_000
    result = arb.Result(arb.ResultKind.WIN, 1, "time", arb.Cause.TIME, arb.Party.PLAYER, 2, "")
    view = match_view.after(view, event(5, "ended", result))
    assert view.ended
    assert rendered(view, 0).rstrip().endswith("ann wins: time")


@pytest.mark.parametrize("game", ["chess", "circle-of-life"])
def test_a_game_without_rules_here_is_shown_as_the_server_describes_it(game: str) -> None:
    text = "rnbq" if game == "chess" else AFTER
    moved = arb.MovePlayed(0, 1, "castles", text, 2, None, ())
    view = match_view.after(match_view.first(match(game)), event(2, "moved", moved))
    assert view.text == text
    assert ("chess: rnbq" in rendered(view, 0)) == (game == "chess")


def test_a_move_is_written_as_the_players_of_its_game_do() -> None:
    start = "8/2p5/8/1P6/8/8/8/K6k b - - 3 40"
    created = arb.MatchCreated("chess", ("ann", "ben"), "1m", False, "", (), start)
    view = match_view.after(match_view.first(match("chess")), event(1, "created", created))
    moved = arb.MovePlayed(0, 2, "c7c5", "8/8/8/1Pp5/8/8/8/K6k w - c6 0 41", 1, None, ())
    assert match_view.after(view, event(2, "moved", moved)).lines[-1] == "40… c5 by ben"


def test_an_event_that_is_newer_than_this_client_is_named() -> None:
    view = match_view.after(match_view.first(match("pods")), event(2, "adjourned", None))
    assert view.lines == ("adjourned",)


@pytest.mark.parametrize(
    ("left_ms", "text"),
    [(0, "0:00.0"), (-5, "0:00.0"), (19_999, "0:19.9"), (20_000, "0:20"), (61_000, "1:01"), (3_723_000, "1:02:03")],
)
def test_clocks_are_written_as_clocks(left_ms: float, text: str) -> None:
    assert clock_text(left_ms) == text


@pytest.mark.long
def test_keys_step_through_a_finished_match(server: Server, arbiter: Arbiter) -> None:
    for name in ("walter", "wendy"):
        arbiter("token", "create", name)
    terms = ("pods(size=3)", "walter", "wendy", "--at-once", "--opening", "a1 e3 b1")
    match_id = arbiter("match", "create", *terms).out.strip()
    arbiter("match", "adjudicate", match_id, "--winner", "1", "--note", "late")
    with connected(Connection(server=server.address)) as client:
        shown = stepping.frames(client, client.get_match(match_id))
    assert [(each.ply, each.ended) for each in shown] == [(0, False), (1, False), (2, False), (3, True)]
    ours, theirs = pty.openpty()
    environment = {**server.environment, "ARBITER_SERVER": server.address, "TERM": "xterm"}
    with subprocess.Popen(
        [*COMMAND, "watch", match_id], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        said = b""

        def until(*texts: bytes) -> None:
            nonlocal said
            while not all(text in said for text in texts):
                assert select.select([ours], [], [], WAIT_S)[0], said
                said += os.read(ours, 4096)

        until(b"q leaves", b"ply 0 of 3")
        os.write(ours, b"\x1b[C\x1b[F")
        until(b"ply 3 of 3", b"walter (Orca) wins: adjudicated (late)")
        os.write(ours, b"q")
        assert process.wait(WAIT_S) == 0
    os.close(ours)
