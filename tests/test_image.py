"""The image of `deploy/Dockerfile`: built as its page says, started as its user starts it, and used for a match.

The servers of `deploy/compose.yaml` are started from it too.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fcntl import LOCK_EX, flock
from hashlib import sha256
from pathlib import Path
from signal import SIGTERM
from typing import Any

import arbiter_client as arb
import pytest
import yaml
from sqlalchemy.engine import make_url

from arbiter.config import load
from arbiter.runtime.loopback import free_port
from tests.bus.nats import Nats
from tests.e2e.processes import Server
from tests.processes import descendants, until
from tests.store.postgres import Cluster
from tests.test_observability import alerts, health, prometheus, value, wait

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "arbiter-tests", "images")
BUILDAH = ("buildah", "--root", str(CACHE / "store"), "--runroot", str(CACHE / "run"))
BASE = "localhost/debian"  #: used instead of the image in the registry
CERTIFICATES = Path("etc/ssl/certs/ca-certificates.crt")
USER = 7400
STAGES = ("libraries", "runtime")  #: of the Dockerfile: below our own code
STAGES_OF = ("pyproject.toml", "uv.lock", "*/*/pyproject.toml", "deploy/Dockerfile")  #: what they are built from
MOST_MIB = 600  #: 360 of them are libraries, half of these numpy and scipy


def buildah(command: str, *words: str | Path) -> str:
    """Run a command of buildah that must succeed; return its output."""
    run = subprocess.run([*BUILDAH, command, *words], capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == 0, f"buildah {command}: {run.stdout[-2000:]}{run.stderr[-2000:]}"
    return run.stdout.strip()


def make_base(folder: Path) -> None:
    """Make the image of a small Debian from its packages; it trusts the certificates that this machine trusts."""
    subprocess.run(
        ["debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", folder], check=True, stdout=-3
    )
    shutil.copy(Path("/") / CERTIFICATES, folder / CERTIFICATES)
    container = buildah("from", "scratch")
    buildah("add", "--quiet", container, folder, "/")
    buildah("commit", "--quiet", "--rm", container, BASE)


@pytest.fixture(scope="module", params=["", pytest.param("1", marks=pytest.mark.soak)], ids=["plain", "compiled"])
def compiled(request: pytest.FixtureRequest) -> str:
    """Return the build argument COMPILED: compiled modules take minutes."""
    return str(request.param)


@pytest.fixture(scope="module")
def container(compiled: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield a container of the image; the stages below our own code are kept for the next time.

    buildah would read all their files again to know that nothing has changed: that takes most of its time.
    """
    missing = [program for program in ("buildah", "debootstrap") if shutil.which(program) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"to build an image takes root, buildah and debootstrap; missing: {', '.join(missing) or 'root'}")
    CACHE.mkdir(parents=True, exist_ok=True)
    arguments = ("--build-arg", f"BASE={BASE}", "--build-arg", f"COMPILED={compiled}")
    build = ("bud", "--isolation", "chroot", *arguments, "--file", DOCKERFILE)
    files = sorted(path for pattern in STAGES_OF for path in ROOT.glob(pattern))
    wanted, made_of = sha256(b"".join(path.read_bytes() for path in files)).hexdigest(), CACHE / "stages"
    with (CACHE / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        buildah("rm", "--all")  # those of a run that was killed
        if not buildah("images", "--quiet", "--filter", f"reference={BASE}"):
            make_base(tmp_path_factory.mktemp("base"))
            made_of.unlink(missing_ok=True)
        if not made_of.exists() or made_of.read_text() != wanted:
            for stage in STAGES:
                buildah(*build, "--layers", "--target", stage, "--tag", f"localhost/{stage}", ROOT)
            made_of.write_text(wanted)
        kept = [f"--build-context={stage}=container-image://localhost/{stage}" for stage in STAGES]
        buildah(*build, *kept, "--tag", "localhost/arbiter", ROOT)
        made = buildah("from", "localhost/arbiter")
        yield made
        buildah("rm", made)
        buildah("rmi", "localhost/arbiter")
        buildah("rmi", "--prune", "--force")


def play_a_match(*servers: Server) -> None:
    """Let two new players play a match, each move at the next server, until the last server knows its result.

    With a target of a singleton eaten by a pair, three moves are a whole game.
    """
    at = itertools.cycle(servers)
    with servers[0].client() as organiser:
        tokens = {name: organiser.register_player(name).token for name in ("anna", "ben")}
        match = organiser.create_match(
            "circle-of-life(target=1)", tuple(tokens), time_control="5m", start=arb.StartRule.AT_ONCE
        )
        for ply, (name, move) in enumerate((("anna", "e5"), ("ben", "e7"), ("anna", "e6"))):
            with arb.BlockingClient(next(at).address, token=tokens[name]) as player:
                until(lambda player=player, ply=ply: player.get_match(match.match_id).ply == ply)  # type: ignore[misc]
                player.submit_move(match.match_id, ply, move)
    with arb.BlockingClient(servers[-1].address, token=servers[0].admin_token) as looking:
        until(lambda: looking.get_match(match.match_id).result is not None)


def stop(server: Server) -> None:
    """Stop a server in a container, as an operator does."""
    assert server.process is not None
    inside = descendants(server.process.pid).items()
    os.kill(next(number for number, line in inside if line.startswith("/opt/arbiter/bin/")), SIGTERM)
    assert server.ended() == 0  # buildah passes the signal on


@pytest.mark.toolchain
def test_the_image_has_nothing_of_what_built_it(container: str) -> None:
    """No compiler, no uv, no cache of packages, no tests of libraries: so it is small."""
    root = Path(buildah("mount", container))
    size = subprocess.run(["du", "-xsm", root], check=True, capture_output=True, text=True).stdout.split()[0]
    print(f"The image has {size} MiB.")
    assert int(size) <= MOST_MIB
    for left in ("usr/bin/gcc", "opt/uv", "source", "var/lib/apt/lists/*", "opt/arbiter/**/site-packages/*/tests"):
        assert list(root.glob(left)) == []


@pytest.mark.toolchain
def test_a_match_is_played_on_a_server_in_a_container(container: str, compiled: str, tmp_path: Path) -> None:
    config = json.loads(buildah("inspect", container))["OCIv1"]["config"]
    assert config["User"] == f"{USER}:{USER}"
    assert list(config["ExposedPorts"]) == ["7400/tcp"]
    data = tmp_path / "data"
    data.mkdir()
    os.chown(data, USER, USER)
    run = (*BUILDAH, "run", "--isolation", "chroot", "--user", config["User"], "--volume", f"{data}:/var/lib/arbiter")
    within = (*run, container, "--")
    refused = subprocess.run(
        [*within, *config["Entrypoint"], *config["Cmd"]], capture_output=True, text=True, check=False
    )
    assert refused.returncode != 0
    assert "can't read /etc/arbiter/server" in refused.stderr  # the certificate belongs to the operator
    look = "import os, arbiter.games.pods as module; print(os.getuid(), module.__file__)"
    asked = (*within, "/opt/arbiter/bin/python", "-c", look)
    python = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert re.fullmatch(rf"{USER} /opt/arbiter/.+\.{'so' if compiled else 'py'}\n", python.stdout)
    command = (*within, *config["Entrypoint"], "serve", "--no-save-token")
    server = Server(tmp_path, free_port(), store="sqlite:////var/lib/arbiter/arbiter.db", command=command)
    server.start()
    try:
        play_a_match(server)
    finally:
        stop(server)
    assert (data / "arbiter.db").stat().st_uid == USER


@contextmanager
def compose_server(
    container: str, service: dict[str, Any], sockets: Path, folder: Path, **changed: str
) -> Iterator[Server]:
    """Run a server of the compose file in a container, with its command and its environment."""
    entrypoint = json.loads(buildah("inspect", container))["OCIv1"]["config"]["Entrypoint"]
    environment = service["environment"] | changed
    options = [f"--env={name}={text}" for name, text in environment.items()]
    run = (*BUILDAH, "run", "--isolation", "chroot", "--user", f"{USER}:{USER}", f"--volume={sockets}:/run/postgresql")
    command = (*run, *options, container, "--", *entrypoint, *service["command"])
    folder.mkdir()
    server = Server(folder, free_port(), store=None, command=command)
    server.start()
    try:
        yield server
    finally:
        stop(server)


@pytest.mark.toolchain
def test_the_servers_of_the_compose_file_play_one_match(container: str, tmp_path: Path) -> None:
    """With a PostgreSQL, NATS and Prometheus of this machine, since there is no network of containers here.

    The servers run in one container, and share the volume of its image: buildah sometimes mounts that over a volume of
    ours at the same place, if there is another one of ours.
    """
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    names = [name for name in services if name.startswith("arbiter")]
    user, password = services["nats"]["command"][-3::2]
    cluster = Cluster()
    metrics = {f"{name}:9464": f"127.0.0.1:{free_port()}" for name in names}
    try:
        cluster.folder.chmod(0o711)  # for the user in the containers
        database = make_url(cluster.fresh()).database
        with ExitStack() as stack:
            nats = stack.enter_context(Nats("--user", user, "--pass", password))
            servers = [
                stack.enter_context(
                    compose_server(
                        container,
                        services[name],
                        cluster.folder,
                        tmp_path / name,
                        ARBITER_STORE=f"postgresql://arbiter@/{database}?host=/run/postgresql",
                        ARBITER_BUS=services[name]["environment"]["ARBITER_BUS"].replace("nats:4222", nats.address),
                        ARBITER_WEB=f"127.0.0.1:{free_port()}",
                        ARBITER_METRICS=shown,
                    )
                )
                for name, shown in zip(names, metrics.values(), strict=True)
            ]
            play_a_match(*servers)
            file = ROOT / "deploy" / "compose" / "prometheus.yaml"
            address = stack.enter_context(
                prometheus(tmp_path, file, {"scrape_interval: 5s": "scrape_interval: 1s", **metrics})
            )
            wait(lambda: value(address, 'sum(up{job="arbiter"})') == len(servers))
            wait(lambda: value(address, "sum(arbiter_moves_total)") == 3)
            wait(lambda: value(address, "sum(arbiter_bus_received_total)") > 0)
            wait(lambda: health(address) == dict.fromkeys(alerts(), "ok"))
    finally:
        cluster.remove()


@pytest.mark.long
def test_the_versions_in_the_image_are_those_that_the_project_pins() -> None:
    text = DOCKERFILE.read_text()
    pinned = re.search(r"^UV_VERSION := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert pinned is not None
    assert f"uv=={pinned[1]}\n" in text
    for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE):
        *sources, _ = line.split()
        assert [name for name in sources if not (ROOT / name).exists()] == []
    _, _, port = load(ROOT / "deploy" / "arbiter.toml").listen.rpartition(":")
    assert f"EXPOSE {port}\n" in text
