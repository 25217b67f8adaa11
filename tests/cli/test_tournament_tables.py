"""`arbiter tournament run` with Syzygy tables: games of programs that speak lines end as the tables say."""

from __future__ import annotations

import json
from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.cli.tournament_spec import read_all
from tests.cli.command import Arbiter
from tests.cli.test_tournament_books import run
from tests.workers.test_syzygy import TABLES

CUP = """
name = "Endings"
format = "round_robin"
games = ["chess"]
time = "1h"
options = { cycles = 2 }
at_once = 1
openings = { book = "endings.epd" }
adjudication = { syzygy = "tables" }
"""
BOOK = """\
8/8/8/8/3k4/8/7r/K6Q b - -
8/8/8/8/4k3/8/4P3/K7 w - -
"""
SCRIPT = r"""
while read -r word rest; do
  case "$word" in
    arbiter) printf '%s\n' 'name script' 'version 1' 'moves 5000' ready ;;
    turn) chosen= ;;
    moves) for move in h2a2 a1a2 e2e3; do case " $rest " in *" $move "*) chosen=$move ;; esac; done ;;
    go) if [ "$chosen" ]; then printf 'move %s\n' "$chosen"; fi ;;
    quit) exit 0 ;;
  esac
done
"""
"""Black gives its rook, which the king takes: queen against king has a table, and the four pieces before have none. In
the other game the first move of the pawn loses it. Then nobody moves any more."""


def cup(folder: Path, text: str = CUP) -> Path:
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)  # what root starts in a sandbox runs as another user
    (folder / "tables").symlink_to(TABLES)
    (folder / "endings.epd").write_text(BOOK)
    (folder / "script.sh").write_text(SCRIPT)
    file = folder / "cup.toml"
    file.write_text(text + "".join(f'[[bots]]\nname = "{name}"\nlines = "bash script.sh"\n' for name in ("ann", "ben")))
    return file


@pytest.mark.long
def test_games_end_as_the_tables_say(arbiter: Arbiter, tmp_path: Path) -> None:
    ran = run(cup(tmp_path), "--directory", "runs", "--concurrency", "1", "--export", "out")
    assert (ran.returncode, ran.stderr) == (0, "")
    for number, end in enumerate(("ann 1–0 ben", "ben 1–0 ann", "ben ½–½ ann", "ann ½–½ ben"), 1):
        assert f" {number}/4  chess: {end}, adjudicated tablebase, {'2 plies' if number < 3 else '1 ply'}" in ran.stdout
    verified = arbiter("verify", str(tmp_path / "out"), "--key", str(tmp_path / "out/keys.json"))
    assert verified.code == 0, verified
    ends = {}
    for transcript in (tmp_path / "out" / "transcripts").glob("*/*.jsonl"):
        *_, ended, _ = map(json.loads, transcript.read_text().splitlines())
        ends[ended["note"]] = (ended["winner"], ended["reason"], ended["cause"])
        pgn = arbiter("transcript", "--file", str(transcript), "--pgn").out
        assert '[Termination "adjudication"]' in pgn
        assert '[EndReason "adjudicated_tablebase"]' in pgn
    assert ends == {
        "Syzygy tables after 2 plies: KQvK is lost for Black, who is to move": (
            1,
            "adjudicated_tablebase",
            "organiser",
        ),
        "Syzygy tables after 1 ply: KPvK is drawn for Black, who is to move": (
            0,
            "adjudicated_tablebase",
            "organiser",
        ),
    }


@pytest.mark.parametrize(
    ("rules", "place", "advice"),
    [
        ('syzygy = "none"', "cup.toml, line 9 (adjudication.syzygy): ", "/none: name a folder with files such as KQvK"),
        ("syzygy = 3", "cup.toml, line 9 (adjudication.syzygy): ", "the path of a folder"),
        ("syzygy_pieces = 5", "cup.toml, line 9 (adjudication.syzygy): ", "expected the folder of the tables"),
        ("syzygy_pieces = 8", "cup.toml, line 9 (adjudication.syzygy_pieces): ", "from 0 to 7"),
    ],
)
def test_tables_that_cannot_be_had_are_refused_before_the_run(
    arbiter: Arbiter, tmp_path: Path, rules: str, place: str, advice: str
) -> None:
    file = cup(tmp_path, CUP.replace('syzygy = "tables"', rules))
    complaint = arbiter("tournament", "run", str(file), "--directory", str(tmp_path / "runs")).complaint
    assert place in complaint
    assert advice in complaint
    assert not (tmp_path / "runs").exists()


def test_a_server_gets_the_number_of_pieces_alone(tmp_path: Path) -> None:
    read = read_all(cup(tmp_path))
    assert (read.tables, read.tournament.adjudication) == (TABLES, arb.Adjudication(syzygy_pieces=7))
    elsewhere = read_all(cup(tmp_path / "b", CUP.replace('"tables"', '"/none", syzygy_pieces = 4')))
    assert elsewhere.tournament.adjudication.syzygy_pieces == 4
