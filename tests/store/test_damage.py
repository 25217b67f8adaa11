"""Each damaged or forged part of a store is named: at the start, in transcripts, and by `arbiter store check`.

A damaged match does not affect the others, and no transcript has a byte that the arbiter has not written.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from structlog.testing import capture_logs

from arbiter.event_json.canonical import digest, encode
from arbiter.store import tables
from tests.store.damage import TOURNAMENT, Outcome, Store, made

ENDED, OTHER, RUNNING = "m001", "m003", "m000"


class UndamagedStore:
    """The store before any damage, and what it serves."""

    def __init__(self, folder: Path) -> None:
        self.store = made(folder / "undamaged")
        found = self.store.ask('SELECT match_id, ended_sequence FROM "match" ORDER BY match_id')
        self.matches = tuple(str(match_id) for match_id, _ in found)
        self.running = tuple(str(match_id) for match_id, ended in found if not ended)
        self.ended = tuple(match_id for match_id in self.matches if match_id not in self.running)
        copy = self.store.copy(folder / "copy")
        self.served = asyncio.run(copy.start(self.matches)).served
        assert self.served.keys() == set(self.matches)


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> UndamagedStore:
    return UndamagedStore(tmp_path_factory.mktemp("damage"))


@pytest.fixture
def store(undamaged: UndamagedStore, tmp_path: Path) -> Store:
    return undamaged.store.copy(tmp_path / "store")


def true_records(undamaged: UndamagedStore, match_id: str) -> bytes:
    """Return the records that a match had before the damage, as its transcript shows them."""
    bodies = undamaged.store.ask(f"SELECT body FROM event WHERE match_id = '{match_id}' ORDER BY revision")
    return b"".join(bytes(body) + b"\n" for (body,) in bodies)


def check_served(undamaged: UndamagedStore, outcome: Outcome) -> None:
    """Assert that only what was written is served: an ended match complete, a running one with its new events."""
    for match_id, served in outcome.served.items():
        if match_id in undamaged.ended:
            assert served == undamaged.served[match_id]
        else:
            assert served.startswith(true_records(undamaged, match_id))
            assert {json.loads(line)["match"] for line in served.splitlines()} == {match_id}


def faults_and_outcome(undamaged: UndamagedStore, store: Store) -> tuple[tuple[str, ...], Outcome]:
    """Check the damaged store, then start on it; return both results, after `check_served`."""
    faults = store.check()
    with capture_logs():
        outcome = asyncio.run(store.start(undamaged.matches))
    check_served(undamaged, outcome)
    return faults, outcome


# -- pages -----------------------------------------------------------------------------------------------------------

Harm = Callable[[bytes, random.Random], bytes]


def overwritten(page: bytes, dice: random.Random) -> bytes:
    return dice.randbytes(len(page))


def zeroed(page: bytes, _: random.Random) -> bytes:
    return bytes(len(page))


def flipped(page: bytes, dice: random.Random) -> bytes:
    changed = bytearray(page)
    for _ in range(3):
        changed[dice.randrange(len(page))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def one_flip(page: bytes, dice: random.Random) -> bytes:
    changed = bytearray(page)
    changed[dice.randrange(len(page))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def torn(page: bytes, dice: random.Random) -> bytes:
    half = len(page) // 2
    return page[:half] + dice.randbytes(half)


SHORT: Final = 20  #: seeds of the short form
HARMS: Final[tuple[Harm, ...]] = (overwritten, zeroed, flipped, one_flip, torn)


@pytest.mark.long
def test_damage_of_every_page_is_named(undamaged: UndamagedStore, store: Store, seeds: int) -> None:
    """In the short form every other page is damaged, each in another way; otherwise every page in every way."""
    image = store.file.read_bytes()
    size = int.from_bytes(image[16:18])
    mark = store.folder / "arbiter.keys.mark"
    marked = mark.read_bytes()
    for turn in range(1 if seeds <= SHORT else len(HARMS) * max(1, seeds // 400)):
        for page in range(0, len(image) // size, 2 if seeds <= SHORT else 1):
            harm = HARMS[(turn + page) % len(HARMS)]
            place = f"page {page} {harm.__name__}, turn {turn}"
            damaged = harm(image[page * size : (page + 1) * size], random.Random(place))
            for rest in store.folder.glob("arbiter.db-*"):
                rest.unlink()
            store.file.write_bytes(image[: page * size] + damaged + image[(page + 1) * size :])
            mark.write_bytes(marked)
            faults, outcome = faults_and_outcome(undamaged, store)
            if outcome.refused or outcome.reasons or harm in (overwritten, zeroed):
                assert faults, place


@pytest.mark.long
def test_a_server_starts_without_the_index_of_the_log_and_names_its_matches(
    undamaged: UndamagedStore, store: Store
) -> None:
    [(page,)] = store.ask("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_event_1'")
    image = bytearray(store.file.read_bytes())
    size = int.from_bytes(image[16:18])
    assert isinstance(page, int)
    image[(page - 1) * size : page * size] = bytes(size)
    store.file.write_bytes(image)
    outcome = asyncio.run(store.start(undamaged.running))
    assert not outcome.refused
    assert not outcome.served


# -- values ----------------------------------------------------------------------------------------------------------

ROWS: Final = {  # which rows of a table are edited
    "event": (
        f"match_id = '{ENDED}' AND revision = 2",
        f"match_id = '{ENDED}' AND revision = 1",
        f"match_id = '{RUNNING}' AND revision = 1",
        f"match_id = '{TOURNAMENT}'",
    ),
    "match": (f"match_id = '{ENDED}'", f"match_id = '{RUNNING}'"),
    "tournament": (f"tournament_id = '{TOURNAMENT}'",),
    "tally": ("rowid = 1",),
    "player": ("name = 'anna'",),
    "token": ("player = 'anna'",),
    "challenge": ("challenge_id = 'c1'",),
}
NOT_OF_THE_LOG: Final = ("player", "token", "challenge")
"""Tables that do not follow from the log: a changed value of the right type looks like a true one."""

NEW_VALUES: Final = {int: "{0} + 1", bool: "1 - {0}", str: "{0} || 'x'", bytes: "CAST({0} || 'x' AS BLOB)"}


def edits() -> Iterator[tuple[str, str, str, str]]:
    """Yield table, column, rows and new value of every edit."""
    for name, rows in ROWS.items():
        for column in tables.metadata.tables[name].columns:
            for where in rows:
                kind = column.type.python_type
                changed = NEW_VALUES.get(kind, NEW_VALUES[str]).format(f'"{column.name}"')
                blob = "x'00ff'" if kind is not bytes else "x''"
                for value in (changed, "NULL", blob, "'text'"):
                    yield name, column.name, where, value


def unseen(table: str, column: str, value: str) -> bool:
    """Return whether an edit can't be detected: of the right type, and not in the log."""
    kind = tables.metadata.tables[table].columns[column].type.python_type
    of_right_type = value.endswith(("|| 'x'", "+ 1")) or value.startswith("1 - ") or (value == "'text'" and kind is str)
    return table in NOT_OF_THE_LOG and of_right_type


@pytest.mark.long
def test_an_edit_of_every_value_is_named(undamaged: UndamagedStore, store: Store, seeds: int) -> None:
    everything = list(edits())
    for table, column, where, value in random.Random(7).sample(everything, 24) if seeds <= SHORT else everything:
        shutil.rmtree(store.folder)
        undamaged.store.copy(store.folder)
        statement = f'UPDATE "{table}" SET "{column}" = {value} WHERE {where}'
        try:
            store.change(statement, constraints=False)
        except sqlite3.IntegrityError:  # a wrong type of number, or a duplicate
            continue
        faults, outcome = faults_and_outcome(undamaged, store)
        assert faults or unseen(table, column, value), statement
        if table == "event" and not outcome.refused:
            assert {match_id for match_id in undamaged.matches if match_id not in where} <= outcome.served.keys(), (
                statement
            )


# -- forgeries: by somebody who can write to the database, but does not have the keys ----------------------------------


def forge(store: Store, match_id: str, change: Callable[[list[dict[str, Any]]], None], *more: str) -> None:
    """Change the events of a match, and compute every later hash again, as the arbiter would."""
    rows = store.ask(f"SELECT body FROM event WHERE match_id = '{match_id}' ORDER BY revision")
    events = [json.loads(bytes(body)) for (body,) in rows]
    change(events)
    previous, statements = events[0]["previous"], []
    for number, event in enumerate(events, 1):
        event["previous"] = previous
        body = encode(event)
        previous = digest(body)
        statements.append(
            f"UPDATE event SET body = x'{body.hex()}' WHERE match_id = '{match_id}' AND revision = {number}"
        )
    store.change(*statements, *more)


def other_winner(events: list[dict[str, Any]]) -> None:
    events[-1]["note"] = "it was otherwise"


def other_creator(events: list[dict[str, Any]]) -> None:
    events[0]["creator"] = "mallory"


def _ended_with(match_id: str) -> str:
    return f"(SELECT max(sequence) FROM event WHERE match_id = '{match_id}')"


def end_edited(store: Store) -> None:
    forge(store, ENDED, other_winner)


def end_edited_and_unsealed(store: Store) -> None:
    forge(store, ENDED, other_winner, f"UPDATE event SET seal = NULL WHERE match_id = '{ENDED}'")


def running_edited(store: Store) -> None:
    forge(store, RUNNING, other_creator)


def tournament_edited(store: Store) -> None:
    forge_tournament = [
        json.loads(bytes(body)) for (body,) in store.ask(f"SELECT body FROM event WHERE match_id = '{TOURNAMENT}'")
    ]
    forge_tournament[0]["creator"] = "mallory"
    store.change(f"UPDATE event SET body = x'{encode(forge_tournament[0]).hex()}' WHERE match_id = '{TOURNAMENT}'")


def matches_swapped(store: Store) -> None:
    store.change(
        f"UPDATE event SET match_id = 'x' WHERE match_id = '{ENDED}'",
        f"UPDATE event SET match_id = '{ENDED}' WHERE match_id = '{OTHER}'",
        f"UPDATE event SET match_id = '{OTHER}' WHERE match_id = 'x'",
    )


def places_swapped(store: Store) -> None:
    store.change(
        f"UPDATE event SET sequence = -1 WHERE match_id = '{ENDED}' AND revision = 1",
        f"UPDATE event SET sequence = -2 WHERE match_id = '{OTHER}' AND revision = 1",
        f"UPDATE event SET sequence = (SELECT sequence FROM \"match\" WHERE match_id = '{OTHER}') WHERE sequence = -1",
        f"UPDATE event SET sequence = (SELECT sequence FROM \"match\" WHERE match_id = '{ENDED}') WHERE sequence = -2",
    )


def seal_of_another_record(store: Store) -> None:
    forge(
        store,
        ENDED,
        other_winner,
        f"UPDATE event SET seal = (SELECT seal FROM event WHERE sequence = 1) WHERE sequence = {_ended_with(ENDED)}",
    )


def end_removed(store: Store) -> None:
    """Remove the end of a match, so that it goes on."""
    store.change(
        f"DELETE FROM event WHERE sequence = {_ended_with(ENDED)}",
        f"UPDATE \"match\" SET ended_sequence = 0 WHERE match_id = '{ENDED}'",
    )


def end_removed_unlisted(store: Store) -> None:
    store.change(f"DELETE FROM event WHERE sequence = {_ended_with(ENDED)}")


def match_removed(store: Store) -> None:
    store.change(f"DELETE FROM event WHERE match_id = '{ENDED}'", f"DELETE FROM \"match\" WHERE match_id = '{ENDED}'")


def middle_removed(store: Store) -> None:
    store.change(f"DELETE FROM event WHERE match_id = '{ENDED}' AND revision = 2")


def log_cut(store: Store) -> None:
    store.change("DELETE FROM event WHERE sequence > 40")


def renumbered(store: Store) -> None:
    """Remove a match, and renumber later records to close the gap."""
    places = [place for (place,) in store.ask(f"SELECT sequence FROM event WHERE match_id = '{ENDED}'")]
    match_removed(store)
    [(last,)] = store.ask("SELECT max(sequence) FROM event")
    for free, moved in zip(places, range(int(str(last)), 0, -1), strict=False):
        store.change(f"UPDATE event SET sequence = {free} WHERE sequence = {moved}")


def match_added(store: Store) -> None:
    """Add a match that was never played, with a valid chain and the seals of another."""
    rows = store.ask(f"SELECT sequence, revision, body, seal FROM event WHERE match_id = '{ENDED}' ORDER BY revision")
    [(last,)] = store.ask("SELECT max(sequence) FROM event")
    previous, statements = "0" * 64, []
    for number, (_, revision, body, seal) in enumerate(rows, 1):
        event = json.loads(bytes(body))
        event |= {"match": "m999", "previous": previous}
        forged = encode(event)
        previous = digest(forged)
        statements.append(
            "INSERT INTO event (sequence, match_id, revision, body, subject, seal) VALUES "
            f"({int(str(last)) + number}, 'm999', {revision}, x'{forged.hex()}', 'match', x'{bytes(seal).hex()}')"
        )
    columns = "game, player_1, player_2, time_control, rated, label, creator, created_ms"
    statements.append(
        f'INSERT INTO "match" (match_id, request_id, sequence, {columns}) '
        f"SELECT 'm999', 'forged', {int(str(last)) + 1}, {columns} FROM \"match\" WHERE match_id = '{ENDED}'"
    )
    store.change(*statements)


def listed_as_running(store: Store) -> None:
    store.change(f"UPDATE \"match\" SET ended_sequence = 0 WHERE match_id = '{ENDED}'")


def listed_as_ended(store: Store) -> None:
    store.change(f"UPDATE \"match\" SET ended_sequence = 3 WHERE match_id = '{RUNNING}'")


def result_edited(store: Store) -> None:
    store.change(f"UPDATE \"match\" SET winner = 3 - winner WHERE match_id = '{ENDED}'")


FORGERIES: Final[Mapping[Callable[[Store], None], tuple[str, set[str] | None]]] = {
    end_edited: (f"revision .* of match {ENDED} .*its seal does not hold", {ENDED}),
    end_edited_and_unsealed: (f"of match {ENDED} .*it has no seal", {ENDED}),
    running_edited: (f"of match {RUNNING} .*its seal does not hold", {RUNNING}),
    tournament_edited: (f"of tournament {TOURNAMENT} .*its seal does not hold", set()),
    matches_swapped: ("its seal does not hold", {ENDED, OTHER}),
    places_swapped: ("its seal does not hold", {ENDED, OTHER}),
    seal_of_another_record: ("its seal does not hold", {ENDED}),
    end_removed: ("of the log are missing", {ENDED}),
    end_removed_unlisted: ("of the log are missing", {ENDED}),
    match_removed: ("of the log are missing", {ENDED}),
    middle_removed: ("of the log are missing", {ENDED}),
    log_cut: ("and has held", None),
    renumbered: ("and has held|its seal does not hold", None),
    match_added: ("of match m999 .*its seal does not hold", set()),
    listed_as_running: (f"match {ENDED} is listed otherwise", set()),
    listed_as_ended: (f"match {RUNNING} is listed otherwise", {RUNNING}),
    result_edited: (f"match {ENDED} is listed otherwise", set()),
}
"""The forgeries; what `arbiter store check` says of each, and which matches are not served (None: no start)."""


@pytest.mark.long
@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_is_found_and_not_served(
    undamaged: UndamagedStore, store: Store, forgery: Callable[[Store], None]
) -> None:
    forgery(store)
    says, lost = FORGERIES[forgery]
    faults, outcome = faults_and_outcome(undamaged, store)
    assert any(re.search(says, fault) for fault in faults), faults
    if lost is None:
        assert outcome.refused
        assert re.search("and has held", outcome.refused)
    else:
        assert not outcome.refused
        assert set(outcome.reasons) == lost
