"""The example of each format, run to its end: a player stays away, one withdraws, the server is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

from arbiter.cli.tournament_run.run_processes import SERVER_MODULE
from arbiter.tournaments.spec import Format
from tests.cli.command import WAIT_S, Arbiter, begin
from tests.cli.test_tournament_run import heard, standings
from tests.processes import descendants

pytestmark = pytest.mark.long

EXAMPLES: Final = Path(__file__).parents[2] / "deploy" / "examples"
AWAY: Final = """
import os, time
import arbiter_client as arb
from arbiter_client.bots.random import RandomBot

arb.run(RandomBot(1), matches=int(os.environ["MATCHES"]), quiet=True)
if "WITHDRAWS" in os.environ:
    while True:
        try:
            with arb.BlockingClient() as client:
                client.withdraw_from_tournament(client.list_tournaments(most=1)[0].tournament_id)
            break
        except arb.ClientError:  # the server is down
            time.sleep(0.2)
while True:
    time.sleep(60)
"""
"""A bot that plays some matches, then stays away for ever, or withdraws before."""
PATIENCE: Final = "[policy]\nno_show_ms = 8000\nabandon_ms = 8000\n\n"  # longer than a client pauses after a crash


def away(name: str, matches: int, more: str = "") -> str:
    """Return the entry of a bot that stays away after some matches."""
    command = f'["{sys.executable}", "away.py"]'
    return f'[[bots]]\nname = "{name}"\ncommand = {command}\nenv = {{ MATCHES = "{matches}"{more} }}\n\n'


def changed(format_: Format) -> str:
    """Return the example of a format with a short game, quick bots, and two that do not stay to the end."""
    text = (EXAMPLES / f"example-{format_.value.replace('_', '-')}.toml").read_text("utf-8")
    head, *bots = re.split(r"^\[\[bots\]\]\n", text, flags=re.MULTILINE)
    head = re.sub(r"(?m)^games = .*$", 'games = ["circle-of-life(target=1)"]', head)
    head = re.sub(r"(?m)^duration = .*$", 'duration = "20s"', head)
    if format_ is Format.TRIAL:  # of two players: the same one stays away and withdraws
        bots = bots[:1]
    named = [bot if "name =" in bot else f'name = "b{number}"\n{bot}' for number, bot in enumerate(bots)]
    quick = [re.sub(r'bot = "(mcts|wire)"', 'bot = "random"', bot) for bot in named]
    gone = [] if format_ is Format.TRIAL else [away("absent", 1)]
    return "".join(
        [head, PATIENCE, *(f"[[bots]]\n{bot}" for bot in quick), *gone, away("quits", 2, ', WITHDRAWS = "1"')]
    )


@pytest.mark.parametrize(
    "format_",
    [pytest.param(each, marks=() if each is Format.KNOCKOUT else pytest.mark.soak) for each in Format],
)
def test_an_example_ends_with_a_table_that_holds(
    format_: Format, tmp_path: Path, runs: list[subprocess.Popen[str]], arbiter: Arbiter
) -> None:
    file = tmp_path / "cup.toml"
    file.write_text(changed(format_), "utf-8")
    (tmp_path / "away.py").write_text(AWAY)
    run = begin(runs, file, "--directory", "runs", "--export", "out", "--no-sandbox")
    heard(run, "circle-of-life(target=1): ")
    (server,) = [process for process, command in descendants(run.pid).items() if SERVER_MODULE in command]
    os.kill(server, signal.SIGKILL)
    heard(run, "the arbiter ended by itself (signal SIGKILL), is started again in ")
    said, complaint = run.communicate(timeout=WAIT_S)
    assert (run.returncode, complaint) == (0, "")

    heading, *rows = (line.split("\t") for line in standings(said))
    table = [dict(zip(heading, row, strict=True)) for row in rows]
    players = {bot["name"] for bot in tomllib.loads(file.read_text("utf-8"))["bots"]}
    assert {row["player"].removesuffix("*") for row in table} == {
        "(quits)" if name == "quits" else name for name in players
    }
    for row in table:
        assert int(row["won"]) + int(row["drawn"]) + int(row["lost"]) == int(row["games"]), row
    assert table[0]["player"] not in ("absent", "(quits)"), "who goes does not win"
    held = arbiter("verify", str(tmp_path / "out"), "--key", str(tmp_path / "out/keys.json"))
    assert (held.code, "the pairings are legal" in held.out) == (0, True), held.err
