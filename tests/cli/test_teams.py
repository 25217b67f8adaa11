"""Tournaments of teams as an organiser has them: players from a file, tables in all forms, a run that is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from arbiter.cli.tournament_run.run_processes import SERVER_MODULE
from tests.cli.command import WAIT_S, Arbiter, Server, begin
from tests.cli.test_examples import AWAY, EXAMPLES, PATIENCE, away
from tests.cli.test_tournament_run import heard
from tests.documents import block, commands
from tests.processes import descendants

pytestmark = pytest.mark.long

ENTRANTS = "player,team,rating\ncat,blue,1800\ndan,blue,\n"


def test_teams_enter_as_the_page_says_and_their_table_has_all_forms(
    server: Server, arbiter: Arbiter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = tmp_path / "cup.toml"
    spec.write_text(block("deploy/TOURNAMENTS.md", 'name = "Cup"') + block("deploy/TEAMS.md", "boards = 2"))
    for name in ("ann", "ben", "cat", "dan", "eve", "fay"):
        arbiter("token", "create", name)
    tournament_id = arbiter("tournament", "create", str(spec)).out.strip()
    refused = arbiter("tournament", "enter", tournament_id, "eve").complaint
    assert "it is for teams: say which team eve plays in" in refused
    (tmp_path / "entrants.csv").write_text(ENTRANTS)
    ran = [
        arbiter(*line.replace("TOURNAMENT", tournament_id).split()[1:]).out
        for line in commands(block("deploy/TEAMS.md", "--team red"))
    ]
    assert ran == ["Entered ann.\nEntered ben.\n", "Entered cat.\nEntered dan.\n"]
    assert arbiter("tournament", "enter", tournament_id, "eve", "--team", "red").out == "Entered eve.\n"
    assert "eve\tred\t" in arbiter("tournament", "show", tournament_id).out

    table = arbiter("tournament", "standings", tournament_id).out
    assert "1\tred\t0\t0\t" in table
    assert "\tann ben eve\n" in table
    listed = json.loads(arbiter("tournament", "standings", tournament_id, "--json").out)
    assert [row["team"] for row in listed["teams"]] == ["red", "blue"]
    assert {row["player"]: row["team"] for row in listed["players"]}["cat"] == "blue"
    assert "red,0,0," in arbiter("tournament", "standings", tournament_id, "--csv").out
    assert "| red | 0 | 0 |" in arbiter("tournament", "standings", tournament_id, "--markdown").out

    assert arbiter("tournament", "start", tournament_id).out.startswith("running: 0 games played")
    refused = arbiter("tournament", "enter", tournament_id, "fay", "--team", "blue").complaint
    assert "nobody enters a round robin after its start" in refused


def example(folder: Path) -> Path:
    """Write the example with a short game, quick bots, and a member that withdraws; return its file."""
    text = (EXAMPLES / "example-teams.toml").read_text("utf-8")
    head, *bots = re.split(r"^\[\[bots\]\]\n", text, flags=re.MULTILINE)
    head = re.sub(r"(?m)^games = .*$", 'games = ["circle-of-life(target=1)"]', head)
    named = [bot if "name =" in bot else f'name = "b{number}"\n{bot}' for number, bot in enumerate(bots)]
    quick = [re.sub(r'bot = "(mcts|wire)"', 'bot = "random"', bot) for bot in named]
    leaves = away("quits", 1, ', WITHDRAWS = "1"').rstrip() + '\nteam = "guessers"\n\n'
    file = folder / "teams.toml"
    file.write_text(head + PATIENCE + leaves + "".join(f"[[bots]]\n{bot}" for bot in quick), "utf-8")
    (folder / "away.py").write_text(AWAY)
    return file


def test_a_run_of_teams_survives_its_server_and_holds(
    tmp_path: Path, runs: list[subprocess.Popen[str]], arbiter: Arbiter
) -> None:
    file = example(tmp_path)
    run = begin(runs, file, "--directory", "runs", "--export", "out", "--no-sandbox")
    heard(run, "circle-of-life(target=1): ")
    (server,) = [process for process, command in descendants(run.pid).items() if SERVER_MODULE in command]
    os.kill(server, signal.SIGKILL)
    heard(run, "the arbiter ended by itself (signal SIGKILL), is started again in ")
    said, complaint = run.communicate(timeout=WAIT_S)
    assert (run.returncode, complaint) == (0, "")
    assert "\tmatch points\tboard points\t" in said

    heading, *rows = ((tmp_path / "out" / "teams.tsv").read_text("utf-8")).splitlines()
    table = [dict(zip(heading.split("\t"), row.split("\t"), strict=True)) for row in rows]
    assert {row["team"] for row in table} == {"searchers", "guessers"}
    assert {row["players"] for row in table} == {"b0 b1", "quits b2 b3 reserve"}
    assert [row["matches"] for row in table] == ["1", "1"]
    held = arbiter("verify", str(tmp_path / "out"), "--key", str(tmp_path / "out/keys.json"))
    assert (held.code, "the places of 2 teams and 6 players" in held.out) == (0, True), held.err
    log = tmp_path / "out" / "tournament.log"
    sound = log.read_bytes()
    log.write_bytes(sound.replace(b'"match_points":0', b'"match_points":1', 1))
    assert "teams is " in arbiter("verify", str(tmp_path / "out"), "--key", str(tmp_path / "out/keys.json")).complaint
