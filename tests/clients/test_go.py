"""The Go client's own tests: format, vet, generated code, and its tests on scripted servers and a real arbiter."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.clients.packages import block, meet, shell, unpack
from tests.clients.table import check
from tests.clients.toolchains import CLIENTS, require, run

GO = CLIENTS / "go"
OF_GRPC = {
    *("google.golang.org/genproto/googleapis/rpc", "golang.org/x/sys", "golang.org/x/net", "golang.org/x/text"),
}  #: what gRPC itself needs
WHY = "the Go client is built by one, its tests' certificates by the other"


@pytest.mark.timeout(3_600)
def test_the_go_client(forked: dict[str, str]) -> None:
    require("go", "openssl", "cc", why=f"{WHY}; the detector of data races is linked by a C compiler")
    assert run("go", ["gofmt", "-l", "."]) == ""
    run("go", ["go", "vet", "./..."])
    said = run("go", ["go", "test", "-race", "-json", "-count=1", "-timeout=40m", "./..."], forked)
    run("go", ["go", "test", "-count=1", "./internal/systems"], {"GOGC": "400"})
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    passed = sum(event["Action"] == "pass" and "Test" in event for event in events)
    assert passed > 0, said
    print(f"{passed} tests ran")


@pytest.mark.timeout(3_600)
def test_its_generated_code_is_fresh(tmp_path: Path) -> None:
    require("go", "openssl", why=WHY)
    run("go", [sys.executable, "generate.py", str(tmp_path)])
    made = {path.name: path.read_text() for path in tmp_path.glob("*.go")}
    kept = {path.name: path.read_text() for path in (GO / "arbiterpb").glob("*.go")}
    assert made
    assert made == kept, "run `go generate` in clients/go and commit the result"


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_another_module_builds_it_from_an_archive_as_its_readme_says(tmp_path: Path) -> None:
    require("go", "git", why="a bot is built with the Go client from an archive of the tree")
    unpack(tmp_path, "clients/go")
    shell(block("go", "sh", "go get"), tmp_path)
    folder = tmp_path / "my-bot"
    (folder / "main.go").write_text(block("go", "go", "arbiter.Main("))
    (folder / "watch").mkdir()
    (folder / "watch" / "main.go").write_text(block("go", "go", "arbiter.NewClient("))
    shell(block("go", "sh", "go build"), folder)
    assert "protoc" not in (folder / "go.mod").read_text(), "users of the client do not need the code generators"
    meet(block("go", "sh", "arbiter serve"), folder, block("go", "sh", "MATCH"))


def test_its_users_need_go_1_24_and_few_modules() -> None:
    ours = (GO / "go.mod").read_text()
    assert re.search(r"^go 1\.24", ours, re.MULTILINE), "Go 1.24 is enough: `go vet` reports newer features"
    needed = set(re.findall(r"^\t(\S+) v", ours, re.MULTILINE))
    assert needed == {"google.golang.org/grpc", "google.golang.org/protobuf", *OF_GRPC}


def test_a_bot_has_code_of_the_modules_that_the_readme_names() -> None:
    require("go", why=WHY)
    listed = run("go", ["go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./samples/first_move"])
    ours, *others = sorted(set(listed.split()))
    assert ours.startswith("github.com/game-arbiter/")
    assert set(others) == {"google.golang.org/grpc", "google.golang.org/protobuf", *OF_GRPC}
    graph = run("go", ["go", "list", "-m", "all"]).splitlines()
    page = (GO / "README.md").read_text(encoding="utf-8")
    assert f"`go mod graph` names {len(graph) - 1 - len(others)} more" in page


def test_its_readme_shows_the_sample() -> None:
    sample = (GO / "samples" / "first_move" / "main.go").read_text()
    assert len(sample.splitlines()) <= 40
    assert block("go", "go", "arbiter.Main(") == sample[sample.index("package main") :]


@pytest.mark.timeout(3_600)
def test_its_bot_passes_its_part_of_the_clauses() -> None:
    check("go", whole=False)


@pytest.mark.soak
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("go", whole=True)
