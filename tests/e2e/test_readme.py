"""What the README promises, typed as it stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.e2e.processes import Server

pytestmark = pytest.mark.long

README = Path(__file__).parents[2] / "README.md"


def test_a_match_in_fifteen_lines(server: Server) -> None:
    code = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    alice, bob = server.folder / "my_bot.py", server.folder / "my_bot_of_bob.py"
    alice.write_text(code.replace("127.0.0.1:7400", server.address))
    bob.write_text(code.replace("127.0.0.1:7400", server.address).replace('"alice"', '"bob"'))
    with server.running([sys.executable, alice]), server.running([sys.executable, bob]):
        while {"alice", "bob"} - set(re.findall(r"\w+", server.arbiter("player", "list"))):
            pass  # each look is a call to the server: nothing is waited for by the clock
        made = server.arbiter("match", "create", "hop-it", "alice", "bob", "--time", "1m+1s")
        match = re.search(r"m[0-9a-z]{24}", made)
        assert match is not None
        watched = server.arbiter("watch", match[0])
        assert "alice" in watched
    shown = server.arbiter("match", "show", match[0])
    assert re.search(r"alice wins|bob wins|draw", shown)
    transcript = server.arbiter("transcript", match[0])
    assert transcript.count('"kind":"moved"') >= 2
    assert server.stop() == 0
