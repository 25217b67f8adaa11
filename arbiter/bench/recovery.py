"""Recovery: how long after its start a server serves all matches that were live when it was killed.

A match is served when a player can take its turn in it. A server reads a match when it is asked for, and the others in
the background, oldest first. So the bench plays the next move of the first match of the log, of the one in the middle
and of the last one, and waits until all three moves are acknowledged. Then it lists all matches, for which the server
has to have read all of them.

In turns with these starts, a server is started on a log with one new match. What that takes less is the cost of the
matches. Divided by the number of records that the log has more, it is the same for logs with more or longer matches.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import grpc
from arbiter_protos.v1 import match_pb2, match_pb2_grpc

from arbiter.bench.live_matches import write_matches
from arbiter.bench.plans import RecoveryPlan
from arbiter.bench.processes import BenchError
from arbiter.bench.report import Bound, Progress, Report
from arbiter.bench.scripts import GAME, SCRIPTS, scripts
from arbiter.bench.server_process import CALL_S, live_matches
from arbiter.bench.stores import NewStore
from arbiter.bootstrap.operator_tokens import create_token, create_tokens
from arbiter.bootstrap.store import open_store
from arbiter.games import registry
from arbiter.runtime.loopback import free_port
from arbiter.service.players.accounts import Scope

GOAL_S: Final = 1.0  #: the most seconds until all matches are served, with up to FEW of them
FEW: Final = 1_000
MANY_GOAL_S: Final = 6.0  #: the same with more, up to ten times as many


def bench_recovery(plan: RecoveryPlan, progress: Progress) -> Report:
    """Write a log with live matches, then repeatedly start `arbiter serve` on it and kill it.

    Raises BenchError if the scripted games have too few moves, or if the server does not serve all matches.
    """
    report = Report("recovery", f"{plan.matches} live matches of {plan.plies} moves in the log")
    found, least = list[_Start](), list[_Start]()
    with TemporaryDirectory(prefix="arbiter-bench-", dir=plan.folder) as folder:
        progress(f"writing {plan.matches} matches of {plan.plies} moves")
        full_log = _write(Path(folder, "full"), plan.matches, plan.plies, plan.rounds)
        least_log = _write(Path(folder, "least"), 1, 0, plan.rounds + 1)
        _start(least_log, 0, 1, Path(folder))  # not counted: it compiles the modules to bytecode
        for number in range(plan.rounds):
            progress(f"start {number + 1} of {plan.rounds}")
            least.append(_start(least_log, number + 1, 1, Path(folder)))
            found.append(_start(full_log, number, plan.matches, Path(folder)))
    served, early, read, spent = ([each[n] for each in found] for n in range(4))
    title, goal = "from the start until all matches are served", GOAL_S if plan.matches <= FEW else MANY_GOAL_S
    report.median("serving_s", title, served, "s", goal, Bound.MOST)
    report.add("worst_s", "the slowest start", max(served), "s")
    report.median("serving_server_s", "the server's processor time until then", early, "s")
    report.median("read_s", "from the start until all matches have been read and listed", read, "s")
    report.median("server_s", "the server's processor time until then", spent, "s")
    alone = [each.processor_s for each in least]
    report.median("least_s", "a start with one match", [each.served_s for each in least], "s")
    report.median("least_server_s", "the server's processor time until it is listed", alone, "s")
    records = full_log.records - least_log.records
    each_us = [1e6 * (all_ - one) / records for all_, one in zip(spent, alone, strict=True)]
    report.median(
        "record_us", f"processor time for each of {records:,} records more than with one match", each_us, "µs"
    )
    return report


class _Turn(NamedTuple):
    """A move of a scripted game: its match, its number, the move, and the token of the player who is to move."""

    match_id: str
    ply: int
    move: str
    token: str


class _Log(NamedTuple):
    """A log with live matches: its store, how many records it has, and a token with which to ask for the matches.

    turns: for each start the moves to play, of the first match, the one in the middle and the last one.
    """

    store: str
    records: int
    token: str
    turns: Sequence[Sequence[_Turn]]


def _write(folder: Path, matches: int, plies: int, starts: int) -> _Log:
    folder.mkdir()
    return asyncio.run(_written(NewStore(f"sqlite:///{folder}/arbiter.db", folder), matches, plies, starts))


async def _written(place: NewStore, matches: int, plies: int, starts: int) -> _Log:
    ids = await write_matches(place, matches, plies, matches)
    async with open_store(place.url) as opened:
        records = await opened.journal.head()
    played = sorted({0, matches // 2, matches - 1})
    names = [f"{side}-{n}" for n in played for side in ("first", "second")]
    tokens = await create_tokens(place.url, {name: [Scope.PLAY.value] for name in names}, "")
    games = scripts(GAME, SCRIPTS)
    turns = [
        [_turn(ids[n], games[n % len(games)], ply, tokens[f"first-{n}"], tokens[f"second-{n}"]) for n in played]
        for ply in range(plies, plies + starts)
    ]
    return _Log(place.url, records, await create_token(place.url, "bench", [Scope.OBSERVE.value], ""), turns)


def _turn(match_id: str, moves: Sequence[str], ply: int, first: str, second: str) -> _Turn:
    """Return the turn of a scripted game after this many moves. first, second: the tokens of its players."""
    if ply >= len(moves):
        raise BenchError(f"the games of this bench have {len(moves)} moves: write fewer, or start less often")
    game = registry.game(GAME)
    position = game.initial()
    for move in moves[:ply]:
        position = game.play(position, move)
    return _Turn(match_id, ply, moves[ply], first if position.turn == 1 else second)


class _Start(NamedTuple):
    """Seconds from a start until its moves were acknowledged, and until the server has sent every match.

    early_s, processor_s: the server's processor time until then.
    """

    served_s: float
    early_s: float
    read_s: float
    processor_s: float


def _start(log: _Log, number: int, matches: int, folder: Path) -> _Start:
    port, began = free_port(), time.perf_counter()
    with _serving(log.store, port, folder) as process, grpc.insecure_channel(f"127.0.0.1:{port}", _EAGER) as channel:
        stub = match_pb2_grpc.MatchServiceStub(channel)
        _play(stub, log.turns[number])
        served_s, early_s = time.perf_counter() - began, _processor_s(process.pid)
        found = live_matches(stub, _authorization(log.token))
        read_s, processor_s = time.perf_counter() - began, _processor_s(process.pid)
    if found != matches:
        raise BenchError(f"the server serves {found} matches of {matches}")
    return _Start(served_s, early_s, read_s, processor_s)


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _play(stub: match_pb2_grpc.MatchServiceStub, turns: Sequence[_Turn]) -> None:
    """Play moves at the same time, once the server serves, and wait until all are acknowledged."""
    calls = [
        stub.SubmitMove.future(
            match_pb2.SubmitMoveRequest(
                request_id=f"bench-{turn.ply}", match_id=turn.match_id, ply=turn.ply, move=turn.move
            ),
            metadata=_authorization(turn.token),
            timeout=CALL_S,
            wait_for_ready=True,
        )
        for turn in turns
    ]
    try:
        for call in calls:
            call.result()
    except grpc.RpcError as error:
        raise BenchError(f"the server did not accept a move: {error}") from None


def _authorization(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


_EAGER: Final = [("grpc.initial_reconnect_backoff_ms", 20), ("grpc.max_reconnect_backoff_ms", 20)]


@contextmanager
def _serving(store: str, port: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Serve as an installed arbiter does: not every start compiles the modules to bytecode, but only the first one.

    At the end, wait for all its processes: they may outlive it by a moment and write to `folder`.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    place = ("--listen", f"127.0.0.1:{port}", "--store", store)
    quiet = ("--no-save-token", "--log-level", "error")
    command = [sys.executable, "-m", "arbiter", "serve", *place, *quiet]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    try:
        yield process
    finally:
        process.kill()  # kill it, so that its matches are left as after a crash
        _, said = process.communicate()  # until the last process that inherited its standard error has ended
        sys.stderr.buffer.write(said)
