"""The commands of an operator beside several server processes that share a PostgreSQL which was given to them."""

from __future__ import annotations

from pathlib import Path

import arbiter_client as arb
import pyarrow.parquet

from arbiter.runtime.loopback import free_port
from tests.e2e.processes import Server
from tests.processes import until
from tests.store.postgres import Cluster

MATCHES = 3
MOVES = (("anna", "e5"), ("ben", "e7"), ("anna", "e6"))  #: a whole game of `circle-of-life(target=1)`


def test_an_operator_exports_archives_and_backs_up_while_servers_run(cluster: Cluster, tmp_path: Path) -> None:
    store = ("--store", cluster.fresh(), "--keys", str(tmp_path / "arbiter.keys"))
    server = Server(tmp_path, free_port(), store=None, options=("--processes", "2", "--metrics", "127.0.0.1:0", *store))
    server.start()
    try:
        play_matches(server)
        assert server.metrics.count(",") == 1
        found = server.arbiter("doctor", *store, "--metrics", server.metrics, check=False)
        assert "\t2 servers serve the store\t" in found
        assert "good\tlog\t2 servers have read the event log up to number " in found
        before = exported(server, tmp_path / "before", store)
        assert len(before) == MATCHES
        for name in before:
            files = [str(tmp_path / "before" / file) for file in (name, "keys.json")]
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
    finally:
        assert server.stop() == 0


def play_matches(server: Server) -> None:
    """Have two players play matches; each call goes to one of the servers."""
    with server.client() as organiser:
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
                with arb.BlockingClient(server.address, token=tokens[name]) as player:
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
