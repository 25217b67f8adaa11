"""Engines in `arbiter tournament run`: they play in the server's process, and each of their processes may be killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from arbiter.cli.tournament_run.run_processes import SERVER_MODULE
from arbiter.sandbox.bubblewrap import SPAWNER
from tests.cli.command import WAIT_S, Arbiter, begin
from tests.clients.toolchains import require
from tests.processes import descendants, wait_for_end

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
LINES = (f'name = "one"\nlines = "bash {LINES_BOT.name}"', f'name = "two"\njson_lines = "bash {JSON_BOT}"')


def written(folder: Path, *bots: str, cup: str = CUP) -> Path:
    folder.chmod(0o755)  # what root starts in a sandbox runs as another user
    file = folder / "cup.toml"
    file.write_text(cup + "".join(f"[[bots]]\n{bot}\n" for bot in bots))
    return file


def heard(process: subprocess.Popen[str], words: str) -> None:
    """Read lines until one contains these words."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if words in line:
            return
    assert process.stderr is not None
    raise AssertionError(f"{words!r} was not said: {said}{process.stderr.read()}")


def kill(run: subprocess.Popen[str], what: str) -> None:
    """Kill one process of a run whose command line contains a text, and wait for its end."""
    process = next(number for number, command in descendants(run.pid).items() if what in command.split())
    with suppress(ProcessLookupError):  # a process that was not needed any more
        os.kill(process, signal.SIGKILL)
    wait_for_end(process)


@pytest.mark.parametrize(
    ("program", "bots", "sandboxed"),
    [
        pytest.param(STOCKFISH, ENGINES, True, id="engines"),
        pytest.param(STOCKFISH, ENGINES, False, marks=pytest.mark.soak, id="engines without a sandbox"),
        pytest.param(LINES_BOT.name, LINES, True, marks=pytest.mark.soak, id="lines"),
        pytest.param(LINES_BOT.name, LINES, False, id="lines without a sandbox"),
    ],
)
def test_a_tournament_goes_on_whichever_of_its_processes_is_killed(
    tmp_path: Path,
    runs: list[subprocess.Popen[str]],
    arbiter: Arbiter,
    program: str,
    bots: tuple[str, str],
    sandboxed: bool,
) -> None:
    require(STOCKFISH, why="a chess engine plays")
    (tmp_path / JSON_BOT).write_text(JSON_LINES)
    shutil.copy(LINES_BOT, tmp_path)
    file = written(tmp_path, *bots)
    walls = ("--sandbox", "require") if sandboxed else ("--no-sandbox",)
    options = ("--concurrency", "2", "--export", "out", *walls)
    run = begin(runs, file, "--directory", "runs", *options)
    heard(run, " 1/16  chess: ")
    kill(run, program)
    heard(run, " 4/16  chess: ")
    kill(run, SERVER_MODULE)
    heard(run, "the arbiter ended by itself (signal SIGKILL), is started again in ")
    heard(run, " 7/16  chess: ")
    kill(run, "arbiter.sandbox.guard" if sandboxed else str(SPAWNER))
    heard(run, "ended by itself (signal SIGKILL), is started again in ")
    heard(run, " 10/16  chess: ")
    run.kill()
    run.communicate()

    run = begin(runs, file, "--directory", "runs", *options, "--resume")
    said, complaint = run.communicate(timeout=WAIT_S)
    assert (run.returncode, complaint) == (0, "")
    assert "over (complete): 16 of 16 games played" in said
    ends = [line.split(", ")[1] for line in said.splitlines() if line.startswith("  chess: ")]
    assert set(ends) <= {"adjudicated length"}, "no game is lost by a clock, absence or resignation"
    verified = arbiter("verify", str(tmp_path / "out"), "--key", str(tmp_path / "out/keys.json"))
    assert (verified.code, "16 games with " in verified.out) == (0, True), verified.complaint


@pytest.mark.parametrize(
    ("bot", "said"),
    [
        ('uci = "./nowhere"', "there is no program ./nowhere: give its path"),
        ('uci = "stockfish"\noptions = { Hsah = 16 }', "stockfish: 'uciok': expected an engine with the option 'Hsah'"),
        (f'name = "mute"\nuci = "{sys.executable} -c 0"', "it ended with exit code 0"),
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
