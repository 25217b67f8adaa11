"""Bots as processes: in a sandbox they reach the arbiter alone, and none outlives the process that started it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from arbiter.errors import OperatorError
from arbiter.runtime.loopback import HOST, free_port
from arbiter.sandbox import bubblewrap as sandboxes
from arbiter.sandbox import visible
from arbiter.sandbox.bot_process import BotProcess, environment
from arbiter.sandbox.bubblewrap import MOST_WORDS, Program, Sandbox
from tests.processes import descendants, wait_for_end

pytestmark = pytest.mark.long

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")


def sandbox(hidden: tuple[Path, ...] = ()) -> Sandbox:
    found = sandboxes.find(hidden=hidden)
    assert isinstance(found, Sandbox), found
    return found


def python(script: str, folder: Path, **more: str) -> Program:
    """Return a program in Python that sees only the standard library."""
    return Program((sys.executable, "-I", "-S", "-c", script), folder, more)


@asynccontextmanager
async def host(answer: bytes) -> AsyncIterator[int]:
    """Listen on the loopback as an arbiter does: answer a line with itself and `answer`. Yields the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline() + answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def said(program: Program, port: int, within: Sandbox | None) -> str:
    """Run a bot to its end; return its output."""
    bot = await BotProcess.start(program, HOST, port, within)
    written = await bot.output.read()
    assert await bot.wait() == 0, written.decode()
    return written.decode()


@pytest.mark.parametrize("sandboxed", [pytest.param(True, marks=needs_bwrap), False])
async def test_a_bot_and_what_it_starts_run_on_the_cores_that_it_is_given(sandboxed: bool, tmp_path: Path) -> None:
    core = max(os.sched_getaffinity(0))
    script = "import os, subprocess\nprint(os.sched_getaffinity(0), flush=True)\nsubprocess.run(['nproc'])"
    within = sandbox() if sandboxed else None
    program = python(script, tmp_path, PATH=os.defpath)
    assert await said(program._replace(cores=frozenset({core})), free_port(), within) == f"{{{core}}}\n1\n"
    assert f"{os.sched_getaffinity(0)}" in await said(program, free_port(), within)


@needs_bwrap
async def test_in_a_sandbox_a_bot_reaches_the_arbiter_and_nothing_else(tmp_path: Path) -> None:
    script = f"""
import socket
with socket.create_connection(("{HOST}", {{0}})) as there:
    there.sendall(b"hello\\n")
    heard = b""
    while piece := there.recv(100):
        heard += piece
    print(heard.decode())
for port in ({{1}}, 1):
    try:
        socket.create_connection(("{HOST}", port))
    except OSError as error:
        print(type(error).__name__)
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as error:
    print(type(error).__name__, error.strerror)
"""
    async with host(b"welcome") as port, host(b"") as another:
        heard = await said(python(script.format(port, another), tmp_path), port, sandbox())
    assert heard.splitlines() == [
        *("hello", "welcome", "ConnectionRefusedError", "ConnectionRefusedError"),
        "OSError Network is unreachable",
    ]


@needs_bwrap
async def test_a_hidden_file_stays_hidden_when_it_is_replaced_or_made_while_the_bot_runs(tmp_path: Path) -> None:
    for name, text in (("arbiter.keys", "secret"), ("book.txt", "book"), ("kept/arbiter.keys", "not at the top")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "link").symlink_to("book.txt")

    async def replace(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        (tmp_path / "fresh").write_text("secret")
        (tmp_path / "fresh").replace(tmp_path / "arbiter.keys")
        (tmp_path / "arbiter.db-wal").write_text("secret")
        writer.close()

    script = """
import os, pathlib, socket, sys
def look():
    files = sorted(path for path in pathlib.Path().rglob("*") if path.is_file())
    print({str(path): path.read_text() for path in files}, flush=True)
look()
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as there:
    there.sendall(b"replace it\\n")
    there.recv(1)
look()
"""
    async with await asyncio.start_server(replace, HOST, 0) as server:
        port = server.sockets[0].getsockname()[1]
        program = python(script, tmp_path)
        program = program._replace(command=(*program.command, HOST, str(port)))
        first, second = (await said(program, port, sandbox())).splitlines()
    visible_files = {"book.txt": "book", "kept/arbiter.keys": "not at the top", "link": "book"}
    assert first == second == str(visible_files)


@needs_bwrap
async def test_a_file_is_hidden_in_a_folder_with_more_entries_than_are_shown_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "arbiter.keys").write_text("secret")
    for number in range(MOST_WORDS // 3):
        (tmp_path / f"book-{number}").touch()
    script = """
import os
print(len(os.listdir()))
try:
    print(open("arbiter.keys").read())
except OSError as error:
    print(error.strerror)
"""
    seen = await said(python(script, tmp_path), free_port(), sandbox())
    assert seen.split("\n") == [str(MOST_WORDS // 3 + 1), "Permission denied", ""]


async def test_without_a_sandbox_a_bot_reaches_its_arbiter_too(tmp_path: Path) -> None:
    script = "import os, socket; print(os.getcwd(), os.environ['LEVEL'], os.environ.get('SECRET'))"
    os.environ["SECRET"] = "x"
    try:
        heard = await said(python(script, tmp_path, LEVEL="3"), 1, None)
    finally:
        del os.environ["SECRET"]
    assert heard.split() == [str(tmp_path), "3", "None"]


def test_a_bot_inherits_few_variables_and_computes_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARBITER_TOKEN", "the operator's")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    found = environment({"OMP_NUM_THREADS": "2"})
    assert found["PATH"] == os.environ["PATH"]
    assert found["OMP_NUM_THREADS"] == "2"
    assert found["OPENBLAS_NUM_THREADS"] == "1"
    assert not {"ARBITER_TOKEN", "AWS_SECRET_ACCESS_KEY"} & found.keys()


@pytest.mark.parametrize("sandboxed", [False, pytest.param(True, marks=needs_bwrap)])
async def test_a_missing_program_is_reported(tmp_path: Path, sandboxed: bool) -> None:
    bot = await BotProcess.start(
        Program(("./nobody",), tmp_path, {}), HOST, free_port(), sandbox() if sandboxed else None
    )
    assert await bot.output.read() == b"can't run ./nobody: No such file or directory\n"
    assert await bot.wait() == 127


@pytest.mark.parametrize("sandboxed", [False, pytest.param(True, marks=needs_bwrap)])
async def test_a_bot_ends_with_all_its_processes(tmp_path: Path, sandboxed: bool) -> None:
    script = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"])
print("ready", flush=True)
signal.pause()
"""
    bot = await BotProcess.start(python(script, tmp_path), HOST, free_port(), sandbox() if sandboxed else None)
    assert await bot.output.readline() == b"ready\n"
    everybody = descendants(os.getpid())
    bot.kill()
    assert await bot.wait() != 0
    for process, command in everybody.items():
        if "signal.pause" in command:
            wait_for_end(process)


@pytest.mark.parametrize("sandboxed", [False, pytest.param(True, marks=needs_bwrap)])
def test_a_bot_ends_with_its_starter_however_that_ends(tmp_path: Path, sandboxed: bool) -> None:
    script = f"""
import asyncio, pathlib, sys
from arbiter.sandbox.bot_process import BotProcess
from arbiter.sandbox.bubblewrap import Program, find

async def main():
    command = (sys.executable, "-I", "-S", "-c", "import signal; print('ready', flush=True); signal.pause()")
    sandbox = find() if {sandboxed} else None
    program = Program(command, pathlib.Path({str(tmp_path)!r}), {{}})
    bot = await BotProcess.start(program, "{HOST}", {free_port()}, sandbox)
    print((await bot.output.readline()).decode(), flush=True)
    await bot.wait()

asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "ready\n"
        everybody = descendants(starter.pid)
        assert everybody
        starter.kill()
        for process in everybody:
            wait_for_end(process)


def test_a_bot_sees_the_files_that_its_command_names(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/bot").write_text("")
    shown = visible.of_command(("/bin/sh", "bin/bot", "nobody", "x" * 10_000, "bin", "a\0b"), tmp_path, {})
    assert set(shown) == {tmp_path / "bin", tmp_path / "bin/bot"}


@needs_bwrap
async def test_a_program_is_visible_wherever_it_is(tmp_path: Path) -> None:
    program, folder = tmp_path / "elsewhere" / "bot", tmp_path / "cup"
    for place in (program.parent, folder):
        place.mkdir()
    program.write_text("#!/bin/sh\npwd\n")
    program.chmod(0o755)
    assert (await said(Program((str(program),), folder, {}), free_port(), sandbox())) == f"{folder}\n"


RUNTIMES = {
    "java": ("java", "-version"),
    "node": ("node", "-e", "console.log(require('os').cpus().length)"),
    "lua": ("lua5.4", "-e", "print(1)"),
    "sh": ("sh", "-c", "ls / | cat"),
}


@needs_bwrap
@pytest.mark.parametrize("name", [name for name, command in RUNTIMES.items() if shutil.which(command[0])])
async def test_interpreters_run_in_a_sandbox(tmp_path: Path, name: str) -> None:
    assert await said(Program(RUNTIMES[name], tmp_path, {}), free_port(), sandbox())


@needs_bwrap
async def test_a_bot_in_a_sandbox_receives_the_signal_to_end(tmp_path: Path) -> None:
    script = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("ready", flush=True)
signal.sigwait([signal.SIGTERM])
os.write(1, b"goodbye\\n")
os._exit(3)
"""
    bot = await BotProcess.start(python(script, tmp_path), HOST, free_port(), sandbox())
    assert await bot.output.readline() == b"ready\n"
    bot.terminate()
    assert await bot.output.read() == b"goodbye\n"
    assert await bot.wait() == 3


@needs_bwrap
async def test_a_bot_sees_named_files_and_ends_as_it_does_without_a_sandbox(tmp_path: Path) -> None:
    for name in ("ann", "more"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    script = f"""
import os, signal
print(open("file").read(), open("{tmp_path}/more/file").read(), flush=True)
os.kill(os.getpid(), signal.SIGABRT)
"""
    program = python(script, tmp_path / "ann")._replace(sees=(tmp_path / "more",))
    bot = await BotProcess.start(program, HOST, free_port(), sandbox())
    assert await bot.output.read() == b"ann more\n"
    assert await bot.wait() == -signal.SIGABRT


@pytest.mark.parametrize("path", ["/", "/tmp", "/proc/self", "/run/user", str(Path.home()), "/nowhere"])
def test_forbidden_paths_can_not_be_named(path: str) -> None:
    with pytest.raises(OperatorError, match=f"(there is no {path} that|{path} is too much for) a bot"):
        visible.named([Path(path)])


def test_a_home_is_never_visible_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "bot").write_text("")
    assert visible.of_folder(tmp_path) == []
    assert visible.of_command(("./bot",), tmp_path, {}) == [tmp_path / "bot"]
    (tmp_path / ".cargo/bin").mkdir(parents=True)
    (tmp_path / ".cargo/bin/bot").write_text("")
    assert tmp_path / ".cargo" not in visible.of_command((".cargo/bin/bot",), tmp_path, {})


def test_an_interpreter_is_visible_with_its_libraries(tmp_path: Path) -> None:
    for name, mark in (("node", "lib/node_modules"), ("java", "lib/modules")):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / mark).mkdir(parents=True)
        (tmp_path / name / "bin" / name).write_text("")
        shown = visible.of_command((name,), Path("/"), {"PATH": str(tmp_path / name / "bin")})
        assert shown == [] or tmp_path / name in shown
        assert tmp_path / name in visible.of_command((str(tmp_path / name / "bin" / name),), Path("/"), {})


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's bots are that user")
def test_files_that_roots_bots_can_not_read_are_reported_before_they_start(tmp_path: Path) -> None:
    secret = tmp_path / "ann"
    secret.mkdir(mode=0o700)
    with pytest.raises(OperatorError, match=f"another user, who cannot read {secret}: run `chmod -R o\\+rX {secret}`"):
        Sandbox("bwrap").job(Program(("true",), secret, {}), None)


@needs_bwrap
@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's bots are that user")
async def test_a_script_in_a_folder_that_only_root_may_enter_is_visible_alone(tmp_path: Path) -> None:
    folder, script = tmp_path / "root", tmp_path / "root" / "bot.py"
    folder.mkdir(mode=0o700)
    script.write_text("import os; print(sorted(os.listdir(os.path.dirname(__file__))))")
    (folder / "other").write_text("secret")
    program = Program((sys.executable, "-I", "-S", str(script)), tmp_path / "elsewhere", {})
    program.folder.mkdir()
    assert await said(program, free_port(), sandbox()) == "['bot.py']\n"
    script.chmod(0o600)
    with pytest.raises(OperatorError, match=f"another user, who cannot read {script}: run `chmod -R o\\+rX {script}`"):
        sandbox().job(program, None)


def test_the_reason_why_there_is_no_sandbox_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert sandboxes.find() == "there is no bwrap (package bubblewrap)"
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    assert sandboxes.find() == f"{broken} does not work here (No permissions to create a new namespace)"
