"""`arbiter doctor` finds each fault and says what to do; it reports nothing on a sound machine."""

from __future__ import annotations

import asyncio
import fcntl
import json
import math
import os
import shlex
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import EntryPoint
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace
from typing import Any

import pytest

from arbiter import __version__
from arbiter.bootstrap import examination
from arbiter.bootstrap.store import open_record
from arbiter.config import Settings, load
from arbiter.errors import Reason, Refusal
from arbiter.games.registry import GROUP
from arbiter.matches.events import Cause
from arbiter.observability.metrics import Metrics, shown
from arbiter.runtime import machine
from arbiter.runtime.machine import Space
from arbiter.store import database
from arbiter.store.looking import StoreState
from tests.bus.nats import Nats
from tests.cli.command import Arbiter
from tests.documents import block
from tests.plugins.installed import installed
from tests.store.records import appends
from tests.store.steps import add_steps
from tests.workers.test_syzygy import TABLES

Rows = dict[str, tuple[str, str, str]]


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a sound machine, whatever machine runs the test."""
    monkeypatch.setattr(machine, "space", lambda folder: Space(50 << 30, 100 << 30))
    monkeypatch.setattr(machine, "flush_ms", lambda folder: 0.5)
    monkeypatch.setattr(machine, "open_files", lambda: 20_000)
    monkeypatch.setattr(machine, "clock_is_synchronised", lambda: True)


@pytest.fixture(autouse=True)
def _packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have no package of games, whatever is installed."""
    with installed(tmp_path_factory.mktemp("packages")):
        yield


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a server whose store has records."""
    folder = tmp_path_factory.mktemp("filled")

    async def fill() -> None:
        async with open_record(load(None, store=f"sqlite:///{folder}/arbiter.db")) as (store, _):
            await asyncio.gather(*(store.journal.append(append) for append in appends(1)))

    asyncio.run(fill())
    return folder


@pytest.fixture
def settings(filled: Path, tmp_path: Path) -> Settings:
    """Return the settings of a server with a copy of that store."""
    copytree(filled, tmp_path, dirs_exist_ok=True)
    return load(None, store=f"sqlite:///{tmp_path}/arbiter.db")


def found(arbiter: Arbiter, *options: str) -> tuple[int, Rows]:
    """Return the exit code, and by subject the grade, text and advice of its worst row."""
    ran = arbiter("doctor", *options, "--json")
    worst: Rows = {}
    for each in json.loads(ran.out):
        row = (each["grade"], each["text"], each["advice"])
        if each["subject"] not in worst or row[0] > worst[each["subject"]][0]:  # the worst grade sorts first
            worst[each["subject"]] = row
    return ran.code, worst


@pytest.mark.long
def test_a_sound_server(arbiter: Arbiter, settings: Settings) -> None:
    code, rows = found(arbiter, "--store", settings.store)
    assert code == 0
    assert {row[0] for row in rows.values()} == {"good"}, rows
    assert set(rows) == {"configuration", "programs", "listen", "store", "lock", "keys", "disk", "files", "clock"}
    assert rows["lock"][1] == "no server serves the store"
    plain = arbiter("doctor", "--store", settings.store).out
    assert plain.endswith("Nothing wrong, 0 notes.\n")
    assert plain.startswith("good\tconfiguration\t")


def test_before_the_first_start_no_file_is_made(arbiter: Arbiter, tmp_path: Path) -> None:
    code, rows = found(arbiter, "--store", f"sqlite:///{tmp_path}/new.db")
    assert code == 0
    assert (rows["store"][0], rows["keys"][0]) == ("note", "note")
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_a_server_uses_is_not_opened(arbiter: Arbiter, settings: Settings, tmp_path: Path) -> None:
    with (tmp_path / "arbiter.db").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        code, rows = found(arbiter, "--store", settings.store)
    assert code == 0
    assert rows["lock"] == ("good", "a server serves the store", "")
    assert rows["server"][0] == "note"
    assert "--metrics" in rows["server"][2]


@pytest.mark.parametrize(
    ("store", "megabytes", "disk_gb", "grade", "words"),
    [
        (
            None,
            10_000,
            None,
            "note",
            "100 records a day (1,000.0 MB) in the last 7 days; if that goes on, its disk is full on ",
        ),
        (None, 1_000, None, "good", "(100.0 MB) in the last 7 days; if that goes on, its disk is full on "),
        (None, 1, None, "good", "its disk has room for more than 10 years of that"),
        (
            "postgresql://arbiter@/arbiter",
            10_000,
            None,
            "good",
            "MB) in the last 7 days; if that goes on, it takes 375.0 GB in a year; name the size of the database's",
        ),
        ("postgresql://arbiter@/arbiter", 10_000, 12, "note", "if that goes on, its disk is full on {in 1 days}"),
        ("postgresql://arbiter@/arbiter", 10_000, 200, "good", "if that goes on, its disk is full on {in 189 days}"),
        ("postgresql://arbiter@/arbiter", 10_000, 10, "note", "if that goes on, its disk is full on {in 0 days}"),
    ],
)
def test_it_says_when_the_disk_is_full(
    arbiter: Arbiter,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    store: str | None,
    megabytes: int,
    disk_gb: int | None,
    grade: str,
    words: str,
) -> None:
    newest = database.newest()
    size = megabytes * 1_000_000
    folder = None if store else tmp_path
    growth: dict[str, Any] = {"bytes": size, "folder": folder, "recent": 700, "recent_days": 7.0}
    state = StoreState("SQLite 3", newest, newest, records=1_000, **growth)
    monkeypatch.setattr(examination, "look", lambda url: state)
    options = ["--store", store or settings.store, "--keys", str(tmp_path / "arbiter.keys")]
    options += ["--disk-gb", str(disk_gb)] if disk_gb else []
    found_grade, text, advice = found(arbiter, *options)[1]["growth"]
    words, _, days = words.partition("{in ")
    assert (found_grade, words in text, "arbiter archive" in advice) == (grade, True, grade == "note"), text
    if days:
        on = date.fromisoformat(text.rpartition(" ")[2])
        assert on - datetime.now(UTC).date() in (timedelta(int(days.split()[0])), timedelta(int(days.split()[0]) + 1))


@pytest.mark.parametrize(
    ("free", "grade", "words"), [(1 << 50, "good", "more than 10 years"), (300 << 20, "note", "full on 2")]
)
def test_it_says_when_the_disk_of_logs_is_full(
    arbiter: Arbiter,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    free: int,
    grade: str,
    words: str,
) -> None:
    logs, now_s = tmp_path / "logs", time.time()
    assert found(arbiter, "--store", settings.store, "--logs", str(logs))[1]["logs"][0] == "note"
    for days in (0, 1, 4, 9):
        (logs / f"day-{days}").mkdir(parents=True)
        (logs / f"day-{days}" / "m1.log").write_bytes(bytes(2_000_000))
        os.utime(logs / f"day-{days}" / "m1.log", (now_s, now_s - days * 86_400 - 1))
    monkeypatch.setattr(machine, "space", lambda folder: machine.Space(free, free))
    found_grade, text, advice = found(arbiter, "--store", settings.store, "--logs", str(logs))[1]["logs"]
    assert (found_grade, bool(advice)) == (grade, grade == "note")
    assert f"{logs} has 6.0 MB of logs of the last 4 days; " in text
    assert words in text


def on_store(statement: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with sqlite3.connect(folder / "arbiter.db") as raw:
            raw.execute(statement)
        raw.close()

    return change


@pytest.mark.parametrize(
    ("damage", "subject", "text", "advice"),
    [
        (lambda folder: (folder / "arbiter.keys").chmod(0o644), "keys", "arbiter.keys", ""),
        (lambda folder: (folder / "arbiter.keys").unlink(), "keys", "but the store has records", "signing keys there"),
        (lambda folder: (folder / "arbiter.keys.mark").write_text("{"), "keys", "watermark", ""),
        (on_store("DELETE FROM event WHERE sequence > 20"), "keys", "has held", ""),
        (on_store("UPDATE event SET seal = zeroblob(24)"), "keys", "sealed by key 0000000000000000", "the right file"),
        (on_store("UPDATE alembic_version SET version_num = '9999'"), "store", "of a newer version (9999)", ""),
        (on_store("UPDATE alembic_version SET version_num = '0007'"), "store", "is of version 0007, from before", ""),
        (lambda folder: (folder / "arbiter.db").write_bytes(b"no database" * 999), "store", "can't be used", ""),
    ],
    ids=["keys for all", "no keys", "bad mark", "records gone", "other keys", "too new", "too old", "no database"],
)
def test_each_fault_of_a_store_is_named(
    arbiter: Arbiter,
    settings: Settings,
    tmp_path: Path,
    damage: Callable[[Path], object],
    subject: str,
    text: str,
    advice: str,
) -> None:
    damage(tmp_path)
    code, rows = found(arbiter, "--store", settings.store)
    assert code == 1
    assert rows[subject][0] == "wrong", rows
    assert text in rows[subject][1]
    assert advice in rows[subject][2]


def test_older_tables_are_a_note(arbiter: Arbiter, settings: Settings, steps: Path) -> None:
    add_steps(steps, True)
    code, rows = found(arbiter, "--store", settings.store)
    assert (code, rows["store"][0]) == (0, "note")
    assert "back it up" in rows["store"][2]


@pytest.mark.parametrize(
    ("name", "value", "subject", "grade"),
    [
        ("space", Space(1 << 20, 1 << 40), "disk", "wrong"),
        ("space", Space(1 << 30, 1 << 40), "disk", "note"),
        ("flush_ms", 25.0, "disk", "note"),
        ("open_files", 1_024, "files", "note"),
        ("clock_is_synchronised", False, "clock", "note"),
        ("clock_is_synchronised", None, "clock", "note"),
    ],
)
def test_each_fault_of_a_machine_is_named(
    arbiter: Arbiter,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: object,
    subject: str,
    grade: str,
) -> None:
    monkeypatch.setattr(machine, name, lambda *_: value)
    code, rows = found(arbiter, "--store", settings.store)
    assert (code, rows[subject][0]) == (int(grade == "wrong"), grade)


def test_a_disk_that_can_not_be_written_is_named(
    arbiter: Arbiter, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_folder: Path) -> float:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(machine, "flush_ms", full)
    code, rows = found(arbiter, "--store", settings.store)
    assert (code, rows["disk"][0]) == (1, "wrong")
    assert "No space left on device" in rows["disk"][1]


def test_a_configuration_is_checked(arbiter: Arbiter, settings: Settings, tmp_path: Path) -> None:
    config = tmp_path / "arbiter.toml"
    config.write_text(f'store = "{settings.store}"\nlisten = "0.0.0.0:7400"\nweb = "0.0.0.0:8080"\nmetrics = "nothing"')
    code, rows = found(arbiter, "--config", str(config))
    assert code == 1
    assert [rows[name][0] for name in ("listen", "web", "metrics")] == ["wrong", "note", "wrong"]
    config.write_text("stoer = 1")
    code, rows = found(arbiter, "--config", str(config))
    assert (code, rows["configuration"][0]) == (1, "wrong")
    assert "did you mean store?" in rows["configuration"][1]


@pytest.mark.parametrize(
    ("first", "last", "grade"), [(-99, 99, "good"), (-99, 9, "note"), (-99, -1, "wrong"), (9, 99, "wrong")]
)
def test_a_certificate_is_checked(
    arbiter: Arbiter, settings: Settings, tmp_path: Path, first: int, last: int, grade: str
) -> None:
    now = datetime.now(UTC)
    made = certificate(tmp_path, now + timedelta(days=first), now + timedelta(days=last))
    config = tmp_path / "arbiter.toml"
    config.write_text(
        f'store = "{settings.store}"\nlisten = "0.0.0.0:7400"\ntls_certificate = "{made}"\ntls_key = "{made}"\n'
    )
    code, rows = found(arbiter, "--config", str(config))
    assert rows["certificate"][0] == grade
    assert rows["listen"][0] == "good"
    assert code == int(grade == "wrong")
    config.write_text(f'store = "{settings.store}"\ntls_certificate = "{made}"\n')
    assert "both a certificate and its key" in found(arbiter, "--config", str(config))[1]["certificate"][1]


def test_the_authority_of_clients_is_looked_at(arbiter: Arbiter, settings: Settings, tmp_path: Path) -> None:
    begin, late, near = (datetime.now(UTC) + timedelta(days=days) for days in (-99, 99, 9))
    made, soon = certificate(tmp_path, begin, late), certificate(tmp_path, begin, near, "clients.pem")
    config = tmp_path / "arbiter.toml"
    lines = {"store": settings.store, "tls_certificate": made, "tls_key": made, "tls_client_authority": soon}
    config.write_text("\n".join(f'{name} = "{value}"' for name, value in lines.items()))
    code, rows = found(arbiter, "--config", str(config))
    assert (code, rows["certificate"][0]) == (0, "note")
    assert rows["certificate"][1].startswith(f"{soon}, of ")


def test_the_folder_of_tables_is_looked_at(arbiter: Arbiter, settings: Settings, tmp_path: Path) -> None:
    config = tmp_path / "arbiter.toml"
    config.write_text(f'store = "{settings.store}"\nsyzygy = "{TABLES}"')
    code, rows = found(arbiter, "--config", str(config))
    assert (code, rows["syzygy"]) == (0, ("good", f"tables of 3 endings with at most 3 pieces in {TABLES}", ""))
    config.write_text(f'store = "{settings.store}"\nsyzygy = "{tmp_path}"')
    code, rows = found(arbiter, "--config", str(config))
    assert (code, rows["syzygy"][0]) == (1, "wrong")
    assert rows["syzygy"][1].startswith(f"there are no Syzygy tables in {tmp_path}: name a folder")


@pytest.mark.long
def test_the_collector_of_traces_is_looked_at(arbiter: Arbiter, settings: Settings, tmp_path: Path) -> None:
    config = tmp_path / "arbiter.toml"
    with socket.create_server(("127.0.0.1", 0)) as collector:
        url = f"http://127.0.0.1:{collector.getsockname()[1]}"
        config.write_text(f'store = "{settings.store}"\ntraces = "{url}"')
        code, rows = found(arbiter, "--config", str(config))
        assert (code, rows["traces"]) == (0, ("good", f"0.2 % of the moves are traced, and {url} answers", ""))
    code, rows = found(arbiter, "--config", str(config))
    assert (code, rows["traces"][0]) == (0, "note")
    config.write_text(f'store = "{settings.store}"\ntraces = "collector"')
    code, rows = found(arbiter, "--config", str(config))
    assert (code, rows["traces"][0]) == (1, "wrong")


def certificate(folder: Path, first: datetime, last: datetime, file: str = "server.pem") -> Path:
    """Write a certificate of this machine and its key to one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "arbiter.example.org")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), first, last)
    made = folder / file
    made.write_bytes(
        builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return made


def test_a_running_server_is_checked(arbiter: Arbiter, settings: Settings) -> None:
    metrics = Metrics()
    metrics.info("build_info", "", version=__version__, modules="interpreted")
    metrics.committed(3, 0.004)
    with shown(metrics, load(None, metrics="127.0.0.1:0")) as port:
        options = ("--store", settings.store, "--metrics", f"127.0.0.1:{port}")
        code, rows = found(arbiter, *options)
        assert code == 0
        assert {rows[name][0] for name in ("server", "commits")} == {"good"}
        metrics.refused(Refusal(Reason.RECORD_DAMAGED, "", why="its seal does not hold"))
        metrics._ends[Cause.ARBITER.value] += 1
        metrics.gauge("queued_writes", "", lambda: 5_000)
        metrics.loop_late(3.0)
        metrics.gauge("live_matches", "", lambda: 9_500)
        metrics.gauge("observers", "", lambda: 4_600)
        metrics.gauge("clock_offset_seconds", "", lambda: -7.0)
        metrics._stages["hand_over"].observe(0.4)
        metrics.counter("taken_for_gone", "", lambda: 1)
        metrics.counter("failovers", "", lambda: 2)
        metrics.gauge("bus_lost", "", lambda: 1)
        code, rows = found(arbiter, *options)
        assert code == 1
        assert [rows[name][0] for name in ("matches", "observers", "time", "turns")] == ["note"] * 4
        assert "9,500 of at most 10,000" in rows["matches"][1]
        assert [rows[name][0] for name in ("alive", "failovers", "bus")] == ["note"] * 3
        assert rows["alive"][1].startswith("1 time since its start the others took this server for gone")
        assert "limits.server_silence_ms on all servers" in rows["alive"][2]
        assert rows["failovers"][1].startswith("2 other servers gone since its start")
        assert [rows[name][0] for name in ("faults", "refusals", "queue", "loop")] == ["wrong"] * 3 + ["note"]
    code, rows = found(arbiter, *options)
    assert (code, rows["server"][0]) == (1, "wrong")


@pytest.mark.long
def test_the_versions_of_servers_are_compared(arbiter: Arbiter, settings: Settings) -> None:
    old, new = Metrics(), Metrics()
    with (
        shown(old, load(None, metrics="127.0.0.1:0")) as first,
        shown(new, load(None, metrics="127.0.0.1:0")) as second,
    ):
        places = [f"127.0.0.1:{port}" for port in (first, second)]
        options = ("--store", settings.store, "--metrics", ",".join(places))
        new.info("build_info", "", version=__version__, modules="interpreted")
        old.info("build_info", "", version="0.0.9", modules="interpreted")
        code, rows = found(arbiter, *options)
        assert (code, rows["versions"][0]) == (0, "note")
        assert rows["versions"][1].endswith(f": 0.0.9 at {places[0]}, {__version__} at {places[1]}")
        assert "finish the upgrade" in rows["versions"][2]
        alike = ("--store", settings.store, "--metrics", f"{places[1]},http://{places[1]}/metrics")
        assert found(arbiter, *alike)[1]["versions"] == ("good", f"2 servers run version {__version__}", "")
    assert "versions" not in found(arbiter, *options)[1]


Passing = Callable[[Callable[[], object]], list[float]]


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Passing:
    """Have something happen where the doctor waits, without a wait; the list gets the times that it would wait."""

    def passing(happens: Callable[[], object]) -> list[float]:
        def sleep(seconds: float) -> None:
            waited.append(seconds)
            happens()

        waited: list[float] = []
        monkeypatch.setattr("arbiter.cli.doctor.time", SimpleNamespace(sleep=sleep))
        return waited

    return passing


@contextmanager
def following(places: Mapping[str, int]) -> Iterator[dict[str, str]]:
    """Show the metrics of servers by what they have read of the log, as it is then; return their addresses."""
    with ExitStack() as stack:
        addresses = {}
        for name in places:
            metrics = Metrics()
            metrics.info("build_info", "", version=__version__, modules="interpreted")
            metrics.gauge("log_place", "", lambda name=name: places[name])  # type: ignore[misc]
            port = stack.enter_context(shown(metrics, load(None, metrics="127.0.0.1:0")))
            addresses[name] = f"127.0.0.1:{port}"
        yield addresses


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "after", "behind"),
    [
        ((9_000, 8_900, 8_000), (9_500, 9_000, 9_400), ()),
        ((9_000, 8_900, 8_000), (9_500, 9_400, 8_200), (("c", 800, "has read 200 since", "note"),)),
        (
            (8_000, 9_001, 9_000),
            (8_000, 9_500, 9_000),
            (("a", 1_001, "nothing", "wrong"), ("c", 1, "nothing", "wrong")),
        ),
    ],
    ids=["level", "one is slow", "two stand still"],
)
def test_what_servers_have_read_of_the_log_is_compared(
    arbiter: Arbiter,
    settings: Settings,
    passing: Passing,
    before: Sequence[int],
    after: Sequence[int],
    behind: Sequence[tuple[str, int, str, str]],
) -> None:
    places = dict(zip("abc", before, strict=True))
    waited = passing(lambda: places.update(zip("abc", after, strict=True)))
    with following(places) as addresses:
        ran = arbiter("doctor", "--store", settings.store, "--metrics", ",".join(addresses.values()), "--json")
    rows = [each for each in json.loads(ran.out) if each["subject"] == "log"]
    assert waited == [1.0]
    assert ran.code == int("wrong" in {grade for *_, grade in behind})
    if not behind:
        assert [(each["grade"], each["text"], each["advice"]) for each in rows] == [
            ("good", f"3 servers have read the event log up to number {max(before):,} or further", "")
        ]
        return
    first = addresses["abc"[before.index(max(before))]]
    assert len(rows) == len(behind)
    for row, (name, records, said, grade) in zip(rows, behind, strict=True):
        counted = f"{records:,} record{'s' if records > 1 else ''}"
        assert row["text"].startswith(
            f"the server at {addresses[name]} is {counted} behind the event log: "
            f"the server at {first} had number {max(before):,} before; "
        )
        assert said in row["text"]
        assert row["grade"] == grade
        assert "`log_not_followed`" in row["advice"]
        assert "stop it: its players go on elsewhere" in row["advice"]


@pytest.mark.long
def test_a_server_without_a_log_beside_others_is_noted(arbiter: Arbiter, settings: Settings, passing: Passing) -> None:
    passing(lambda: None)
    with following({"a": 5, "b": 0}) as addresses:
        code, rows = found(arbiter, "--store", settings.store, "--metrics", ",".join(addresses.values()))
        assert (code, rows["log"][0]) == (0, "note")
        assert rows["log"][1].startswith(f"the server at {addresses['b']} has read nothing of the event log")
        assert "`store`" in rows["log"][2]
    with following({"a": 0, "b": 0}) as addresses:
        assert "log" not in found(arbiter, "--store", settings.store, "--metrics", ",".join(addresses.values()))[1]


def test_one_server_is_compared_with_the_store(
    arbiter: Arbiter, settings: Settings, passing: Passing, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = database.newest()
    places = {"a": 90}
    waited = passing(lambda: places.update(a=95))
    with following(places) as addresses:
        options = ("--store", settings.store, "--metrics", addresses["a"])
        assert "log" not in found(arbiter, *options)[1], "no server serves this store: it is not that server's"
        state = StoreState("PostgreSQL 17", newest, newest, servers=1, records=100)
        monkeypatch.setattr(examination, "look", lambda url: state)
        grade, text, _ = found(arbiter, *options)[1]["log"]
        assert (grade, text) == (
            "note",
            f"the server at {addresses['a']} is 5 records behind the event log: the store had number 100 before; "
            "it reads on, and has read 5 since",
        )
        places["a"] = 100
        passing(lambda: None)
        assert found(arbiter, *options)[1]["log"] == (
            "good",
            "the server has read the event log up to number 100 or further",
            "",
        )
    assert waited == [1.0]


@pytest.mark.long
def test_a_server_that_ends_while_it_is_looked_at(arbiter: Arbiter, settings: Settings, passing: Passing) -> None:
    with ExitStack() as stack:
        first, other = (stack.enter_context(following({name: 5})) for name in "ab")
        second = stack.pop_all()
        with second:
            passing(second.close)
            code, rows = found(arbiter, "--store", settings.store, "--metrics", f"{first['a']},{other['b']}")
    assert (code, rows["server"][0]) == (1, "wrong")
    assert "log" not in rows


def test_this_machine_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert 0 < machine.space(tmp_path).free <= machine.space(tmp_path).total
    assert machine.flush_ms(tmp_path) > 0
    assert list(tmp_path.iterdir()) == []
    assert machine.open_files() > 0
    assert machine.clock_is_synchronised() in (True, False, None)


def test_the_command_of_the_page(
    arbiter: Arbiter, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "arbiter.toml").write_text(f'store = "{settings.store}"')
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(block("deploy/OPERATING.md", "arbiter doctor"), comments=True)
    assert program == "arbiter"
    ran = arbiter(*words)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("good\tconfiguration\tarbiter.toml\t\n")


@pytest.mark.long
def test_the_games_of_packages_are_loaded(arbiter: Arbiter, settings: Settings, tmp_path: Path) -> None:
    with installed(tmp_path, ("heap",)):
        code, rows = found(arbiter, "--store", settings.store)
    assert (code, rows["games"]) == (0, ("good", "the package plugin-0 adds 1", ""))
    (tmp_path / "faulty").mkdir()
    with installed(tmp_path / "faulty", ("dying", "heap")):
        code, rows = found(arbiter, "--store", settings.store)
    assert code == 1
    grade, text, advice = rows["games"]
    assert grade == "wrong"
    assert text == "the rules of dying can't be used here: their process ended during the call"
    assert advice.startswith("mend or remove the package plugin-0")
    with pytest.MonkeyPatch.context() as patch:
        entry = EntryPoint("go", "tests.web.plug_in:Row", GROUP)
        patch.setattr("importlib.metadata.entry_points", lambda **_: [entry])
        code, rows = found(arbiter, "--store", settings.store)
    assert (code, rows["games"][:2]) == (
        1,
        ("wrong", "the rules of go that tests adds are not used: a game of this name comes with the arbiter"),
    )


@pytest.mark.long
def test_the_bus(arbiter: Arbiter, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ("--store", "postgresql://arbiter@127.0.0.1:1/arbiter")  # it is not there, which is said of the store

    def bus(*options: str) -> tuple[str, str, str]:
        (tmp_path / "arbiter.toml").write_text("\n".join(options))
        return found(arbiter, "--config", str(tmp_path / "arbiter.toml"), *store)[1]["bus"]

    with Nats() as server:
        for most_ms, expected in ((math.inf, ("good", "")), (0.0, ("note", "move NATS nearer to the server"))):
            monkeypatch.setattr(examination, "SLOW_ROUND_TRIP_MS", most_ms)
            grade, text, advice = bus(f'bus = "nats://me:secret@{server.address}"')
            assert (grade, advice) == expected
            assert text.startswith(f"{server.url} answers in ")
    grade, text, advice = bus(f'bus = "{server.url}"')
    assert grade == "note"
    assert server.url in text
    assert "start NATS" in advice
    assert bus('bus = "http://a"')[0] == "wrong"
    assert bus('bus = "nats://a"', 'bus_credentials = "nowhere"')[0] == "wrong"
    store = ("--store", settings.store)
    grade, text, _ = bus('bus = "nats://a"')
    assert (grade, text.partition(",")[0]) == ("wrong", "a bus is for servers that share a PostgreSQL")
