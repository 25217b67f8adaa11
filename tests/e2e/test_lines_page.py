"""Two programs have the conversations that the page of the lines bridge shows, line by line."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from arbiter.runtime.loopback import free_port
from tests.documents import block
from tests.e2e.processes import BIN, Server
from tests.processes import until

pytestmark = pytest.mark.long

PAGE = "clients/lines/README.md"
PROGRAM = """#!{python}
import json, sys

GREETING, AS_JSON = {greeting!r}, bool({option!r})

def say(line):
    print("<", line, file=sys.stderr, flush=True)
    print(line, flush=True)

moves = []
for line in sys.stdin:
    line = line.rstrip("\\n")
    print(">", line, file=sys.stderr, flush=True)
    message = json.loads(line) if AS_JSON else dict(kind=line.split()[0], moves=line.split()[2:])
    moves = message["moves"] if "moves" in message and message["kind"] in ("moves", "turn") else moves
    if message["kind"] == "arbiter":
        for each in GREETING:
            say(each)
    elif message["kind"] == "go":
        say("move " + moves[0])
    elif message["kind"] == "turn" and AS_JSON:
        say(json.dumps(dict(kind="move", move=moves[0], evaluation=512, line=moves[:2])))
"""


def test_two_programs_speak_as_the_page_shows(tmp_path: Path) -> None:
    text = block(PAGE, "< name my-bot").splitlines()
    objects = re.sub(r"\n +", "", block(PAGE, '"kind":"ready"')).splitlines()
    server = Server(tmp_path, free_port())
    server.start()
    with ExitStack() as bots:
        for name, page, option in (("alice", text, ""), ("bob", objects, "--json")):
            greeting = page[1 : next(n for n, line in enumerate(page) if "match" in line)]
            program = PROGRAM.format(python=sys.executable, greeting=[line[2:] for line in greeting], option=option)
            (tmp_path / name).mkdir()
            (tmp_path / name / "mybot").write_text(program)
            (tmp_path / name / "mybot").chmod(0o755)
            command = (
                block(PAGE, "arbiter bot run --exec")
                .strip()
                .replace("HOST:PORT", server.address)
                .replace("alice", name)
            )
            words = ["bash", "-c", f"exec {command} {option} --sandbox off --matches 1 2>talk"]
            path = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
            bots.enter_context(server.running(words, tmp_path / name, path))
        server.wait_for_players("alice", "bob")
        made = server.arbiter("match", "create", "pods(size=4)", "alice", "bob", "--time", "1m+1s", "--rated").strip()
        server.arbiter("watch", made)
        until(lambda: all("quit" in talk(tmp_path / name)[-1] for name in ("alice", "bob")))
    assert server.stop() == 0
    _compare_lines(text, talk(tmp_path / "alice"))
    _compare_objects(objects, talk(tmp_path / "bob"))


def talk(folder: Path) -> list[str]:
    """Return the last conversation of a program: what it read and wrote."""
    said = [line for line in (folder / "talk").read_text().splitlines() if line[:2] in ("> ", "< ")]
    starts = [n for n, line in enumerate(said) if line[:1] == ">" and "arbiter" in line[:20]]
    return said[starts[-1] :] if starts else [""]


def _compare_lines(page: list[str], said: list[str]) -> None:
    """Compare the first words of lines: before the first turn, at a turn in the middle, and after the last turn."""
    expected, found = ([" ".join(line.split()[:2]) for line in lines] for lines in (page, said))
    first, end = expected.index("> turn"), expected.index("> end")
    assert found[:first] == expected[:first]
    assert found[-2:] == expected[end:]
    third = [n for n, line in enumerate(found) if line == "> turn"][2]
    assert found[third : third + end - first] == expected[first:end]
    matches = [next(line for line in lines if line.startswith("> match")).split() for lines in (page, said)]
    assert matches[0][3:10:2] == matches[1][3:10:2] == ["seat", "time", "rated", "id"]


def _compare_objects(page: list[str], said: list[str]) -> None:
    """Compare the objects of each kind: their fields, and the types of the values."""
    expected, found = ([json.loads(line[2:]) for line in lines] for lines in (page, said))
    kinds = {each["kind"] for each in expected}
    assert {each["kind"] for each in found} == kinds
    assert [each["kind"] for each in found[:5]] == [each["kind"] for each in expected[:5]]
    for shown in expected:
        for each in found:
            if each["kind"] == shown["kind"]:
                assert list(each) == list(shown)
                assert {name: type(value) for name, value in each.items()} == {n: type(v) for n, v in shown.items()}
