"""`arbiter serve` as a process: its output, how it stops, its error messages."""

from __future__ import annotations

import json
import re
import signal
import socket
import sqlite3
import ssl
import time
from contextlib import closing
from pathlib import Path

import pytest

from arbiter.cli.announcing import Serving, announce, client_address
from arbiter.runtime.loopback import free_port
from tests import arbiter_process
from tests.certificates import Identity
from tests.cli.command import WAIT_S, Arbiter, Server, clean_environment

pytestmark = pytest.mark.long


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def fails(*options: str) -> str:
    """Run a server that can't start; return the last line of its error message."""
    ran = arbiter_process.ran("serve", *options, env=clean_environment())
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1, ran.stderr
    assert ran.stderr.startswith("arbiter: ")
    return ran.stderr


@pytest.mark.parametrize(
    ("matches", "without_rules", "said"),
    [
        (0, 0, "There are no unfinished matches."),
        (1, 0, "1 unfinished match continues."),
        (0, 1, "0 unfinished matches continue. 1 waits for the package of its game, which the log names."),
        (2, 3, "2 unfinished matches continue. 3 wait for the packages of their games, which the log names."),
    ],
)
def test_a_server_says_how_many_matches_continue_and_how_many_wait(
    capsys: pytest.CaptureFixture[str], matches: int, without_rules: int, said: str
) -> None:
    announce(Serving(7400, "arbiter.db", matches, without_rules, "", (), "", ""), "127.0.0.1:7400", save_token=False)
    assert f"arbiter.db. {said}\n" in capsys.readouterr().out


def test_a_server_starts_serves_and_stops(folder: Path) -> None:
    first = Server(folder)
    assert f"listens on {first.address}" in first.said
    assert "There are no unfinished matches." in first.said
    token = json.loads((folder / "credentials.json").read_text())[first.address]["admin"]
    assert f"shown only now: {token}\n" in first.said
    for name in ("alice", "bob"):
        with first.running("token", "create", name) as made:
            assert made.wait() == 0
    with first.running("match", "create", "hop-it", "alice", "bob", "--at-once") as made:
        assert made.wait() == 0
    assert first.stop(signal.SIGINT) == 0
    assert first.said.endswith("Stopped.\n")

    again = Server(folder, "--metrics", "127.0.0.1:0", port=int(first.address.rpartition(":")[2]))
    assert re.search(r"^The metrics are at http://127\.0\.0\.1:[1-9]\d*/metrics$", again.said, re.MULTILINE)
    assert "1 unfinished match continues." in again.said
    assert "First start" not in again.said
    assert again.stop(signal.SIGTERM) == 0
    log = again.log.read_text().splitlines()
    assert all(line.startswith('{"event": ') for line in log)


def test_a_hangup_ends_no_server_and_renews_its_certificate(folder: Path) -> None:
    first, second = Identity(folder, "first"), Identity(folder, "second")
    certificate, key = folder / "server.pem", folder / "server.key"
    for served in (first, second):
        certificate.write_bytes(served.certificate)
        key.write_bytes(served.key)
        if served is first:
            server = Server(folder, "--tls-certificate", str(certificate), "--tls-key", str(key))
        else:
            server.process.send_signal(signal.SIGHUP)
    host, port = server.address.split(":")
    until = time.monotonic() + WAIT_S
    while ssl.get_server_certificate((host, int(port))).encode() != second.certificate:
        assert time.monotonic() < until
    assert server.stop() == 0
    assert '"event": "certificate_taken"' in server.log.read_text()

    plain = Server(folder)
    plain.process.send_signal(signal.SIGHUP)
    assert plain.stop() == 0, "it was stopped, and not killed by the hangup"


def test_the_token_can_be_kept_out_of_the_credentials_file(folder: Path) -> None:
    server = Server(folder, "--no-save-token", "--log-level", "error")
    assert "shown only now" in server.said
    assert not (folder / "credentials.json").exists()
    assert server.stop() == 0
    assert server.log.read_text() == ""


def test_mistakes_are_one_line(folder: Path, arbiter: Arbiter) -> None:
    store = f"sqlite:///{folder}/arbiter.db"
    free = f"127.0.0.1:{free_port()}"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert f"can't listen on {address}" in fails("--listen", address, "--store", store)
    assert "'here' is no address to listen on" in fails("--listen", "here", "--store", store)
    assert "without TLS" in fails("--listen", f"0.0.0.0:{free_port()}", "--store", store)
    assert f"{folder}/none does not exist" in fails("--listen", free, "--store", f"sqlite:///{folder}/none/arbiter.db")
    page = ("--listen", "", "--web", free)
    assert "`web` is empty: name its address" in fails("--web-process")
    assert "`listen` and `web` are both empty" in fails("--listen", "")
    assert "leave out `processes` and `postgres`" in fails(*page, "--processes", "2")
    assert "name the PostgreSQL that they share" in fails(*page, "--store", store)
    assert "a server without `listen` has no players" in fails(*page, "--bot", "random")
    assert "2 processes can't share an SQLite file" in fails("--web", free, "--web-process", "--store", store)
    wrong = folder / "arbiter.toml"
    wrong.write_text("[limits]\npage_size = 0\n")
    assert "limits.page_size: " in arbiter("serve", "--config", str(wrong)).complaint
    wrong.write_text("listen: nothing")
    assert "is not TOML" in arbiter("serve", "--config", str(wrong)).complaint
    with closing(sqlite3.connect(folder / "arbiter.db")) as database:
        database.execute("UPDATE alembic_version SET version_num = 'from_the_future'")
        database.commit()
    assert "is of a newer version (from_the_future)" in fails("--listen", free, "--store", store)


def test_a_token_made_in_the_database(arbiter: Arbiter, folder: Path) -> None:
    store = f"sqlite:///{folder}/arbiter.db"
    ran = arbiter("token", "create", "alice", "--store", store, "--scope", "organise")
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.strip()) > 40
    assert "expected 1 to 40" in arbiter("token", "create", "Alice!", "--store", store).complaint
    assert arbiter("token", "create", "alice", "--store", "sqlite:///none/arbiter.db").code == 2


def test_the_address_that_clients_on_this_machine_use() -> None:
    assert client_address("0.0.0.0:7400", 7400) == "127.0.0.1:7400"
    assert client_address("[::]:0", 7401) == "[::1]:7401"
    assert client_address("127.0.0.1:0", 7402) == "127.0.0.1:7402"
