"""A whole tournament from a store to a folder, verified there, and refused once anything in it was changed."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Any

import pytest

from arbiter.bootstrap.store import open_record
from arbiter.config import load
from arbiter.games import registry
from arbiter.service.ports.journal import Append
from arbiter.testing.clock import run
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.tournaments.spec import Format
from tests.cli.command import Arbiter, Server
from tests.documents import block, commands
from tests.options.reaching import specification
from tests.service.tournaments.contest import Contest, spec_of

pytestmark = pytest.mark.long


async def played() -> tuple[str, list[Append]]:
    """Play a tournament in memory; return its id, and all appends to the journal."""
    contest = Contest(3, server=InMemoryArbiter())
    journal: Any = contest.server.journal
    append, appends = journal.append, list[Append]()

    def kept(what: Append) -> Any:
        appends.append(what._replace(basis=None, open_limits=None))
        return append(what)

    journal.append = kept
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN))
    await contest.ended(tournament_id)
    return tournament_id, appends


@pytest.fixture
def stored(tmp_path: Path) -> tuple[str, str]:
    """Return the id of a tournament, and the store in which it is."""
    tournament_id, appends = run(played())
    settings = load(None, store=f"sqlite:///{tmp_path}/arbiter.db")

    async def fill() -> None:
        async with open_record(settings) as (opened, _):
            for append in appends:
                await opened.journal.append(append)

    asyncio.run(fill())
    return tournament_id, settings.store


def test_a_server_hands_out_what_is_in_its_store(
    arbiter: Arbiter, stored: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament_id, store = stored
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARBITER_CREDENTIALS", str(tmp_path / "credentials.json"))
    server = Server(tmp_path)
    try:
        monkeypatch.setenv("ARBITER_SERVER", server.address)
        early = arbiter("tournament", "create", str(specification(tmp_path))).out.strip()
        complaint = arbiter("tournament", "export", early, "early").complaint
        assert complaint == f"tournament {early} has not ended: only then it is signed"
        written, held = (
            arbiter(*shlex.split(line.replace("ID ", f"{tournament_id} "))[1:])
            for line in commands(block("deploy/TOURNAMENTS.md", "arbiter tournament export"))
        )
        assert written.out == "tournament.log and 3 transcripts written to cup; the public keys are in keys.json.\n"
        assert "3 games with 3 transcripts hold" in held.out, held.err
        assert arbiter("export", "read", "--store", store, "--tournament", tournament_id).code == 0
        asked, read = ({file.name: file.read_bytes() for file in Path(folder).iterdir()} for folder in ("cup", "read"))
        assert asked == read, "byte for byte"
    finally:
        assert server.stop() == 0


def test_a_tournament_is_exported_and_verified(arbiter: Arbiter, stored: tuple[str, str], tmp_path: Path) -> None:
    tournament_id, store = stored
    folder = tmp_path / "cup"
    ran = arbiter("export", str(folder), "--store", store, "--tournament", tournament_id)
    assert ran.code == 0, ran.err
    assert ran.out == f"tournament.log and 3 transcripts written to {folder}; the public keys are in keys.json.\n"
    check = ("verify", str(folder), "--key", str(folder / "keys.json"))
    held = arbiter(*check)
    assert held.code == 0, held.err
    assert held.out.startswith(f"{folder} holds: tournament {tournament_id}, a round_robin, round_robin; first: ")
    assert "3 games with 3 transcripts hold, the pairings are legal, the places of 3 players" in held.out
    assert "NOT CHECKED" not in held.out
    registry.keep_apart({"circle-of-life": "it is gone"})
    try:
        assert " NOT CHECKED: moves, openings, clocks, credit and strikes in " in arbiter(*check).out
    finally:
        registry.keep_apart({})

    file = folder / "tournament.log"
    sound = file.read_bytes()
    file.write_bytes(sound.replace(b'"winner":1', b'"winner":2', 1))
    assert f"{file}, line " in arbiter(*check).complaint
    file.write_bytes(sound[:-10])
    assert "cut off" in arbiter(*check).complaint
    file.write_bytes(sound)
    min(folder.glob("m*.jsonl")).unlink()
    assert "is missing" in arbiter(*check).complaint
    file.unlink()
    assert f"can't read {file}" in arbiter(*check).complaint

    words = ("export", str(folder), "--store", store, "--tournament")
    assert "there is no tournament t9 in this store" in arbiter(*words, "t9").complaint
    assert "leave out --parquet" in arbiter(*words, tournament_id, "--label", "cup").complaint
