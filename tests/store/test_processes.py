"""`arbiter serve --processes` with a PostgreSQL of its own: whichever process is killed, play goes on."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import arbiter_client as arb
import pytest
from playwright.async_api import Page, expect

from arbiter.cli.app import run
from arbiter.errors import OperatorError
from arbiter.games import registry
from arbiter.keys.key_ring import holds
from arbiter.matches import transcript
from arbiter.matches.signing import PublicKey, checking
from arbiter.runtime.loop import PAGE_NICE
from arbiter.runtime.loopback import free_port
from arbiter.runtime.own_postgres import LONGEST_SOCKET, OwnPostgres, running
from arbiter.testing.served import PATIENT_MS
from tests.cli.command import Arbiter
from tests.documents import block
from tests.e2e.evidence import ENDS_OF_AN_OUTAGE, events_of
from tests.e2e.processes import BIN, Server
from tests.processes import WAIT_S, children, descendants, until, wait_for_end
from tests.store.postgres import Cluster
from tests.store.test_shared_servers import Observer, Slow
from tests.web.chromium import challenge, chromium, play_last_move

PLAYERS = ("anna", "ben", "cleo", "dan")
MATCHES = 4
MOVES = 12
SILENCE_MS = 15_000  #: a busy machine may stop the page's server for seconds; the stop at the end waits as long
GAME = "pods(size=9)"  #: played as these bots do, it lasts for 2,000 plies
THINKS_S = 0.2  #: so a match lasts for 400 s: on a busy machine, all of them must outlive what is killed


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a short path, which PostgreSQL's user can reach."""
    made = Path(tempfile.mkdtemp(prefix="arbiter-own-", dir="/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def own_postgres(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let servers start a PostgreSQL of their own, also as root."""
    monkeypatch.setenv("ARBITER_POSTGRES_PROGRAMS", str(cluster.programs))
    monkeypatch.setenv("ARBITER_POSTGRES_USER", "nobody")


@pytest.mark.timeout(4 * WAIT_S)
async def test_play_goes_on_whichever_process_is_killed(own_postgres: None, folder: Path) -> None:
    program, *words = block("deploy/SERVERS.md", "serve --processes").split()
    options = (*words[1:], "--postgres", str(folder / "pg"), "--metrics", "127.0.0.1:0")
    server = Server(folder, free_port(), store=None, options=options, command=(BIN / program, words[0]))
    await asyncio.to_thread(server.start)
    try:
        await asyncio.wait_for(play_through(server), 2 * WAIT_S)
    except TimeoutError:
        print(server.log.read_text())
        raise
    finally:
        assert server.process is not None
        parts = descendants(server.process.pid)
        assert len(parts) > 3  # servers with their workers, and the database
        server.kill()
        for part in parts:
            wait_for_end(part)  # no orphan is left
    log = server.log.read_text()
    assert re.search(r'"code": -9, "event": "process_ended".*"process": "server \d"', log)
    assert re.search(r'"code": -9, "event": "process_ended".*"process": "postgres"', log)
    assert server.address in (folder / "credentials.json").read_text()


async def play_through(server: Server) -> None:
    """Play while a server and the database are killed, and while all stop and start again."""
    async with arb.Client(server.address, token=server.admin_token, patience_s=WAIT_S) as client:
        bots = {name: Slow(THINKS_S) for name in PLAYERS}
        tokens = {name: (await client.create_token(name)).secret for name in PLAYERS}
        tasks = [asyncio.create_task(arb.play(bot, server.address, token=tokens[name])) for name, bot in bots.items()]
        observer = Observer(server.address, server.admin_token)
        pairs = [(PLAYERS[number % 4], PLAYERS[(number + 1) % 4]) for number in range(MATCHES)]
        made = [(await client.create_match(GAME, pair, time_control="5m+1s")).match_id for pair in pairs]
        await observer.moves(MOVES)
        await kill_a_server(server, observer)
        await kill_the_database(server, observer)
        assert await asyncio.to_thread(server.stop) == 0
        await asyncio.to_thread(server.start)
        await observer.moves(MOVES)
        for bot in bots.values():
            bot.tired = True
        await observer.until(lambda: observer.kinds["ended"] == MATCHES)
        await check(client, made)
        for task in (*tasks, observer.task):
            task.cancel()
        for task in (*tasks, observer.task):
            with suppress(asyncio.CancelledError):
                await task


async def kill_a_server(server: Server, observer: Observer) -> None:
    """Kill a server on which players are: they go on at the other one, and another one takes its place."""
    killed = max(servers(server), key=sockets)
    os.kill(killed, signal.SIGKILL)
    await observer.moves(MOVES)
    await asyncio.to_thread(until, lambda: len(servers(server)) == 2 and killed not in servers(server))
    log = server.log
    await asyncio.to_thread(until, lambda: '"event": "process_started"' in log.read_text())
    await observer.moves(MOVES)


async def kill_the_database(server: Server, observer: Observer) -> None:
    assert server.process is not None
    (database,) = [number for number, line in children(server.process.pid).items() if "/postgres " in line]
    os.kill(database, signal.SIGKILL)
    await observer.moves(MOVES)


@pytest.mark.toolchain
@pytest.mark.timeout(4 * WAIT_S)
async def test_the_process_that_has_the_page_alone_is_killed_and_no_player_notices(
    own_postgres: None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, most in ("STALL_MS", PATIENT_MS), ("SERVER_SILENCE_MS", SILENCE_MS):
        monkeypatch.setenv(f"ARBITER_LIMITS__{limit}", str(most))
    file = folder / "arbiter.toml"
    file.write_text(f'web = "127.0.0.1:{free_port()}"\nweb_process = true\npostgres = "{folder}/pg"\n')
    server = Server(folder, free_port(), store=None, options=("--config", str(file), "--bot", "random"))
    await asyncio.to_thread(server.start)
    try:
        async with chromium() as browser:
            await play_beside_the_page(server, await browser.new_page(base_url=server.page))
        os.kill(max(servers(server), key=niceness), signal.SIGSTOP)  # visitors may keep it busy
        assert await asyncio.to_thread(server.stop) == 0
        ends = [line for line in server.log.read_text().splitlines() if '"event": "stopped"' in line]
        assert ['"server": 1' in line for line in ends] == [True], "the page was killed"
    except BaseException:
        print(server.log.read_text())
        server.kill()
        raise


async def play_beside_the_page(server: Server, page: Page) -> None:
    """Let two bots play while a person plays another bot at the page, whose process is killed."""
    async with arb.Client(server.address, token=server.admin_token, patience_s=WAIT_S) as client:
        tokens = {name: (await client.create_token(name)).secret for name in PLAYERS[:2]}
        playing = [
            asyncio.create_task(arb.play(Slow(THINKS_S), server.address, token=token)) for token in tokens.values()
        ]
        match_id = (await client.create_match(GAME, PLAYERS[:2], time_control="5m+1s")).match_id
        observer = Observer(server.address, server.admin_token)
        await observer.moves(MOVES)
        await challenge(page, "walter", "random", "hop-it")
        await play_last_move(page, registry.game("hop-it"))
        players, killed = sorted(servers(server), key=niceness)
        assert niceness(killed) == niceness(players) + PAGE_NICE
        os.kill(killed, signal.SIGKILL)
        await expect(page.locator(".lost")).to_contain_text("The connection is lost")
        await observer.moves(MOVES)
        await expect(page.locator(".lost")).to_have_count(0)
        await play_last_move(page, registry.game("hop-it"))
        assert len(servers(server)) == 2
        assert set(servers(server)) & {players, killed} == {players}
        kinds = [event["kind"] for event in events_of(await client.transcript(match_id))]
        assert kinds.count("arrived") == 2
        assert not {"interrupted", "left"} & {*kinds}
        for task in (*playing, observer.task):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def servers(server: Server) -> dict[int, str]:
    """Return the processes of the servers."""
    assert server.process is not None
    return {number: line for number, line in children(server.process.pid).items() if "serve_process" in line}


def niceness(process: int) -> int:
    """Return the niceness of a process: the page's is greater. Its number need not be: they begin again at the end."""
    return os.getpriority(os.PRIO_PROCESS, process)


def sockets(process: int) -> int:
    """Return how many sockets a process has open: the more, the more clients."""
    return sum(entry.readlink().name.startswith("socket:") for entry in Path(f"/proc/{process}/fd").iterdir())


async def check(client: arb.Client, made: list[str]) -> None:
    """Hold that no move is lost or there twice, and that nobody was charged for what was killed."""
    info = await client.server_info()
    keys = checking([PublicKey(key.key_id, key.key, key.valid_from_ms) for key in info.public_keys], holds)
    kinds: set[tuple[str, str]] = set()
    for match_id in made:
        text = await client.transcript(match_id)
        transcript.verify(text, keys)
        events = events_of(text)
        assert events[-1]["reason"] not in ENDS_OF_AN_OUTAGE
        plies = [event["ply"] for event in events if event["kind"] == "moved"]
        assert plies == list(range(len(plies)))
        kinds |= {(event["kind"], event.get("reason", "")) for event in events}
    assert {("interrupted", "drain"), ("interrupted", "restart")} <= kinds


def test_what_keeps_several_processes_from_starting_is_said_in_one_line(
    own_postgres: None, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refused(*options: str, listen: str = "127.0.0.1:0") -> str:
        """Run `arbiter serve` with options with which it can't start; return what it says."""
        code = run(("serve", "--processes", "2", "--listen", listen, *options))
        out, err = capfd.readouterr()
        assert (code, out, err.count("\n")) == (2, "", 1), err
        return err

    monkeypatch.chdir(folder)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert f"can't listen on {address} (listen)" in refused(listen=address)
    assert "can't share an SQLite file" in refused("--store", "sqlite:///arbiter.db")
    store = "postgresql://arbiter@/arbiter?host=/nowhere"
    assert "/nowhere" in refused("--store", store)
    monkeypatch.setenv("ARBITER_POSTGRES_PROGRAMS", str(folder))
    assert "PostgreSQL's programs (initdb, postgres) are not in" in refused()
    assert not list(folder.iterdir())


def test_without_servers_it_runs_for_commands_that_need_the_store_alone(
    arbiter: Arbiter, own_postgres: None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doctor() -> str:
        ran = arbiter("doctor")
        assert ran.code == 0, ran.err
        return ran.out

    monkeypatch.chdir(folder)
    monkeypatch.setenv("ARBITER_POSTGRES", "pg")
    assert "is not made yet\tthe first start makes it" in doctor()
    with subprocess.Popen([BIN / "arbiter", "store", "postgres"], text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == (
            f"PostgreSQL runs: --store 'postgresql://arbiter@/arbiter?host={folder}/pg' "
            f"--keys {folder}/pg.keys. Ctrl-C stops.\n"
        )
        said = doctor()
        assert f"in {folder}/pg runs" in said
        assert "is empty\tthe first start makes it" in said
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "Stopped.\n"
        assert process.wait(WAIT_S) == 0
    assert "does not run now" in doctor()


class TestOwnPostgres:
    @pytest.fixture(autouse=True)
    def programs(self, cluster: Cluster) -> Path:
        return cluster.programs

    def test_root_needs_another_user_for_it(
        self, folder: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        for user, said in (
            ("", "PostgreSQL does not run as root"),
            ("root", "'root' is root"),
            ("nix", "no user 'nix'"),
        ):
            with pytest.raises(OperatorError, match=said):
                OwnPostgres(folder, programs, user)

    def test_a_path_that_is_too_long_for_a_socket(self, folder: Path, programs: Path) -> None:
        with pytest.raises(OperatorError, match="too long for the socket of a PostgreSQL"):
            OwnPostgres(folder / (LONGEST_SOCKET * "x"), programs, "nobody")

    def test_a_database_of_another_version(self, folder: Path, programs: Path) -> None:
        version = OwnPostgres(folder, programs, "nobody").version
        (folder / "data").mkdir()
        (folder / "data" / "PG_VERSION").write_text(f"{version + 1}\n")
        with pytest.raises(OperatorError, match=f"is of PostgreSQL {version + 1}, .* is only {version}: install"):
            OwnPostgres(folder, programs, "nobody")

    def test_a_file_of_its_process_that_is_not_written_yet_says_nothing(self, folder: Path, programs: Path) -> None:
        (folder / "data").mkdir()
        postgres = OwnPostgres(folder, programs, "nobody")
        for text in ("", "\n", "12", "999999999\n"):
            (folder / "data" / "postmaster.pid").write_text(text)
            assert not postgres.is_ready
            assert not postgres.runs

    def test_one_process_at_a_time_uses_a_folder_and_a_broken_one_says_why(self, folder: Path, programs: Path) -> None:
        postgres = OwnPostgres(folder / "pg", programs, "nobody")
        with postgres.held():
            assert postgres.exists
            with pytest.raises(OperatorError, match="another arbiter runs the PostgreSQL in"), postgres.held():
                pass
        (folder / "pg" / "data" / "postgresql.conf").write_text("colour = red\n")
        with pytest.raises(OperatorError, match=r"does not start: .*postgresql\.conf"), running(postgres):
            pass
