"""`arbiter tournament run` with an opening book: the folder of the file is the server's folder of `books`."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from tests import arbiter_process
from tests.cli.command import Arbiter, clean_environment

pytestmark = pytest.mark.long


def test_games_begin_with_the_entries_of_a_book(arbiter: Arbiter, tmp_path: Path) -> None:
    """Each pair goes through the book on its own, both games of a pair begin alike, and the record says where."""
    tmp_path.chmod(0o755)
    (tmp_path / "book.txt").write_text("# of people\nbreakthrough a2-a3 a7-a6 b2-b3\nbreakthrough h2-h3\n")
    tournament = """
name = "cup"
format = "round_robin"
games = ["breakthrough"]
time = "60s"
rated = false
options = { cycles = 2 }
openings = { book = "book.txt", book_first = 2, book_plies = 2 }
"""
    bots = "".join(f'[[bots]]\nname = "{name}"\nbot = "random"\n' for name in ("ann", "ben"))
    file = tmp_path / "cup.toml"
    file.write_text(tournament + bots)
    ran = run(file, "--directory", "runs", "--export", "out")
    assert (ran.returncode, ran.stderr) == (0, "")
    folder = tmp_path / "runs" / "run-1"
    found = {}
    for transcript in (tmp_path / "out" / "transcripts").glob("*/*.jsonl"):
        created = json.loads(transcript.read_text().partition("\n")[0])
        found[transcript.name[:4]] = created["opening"]
    assert [found[number] for number in sorted(found)] == [["h2-h3"]] * 2 + [["a2-a3", "a7-a6"]] * 2
    exported, where = tmp_path / "all", ("--store", f"sqlite:///{folder}/arbiter.db", "--keys", folder / "arbiter.keys")
    assert arbiter("export", str(exported), "--tournament", created["label"], *map(str, where)).code == 0
    assert (verified := arbiter("verify", str(exported), "--key", str(exported / "keys.json"))).code == 0, verified
    log = [json.loads(line) for line in (exported / "tournament.log").read_text().splitlines()]
    assert [event["entry"] for event in log if event.get("kind") == "game_begun"] == [2, 2, 1, 1]
    openings = log[0]["spec"]["openings"]
    book = (tmp_path / "book.txt").read_bytes()
    assert (openings["book_size"], openings["book_hash"]) == (2, hashlib.sha256(book).hexdigest())
    file.write_text(tournament.replace('"book.txt"', f'"book.txt", book_hash = "{"0" * 64}"') + bots)
    ran = run(file, "--directory", "wrong")
    assert ran.returncode != 0
    assert "'" + "0" * 20 in ran.stderr
    assert not list((tmp_path / "wrong").glob("*")), "a run of nothing is left"


def run(file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a tournament in the folder of its file."""
    return arbiter_process.ran("tournament", "run", str(file), *options, cwd=file.parent, env=clean_environment())
