"""How `arbiter bench tournament` reads what it measures."""

from __future__ import annotations

import asyncio
import os
import shlex
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from arbiter.bench.direct import measure
from arbiter.bench.plans import TournamentPlan
from arbiter.bench.tournament import PARTS, SERVER, Played, fit, specification, spent_by_part
from arbiter.cli.tournament_spec import read_all
from tests.clients.toolchains import require

STOCKFISH = "/usr/games/stockfish"  #: where Debian puts it
SPIN = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"


def test_the_time_of_a_move_and_of_a_game_are_told_apart() -> None:
    spent = dict.fromkeys(PARTS, 0.0)
    long = Played(6_000, 100, 4.0, spent | {"server": 6_000 * 0.3e-3 + 100 * 5e-3, "engines": 9.0})
    short = Played(1_200, 100, 4.0, spent | {"server": 1_200 * 0.3e-3 + 100 * 5e-3})
    assert fit(long, short, PARTS[:-1]) == pytest.approx((0.3, 5.0))


@pytest.mark.parametrize(("uci", "network"), [("", False), ("", True), ("stockfish", False)])
def test_the_file_of_the_benchmark_is_a_tournament(uci: str, network: bool, tmp_path: Path) -> None:
    file = tmp_path / "bench.toml"
    file.write_text(specification(TournamentPlan(uci=uci, network=network), 32, 12))
    read = read_all(file)
    assert [bot.name for bot in read.bots] == ["one", "two"]
    assert read.bots[0].bundled == ("" if uci else "random")
    assert (read.bots[0].engine is None) is network, "else it plays in the server's process"
    assert (read.tournament.at_once, read.tournament.adjudication.plies) == (32, 12)
    assert read.limits.memory_mb >= 32 * 100, "an engine of each game"
    assert read.tournament.games == ("chess" if uci else "circle-of-life(target=60)",)


@pytest.mark.long
@pytest.mark.parametrize(
    ("below", "part"), [((sys.executable, "-c", SPIN), "bots"), ((sys.executable, "-c", SPIN, SERVER), "server")]
)
def test_processor_time_is_told_apart_by_process(below: tuple[str, ...], part: str) -> None:
    """A child of the run that serves is its server; another one is a bot."""
    here = os.getpid()
    with subprocess.Popen(below, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert spent_by_part(here)[part] >= 0.15
        assert spent_by_part(here)["runner"] > 0
        child.communicate(b"\n")


@pytest.mark.long
def test_bots_play_directly_as_long_as_is_asked() -> None:
    began = time.monotonic()
    found = asyncio.run(measure("circle-of-life(target=60)", "", 2, 20, 0.2))
    assert time.monotonic() - began >= 0.2
    assert found["moves"] >= 20 * found["games"] - 40
    assert found["games"] > 0
    assert found["spent"] > 0


@pytest.mark.toolchain
def test_engines_are_told_of_each_game_that_they_play_directly(tmp_path: Path) -> None:
    require(STOCKFISH, why="it plays itself")
    heard = tmp_path / "heard"
    command = shlex.join(("sh", "-c", f"tee -a {heard} | {STOCKFISH}"))
    found = asyncio.run(measure("chess", command, 1, 6, 0.5))
    assert found["games"] > 0
    assert heard.read_text().count("ucinewgame\n") >= 2 * found["games"]


@pytest.mark.long
def test_bots_that_play_directly_may_store_each_move(tmp_path: Path) -> None:
    """Moves of the opening and of the time before the measurement are stored too."""
    store = tmp_path / "moves.db"
    found = asyncio.run(measure("circle-of-life(target=60)", "", 2, 20, 0.2, str(store)))
    with closing(sqlite3.connect(store)) as connection:
        [(stored,)] = connection.execute("SELECT count(*) FROM event").fetchall()
        [(last,)] = connection.execute("SELECT max(revision) FROM event").fetchall()
    assert 0 < found["moves"] <= stored
    assert 1 <= last <= 20
