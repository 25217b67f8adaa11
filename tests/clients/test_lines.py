"""Programs without gRPC on a real server: the samples in C, Bash and Lua play every game, in a sandbox too."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.sandbox import bubblewrap as sandbox
from tests.clients.table import check
from tests.e2e.processes import BIN, Server
from tests.processes import WAIT_S, until

SAMPLES = Path(__file__).parents[2] / "clients" / "lines" / "samples"
SMALL = "pods(size=3)"  #: turns with hundreds of legal moves are left to the conformance kit at the end of this module
SHORT = "200ms/move+60s"
JSON = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    said = {
        "arbiter": lambda: {"kind": "ready", "name": "json", "moves": 5000},
        "turn": lambda: {"kind": "move", "move": message["moves"][-1]},
    }.get(message["kind"])
    if said:
        print(json.dumps(said()), flush=True)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server.begun(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, list[str]]:
    """Return the options of `arbiter bot run` for each sample."""
    tmp_path.chmod(0o755)  # in a sandbox, programs that root starts run as other users
    compiled = tmp_path / "first_move"
    subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", compiled, SAMPLES / "first_move.c"], check=True
    )
    (tmp_path / "last_move.py").write_text(JSON)
    return {
        "c": ["--exec", str(compiled)],
        "bash": ["--exec", str(SAMPLES / "first_move.sh")],
        "lua": ["--exec", f"{shutil.which('lua5.4') or 'lua'} {SAMPLES / 'first_move.lua'}"],
        "json": ["--exec", f"{sys.executable} {tmp_path / 'last_move.py'}", "--json"],
    }


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(
    ("boxed", "games"),
    [
        ("require", (SMALL, "hop-it")),
        pytest.param("off", (SMALL, "hop-it", "circle-of-life", "pondlife"), marks=pytest.mark.soak),
    ],
)
def test_programs_in_every_language_play(
    server: Server, programs: dict[str, list[str]], boxed: str, games: tuple[str, ...]
) -> None:
    if boxed == "require" and isinstance(sandbox.find(), str):
        pytest.skip(f"no sandbox here: {sandbox.find()}")
    names = list(programs)
    pairs = [(names[2 * n % 4], names[(2 * n + 1) % 4], game) for n, game in enumerate(games)]
    plays = {name: sum(name in pair for pair in pairs) for name in names}
    with server.client(WAIT_S) as organiser, ExitStack() as stack:
        for name, options in programs.items():
            words = [
                "bot",
                "run",
                "--quiet",
                "--name",
                name,
                "--matches",
                str(plays[name]),
                "--sandbox",
                boxed,
                *options,
            ]
            stack.enter_context(server.running([BIN / "arbiter", *words]))
        server.wait_for_players(*names)
        matches = [organiser.create_match(game, (a, b), time_control=SHORT).match_id for a, b, game in pairs]
        for match in matches:
            *_, last = organiser.observe(match)
            result = organiser.get_match(match).result
            assert result is not None, last
            assert result.cause is arb.Cause.RULES, result
    assert (server.folder / "programs.log").read_text() == ""


@pytest.mark.timeout(3_600)
def test_its_bot_passes_its_part_of_the_clauses() -> None:
    check("lines", whole=False)


def test_a_program_enters_tournaments_as_its_options_say(server: Server) -> None:
    words = ("bot", "run", "--quiet", "--name", "carol", "--sandbox", "off", "--enter-tournaments")
    command = [str(BIN / "arbiter"), *words, "--exec", str(SAMPLES / "first_move.sh")]
    spec = arb.TournamentSpec(name="Cup", format=arb.TournamentFormat.ROUND_ROBIN, games=(SMALL,), time="1m")
    with server.client(WAIT_S) as organiser, server.running(command) as bot:
        made = organiser.create_tournament(spec).tournament_id

        def entered() -> bool:
            assert bot.poll() is None, (server.folder / "programs.log").read_text()
            return any(entrant.player == "carol" for entrant in organiser.get_tournament(made).entrants)

        until(entered)


@pytest.mark.soak
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("lines", whole=True)
