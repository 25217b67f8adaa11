from __future__ import annotations

import asyncio
import re
import sqlite3
from pathlib import Path

import pytest

from arbiter.bootstrap.store import open_record, open_store
from arbiter.config import load
from arbiter.service.ports.journal import Append
from arbiter.service.record import tournament_log
from arbiter.service.record.tournament_log import Chain
from arbiter.tournaments import engine
from arbiter.tournaments.spec import Format, Spec
from tests.cli.command import Arbiter
from tests.store.records import appends


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Return the file of a store that has matches."""

    async def fill() -> None:
        async with open_store(f"sqlite:///{tmp_path}/arbiter.db") as store:
            await asyncio.gather(*(store.journal.append(append) for append in appends(1)))
            tournament, created = engine.create("t1", Spec("cup", Format.ROUND_ROBIN, ("pods",), "1m"), "org", "r", 1)
            sealed = Chain("t1").seal(created.events)
            await store.journal.append(Append(sealed, tournament=tournament_log.summary_of(tournament)))

    asyncio.run(fill())
    return tmp_path / "arbiter.db"


def change(record: Path, statement: str) -> None:
    with sqlite3.connect(record) as raw:
        raw.execute(statement)
    raw.close()


@pytest.mark.long
def test_a_store_is_checked_and_rebuilt(arbiter: Arbiter, record: Path) -> None:
    url = f"sqlite:///{record}"
    well = arbiter("store", "check", "--store", url)
    assert well.code == 0
    all_is_well = rf"No fault found in {url}: 16 matches, 1 tournament, [\d,]+ records\.\n"
    assert re.match(all_is_well, well.out)
    assert "Seals were not checked: no server has sealed this store" in well.out
    change(record, "DELETE FROM tally")
    ill = arbiter("store", "check", "--store", url)
    assert ill.code == 1
    assert "0 ends are counted as" in ill.out
    assert ill.err.startswith(f"arbiter: {url} (16 matches, 1 tournament, ")
    assert "`arbiter store rebuild`" in ill.err
    mended = arbiter("store", "rebuild", "--store", url)
    assert mended.code == 0
    assert mended.out.startswith(f"{url} is rebuilt from its log: 16 matches, 1 tournament, ")
    assert mended.out.endswith(" Players added: 4.\n")
    assert arbiter("store", "check", "--store", url).out == well.out


@pytest.mark.long
def test_nothing_is_rebuilt_from_a_damaged_record(arbiter: Arbiter, record: Path) -> None:
    change(record, "DELETE FROM event WHERE match_id = 'm003' AND revision = 1")
    ran = arbiter("store", "rebuild", "--store", f"sqlite:///{record}")
    assert ran.code == 2
    assert ran.complaint.startswith("nothing was rebuilt: the record of match m003 is damaged: record 1")


@pytest.mark.long
def test_the_store_is_that_of_the_configuration(arbiter: Arbiter, record: Path) -> None:
    config = record.with_name("arbiter.toml")
    config.write_text(f'store = "sqlite:///{record}"\n')
    assert arbiter("store", "check", "--config", str(config)).code == 0


@pytest.mark.parametrize("command", ["check", "rebuild"])
def test_a_missing_store_is_named_and_not_made(arbiter: Arbiter, tmp_path: Path, command: str) -> None:
    assert (
        "does not exist: make it first"
        in arbiter("store", command, "--store", f"sqlite:///{tmp_path}/no/x.db").complaint
    )
    assert "there is no store at" in arbiter("store", command, "--store", f"sqlite:///{tmp_path}/x.db").complaint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_seals_are_checked_once_a_server_has_made_them(arbiter: Arbiter, record: Path) -> None:
    settings = load(None, store=f"sqlite:///{record}")

    async def open_and_close() -> None:
        async with open_record(settings):
            pass

    asyncio.run(open_and_close())
    assert "Seals" not in arbiter("store", "check", "--store", settings.store).out
    change(record, "UPDATE event SET seal = zeroblob(24) WHERE match_id = 'm003' AND revision = 1")
    ill = arbiter("store", "check", "--store", settings.store)
    assert ill.code == 1
    assert "revision 1 of match m003 is damaged (its seal is by key 0000000000000000" in ill.out
    assert "nothing was rebuilt" in arbiter("store", "rebuild", "--store", settings.store).complaint
