"""The commands of an operator beside several server processes that share a PostgreSQL which was given to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import arbiter_client as arb
import pyarrow.parquet
import pytest

from arbiter.runtime.loopback import free_port
from tests.bus.nats import Nats
from tests.e2e.processes import Server
from tests.observability.test_metrics import read, value
from tests.processes import WAIT_S, descendants, holds, until
from tests.store.postgres import Cluster
from tests.store.test_processes import servers

MATCHES = 3
MOVES = (("anna", "e5"), ("ben", "e7"), ("anna", "e6"))  #: a whole game of `circle-of-life(target=1)`


@pytest.fixture(scope="module")
def server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server of two processes, with all that several of them share: a store, a bus, a page, and a bot."""
    folder = tmp_path_factory.mktemp("processes")
    store = ("--store", cluster.fresh(), "--keys", str(folder / "arbiter.keys"))
    with Nats() as nats:
        shared = ("--bus", nats.url, "--web", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--bot", "random")
        running = Server(folder, free_port(), store=None, options=(*store, "--processes", "2", *shared))
        running.start()
        try:
            yield running
        finally:
            assert running.stop() == 0


def test_each_process_serves_the_page_and_hears_the_bus_and_one_has_the_bot(server: Server) -> None:
    page = urlsplit(server.page).netloc
    served: set[int] = set()

    def all_have_served() -> bool:
        processes = servers(server)  # on a busy machine, one that is taken for gone is started again
        with closing(HTTPConnection(page)) as browser:  # the system gives each connection to one of them
            browser.request("GET", "/games")
            answer = browser.getresponse()
            if answer.status == HTTPStatus.SERVICE_UNAVAILABLE:  # the machine is so busy that the database is late
                return False
            assert answer.status == HTTPStatus.OK
            assert b"Hop It!" in answer.read()
            served.update(process for process in processes if holds(process, browser.sock))
        return served.issuperset(processes)

    until(all_have_served)
    metrics = server.metrics.split(",")
    assert len(metrics) == len(servers(server)) == 2

    def figures(name: str) -> list[float]:
        return sorted(value(read(address), name) for address in metrics)

    until(lambda: figures("connected_players") == [0, 1])
    until(lambda: figures("bus_lost") == [0, 0] and min(figures("bus_received_total")) > 0)
    with_bot = [each for each in servers(server) if any(".bots.random" in line for line in descendants(each).values())]
    assert len(with_bot) == 1


def test_an_operator_exports_archives_and_backs_up_while_servers_run(server: Server, tmp_path: Path) -> None:
    store = tuple(server.options[:4])
    play_matches(server)
    found = server.arbiter("doctor", *store, "--metrics", server.metrics, check=False)
    assert "\t2 servers serve the store\t" in found
    assert "good\tlog\t2 servers have read the event log up to number " in found
    before = exported(server, tmp_path / "before", store)
    assert len(before) == MATCHES
    files = [str(tmp_path / "before" / file) for file in (min(before), "keys.json")]
    assert "circle-of-life" in server.arbiter("verify", files[0], "--key", files[1])
    tables = tabulated(server, tmp_path / "tables", store)
    assert [len(rows) for rows in tables] == [MATCHES, MATCHES * len(MOVES)]
    archived = server.arbiter("archive", "--days", "0", *store)
    assert archived.startswith(f"{MATCHES - 1} matches ("), "the match of the last record stays"
    assert exported(server, tmp_path / "after", store) == before
    assert tabulated(server, tmp_path / "tables", store) == tables
    assert "is copied to" in server.arbiter("backup", str(tmp_path / "backup"), *store)
    assert "which is the newest" in server.arbiter("migrate", "--check", *store[:2])
    assert "No fault found" in server.arbiter("store", "check", *store)


def play_matches(server: Server) -> None:
    """Have two players play matches; each call goes to one of the servers."""
    with server.client(WAIT_S) as organiser:
        tokens = {name: organiser.register_player(name).token for name in ("anna", "ben")}
        for number in range(MATCHES):
            match = organiser.create_match(
                "circle-of-life(target=1)",
                tuple(tokens),
                time_control="5m",
                start=arb.StartRule.AT_ONCE,
                request_id=str(number),
            )
            for ply, (name, move) in enumerate(MOVES):
                with arb.BlockingClient(server.address, token=tokens[name], patience_s=WAIT_S) as player:
                    until(lambda player=player, match=match, ply=ply: player.get_match(match.match_id).ply == ply)  # type: ignore[misc]
                    player.submit_move(match.match_id, ply, move)
            until(lambda match=match: organiser.get_match(match.match_id).result is not None)  # type: ignore[misc]


def exported(server: Server, folder: Path, store: tuple[str, ...]) -> dict[str, bytes]:
    """Export all finished matches as transcripts, and return these."""
    server.arbiter("export", str(folder), *store)
    return {file.name: file.read_bytes() for file in folder.glob("*.jsonl")}


def tabulated(server: Server, folder: Path, store: tuple[str, ...]) -> list[list[dict[str, object]]]:
    """Export all finished matches as tables, and return their rows."""
    server.arbiter("export", str(folder), "--parquet", *store)
    return [pyarrow.parquet.read_table(folder / f"{name}.parquet").to_pylist() for name in ("matches", "moves")]
