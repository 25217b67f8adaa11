"""The commands and code of the README, typed literally."""

from __future__ import annotations

import os
import re
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.arbiter_process import ran
from tests.cli.command import clean_environment
from tests.e2e.processes import BIN, Server

pytestmark = pytest.mark.long

README = Path(__file__).parents[2] / "README.md"


def test_a_match_in_fifteen_lines(server: Server) -> None:
    code = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    (server.folder / "my_bot.py").write_text(code)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (commands,) = [block.splitlines() for language, block in blocks if not language and "my_bot.py" in block]
    serve, *bots, create, watch = commands
    assert serve.startswith("arbiter serve --listen 127.0.0.1:7400 --store sqlite:///"), (
        "the server of this test uses these options"
    )
    path = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    with ExitStack() as playing:
        for line in bots:
            playing.enter_context(server.running(["bash", "-c", f"exec env {line}"], server.folder, path))
        server.wait_for_players("alice", "bob")
        match = re.search(r"m[0-9a-z]{24}", server.arbiter(*create.split()[1:]))
        assert match is not None
        watched = server.arbiter(*watch.replace("MATCH", match[0]).split()[1:])
        assert "alice" in watched
    shown = server.arbiter("match", "show", match[0])
    assert re.search(r"(alice|bob)( \(\w+\))? wins|draw", shown)
    transcript = server.arbiter("transcript", match[0])
    assert transcript.count('"kind":"moved"') >= 2
    assert server.stop() == 0


def test_the_next_commands_use_the_same_bot(tmp_path: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[0]
    tmp_path.chmod(0o755)  # a bot that root starts in a sandbox runs as another user
    (tmp_path / "my_bot.py").write_text(code)
    (tmp_path / "cup.toml").write_text(CUP.replace("PYTHON", sys.executable))
    command = f"{sys.executable} my_bot.py"
    for arguments in (["conformance", "--bot", command, "--only", "turns.gap"], ["tournament", "run", "cup.toml"]):
        run = ran(*arguments, cwd=tmp_path, env=clean_environment())
        assert run.returncode == 0, run.stdout + run.stderr


CUP = """
name = "Cup"
format = "round_robin"
games = ["hop-it"]
time = "10s+100ms"

[[bots]]
name = "alice"
command = "PYTHON my_bot.py"

[[bots]]
name = "bob"
command = "PYTHON my_bot.py"
"""
