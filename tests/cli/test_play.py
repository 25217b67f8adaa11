"""A person plays against a bot in the terminal, on a private arbiter and on a server."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
from pathlib import Path

import pytest

from tests import arbiter_process
from tests.cli.command import COMMAND, WAIT_S, Arbiter, Server, clean_environment
from tests.processes import descendants, wait_for_end

pytestmark = pytest.mark.long


def plays(typed: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return arbiter_process.ran("play", *arguments, typed=typed, env=clean_environment(**environment))


def test_against_a_bot_on_a_private_arbiter(tmp_path: Path) -> None:
    file = tmp_path / "credentials.json"
    typed = "help\n? e\ncastles\ndraw\naccept\n\ne5\nundo\nresign"
    surroundings = {
        "ARBITER_CREDENTIALS": str(file),
        "ARBITER_ROOT_CERTIFICATE": "of another server",
        "ARBITER_TLS_CERTIFICATE": "/its/own",
    }
    ran = plays(typed, "circle-of-life", "--against", "random", "--time", "5m", **surroundings)
    assert (ran.returncode, ran.stderr) == (0, "")
    order = [
        "circle-of-life against random, 5m; you are seat 1.",
        "circle-of-life – seat 1 to move",
        "your clock 4:5",
        "resign, quit  give the match up",
        "e1 e2 e3 e4 e5 e6 e7 e8 e9\n",
        "'castles' is not a move of circle-of-life. Legal is, for example, a1; `moves` lists all.",
        "There is no draw to claim now",
        "There is no draw offer to accept.",
        "2. random plays ",
        "Moves can be taken back only",
        "random wins: resignation\n",
    ]
    places = [ran.stdout.find(text) for text in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)
    assert not file.exists()  # nothing of a private arbiter is kept


def test_the_person_gets_help_and_takes_a_move_back() -> None:
    typed = "rules\nhint\ne5\nundo\nmoves e5\nmoves q\nundo\ne7\nquit\n"
    ran = plays(typed, "circle-of-life", "--against", "random", "--seat", "1")
    assert (ran.returncode, ran.stderr) == (0, "")
    for found in (r"\*\*Turn\.\*\*", r"\n(\w\d): places a stone on \1\.\n", r"\nTaken back: e5 \w\d\.\n"):
        assert re.search(found, ran.stdout), found
    assert "Your pieces: upper case. Those of random: lower case.\n" in ran.stdout
    after = ran.stdout[ran.stdout.index("Taken back") :]
    assert "\ne5\nNo legal move begins with q. `moves` lists all.\nThere is no move of yours to take back.\n" in after
    assert "opening" not in after
    assert after.endswith("random wins: resignation\n")


def test_chess_is_shown_and_typed_as_people_write_it() -> None:
    typed = "moves N\nNf3\nmoves e\ne2e5\nNf6\nquit\n"
    ran = plays(typed, "chess", "--against", "random", "--seat", "1")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "you are White." in ran.stdout
    assert "\nNa3 Nc3 Nf3 Nh3\n" in ran.stdout
    assert re.search(r"\n1… random plays (?:[a-h][3-6]|N[acfh]6)\n", ran.stdout), ran.stdout
    assert "the pawn on e2 does not reach e5" in ran.stdout
    assert "'Nf6' is not legal here: no knight of White may go there" in ran.stdout


def test_lines_at_a_terminal_can_be_edited_and_recalled() -> None:
    """Type `e4`, change its 4 to a 5, and recall the line with an arrow key: the cell is occupied by then."""
    ours, theirs = pty.openpty()
    command = [*COMMAND, "play", "circle-of-life", "--against", "random"]
    environment = clean_environment(TERM="xterm", PROMPT_TOOLKIT_NO_CPR="1")
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as game:
        os.close(theirs)
        said = b""

        def until(text: bytes, keys: bytes) -> None:
            nonlocal said
            while text not in said:
                assert select.select([ours], [], [], WAIT_S)[0], said
                said += os.read(ours, 4096)
            said = said.partition(text)[2]  # what came with it may be the next text
            os.write(ours, keys)

        try:
            until(b"your move>", b"e4\x7f5\r")
            until(b"random plays ", b"")
            until(b"your move>", b"\x1b[A\r")
            until(b"e5' is not legal here", b"quit\r")
            until(b"random wins: resignation", b"")
            assert game.wait(WAIT_S) == 0
        finally:
            game.kill()
    os.close(ours)


def test_a_game_to_its_end_by_the_rules() -> None:
    """With a target of one stone, somebody eats it long before every cell has been tried three times."""
    cells = [f"{row}{column}" for row in "abcdefghi" for column in range(1, 10)]
    ran = plays("\n".join(cells * 3), "circle-of-life(target=1)", "--against", "random", "--seat", "2")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.search(r"\n(You win|random wins): target eaten\n$", ran.stdout), ran.stdout[-1000:]
    assert "1. random plays " in ran.stdout


def test_a_killed_game_takes_the_bot_along() -> None:
    words, pipe = ("play", "circle-of-life", "--against", "random"), subprocess.PIPE
    with arbiter_process.ArbiterProcess(*words, stdin=pipe, stdout=pipe, stderr=pipe, env=clean_environment()) as game:
        assert game.stdout is not None
        assert any("to move" in line for line in game.stdout)
        started = descendants(game.pid)
        assert any("bots.random" in process for process in started.values())
        game.kill()
        for process in started:
            wait_for_end(process)


def test_on_a_server(server: Server, arbiter: Arbiter) -> None:
    where = {"ARBITER_CREDENTIALS": server.environment["ARBITER_CREDENTIALS"], "ARBITER_SERVER": server.address}
    ran = plays("resign\n", "hop-it", "--as", "zoe", "--against", "random", **where)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "hop-it against zoe-random, without clocks; you are White." in ran.stdout
    assert arbiter("match", "list", "--player", "zoe").out.count("zoe-random (Black) wins: resignation") == 1
    assert arbiter("player", "show", "--as", "zoe").code == 0

    arbiter("token", "create", "rudi", "--save")
    with server.bot("random", "rudi"):
        ran = plays("resign\n", "hop-it", "--as", "zoe", "--opponent", "rudi", "--seat", "2", **where)
    assert "you are Black." in ran.stdout
    assert "rudi (White) wins: resignation" in ran.stdout

    ran = plays("", "hop-it", "--as", "zoe", "--opponent", "nobody", **where)
    assert (ran.returncode, ran.stderr) == (1, "arbiter: there is no player 'nobody' here\n")


def test_mistakes_are_one_line(arbiter: Arbiter) -> None:
    assert "there is no bot 'deep-blue'" in arbiter("play", "pods", "--against", "deep-blue").complaint
    assert "--opponent needs a --server" in arbiter("play", "pods", "--opponent", "ann").complaint
    ran = plays("", "pods", "--time", "soon")
    assert (ran.returncode, ran.stderr.startswith("arbiter: 'soon' is not allowed")) == (1, True)
    assert ran.stderr.count("\n") == 1
