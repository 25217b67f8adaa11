from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path

import pytest

from tests.cli.command import Arbiter
from tests.documents import block


def ended(store: str, where: str = "true") -> set[str]:
    with sqlite3.connect(store.removeprefix("sqlite:///")) as raw:
        found = {row[0] for row in raw.execute(f"SELECT match_id FROM match WHERE ended_sequence > 0 AND {where}")}
    raw.close()
    assert found
    return found


def exported(folder: Path) -> set[str]:
    return {file.stem for file in folder.glob("*.jsonl")}


@pytest.mark.long
def test_every_finished_match_is_written_once_and_verifies(arbiter: Arbiter, store: str, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "all"
    ran = arbiter("export", str(folder), "--store", store)
    matches = ended(store)
    assert ran.code == 0, ran.err
    assert f"{len(matches)} transcripts written to {folder}, which has {len(matches)} of {store}" in ran.out
    assert exported(folder) == matches
    for match in sorted(matches)[:3]:
        verified = arbiter("verify", str(folder / f"{match}.jsonl"), "--key", str(folder / "keys.json"))
        assert verified.code == 0, verified.err
        assert f"match {match}, " in verified.out
    (folder / f"{min(matches)}.jsonl").unlink()
    assert "1 transcript written" in arbiter("export", str(folder), "--store", store).out
    assert exported(folder) == matches


@pytest.mark.parametrize(
    ("option", "value", "where"),
    [
        ("--label", "cup", "label = 'cup'"),
        ("--player", "anna", "'anna' IN (player_1, player_2)"),
        ("--game", "circle-of-life(target=1)", "game = 'circle-of-life(target=1)'"),
    ],
)
def test_options_choose_matches(
    arbiter: Arbiter, store: str, tmp_path: Path, option: str, value: str, where: str
) -> None:
    assert arbiter("export", str(tmp_path / "some"), "--store", store, option, value).code == 0
    assert exported(tmp_path / "some") == ended(store, where) < ended(store)


@pytest.mark.long
def test_a_damaged_match_is_named_and_the_others_are_written(arbiter: Arbiter, store: str, tmp_path: Path) -> None:
    matches = ended(store)
    with sqlite3.connect(store.removeprefix("sqlite:///")) as raw:
        raw.execute("UPDATE event SET body = body || ' ' WHERE match_id = ? AND revision = 2", (min(matches),))
    raw.close()
    ran = arbiter("export", str(tmp_path / "rest"), "--store", store)
    assert ran.code == 1
    assert f"revision 2 of match {min(matches)} is damaged" in ran.out
    assert "1 match left out, because the record is damaged" in ran.err
    assert exported(tmp_path / "rest") == matches - {min(matches)}


def test_a_missing_store_or_missing_keys_are_named_and_not_made(arbiter: Arbiter, tmp_path: Path) -> None:
    url, folder = f"sqlite:///{tmp_path}/x.db", tmp_path / "out"
    assert "there are no signing keys at" in arbiter("export", str(folder), "--store", url).complaint
    (tmp_path / "x.keys").write_text("{}")
    assert "there is no store at" in arbiter("export", str(folder), "--store", url).complaint
    assert not folder.exists()


@pytest.mark.long
def test_the_command_of_the_page(arbiter: Arbiter, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "arbiter.toml").write_text(f'store = "{store}"')
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(block("deploy/STORE.md", "arbiter export /exports/2026"), comments=True)
    assert program == "arbiter"
    ran = arbiter(*(word.replace("/exports", str(tmp_path)) for word in words))
    assert ran.code == 0, ran.err
    assert exported(tmp_path / "2026") == ended(store)
