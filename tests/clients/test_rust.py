"""The Rust client's own tests: format, lints, and its tests on scripted servers and a real arbiter."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

from tests.clients.packages import TREE, block, meet, shell, unpack
from tests.clients.table import check
from tests.clients.toolchains import CLIENTS, LINTED, kept, mirror_tree, require, run

FOLDER = CLIENTS / "rust"


@pytest.mark.timeout(3_600)
def test_the_rust_client(forked: dict[str, str]) -> None:
    require("cargo", "openssl", why="the Rust client is built by one, its tests' certificates by the other")
    run("rust", ["cargo", "fmt", "--check"])
    said = run("rust", ["cargo", "test", "--locked"], {**LINTED, **forked})
    passed = sum(int(count) for count in re.findall(r"^test result: ok\. (\d+) passed; 0 failed", said, re.MULTILINE))
    assert passed > 0, said
    print(f"{passed} tests ran")


def test_only_what_has_changed_is_copied_to_where_clones_build(tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    sources, built = mirror / "clients" / "rust" / "src", mirror / "clients" / "rust" / "target" / "built"
    for name, text in (("one", "1"), ("other", "2")):
        ours = tmp_path / name / "clients" / "rust" / "src"
        ours.mkdir(parents=True)
        (tmp_path / name / "protos").mkdir()
        for file, content in (("lib.rs", "the same"), ("session.rs", text), (f"{name}.rs", "")):
            (ours / file).write_text(content)
        mirror_tree(tmp_path / name, "rust", mirror)
        if name == "one":
            built.parent.mkdir()
            built.touch()
            for copy in sources.iterdir():
                os.utime(copy, (0, 0))
    assert {file.name: file.stat().st_mtime > 0 for file in sources.iterdir()} == {
        "lib.rs": False,
        "session.rs": True,
        "other.rs": True,
    }
    assert (sources / "session.rs").read_text() == "2"
    assert built.exists()
    assert (mirror / "clients" / "vectors").readlink() == tmp_path / "other" / "clients" / "vectors"


def test_its_generated_code_is_of_this_protocol() -> None:
    protos = sorted((CLIENTS.parent / "protos" / "arbiter" / "v1").glob("*.proto"))
    sources = (*protos, FOLDER / "tools" / "Cargo.lock", FOLDER / "tools" / "src" / "main.rs")
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()
    noted = (FOLDER / "tools" / "made_from.sha256").read_text().split()[0]
    assert digest == noted, "run `make gen` and commit the result"


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_its_generated_code_is_fresh(tmp_path: Path) -> None:
    require("cargo", why="the protocol's Rust code is made by a program in Rust")
    run("rust", ["cargo", "run", "--quiet", "--locked", "--manifest-path", "tools/Cargo.toml", "--", str(tmp_path)])
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text() for path in (FOLDER / "src" / "generated").iterdir()}
    assert made
    assert made == kept, "run `make gen` and commit the result"


@pytest.mark.parametrize(("features", "count"), [((), 77), (("--no-default-features", "--features", "cli"), 62)])
def test_a_bot_compiles_as_many_crates_as_the_readme_says(features: tuple[str, ...], count: int) -> None:
    require("cargo", why="the crates of the Rust client are counted")
    tree = ["cargo", "tree", "--locked", "--edges", "normal,build", "--prefix", "none", "--no-dedupe"]
    crates = set(run("rust", [*tree, *features, "--target", "x86_64-unknown-linux-gnu"]).splitlines())
    assert len(crates) == count, sorted(crates)
    assert f"{count} " in (FOLDER / "README.md").read_text(encoding="utf-8")
    assert not any(crate.startswith(("protox ", "prost-build ", "openssl ", "native-tls ")) for crate in crates)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("features", ["", "cli"])
def test_it_builds_without_its_optional_features(features: str) -> None:
    require("cargo", why="the Rust client is built by it")
    run("rust", ["cargo", "build", "--lib", "--locked", "--no-default-features", "--features", features], LINTED)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_its_package_builds_by_itself_and_a_bot_with_it_as_its_readme_says(tmp_path: Path) -> None:
    require("cargo", "git", why="the package of the Rust client is made from an archive of the tree")
    ours = unpack(tmp_path, "clients/rust") / "clients" / "rust"
    # The client's tests have compiled its dependencies with that profile.
    built = {**kept(), "CARGO_PROFILE_DEV_DEBUG": "0"}
    shell("cargo package --locked --no-verify --quiet", ours, built)
    package = tmp_path / "package.crate"
    shutil.move(next((ours / "target" / "package").glob("game-arbiter-client-*.crate")), package)
    shutil.rmtree(tmp_path / TREE)  # only the package is left from here on
    ours.mkdir(parents=True)
    shell(f"tar -xzf {package} --strip-components 1 -C {ours}", tmp_path)
    shell(block("rust", "sh", "cargo add"), tmp_path)
    folder = tmp_path / "my-bot"
    shutil.copy(ours / "Cargo.lock", folder)
    # The same features and versions as in the client's own tests, so that little is compiled again.
    used = tomllib.loads((FOLDER / "Cargo.toml").read_text())["dev-dependencies"]
    shell("".join(f"cargo add --quiet --offline {added(name, wants)}\n" for name, wants in used.items()), folder)
    (folder / "src" / "main.rs").write_text(block("rust", "rust", "cli::main("))
    (folder / "src" / "bin").mkdir()
    (folder / "src" / "bin" / "watch.rs").write_text(block("rust", "rust", "Client::new("))
    using = block("rust", "rust", "fn wins(") + "fn main() {\n    let _ = wins;\n}\n"
    (folder / "src" / "bin" / "wins.rs").write_text(using)
    shell(block("rust", "sh", "cargo build"), folder, built)
    meet(block("rust", "sh", "arbiter serve"), folder, block("rust", "sh", "MATCH"), built)


def added(name: str, wants: str | dict[str, Any]) -> str:
    """Return the arguments of `cargo add` for an entry of Cargo.toml."""
    if isinstance(wants, str):
        return f"{name}@{wants}"
    words = ["--no-default-features"] * (not wants.get("default-features", True))
    return " ".join([f"{name}@{wants['version']}", *words, "--features", ",".join(wants["features"])])


def test_its_readme_shows_the_sample() -> None:
    sample = (FOLDER / "samples" / "first_move.rs").read_text()
    assert len(sample.splitlines()) <= 40
    assert block("rust", "rust", "cli::main(").partition("use ")[2] == sample.partition("use ")[2]


def test_its_modules_do_not_import_each_other_in_a_cycle() -> None:
    source = CLIENTS / "rust" / "src"
    uses: dict[str, set[str]] = {}
    for file in sorted(source.rglob("*.rs")):
        module = file.relative_to(source).parts[0].removesuffix(".rs")
        code = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
        uses.setdefault(module, set()).update(re.findall(r"\bcrate::([a-z]\w*)", code))
    del uses["lib"]  # declares them all
    assert "runner" in uses["playing"]
    for module, used in uses.items():
        used.discard(module)
    tuple(TopologicalSorter(uses).static_order())  # raises CycleError, which names the cycle


@pytest.mark.timeout(3_600)
def test_its_bot_passes_its_part_of_the_clauses() -> None:
    check("rust", whole=False)


@pytest.mark.soak
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("rust", whole=True)
