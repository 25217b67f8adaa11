"""The sample that teaches itself, as its user runs it: it learns, keeps what it has learned, and plays on a ladder."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.runtime.loopback import free_port
from tests.documents import ROOT, block
from tests.e2e.processes import Server
from tests.processes import WAIT_S, until

pytestmark = pytest.mark.long

LADDER = arb.TournamentSpec("Ladder", arb.TournamentFormat.LADDER, ("connect-four",), "1m")


def test_it_learns_and_enters_a_ladder(tmp_path: Path) -> None:
    server = Server(tmp_path, free_port())
    server.start()
    folder = tmp_path / "learner"
    folder.mkdir()
    sample = (ROOT / "clients/python/samples/connect_four.py").read_text()
    (folder / "connect_four.py").write_text(sample.replace("GAMES = 30_000", "GAMES = 50"))
    program, script, *words = block("clients/python/README.md", "connect_four.py").split()
    assert program == "python"
    try:
        with server.client(WAIT_S) as admin:
            ladder = admin.create_tournament(LADDER)
            random = [sys.executable, "-m", "arbiter_client.bots.random", "--name", "luck", "--enter-tournaments"]
            with server.running(random, folder), server.running([sys.executable, script, *words], folder):
                until(lambda: len(admin.get_tournament(ladder.tournament_id).entrants) == 2)
                admin.start_tournament(ladder.tournament_id)
                until(lambda: admin.get_tournament(ladder.tournament_id).games_ended >= 4)
        assert (folder / "connect-four.npy").exists()
    finally:
        server.stop()
    shutil.rmtree(folder)
