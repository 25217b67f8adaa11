"""Engines in `arbiter tournament run`: they play in the server's process, and each of their processes may be killed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from arbiter.cli.tournament_run.host import PIPED
from arbiter.cli.tournament_run.run_processes import SERVER_MODULE
from arbiter.sandbox.bubblewrap import SPAWNER
from tests.cli.command import WAIT_S, Arbiter, begin
from tests.cli.test_tournament_run import heard
from tests.clients.toolchains import require
from tests.processes import descendants, until, wait_for_end

pytestmark = [pytest.mark.long, pytest.mark.toolchain]

STOCKFISH = "/usr/games/stockfish"  #: where Debian puts it

CUP = """
name = "Cup"
format = "round_robin"
games = ["chess"]
time = "1h"
rated = false
options = { cycles = 8 }
openings = { plies = 4, seed = "evening" }
adjudication = { plies = 200 }
engine = { nodes = 1 }
"""


LINES_BOT = Path(__file__).parents[2] / "clients" / "lines" / "samples" / "first_move.sh"
JSON_BOT = "first_move_json.sh"
JSON_LINES = r"""
while read -r line; do
  case "$line" in
    *'"kind":"arbiter"'*) echo '{"kind":"ready","version":"1","moves":5000}' ;;
    *'"kind":"turn"'*) move=${line#*'"moves":["'}; echo "{\"kind\":\"move\",\"move\":\"${move%%\"*}\"}" ;;
    *'"kind":"quit"'*) exit 0 ;;
  esac
done
"""
ENGINES = ('name = "one"\nuci = "stockfish"', 'name = "two"\nuci = "stockfish"')
PIPED_BOTS = ('name = "one"\nbot = "random"', 'name = "two"\nbot = "random"\nargs = "--seed 7"')
LINES = (f'name = "one"\nlines = "bash {LINES_BOT.name}"', f'name = "two"\njson_lines = "bash {JSON_BOT}"')


def written(folder: Path, *bots: str, cup: str = CUP) -> Path:
    folder.chmod(0o755)  # what root starts in a sandbox runs as another user
    file = folder / "cup.toml"
    file.write_text(cup + "".join(f"[[bots]]\n{bot}\n" for bot in bots))
    return file


def kill(run: subprocess.Popen[str], what: str, which: int = 0) -> bool:
    """Kill one process of a run whose command line contains a word, and wait for its end; return whether there was one.

    which: of those that there are, parents first; -1 for a program, whose parents have its name as an argument.
    """
    there = [number for number, command in descendants(run.pid).items() if what in command.split()]
    if there:
        with suppress(ProcessLookupError):  # a process that was not needed any more
            os.kill(there[which], signal.SIGKILL)
        wait_for_end(there[which])
    return bool(there)


@pytest.mark.parametrize(
    ("program", "bots", "games", "sandboxed"),  # those of programs that speak lines are short
    [
        pytest.param(STOCKFISH, ENGINES, 16, True, id="engines"),
        pytest.param(STOCKFISH, ENGINES, 16, False, marks=pytest.mark.soak, id="engines without a sandbox"),
        pytest.param(PIPED, PIPED_BOTS, 16, True, marks=pytest.mark.soak, id="bundled bots"),
        pytest.param(PIPED, PIPED_BOTS, 16, False, marks=pytest.mark.soak, id="bundled bots without a sandbox"),
        pytest.param(LINES_BOT.name, LINES, 40, True, marks=pytest.mark.soak, id="lines"),
        pytest.param(LINES_BOT.name, LINES, 40, False, marks=pytest.mark.soak, id="lines without a sandbox"),
    ],
)
def test_a_tournament_goes_on_whichever_of_its_processes_is_killed(
    tmp_path: Path,
    runs: list[subprocess.Popen[str]],
    arbiter: Arbiter,
    program: str,
    bots: tuple[str, str],
    games: int,
    sandboxed: bool,
) -> None:
    require(STOCKFISH, why="a chess engine plays")
    (tmp_path / JSON_BOT).write_text(JSON_LINES)
    shutil.copy(LINES_BOT, tmp_path)
    short = CUP.replace("cycles = 8", f"cycles = {games // 2}").replace("plies = 200", "plies = 60")
    file = written(tmp_path, *bots, cup=short)
    walls = ("--sandbox", "require") if sandboxed else ("--no-sandbox",)
    options = ("--concurrency", "2", "--export", "out", *walls)
    run = begin(runs, file, "--directory", "runs", *options)
    heard(run, f" 1/{games}  chess: ")
    assert kill(run, program, -1)
    heard(run, f" 4/{games}  chess: ")
    assert kill(run, SERVER_MODULE)
    heard(run, "the arbiter ended by itself (signal SIGKILL), is started again in ")
    heard(run, f" 7/{games}  chess: ")
    assert kill(run, "arbiter.sandbox.guard" if sandboxed else PIPED if program == PIPED else str(SPAWNER))
    heard(run, "ended by itself (signal SIGKILL), is started again in ")
    heard(run, f"/{games}  chess: ")
    run.kill()
    run.communicate()

    run = begin(runs, file, "--directory", "runs", *options, "--resume")
    said, complaint = run.communicate(timeout=WAIT_S)
    assert (run.returncode, complaint) == (0, "")
    assert f"over (complete): {games} of {games} games played" in said
    ends = [line.split(", ")[1] for line in said.splitlines() if line.startswith("  chess: ")]
    assert set(ends) <= {"adjudicated length"}, "no game is lost by a clock, absence or resignation"
    verified = arbiter("verify", str(tmp_path / "out"), "--key", str(tmp_path / "out/keys.json"))
    assert (verified.code, f"{games} games with " in verified.out) == (0, True), verified.complaint


SHARE = 10  #: of the kills of a server alone, one in this many
MOST_RECORDS = 400  #: between two kills, and one at least


def records(folder: Path) -> int:
    """Return how many records the store of the first run in a folder has."""
    place = f"file:{folder}/runs/run-1/arbiter.db?mode=ro"
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(place, uri=True)) as store:
        return int(store.execute("SELECT max(sequence) FROM event").fetchone()[0] or 0)
    return 0  # it has no store yet


def goes_on(run: subprocess.Popen[str], folder: Path, by: int) -> None:
    """Wait until a run has stored so many further records. Raises AssertionError if it ends before."""
    before = records(folder)
    until(lambda: records(folder) >= before + by or run.poll() is not None)
    assert run.poll() is None, (folder / "said").read_text()


@pytest.mark.soak
@pytest.mark.timeout(0)  # many kills take long; each step has a limit of its own
@pytest.mark.parametrize("sandboxed", [True, False])
def test_a_tournament_goes_on_whatever_is_killed_whenever(
    tmp_path: Path, runs: list[subprocess.Popen[str]], arbiter: Arbiter, kills: int, sandboxed: bool
) -> None:
    """Again and again: the run, its server, the parent of an engine, or an engine. The run alone is resumed by hand."""
    require(STOCKFISH, why="a chess engine plays")
    dice, count = random.Random(kills), max(kills // SHARE, 1)
    file = written(tmp_path, *ENGINES, cup=CUP.replace("cycles = 8", f"cycles = {2 * count}"))
    walls, parent = (
        (("--sandbox", "require"), "arbiter.sandbox.guard") if sandboxed else (("--no-sandbox",), str(SPAWNER))
    )
    options = ("--directory", "runs", "--concurrency", "2", "--export", "out", *walls)
    with (tmp_path / "said").open("a") as said:
        run = begin(runs, file, *options, output=said)
        victims = ((STOCKFISH, -1), (SERVER_MODULE, 0), (parent, 0), None)
        for victim in dice.choices(victims, (4, 2, 2, 1), k=count):
            goes_on(run, tmp_path, dice.randint(1, MOST_RECORDS))
            if victim is not None:
                until(partial(kill, run, *victim))
                continue
            run.kill()
            run.wait()
            run = begin(runs, file, *options, "--resume", output=said)
        assert run.wait() == 0, (tmp_path / "said").read_text()
    games = 4 * count
    text = (tmp_path / "said").read_text()
    assert f"over (complete): {games} of {games} games played" in text
    ends = {line.split(", ")[1] for line in text.splitlines() if line.startswith("  chess: ")}
    assert ends <= {"adjudicated length", "checkmate"}, "no game is lost by a clock, absence or resignation"
    verified = arbiter("verify", str(tmp_path / "out"), "--key", str(tmp_path / "out/keys.json"))
    assert (verified.code, f"{games} games with " in verified.out) == (0, True), verified.complaint


@pytest.mark.parametrize(
    ("bot", "said"),
    [
        ('uci = "./nowhere"', "there is no program ./nowhere: give its path"),
        pytest.param(
            'uci = "stockfish"\noptions = { Hsah = 16 }',
            "stockfish: 'uciok': expected an engine with the option 'Hsah'",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            f'name = "mute"\nuci = "{sys.executable} -c 0"', "it ended with exit code 0", marks=pytest.mark.soak
        ),
    ],
)
def test_an_engine_that_does_not_introduce_itself_ends_the_run_and_its_log_says_why(
    tmp_path: Path, runs: list[subprocess.Popen[str]], bot: str, said: str
) -> None:
    require(STOCKFISH, why="a chess engine plays")
    file = written(tmp_path, 'name = "one"\nuci = "stockfish"', f"{bot}\nversion = '1'")
    run = begin(runs, file, "--directory", "runs")
    _, complaint = run.communicate(timeout=WAIT_S)
    assert run.returncode == 1
    assert "ended 3 times before it came; its output is in runs/run-1/bots/" in complaint
    (log,) = (tmp_path / complaint.strip().rpartition(" ")[2]).glob("start.log")
    assert log.read_text().count(said) == 3
