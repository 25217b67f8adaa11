"""The commands of the page for organisers that correct a tournament, tried after its end."""

from __future__ import annotations

import shlex

from tests.cli.command import Arbiter
from tests.documents import block, commands


def correct(arbiter: Arbiter) -> None:
    """Make the corrections of the page for organisers, after the end."""
    for line in commands(block("deploy/CORRECTIONS.md", "arbiter tournament disqualify")):
        words = shlex.split(line.replace("eve", "wendy").replace("ann", "walter").replace("bob", "wendy"))
        ran = arbiter(*words[1:])
        if words[2] in ("disqualify", "points", "lot"):
            assert ran.code == 0, ran.err
            assert ran.out.startswith(("player\tplace\tpoints\n", "Nothing ")), line
        else:
            assert "is not disqualified" in ran.complaint or "it is over" in ran.complaint
    assert "loses ½ in the standings; decided by" in arbiter("tournament", "watch", "last").out
