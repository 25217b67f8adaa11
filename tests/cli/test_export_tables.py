"""`arbiter export --parquet`: the tables agree with the transcripts, which these tests read as plain JSON."""

from __future__ import annotations

import asyncio
import json
import shlex
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import shake_256
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from arbiter.bootstrap.store import open_record
from arbiter.cli.export_columns import MATCHES, MOVES, Column, page
from arbiter.cli.parquet import table
from arbiter.config import load
from arbiter.games import registry
from arbiter.matches.transcript import split
from arbiter.service.ports.journal import Append, Record, StoredRecord, Subject
from arbiter.service.record.match_log import end_of, load_match, summary_of
from tests.cli.command import Arbiter
from tests.documents import block

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "transcripts").glob("*.jsonl"))

Json = dict[str, Any]


def whole(lines: list[bytes], number: int) -> Append:
    """Return an append of all records of a match."""
    match_id = json.loads(lines[0])["match"]
    records = tuple(Record(match_id, revision, line, Subject.MATCH) for revision, line in enumerate(lines, 1))
    match = load_match(StoredRecord(0, *record) for record in records)
    opened = replace(summary_of(match.created), request_id=f"create {number}")  # it is the same for all
    return Append(records, opened=opened, closed=end_of(match))


@pytest.fixture(scope="module")
def golden_events() -> dict[str, list[Json]]:
    """Return the events of every golden match, as JSON values."""
    read = [[json.loads(line) for line in split(file.read_bytes())[0]] for file in GOLDEN]
    return {events[0]["match"]: events for events in read}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a store that has the golden matches."""
    settings = load(None, store=f"sqlite:///{tmp_path_factory.mktemp('store')}/arbiter.db")

    async def fill() -> None:
        async with open_record(settings) as (opened, _):
            for number, file in enumerate(GOLDEN):
                await opened.journal.append(whole(split(file.read_bytes())[0], number))

    asyncio.run(fill())
    return settings.store


@pytest.fixture
def tables(arbiter: Arbiter, store: str, tmp_path: Path) -> tuple[list[Json], list[Json]]:
    """Return the rows of both tables, as an analyst's program reads them."""
    ran = arbiter("export", str(tmp_path / "out"), "--parquet", "--store", store)
    assert ran.code == 0, ran.err
    matches, moves = rows(tmp_path / "out" / "matches.parquet"), rows(tmp_path / "out" / "moves.parquet")
    assert f"{len(matches)} matches and {len(moves):,} moves of {store} written to {tmp_path}/out" in ran.out
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"columns.md", "matches.parquet", "moves.parquet"}
    return matches, moves


def rows(file: Path) -> list[Json]:
    return [{name: milliseconds(value) for name, value in row.items()} for row in parquet.read_table(file).to_pylist()]


def milliseconds(value: object) -> object:
    return round(value.timestamp() * 1_000) if isinstance(value, datetime) else value


@pytest.mark.long
def test_the_row_of_a_match_agrees_with_its_transcript(
    tables: tuple[list[Json], list[Json]], golden_events: dict[str, list[Json]]
) -> None:
    found = {row["match_id"]: row for row in tables[0]}
    assert found.keys() == golden_events.keys()
    for match_id, events in golden_events.items():
        row, created, ended = found[match_id], events[0], events[-1]
        assert ended["kind"] == "ended"
        for name in ("label", "creator", "rated"):
            assert row[name] == created[name]
        assert (row["variant"], row["game"]) == (created["game"], created["game"].partition("(")[0])
        assert [row["player_1"], row["player_2"]] == created["players"]
        assert row["time_control"] == created["time"]
        assert (row["created"], row["ended"]) == (created["at"], ended["at"])
        assert row["started"] == next((event["at"] for event in events if event["kind"] == "started"), None)
        for name in ("result", "winner", "reason", "cause", "party"):
            assert row[name] == ended[name]
        assert row["seat"] == ended.get("seat")
        assert row["note"] == ended.get("note", "")
        scores = {"void": (None, None), "draw": (0.5, 0.5), "win": (2 - ended["winner"], ended["winner"] - 1)}
        assert (row["score_1"], row["score_2"]) == scores[ended["result"]]
        assert row["records"] == len(events)
        opening = len(created.get("opening", ()))
        moved = [event for event in events if event["kind"] == "moved"]
        assert (row["plies"], row["opening_plies"]) == (opening + len(moved), opening)
        assert row["position"] == (moved[-1]["position"] if moved else row["position"])
        strikes = [event["seat"] for event in events if event["kind"] == "refused"]
        assert (row["strikes_1"], row["strikes_2"]) == (strikes.count(1), strikes.count(2))
    assert (found["m-versions"]["version_1"], found["m-versions"]["version_2"]) != ("", "")


@pytest.mark.long
def test_the_row_of_a_move_agrees_with_its_event(
    tables: tuple[list[Json], list[Json]], golden_events: dict[str, list[Json]]
) -> None:
    found = {(row["match_id"], row["ply"]): row for row in tables[1]}
    assert len(found) == len(tables[1]) == sum(row["plies"] for row in tables[0])
    commented = 0
    everywhere = {"match_id", "ply", "seat", "opening", "move", "position_before", "legal_moves"}
    for match_id, events in golden_events.items():
        of_match = everywhere if events[-1]["result"] == "void" else everywhere | {"score"}
        for ply, move in enumerate(events[0].get("opening", ())):
            row = found.pop((match_id, ply))
            assert (row["opening"], row["move"]) == (True, move)
            assert {name for name, value in row.items() if value is not None} == of_match
        for event in events:
            if event["kind"] != "moved":
                continue
            row, ledger = found.pop((match_id, event["ply"])), event["ledger"]
            assert not row["opening"]
            for name in ("move", "seat", "position"):
                assert row[name] == event[name]
            for name in ("started", "handed_over", "arrived"):
                assert row[name] == ledger.get(name)
            for name in ("credited", "charged", "left", "round_trip"):
                assert row[f"{name}_ms"] == ledger.get(name)
            assert row["elapsed_ms"] == row["credited_ms"] + row["charged_ms"]
            clock = event["clocks"][event["seat"] - 1]
            none = None if events[0]["time"] == "none" else 0
            assert row["remaining_ms"] == (None if none is None else clock["remaining_ms"])
            assert (row["periods"], row["moves_left"]) == (clock.get("periods", none), clock.get("moves_left", none))
            said = comment(event, events[-1]["key"]) if "comment" in event else {}
            commented += bool(said)
            assert row["evaluation"] == said.get("evaluation")
            assert row["line"] == said.get("line")
            for name in ("centipawns", "mate", "depth", "nodes", "time_ms"):
                assert row[name] == said.get(name)
    assert not found
    assert commented > 50


@pytest.mark.long
def test_a_row_is_an_example_to_learn_from(
    tables: tuple[list[Json], list[Json]], golden_events: dict[str, list[Json]]
) -> None:
    scores = {row["match_id"]: (row["score_1"], row["score_2"]) for row in tables[0]}
    before: dict[str, str | None] = dict.fromkeys(golden_events)
    for row in tables[1]:
        match_id = row["match_id"]
        assert row["score"] == scores[match_id][row["seat"] - 1]
        game = registry.game(golden_events[match_id][0]["game"])
        position = game.start(golden_events[match_id][0].get("position", "")) if not row["ply"] else None
        if position is None:
            position = game.parse(row["position_before"])
            assert before[match_id] in (None, row["position_before"])  # None: a move of the opening was played
        assert row["position_before"] == game.text(position)
        assert row["legal_moves"] == len(game.moves(position))  # none of these matches has a repetition
        assert row["move"] in game.moves(position)
        before[match_id] = row["position"]
    assert {None, 1.0, 0.5, 0.0} == {row["score"] for row in tables[1]}


def comment(event: Json, key: str) -> Json:
    """Return the comment of a move, decrypted as protos/TRANSCRIPT.md says."""
    text = bytes.fromhex(event["comment"])
    stream = shake_256(bytes.fromhex(key) + b"\n%d" % event["ply"]).digest(len(text))
    opened: Json = json.loads(bytes(one ^ other for one, other in zip(text, stream, strict=True)))
    return opened


@pytest.mark.long
def test_newer_matches_come_first_and_moves_in_order(tables: tuple[list[Json], list[Json]]) -> None:
    matches = [row["match_id"] for row in tables[0]]
    assert matches == [f"m-{file.stem}" for file in reversed(GOLDEN)]
    places = [(matches.index(row["match_id"]), row["ply"]) for row in tables[1]]
    assert places == sorted(places)


@pytest.mark.long
def test_columns_carry_their_description_and_a_file_beside_them_lists_them(
    tables: tuple[list[Json], list[Json]], tmp_path: Path
) -> None:
    assert (tmp_path / "out" / "columns.md").read_text(encoding="utf-8") == page()
    for name, columns in (("matches", MATCHES), ("moves", MOVES)):
        schema = parquet.read_schema(tmp_path / "out" / f"{name}.parquet")
        assert schema.names == [column.name for column in columns]
        for column in columns:
            field = schema.field(column.name)
            assert field.metadata[b"description"].decode() == column.about
            assert f"| `{column.name}` | {column.kind}" in page()
            assert field.nullable == column.optional


def test_a_table_is_written_in_groups_of_rows(tmp_path: Path) -> None:
    columns: Sequence[Column[int]] = (Column("number", "int32", "itself", lambda row: row),)
    with table(tmp_path / "numbers.parquet", columns, rows=10) as add:
        for number in range(25):
            add(number)
        assert not (tmp_path / "numbers.parquet").exists()  # the file appears once it is complete
    file = parquet.ParquetFile(tmp_path / "numbers.parquet")
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [10, 10, 5]
    with pytest.raises(ZeroDivisionError), table(tmp_path / "numbers.parquet", columns) as add:
        add(1 // 0)
    assert (
        parquet.read_table(tmp_path / "numbers.parquet").num_rows == 25
    )  # the old file stays, and no part of a new one
    assert [file.name for file in tmp_path.iterdir()] == ["numbers.parquet"]


@pytest.mark.parametrize(
    ("option", "value", "which"),
    [("--label", "opening", {"m-opening"}), ("--player", "nobody", set()), ("--game", "elevation", {"m-elevation"})],
)
def test_options_choose_matches(
    arbiter: Arbiter, store: str, tmp_path: Path, option: str, value: str, which: set[str]
) -> None:
    ran = arbiter("export", str(tmp_path / "out"), "--parquet", option, value, "--store", store)
    assert ran.code == 0, ran.err
    for name in ("matches", "moves"):
        assert {row["match_id"] for row in rows(tmp_path / "out" / f"{name}.parquet")} == which


@pytest.mark.long
def test_a_damaged_match_is_in_neither_table(arbiter: Arbiter, store: str, tmp_path: Path) -> None:
    source, copy = Path(store.removeprefix("sqlite:///")), tmp_path / "arbiter.db"
    for ending in (".keys", ".keys.mark"):
        copy.with_suffix(ending).write_bytes(source.with_suffix(ending).read_bytes())
        copy.with_suffix(ending).chmod(0o600)
    with sqlite3.connect(source) as whole_store, sqlite3.connect(copy) as damaged:
        whole_store.backup(damaged)
        damaged.execute("UPDATE event SET body = body || ' ' WHERE match_id = 'm-pods' AND revision = 9")
    whole_store.close()
    damaged.close()
    ran = arbiter("export", str(tmp_path / "out"), "--parquet", "--store", f"sqlite:///{copy}")
    assert ran.code == 1
    assert "revision 9 of match m-pods is damaged" in ran.out
    assert "1 match left out, because the record is damaged" in ran.err
    for name in ("matches", "moves"):
        found = {row["match_id"] for row in rows(tmp_path / "out" / f"{name}.parquet")}
        assert "m-pods" not in found
        assert "m-pondlife" in found


def test_without_the_extra_it_says_what_to_install(
    arbiter: Arbiter, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "arbiter.cli.parquet")
    ran = arbiter("export", str(tmp_path / "out"), "--parquet", "--store", store)
    assert "install the package with its extra, game-arbiter[parquet]" in ran.complaint
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_the_command_of_the_page(arbiter: Arbiter, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "arbiter.toml").write_text(f'store = "{store}"')
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(block("deploy/STORE.md", "--parquet"), comments=True)
    assert program == "arbiter"
    ran = arbiter(*(word.replace("/exports", str(tmp_path)) for word in words))
    assert ran.code == 0, ran.err
    assert parquet.read_table(tmp_path / "tables" / "matches.parquet").num_rows == len(GOLDEN)
