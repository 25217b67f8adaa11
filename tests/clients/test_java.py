"""The Java client's own build: compiler warnings, and its tests on scripted servers and a real arbiter."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.clients.languages import mark_built
from tests.clients.packages import TREE, block, meet, shell, unpack
from tests.clients.table import check
from tests.clients.toolchains import CLIENTS, require, run

FOLDER = CLIENTS / "java"
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  #: the second compiler does not pay for short processes


@pytest.mark.timeout(3_600)
def test_the_java_client(forked: dict[str, str]) -> None:
    require("java", "mvn", "openssl", why="the Java client is built by them, its tests' certificates by openssl")
    said = run("java", ["mvn", "-B", "--no-transfer-progress", "-Pstrict", "package"], forked)
    mark_built("java")
    totals = re.findall(r"^\[\w+\] Tests run: (\d+), Failures: 0, Errors: 0, Skipped: 0\s*$", said, re.MULTILINE)
    assert totals, said
    assert int(totals[-1]) > 0, said
    print(f"{totals[-1]} tests ran")
    assert {"arbiter/client/Bot.class", "arbiter/v1/Match.class"} <= contents("game-arbiter-client.jar")
    assert "FirstMove.class" not in contents("game-arbiter-client.jar")


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_a_release_has_jars_of_sources_and_of_documentation() -> None:
    require("java", "mvn", why="the Java client is built by them")
    run("java", ["mvn", "-B", "--no-transfer-progress", "-Pstrict,release", "-DskipTests", "package"])
    assert {"arbiter/client/Bot.java", "arbiter/v1/Match.java"} <= contents("game-arbiter-client-sources.jar")
    assert any(name.endswith("arbiter/client/Bot.html") for name in contents("game-arbiter-client-javadoc.jar"))


def test_no_warning_is_an_error_in_a_build_of_somebody_who_writes_a_bot() -> None:
    build, _, profiles = (FOLDER / "pom.xml").read_text(encoding="utf-8").partition("<profiles>")
    assert "-Werror" not in build
    assert "<activation>" not in profiles, "a profile is there only for those who name it"
    assert "<id>strict</id>" in profiles.partition("-Werror")[0]


def contents(jar: str) -> set[str]:
    """Return the names of the files in a jar that the build made."""
    with ZipFile(FOLDER / "target" / jar) as file:
        return set(file.namelist())


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_another_project_builds_it_from_an_archive_as_its_readme_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("java", "mvn", "git", why="a bot is built with the Java client from an archive of the tree")
    unpack(tmp_path, "clients/java", "protos")
    monkeypatch.setenv("MAVEN_OPTS", f"-Dmaven.repo.local={repository(tmp_path / 'repository')}")
    monkeypatch.setenv("JDK_JAVA_OPTIONS", BRIEF)
    shell(block("java", "sh", " install)"), tmp_path)
    shutil.rmtree(tmp_path / TREE)  # the installed client needs no file of the tree
    folder = tmp_path / "my-bot"
    (folder / "pom.xml").write_text(block("java", "xml", "com.example"))
    for name in ("FirstMove", "Watch", "Leaders"):
        (folder / "src" / "main" / "java" / f"{name}.java").write_text(block("java", "java", f"class {name} "))
    shell(block("java", "sh", "mvn -B -q package"), folder)
    meet(block("java", "sh", "arbiter serve"), folder, block("java", "sh", "MATCH"))


def repository(folder: Path) -> Path:
    """Make a local Maven repository with everything of the user's except our own packages; return its folder.

    Maven's downloads go into the user's repository, to which it links, so that they are downloaded once.
    """
    (folder / "io/github/game-arbiter").mkdir(parents=True)
    kept = Path.home() / ".m2" / "repository"
    for place in ("io/github", "io", "."):
        for entry in (kept / place).glob("*"):
            if not (folder / place / entry.name).exists():
                (folder / place / entry.name).symlink_to(entry)
    return folder


def test_its_readme_shows_the_sample() -> None:
    sample = (FOLDER / "samples" / "FirstMove.java").read_text()
    assert len(sample.splitlines()) <= 40
    assert block("java", "java", "class FirstMove ") == sample


@pytest.mark.timeout(3_600)
def test_its_bot_passes_its_part_of_the_clauses() -> None:
    check("java", whole=False)


@pytest.mark.soak
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("java", whole=True)
