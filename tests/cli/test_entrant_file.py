"""Entrants from a file: what spreadsheets save is read, and what is wrong is named with its line and column."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.cli.entrant_file import FileEntrant, read_entrants
from arbiter.cli.failure import Failure
from arbiter.plain_text import plain
from arbiter.table_text import Columns, TableForm, table_text
from tests.cli.command import Arbiter, Server


def read(folder: Path, data: str | bytes) -> list[FileEntrant]:
    file = folder / "entrants.csv"
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_entrants(file)


@pytest.mark.parametrize(
    "data",
    [
        "player,rating,byes\nann,1800,2 5\nben,,\n",
        "rating;byes;player\r\n1800;2 5;ann\r\n;;ben\r\n\r\n",
        "\ufeffPlayer\tByes\tRating\nann\t2  5\t1800\nben\t\t\n",
        'player,rating,byes\n"ann"," 1800 ","2 5"\nben,0,',
    ],
)
def test_what_spreadsheets_save_is_read(tmp_path: Path, data: str) -> None:
    assert read(tmp_path, data) == [FileEntrant("ann", 1800, (2, 5)), FileEntrant("ben")]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (
            "player,club\nann,A\n",
            "column 2: 'club' is no column here (player, rating, byes, team, category): remove it",
        ),
        ("rating\n1800\n", "line 1: the column player is missing"),
        ("player,player\nann,ben\n", "line 1, column 2: player is there twice"),
        (
            "player,rating\nann,1800\nben,strong\n",
            "line 3, column 2: 'strong' is no rating: expected a rating",
        ),
        ("player,byes\nann,2-5\n", "line 2, column 2: '2-5' is no byes: expected the numbers of rounds"),
        ("player,rating\n,1800\n", "line 2, column 1: '' is no player: expected the name of a player"),
        ("player,rating\nann\n", "line 2: it has 1 cells, and the headings are 2"),
        ("player\nann\nben\nann\n", "line 4: ann is in the file twice: remove one"),
        ("player\n", "has no entrants"),
        ("", "line 1: the column player is missing"),
        ('player\n"ann\n', "this is no CSV"),
        (b"player\nj\xfcrgen\n", "line 2 has the byte 0xfc"),
        ("player,\x1b[2J\nann,1\n", r"'\\x1b[2j' is no column here"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, data: str | bytes, complaint: str) -> None:
    with pytest.raises(Failure) as caught:
        read(tmp_path, data)
    assert complaint in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "entrants.csv"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"can't read .*: No such file"):
        read_entrants(tmp_path / "none.csv")


CHARACTERS = st.characters(exclude_categories=("C", "Z"), exclude_characters="'").filter(
    lambda char: plain(char) == char
)
NAMES = st.text(CHARACTERS, min_size=1, max_size=10)
ENTRANTS = st.builds(FileEntrant, NAMES, st.integers(0, 4_000), st.lists(st.integers(1, 99)).map(tuple), NAMES, NAMES)


@pytest.mark.long
@given(st.lists(ENTRANTS, min_size=1, max_size=5, unique_by=lambda each: each.player))
def test_a_table_of_ours_reads_back(tmp_path_factory: pytest.TempPathFactory, entrants: list[FileEntrant]) -> None:
    rows = [(each.player, each.rating, " ".join(map(str, each.byes)), each.team, each.category) for each in entrants]
    text = table_text(TableForm.CSV, {"": Columns(("player", "rating", "byes", "team", "category"), rows)})
    assert read(tmp_path_factory.mktemp("csv"), text) == entrants


@pytest.mark.long
def test_the_players_of_a_file_enter_and_the_command_can_be_repeated(
    server: Server, arbiter: Arbiter, tmp_path: Path
) -> None:
    for name in ("ann", "ben", "cat"):
        arbiter("token", "create", name)
    spec, file = tmp_path / "cup.toml", tmp_path / "entrants.csv"
    spec.write_text('name = "Cup"\nformat = "swiss"\ngames = ["hop-it"]\ntime = "1m"\n[options]\nrounds = 5\n')
    tournament_id = arbiter("tournament", "create", str(spec)).out.strip()
    file.write_text("player,rating,byes\nben,1700,\nann,1800,2 5\n")
    assert arbiter("tournament", "enter", tournament_id, "--file", str(file)).out == "Entered ben.\nEntered ann.\n"
    file.write_text("player,rating,byes\nben,1700,\nann,1800,2 5\ncat,,\n")
    assert arbiter("tournament", "enter", tournament_id, "--file", str(file)).out == "Entered cat.\n"
    shown = arbiter("tournament", "show", tournament_id, "--csv").out
    assert "ben,,1700," in shown
    assert "ann,,1800," in shown
    refused = arbiter("tournament", "enter", tournament_id, "dan", "--file", str(file))
    assert "leave out the others" in refused.complaint
