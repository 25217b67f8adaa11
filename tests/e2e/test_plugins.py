"""A plug-in game whose rules raise, hang, die, take all memory or answer nonsense, in a server that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.runtime.loopback import free_port
from tests.e2e.processes import Server
from tests.plugins.installed import install
from tests.plugins.mischief import FAULTS
from tests.processes import empty_store

pytestmark = pytest.mark.long

CALL_MS = 10_000
CHESS = ("g1f3", "g8f6", "f3g1", "f6g8")
HANGS = ("loop", "pause")


def served(folder: Path, *packages: tuple[str, ...], **limits: int) -> Server:
    """Return a server, which does not run yet, with packages of games."""
    empty_store(folder)
    surroundings = {f"ARBITER_LIMITS__{name.upper()}": str(limit) for name, limit in limits.items()}
    return Server(folder, free_port(), surroundings=surroundings | {"PYTHONPATH": install(folder, *packages)})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Return a server with games whose rules fail."""
    running = served(tmp_path, ("mischief", "heap"), rules_ms=CALL_MS, rules_memory_bytes=268_435_456)
    running.start()
    yield running
    if running.process is not None and running.process.poll() is None:
        running.kill()


async def begun(admin: arb.Client, game: str, player: str) -> str:
    """Create a match of a player against itself; return its id."""
    return (await admin.create_match(game, (player, player), time_control="10m+10s")).match_id


async def test_a_fault_of_rules_costs_its_own_match_and_no_other(server: Server) -> None:
    async with AsyncExitStack() as stack:
        admin = await stack.enter_async_context(arb.Client(server.address, token=server.admin_token))
        token = (await admin.create_token("anna")).secret
        anna = await stack.enter_async_context(arb.Client(server.address, token=token))
        steady = await begun(admin, "heap(stones=30)", "anna")
        for ply, (move, (_, why)) in enumerate(FAULTS.items()):
            spoilt, chess = await begun(admin, "mischief", "anna"), await begun(admin, "chess", "anna")
            await anna.submit_move(spoilt, 0, "1")
            failing = asyncio.create_task(anna.submit_move(spoilt, 1, move))
            for chess_ply, chess_move in enumerate(CHESS):
                await anna.submit_move(chess, chess_ply, chess_move)
            if move in HANGS:  # these moves have waited for nothing
                assert not failing.done(), move
            ended = (await failing).result
            assert ended is not None
            assert (ended.kind, ended.reason) == (arb.ResultKind.VOID, "arbiter_fault"), move
            assert ended.note.startswith("the rules of mischief failed: ")
            assert why in ended.note or why.encode("unicode_escape").decode() in ended.note
            await anna.submit_move(steady, ply, "1")
        printing = await begun(admin, "mischief", "anna")
        await anna.submit_move(printing, 0, "print")
        await anna.submit_move(printing, 1, "3")
    server.kill()
    server.start()
    async with AsyncExitStack() as stack:
        anna = await stack.enter_async_context(arb.Client(server.address, token=token))
        for ply in range(len(FAULTS), 29):
            await anna.submit_move(steady, ply, "1")
        receipt = await anna.submit_move(steady, 29, "1")
        assert receipt.result is not None
        assert (receipt.result.reason, receipt.result.winner) == ("last_stone", 2)
    assert server.stop() == 0
