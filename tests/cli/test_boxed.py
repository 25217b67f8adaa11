"""What a command says of the sandbox in which it starts bots."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbiter.cli.boxed import chosen
from arbiter.cli.failure import Failure


def test_without_bubblewrap_it_says_so_and_what_that_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`arbiter demo` and `arbiter tournament run` print this line once, when they begin."""
    monkeypatch.setenv("PATH", str(tmp_path))
    why = "there is no bwrap (package bubblewrap)"
    assert chosen("auto") == (None, f"Bots run without a sandbox, and have all of your rights: {why}.")
    with pytest.raises(Failure, match="there is no sandbox to run bots in: there is no bwrap"):
        chosen("require")
