"""Engines of chess and Go as they exist, on a server: by `arbiter bot run`, and in tournaments from a file."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import signal
import sqlite3
import sys
import tomllib
from functools import partial
from pathlib import Path

import arbiter_client as arb
import pytest
from arbiter_client import bridge
from arbiter_client.blocking import BlockingClient
from arbiter_client.local_match import play_local_match

from arbiter.cli.bot import Engine
from arbiter.cli.tournament_run.host import STALL_MS
from arbiter.conformance.catalogue import chosen
from arbiter.conformance.kit import ClauseVerdict, Kit
from tests.cli.command import Arbiter
from tests.cli.conftest import arbiter as arbiter
from tests.clients.table import SCALE, failures
from tests.clients.toolchains import require
from tests.documents import block
from tests.e2e.processes import BIN, Server
from tests.processes import WAIT_S, until

pytestmark = [pytest.mark.long, pytest.mark.toolchain]

ETHEREAL = "/usr/games/ethereal-chess"
GNUCHESS = "/usr/games/gnuchess"
GNUGO = "/usr/games/gnugo"
STOCKFISH = "/usr/games/stockfish"  #: where Debian puts it
EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"
PAGE = "clients/lines/README.md"


@pytest.fixture(scope="module")
def server(shared_server: Server) -> Server:
    return shared_server


def engines(parent: int) -> list[int]:
    """Return the processes of engines below a process."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            if entry.name.isdigit() and (entry / "exe").resolve() == Path(STOCKFISH):
                words = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(words[1]) == parent:
                    found.append(int(entry.name))
    return found


def test_two_engines_play_a_rated_match_through_kills_of_an_engine_and_of_the_server(tmp_path: Path) -> None:
    require(STOCKFISH, why="a chess engine plays")
    server = Server.begun(tmp_path)
    shown = block(PAGE, "--uci").split()
    with contextlib.ExitStack() as bots:
        running = {}
        for name, words in (("alice", shown), ("bob", [*shown[:3], "--uci", "stockfish", "--depth", "2"])):
            changed = {"stockfish": STOCKFISH, "HOST:PORT": server.address, "alice": name}
            words = [changed.get(word, word) for word in words]
            words += [] if "--name" in words else ["--name", name]
            command: list[str | Path] = [BIN / words[0], *words[1:], "--sandbox", "off", "--matches", "1"]
            running[name] = bots.enter_context(server.running(command))
        server.wait_for_players("alice", "bob")
        made = server.arbiter("match", "create", "chess", "alice", "bob", "--time", "1h", "--rated").strip()
        with server.client(WAIT_S) as client:
            until(lambda: client.get_match(made).ply >= 6)
        killed = engines(running["alice"].pid)
        for process in killed:
            os.kill(process, signal.SIGKILL)
        server.kill()
        server.start()
        with server.client(WAIT_S) as client:
            until(lambda: client.get_match(made).result is not None)
            match = client.get_match(made, with_moves=True)
    assert killed
    assert match.result is not None
    assert match.result.reason in {
        "checkmate",
        "stalemate",
        "dead_position",
        "fivefold_repetition",
        "seventy_five_moves",
    }
    assert {comment.ply % 2 for comment in match.comments} == {0, 1}, "scores are in the record"
    assert match.versions[0][:1].isdigit()
    server.stop()


async def test_an_engine_thinks_in_its_opponents_time(caplog: pytest.LogCaptureFixture) -> None:
    require(STOCKFISH, why="a chess engine plays")
    caplog.set_level("INFO", "arbiter_client")
    bots: list[bridge.ProgramBot] = []
    async with contextlib.AsyncExitStack() as stack:
        for name, ponders in (("ponderer", True), ("other", False)):
            language = bridge.Uci(search=bridge.Search(depth=6), ponder=ponders)
            said = await bridge.introduce([STOCKFISH], language)
            bot = bridge.ProgramBot([STOCKFISH], said, language, called=name, dialogue=True)
            bots.append(await stack.enter_async_context(bot))
        position = "8/8/8/3k4/8/8/8/R3K3 w - - 0 1"
        one, other = bots
        finished = await play_local_match(one, other, "chess", time_control="1h", position=position)
    assert finished.result.cause is arb.Cause.RULES, "and not by a fault; how long it could ponder decides how it ends"
    assert "ponderer in local < ponderhit" in caplog.messages
    assert "ponderer in local < go ponder depth 6" in caplog.messages
    assert not any("ponder" in line for line in caplog.messages if line.startswith("other in local < "))


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    ("engine", "words", "clause"),
    [
        (STOCKFISH, f"--uci {STOCKFISH} --nodes 1", "games.chess"),
        (GNUGO, f"--gtp '{GNUGO} --mode gtp --level 1 --chinese-rules --capture-all-dead'", "games.go"),
    ],
)
def test_an_engine_passes_the_clause_of_its_game(engine: str, words: str, clause: str, whole: bool) -> None:
    require(engine, why="an engine plays with the conformance kit")
    kit = Kit(f"{sys.executable} -m arbiter bot run --sandbox off {words}", SCALE)
    outcomes = asyncio.run(kit.run(chosen([] if whole else [clause])))
    assert failures(outcomes) == []
    assert ClauseVerdict.PASSED in {one.verdict for one in outcomes if one.clause.id == clause}


CASTLING_MATES = {
    "chess960": ("4rkr1/4p1p1/8/8/8/8/8/5KR1 w K - 0 1", "f1g1"),
    "chess": ("8/8/8/8/N6R/3k4/6N1/R3K1N1 w Q - 0 1", "e1c1"),
}
"""Positions in which castling is the only mate, by game, each with the move."""


def _is_over(client: BlockingClient, match: str) -> bool:
    return client.get_match(match).result is not None


def test_an_engine_castles_in_chess960_and_in_chess_in_one_process(server: Server) -> None:
    require(STOCKFISH, why="a chess engine plays")
    words = ["bot", "run", "--uci", STOCKFISH, "--depth", "4", "--server", server.address, "--name", "castler"]
    command: list[str | Path] = [BIN / "arbiter", *words, "--sandbox", "off"]
    with server.running(command), server.client(WAIT_S) as admin:
        server.wait_for_players("castler")
        for game in (*CASTLING_MATES, *CASTLING_MATES):
            position, move = CASTLING_MATES[game]
            made = admin.create_match(game, ("castler", "castler"), time_control="1h", position=position).match_id
            until(partial(_is_over, admin, made))
            match = admin.get_match(made, with_moves=True)
            assert match.result is not None
            assert (match.moves, match.result.reason) == ((move,), "checkmate")


def test_a_go_engine_sits_down_as_the_page_says(server: Server) -> None:
    require(GNUGO, why="a Go engine plays")
    program, *words = shlex.split(block(PAGE, "--gtp"))
    words = [server.address if word == "HOST:PORT" else word for word in words]
    with server.client(WAIT_S) as admin, server.running([BIN / program, *words, "--sandbox", "off"]):
        server.wait_for_players("bob")
        made = admin.create_match("go", ("bob", "bob"), time_control="1h")
        until(lambda: admin.get_match(made.match_id).ply >= 4)
        admin.abort_match(made.match_id)


def test_two_go_engines_agree_on_dead_stones(server: Server) -> None:
    """First from a position in which one stone is dead, then a whole game."""
    require(GNUGO, why="a Go engine plays")
    command: list[str | Path] = [BIN / "arbiter", "bot", "run", "--gtp", f"{GNUGO} --mode gtp --level 1"]
    rows = "/".join(["....Ss..."] * 7 + [".s..Ss...", "....Ss..."])
    with server.client(WAIT_S) as admin, contextlib.ExitStack() as bots:
        for name in ("one", "other"):
            bots.enter_context(
                server.running([*command, "--server", server.address, "--name", name, "--sandbox", "off"])
            )
        server.wait_for_players("one", "other")
        made = admin.create_match(
            "go(scoring=agreed)",
            ("one", "other"),
            time_control="1h",
            position=f"{rows} 1 0 40",
            opening=("pass", "pass"),
        ).match_id
        until(partial(_is_over, admin, made))
        given = admin.get_match(made, with_moves=True)
        assert given.moves[2:] == ("dead-b2", "agree", "agree")
        whole = admin.create_match("go(scoring=agreed)", ("other", "one"), time_control="1h").match_id
        until(partial(_is_over, admin, whole))
        played = admin.get_match(whole, with_moves=True)
    assert given.result is not None
    assert (given.result.winner, given.result.reason) == (1, "area")
    assert played.result is not None
    assert played.result.reason == "area"
    assert played.moves[-2:] == ("agree", "agree")


SHORT = {
    "example-chess.toml": {"cycles = 2": "cycles = 1", '"two-plies"': '"last"'},
    "example-go.toml": {"--level 5": "--level 1", '"level-10"': '"last"'},
}
"""What is shorter in an example that is not played whole: a strength, and which bot is the first to be left out."""


@pytest.mark.timeout(0)  # whole tournaments take minutes
@pytest.mark.parametrize(
    ("name", "engines", "whole", "games"),
    [
        ("example-chess.toml", (STOCKFISH, GNUCHESS, ETHEREAL), False, 4),
        ("example-go.toml", (GNUGO,), False, 2),
        pytest.param("example-chess.toml", (STOCKFISH, GNUCHESS, ETHEREAL), True, 16, marks=pytest.mark.soak),
        pytest.param("example-go.toml", (GNUGO,), True, 6, marks=pytest.mark.soak),
        pytest.param("example-engine-trial.toml", (STOCKFISH,), True, 76, marks=pytest.mark.soak),
    ],
)
def test_a_tournament_of_engines_is_run_from_its_example(
    tmp_path: Path, name: str, engines: tuple[str, ...], whole: bool, games: int
) -> None:
    for engine in engines:
        require(engine, why="engines play the example's tournament")
    text = (EXAMPLES / name).read_text()
    for old, new in {} if whole else SHORT[name].items():
        text = text.replace(old, new)
    text = text.partition('[[bots]]\nname = "last"')[0].replace("[[bots]]\nname", "[[bots]]\ndialogue = true\nname")
    (tmp_path / "cup.toml").write_text(re.sub(r"(?m)^time = .*", 'time = "1h"', text))
    words = ["tournament", "run", str(tmp_path / "cup.toml"), "--directory", str(tmp_path / "runs"), "--no-sandbox"]
    ran = " ".join(Server(tmp_path, 1).arbiter(*words).split())
    assert f" {games} games played" in ran
    assert "Every game ended by its rules" in ran
    with contextlib.closing(sqlite3.connect(tmp_path / "runs/run-1/arbiter.db")) as store:
        (created,) = store.execute("SELECT body FROM event WHERE subject = 'match' AND revision = 1").fetchone()
    credit = json.loads(created)["policy"]["credit"]
    assert credit["hand_over_most_ms"] == credit["network_most_ms"] == STALL_MS
    bots = tomllib.loads((tmp_path / "cup.toml").read_text())["bots"]
    folders = [tmp_path / "runs/run-1/bots" / bot["name"] for bot in bots if {"uci", "gtp"} & bot.keys()]
    dialogues = [log.read_text() for folder in folders for log in folder.glob("*/*.log")]
    asked, answered = (" genmove ", " > =") if engines == (GNUGO,) else (" < go ", " > bestmove ")
    assert dialogues
    assert all(asked in dialogue and answered in dialogue for dialogue in dialogues)


SHORT_CLOCKS = """
name = "Short clocks"
format = "gauntlet"
games = ["chess"]
time = "1s+10ms"
at_once = 2

[options]
cycles = 100

[openings]
plies = 6
seed = "short clocks"

[[bots]]
name = "stockfish"
uci = "stockfish"

[[bots]]
name = "ethereal"
uci = "ethereal-chess"
"""


@pytest.mark.soak
@pytest.mark.timeout(0)  # five minutes or more
def test_no_clock_runs_out_in_two_hundred_games_of_a_second_each(tmp_path: Path) -> None:
    """On a quiet machine. Ethereal maps the stack of a new thread for each move."""
    require(STOCKFISH, ETHEREAL, why="chess engines play on short clocks")
    tmp_path.chmod(0o755)  # what root starts in a sandbox runs as another user
    (tmp_path / "cup.toml").write_text(SHORT_CLOCKS)
    words = ["tournament", "run", str(tmp_path / "cup.toml"), "--directory", str(tmp_path)]
    ran = Server(tmp_path, 1).arbiter(*words)
    assert "200 games and " in ran
    assert "Every game ended by its rules" in ran


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--uci", STOCKFISH, "--option", "Hsah=16"], "an engine with the option 'Hsah'; it has Debug Log File"),
        (["--uci", STOCKFISH, "--option", "Hash"], "write NAME=VALUE"),
        (["--uci", STOCKFISH, "--exec", "x"], "--uci and --gtp stand in place of --exec"),
        (["--exec", "x", "--nodes", "5"], "go with --uci"),
        (["--uci", STOCKFISH, "--nodes", "-5"], "give 1 or more"),
        (["--gtp", GNUGO, "--nodes", "5"], "--gtp stands alone"),
        ([], "such as --exec ./mybot, or --uci stockfish"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_played(arbiter: Arbiter, words: list[str], said: str) -> None:
    require(STOCKFISH, why="a chess engine says which options it has")
    ran = arbiter("bot", "run", *words, "--server", "127.0.0.1:1", "--sandbox", "off")
    assert ran.code == 1
    assert said in " ".join(ran.err.split())


@pytest.mark.parametrize(
    ("engine", "asked"),
    [
        (Engine(nodes=7), "go nodes 7"),
        (Engine(depth=3), "go depth 3"),
        (Engine(movetime=50), "go movetime 50"),
        (Engine(option=("Hash = 64",)), "setoption name Hash value 64"),
    ],
)
def test_an_option_reaches_the_engine(engine: Engine, asked: str) -> None:
    language = engine.language()
    match = arb.LiveMatch("m1", "chess", 1, "bob", "none")
    turn = arb.Turn("chess", 1, 0, "", (), (), 0, 0, "", False, "bob", (), None, (), 0, 1, match)
    assert asked in [*language.greeting(), *language.question(bridge.Question(turn, None, None, None))]
