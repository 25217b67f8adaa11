"""`arbiter tournament run` as a person uses it: stopped, killed and resumed; its bots, and their output."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import arbiter_client as arb
import httpx
import pytest
from arbiter_client.bots.random import RandomBot

from arbiter.cli.tournament_bots import BotEntry
from arbiter.cli.tournament_run.command import PLAN
from arbiter.cli.tournament_run.folder import begin as begin_run
from arbiter.cli.tournament_run.run_processes import SERVER_MODULE
from arbiter.cli.tournament_run.running_tournament import RunningTournament
from arbiter.cli.tournament_run.screen import PlainOutput
from arbiter.cli.tournament_spec import spec_value
from arbiter.matches import time_control
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import served
from arbiter.tournaments.spec_text import read_spec
from tests.cli.command import WAIT_S, Arbiter, begin, page
from tests.processes import descendants, wait_for_end

pytestmark = pytest.mark.long

BOT = '''
import hashlib, os, sys
import arbiter_client as arb

class Digest(arb.Bot):
    """Plays the same move in the same position in every run."""
    name, version = "digest", "7"
    extras = arb.Extras(legal_moves_up_to=5000)

    def choose(self, turn):
        print("thinks about ply", turn.ply, "of", turn.match.match_id, "against", turn.match.opponent, file=sys.stderr)
        moves = sorted(move.text for move in self.legal_moves(turn))
        drawn = hashlib.sha256(f"{os.environ['LUCK']}/{turn.position}".encode()).digest()
        return moves[int.from_bytes(drawn[:8], "big") % len(moves)]

arb.run(Digest())
'''

SWISS = """
name = "Evening cup"
format = "swiss"
games = ["hop-it"]
time = "10s+1s"
options = { rounds = 2 }
openings = { plies = 2, seed = "evening" }
"""

MEETINGS = SWISS.replace("swiss", "round_robin").replace("rounds = 2", "cycles = 2") + "paired = true\nrated = false\n"


def written(folder: Path, tournament: str, players: Sequence[str] = ("ann", "ben", "cat")) -> Path:
    """Write a tournament of bots that play the same moves in every run; return its file."""
    folder.chmod(0o755)  # bots that root starts run as other users
    (folder / "bot.py").write_text(BOT)
    bots = (
        f'[[bots]]\nname = "{name}"\ncommand = ["{sys.executable}", "bot.py"]\nenv = {{ LUCK = "{name}" }}\n'
        for name in players
    )
    file = folder / "cup.toml"
    file.write_text(tournament + "\n".join(bots))
    return file


def heard(process: subprocess.Popen[str], words: str) -> str:
    """Read lines until one contains these words; return all lines."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if words in line:
            return said
    assert process.stderr is not None
    raise AssertionError(f"{words!r} was not said: {said}{process.stderr.read()}")


def standings(said: str) -> list[str]:
    return [line for line in said.splitlines() if re.match(r"(place|\d+)\t", line)]


def games(folder: Path) -> dict[str, list[str]]:
    """Return the moves of all games by file name, which has the number of the game and its players by seat."""
    found = {}
    for file in (folder / "transcripts").glob("*/*.jsonl"):
        events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert sum(event.get("kind") == "ended" for event in events) == 1
        found[file.name] = [event["move"] for event in events if event.get("kind") == "moved"]
    return found


@pytest.mark.parametrize(
    ("tournament", "players"),
    [
        pytest.param(MEETINGS, ("ann", "ben"), id="two"),
        pytest.param(SWISS, ("ann", "ben", "cat"), id="swiss", marks=pytest.mark.soak),
    ],
)
def test_a_stopped_and_killed_run_ends_as_an_uninterrupted_one(
    tmp_path: Path, runs: list[subprocess.Popen[str]], arbiter: Arbiter, tournament: str, players: Sequence[str]
) -> None:
    file = written(tmp_path, tournament, players)
    whole = begin(runs, file, "--directory", "whole", "--export", "whole/out", "--sandbox", "require")
    said, complaint = whole.communicate(timeout=WAIT_S)
    assert (whole.returncode, complaint) == (0, "")
    expected = standings(said)
    assert len(expected) == 1 + len(players)

    stopped = begin(runs, file, "--directory", "other", "--sandbox", "require")
    assert httpx.get(page(heard(stopped, "Watch it in a browser"))).status_code == 200
    heard(stopped, "  1/4  hop-it: ")
    processes = descendants(stopped.pid)
    stopped.send_signal(signal.SIGINT)
    said, complaint = stopped.communicate(timeout=WAIT_S)
    assert (stopped.returncode, complaint) == (130, "")
    again = r"`arbiter tournament run \S+cup.toml --resume --directory other` continues it"
    assert re.search(rf"Stopped: \d of 4 games had ended\. {again}", said)
    for process in processes:
        wait_for_end(process)

    killed = begin(runs, file, "--directory", "other", "--resume", "--sandbox", "require")
    heard(killed, "  3/4  hop-it: ")
    everybody = {killed.pid, *descendants(killed.pid)}
    assert len(everybody) > 6
    for process in everybody:
        with suppress(ProcessLookupError):  # it ended when an earlier one was killed
            os.kill(process, signal.SIGKILL)
    killed.communicate()

    resumed = begin(runs, file, "--directory", "other", "--resume", "--export", "other/out", "--sandbox", "require")
    said, complaint = resumed.communicate(timeout=WAIT_S)
    assert (resumed.returncode, complaint) == (0, "")
    assert standings(said) == expected
    assert len(games(tmp_path / "whole/out")) == 4
    assert games(tmp_path / "other/out") == games(tmp_path / "whole/out")
    for transcript in (tmp_path / "other/out/transcripts").glob("*/*.jsonl"):
        assert arbiter("verify", str(transcript), "--key", str(tmp_path / "other/out/keys.json")).code == 0

    last = begin(runs, file, "--directory", "other", "--resume")
    said, _ = last.communicate(timeout=WAIT_S)
    assert (last.returncode, standings(said)) == (0, expected), "a finished run prints its result"


CRASHING = """
import os, sys
import arbiter_client as arb

class Crashing(arb.Bot):
    name, version = "crashing", "1"
    extras = arb.Extras(legal_moves_up_to=5000)

    def choose(self, turn):
        print("secret of", turn.match.match_id, file=sys.stderr, flush=True)
        if turn.ply >= 4 and not os.path.exists("died"):
            open("died", "w").close()
            os.write(2, b"cannot think any more")
            os._exit(3)
        return self.legal_moves(turn)[0].text

arb.run(Crashing())
"""

ONE_MEETING = """
name = "One meeting"
format = "round_robin"
games = ["hop-it"]
time = "1m"
paired = true
rated = false
"""


def test_a_killed_server_is_started_again_and_the_tournament_goes_on(
    tmp_path: Path, runs: list[subprocess.Popen[str]], arbiter: Arbiter
) -> None:
    file = written(tmp_path, SWISS)
    (tmp_path / "bot.py").write_text(BOT.replace("    extras =", "    enter_tournaments = True\n    extras ="))
    run = begin(runs, file, "--directory", "runs", "--export", "out", "--no-sandbox")
    for number in (1, 3):
        heard(run, f"  {number}/4  hop-it: ")
        (server,) = [process for process, command in descendants(run.pid).items() if SERVER_MODULE in command]
        os.kill(server, signal.SIGKILL)
        heard(run, "the arbiter ended by itself (signal SIGKILL), is started again in ")
    said, complaint = run.communicate(timeout=WAIT_S)
    assert (run.returncode, complaint) == (0, "")
    assert len(standings(said)) == 4
    assert len(games(tmp_path / "out")) == 4
    verified = arbiter("verify", str(tmp_path / "out"), "--key", str(tmp_path / "out/keys.json"))
    assert (verified.code, "4 games with " in verified.out) == (0, True), verified.complaint


def test_a_crashed_bot_is_restarted_and_its_output_is_kept_for_its_author(
    tmp_path: Path, runs: list[subprocess.Popen[str]]
) -> None:
    file = written(tmp_path, ONE_MEETING, ("ben",))
    (tmp_path / "crashing.py").write_text(CRASHING)
    file.write_text(f"{file.read_text()}\n[[bots]]\nname = 'ann'\ncommand = '{sys.executable} crashing.py'\n")
    run = begin(runs, file, "--no-sandbox", "--directory", "runs", "--export", "out", "--concurrency", "2")
    said, complaint = run.communicate(timeout=WAIT_S)
    assert (run.returncode, complaint) == (0, "")
    assert "Of 2 games at once no more than 1 can be under way" in " ".join(said.split())
    assert "Bots run without a sandbox, as you asked: they have all of your rights.\n" in said
    assert said.count("Bots run ") == 1
    assert said.count("ann ended by itself (exit code 3), is started again in 0.5 s; see runs/run-1/bots/ann\n") == 1
    assert "over (complete): 2 of 2 games played" in said
    assert "Every game ended by its rules." in said
    assert "secret" not in said

    matches = {json.loads(file.read_text().partition("\n")[0])["match"] for file in tmp_path.glob("out/*/*/*.jsonl")}
    for bot, words in (("ann", "secret of {}"), ("ben", "of {} against ann")):
        notes = {file.stem: file for file in (tmp_path / "runs/run-1/bots" / bot).rglob("*.log")}
        assert matches <= notes.keys() <= {*matches, "start"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in notes.values()} == {0o600}
        for match_id in matches:
            lines = [line for line in notes[match_id].read_text().splitlines() if " of " in line]
            assert lines
            assert all(words.format(match_id) in line for line in lines), (
                "with one game at a time each line belongs to its match"
            )
    crashes = "cannot think any more\n[arbiter] the bot ended by itself (exit code 3)\n"
    assert sum(crashes in file.read_text() for file in tmp_path.glob("runs/run-1/bots/ann/**/*.log")) == 1


def test_a_bot_that_never_connects_ends_the_run_with_one_line_without_its_output(
    tmp_path: Path, runs: list[subprocess.Popen[str]]
) -> None:
    file = written(tmp_path, ONE_MEETING, ("ben",))
    file.write_text(f"{file.read_text()}\n[[bots]]\nname = 'ann'\ncommand = '''sh -c 'echo my secret; exit 1' '''\n")
    run = begin(runs, file, "--directory", "runs")
    said, complaint = run.communicate(timeout=WAIT_S)
    assert run.returncode == 1
    place = "runs/run-1/bots/ann"
    assert complaint == f"arbiter: ann ended 3 times before it came; its output is in {place}\n"
    assert "secret" not in said
    assert (tmp_path / place / "start.log").read_text().count("my secret\n") == 3


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--resume",), "there is no run in"),
        (("--concurrency", "0"), "0 games at once are too few"),
        (("--port", "70000"), "70000 is not a port"),
        (("--sandbox", "require", "--no-sandbox"), "say either --sandbox require or --no-sandbox"),
        (("--sandbox", "require"), "there is no sandbox to run bots in: there is no bwrap (package bubblewrap)"),
    ],
)
def test_mistakes_get_one_line_and_leave_no_folder(
    arbiter: Arbiter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], complaint: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # bwrap is not on this PATH
    ran = arbiter(
        "tournament", "run", str(written(tmp_path, ONE_MEETING)), "--directory", str(tmp_path / "runs"), *options
    )
    assert ran.code == 1
    assert complaint in ran.complaint
    assert not (tmp_path / "runs").exists()


def test_a_file_needs_two_bots(arbiter: Arbiter, tmp_path: Path) -> None:
    ran = arbiter("tournament", "run", str(written(tmp_path, ONE_MEETING, ("ann",))))
    assert "names one bot: add a table [[bots]] for each, at least two" in ran.complaint


def test_a_run_resumes_with_the_tournament_that_it_began(arbiter: Arbiter, tmp_path: Path) -> None:
    file = written(tmp_path, ONE_MEETING)
    begin_run(tmp_path / "runs", PLAN, file.read_text())
    file.write_text(file.read_text().replace("One meeting", "Another"))
    ran = arbiter("tournament", "run", str(file), "--resume", "--directory", str(tmp_path / "runs"))
    assert "specifies another tournament than" in ran.complaint


async def test_a_bot_that_has_entered_by_itself_is_given_its_rating() -> None:
    values = {"name": "x", "format": "round_robin", "games": ["circle-of-life(target=1)"], "time": "1m"}
    spec = spec_value(read_spec(values, time_control.parse))
    bots = tuple(BotEntry(name, "random", (), {}, rating, "") for name, rating in (("ann", 1700), ("ben", 0)))
    async with served(registration="closed") as server, asyncio.TaskGroup() as group:
        tokens = {name: (await server.token(name))[0][1].split()[1] for name in ("ann", "ben")}
        organiser = (await server.token("org", Scope.ORGANISE, Scope.OBSERVE))[0][1].split()[1]
        client = arb.Client(server.address, token=organiser, tls=arb.NO_TLS)

        made = await client.create_tournament(spec, "run/create")
        for token in tokens.values():
            async with arb.Client(server.address, token=token, tls=arb.NO_TLS) as bot:
                await bot.enter_tournament(made.tournament_id)

        async def filled() -> None:
            pass

        playing = [group.create_task(arb.play(RandomBot(1), server.address, token=token)) for token in tokens.values()]
        contest = RunningTournament(client, spec, bots, "run", {}, PlainOutput(print), filled)
        ended = (await contest.play()).tournament
        assert {each.player: each.rating for each in ended.entrants} == {"ann": 1700, "ben": 0}
        assert ended.games_ended == 2
        for task in playing:
            task.cancel()
        await client.close()


async def test_bots_that_enter_by_themselves_play_in_the_order_of_the_file() -> None:
    values = {"name": "x", "format": "gauntlet", "games": ["circle-of-life(target=1)"], "time": "1m"}
    spec = spec_value(read_spec(values, time_control.parse))
    names = ("ann", "ben", "cat")
    bots = tuple(BotEntry(name, "random", (), {}, 0, "") for name in names)
    async with served(registration="closed") as server, asyncio.TaskGroup() as group:
        tokens = {name: (await server.token(name))[0][1].split()[1] for name in names}
        organiser = (await server.token("org", Scope.ORGANISE, Scope.OBSERVE))[0][1].split()[1]
        client = arb.Client(server.address, token=organiser, tls=arb.NO_TLS)

        async def filled() -> None:
            """Let the bots come, the last of the file first; each enters if it still can."""
            made = await client.create_tournament(spec, "run/create")
            for token in reversed(tokens.values()):
                async with arb.Client(server.address, token=token, tls=arb.NO_TLS) as bot:
                    with suppress(arb.ArbiterError):
                        await bot.enter_tournament(made.tournament_id)

        playing = [group.create_task(arb.play(RandomBot(1), server.address, token=token)) for token in tokens.values()]
        contest = RunningTournament(client, spec, bots, "run", {}, PlainOutput(print), filled)
        ended = await contest.play()
        assert tuple(each.player for each in ended.tournament.entrants) == names
        assert all(each.version for each in ended.tournament.entrants), "noted when they have come"
        assert {row.player: row.games for row in ended.standings.rows} == {"ann": 4, "ben": 2, "cat": 2}
        for task in playing:
            task.cancel()
        await client.close()


async def test_time_while_stopped_does_not_count_for_an_arena() -> None:
    values = {"name": "x", "format": "arena", "games": ["circle-of-life"], "time": "1m", "options": {"duration": "1h"}}
    spec = spec_value(read_spec(values, time_control.parse))
    bots = tuple(BotEntry(name, "random", (), {}, 0, "") for name in ("ann", "ben"))
    async with served(registration="closed") as server, asyncio.TaskGroup() as group:
        tokens = {name: (await server.token(name))[0][1].split()[1] for name in ("ann", "ben")}
        organiser = (await server.token("org", Scope.ORGANISE, Scope.OBSERVE))[0][1].split()[1]
        playing = [group.create_task(arb.play(RandomBot(1), server.address, token=token)) for token in tokens.values()]
        client = arb.Client(server.address, token=organiser, tls=arb.NO_TLS)
        lines = PlainOutput(print)

        async def filled() -> None:
            pass

        async def until(contest: RunningTournament, games: int) -> None:
            """Play until this many games have ended, and then stop as Ctrl-C does."""
            task = group.create_task(contest.play())
            while len(contest.progress.played) < games:
                await asyncio.wait({task}, timeout=0.01)
            task.cancel()
            await asyncio.wait({task})

        first = RunningTournament(client, spec, bots, "run", {}, lines, filled)
        await until(first, 1)
        assert first.stand is not None
        tournament_id = first.stand.tournament.tournament_id
        stopped = await client.get_tournament(tournament_id)
        assert stopped.phase is arb.TournamentPhase.PAUSED
        second = RunningTournament(client, spec, bots, "run", {}, lines, filled)
        await until(second, len(first.progress.played) + 2)
        assert (await client.get_tournament(tournament_id)).ends_ms > stopped.ends_ms
        for task in playing:
            task.cancel()
        await client.close()
