"""`arbiter conformance`: the clauses that it lists, its runs, its reports, and what it refuses."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.command import Arbiter

BOT = shlex.join((sys.executable, "-m", "arbiter_client.bots.random"))


def test_clauses_are_listed_with_the_sentences_that_they_quote(arbiter: Arbiter) -> None:
    ran = arbiter("conformance", "--list", "--only", "hello.*")
    assert ran.code == 0
    heading, *rows = ran.out.splitlines()
    assert heading.split("\t") == ["clause", "the bot", "the contract", "where"]
    assert rows[0].split("\t")[0] == "hello.first"
    assert all(row.startswith("hello.") for row in rows)
    assert "The bot's first message is its hello." in rows[0]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_run_plays_a_bot_and_writes_reports(arbiter: Arbiter, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"report.{kind}" for kind in ("html", "json", "junit")}
    options = [word for kind, file in files.items() for word in (f"--{kind}", str(file))]
    ran = arbiter("conformance", "--bot", BOT, "--only", "hello.first", "--only", "games.opening", *options)
    assert ran.code == 0, ran.out
    assert "random 1 (arbiter-client-python 0.1.0): 2 passed" in ran.out
    found = json.loads(files["json"].read_text())
    assert [(item["id"], item["verdict"]) for item in found["clauses"]] == [
        ("hello.first", "passed"),
        ("games.opening", "passed"),
    ]
    assert all(file.stat().st_size for file in files.values())


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_known_failure_must_fail(arbiter: Arbiter, tmp_path: Path) -> None:
    known = tmp_path / "known.toml"
    known.write_text('"hello.first" = "not yet"\n')
    ran = arbiter("conformance", "--bot", BOT, "--only", "hello.first", "--known-failing", str(known))
    assert ran.code == 1
    assert "take it off the list" in ran.out


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_bot_that_does_not_connect_fails(arbiter: Arbiter) -> None:
    ran = arbiter("conformance", "--bot", f"{sys.executable} -c 'print(5)'", "--only", "hello.first")
    assert ran.code == 1
    assert "the bot has ended, with exit status 0" in ran.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "which bot?"),
        (("--bot", "'"), "is no command"),
        (("--bot", "/no/such/bot"), "there is no program '/no/such/bot'"),
        (("--bot", "sh", "--only", "never"), "no clause matches never"),
        (("--bot", "sh", "--badge", "alice", "--only", "hello.*"), "a badge is for a bot that passes all clauses"),
        (("--bot", "sh", "--known-failing", "/no/such/file"), "can't read the known failures"),
    ],
)
def test_a_mistake_is_one_line(arbiter: Arbiter, words: tuple[str, ...], complaint: str) -> None:
    ran = arbiter("conformance", *words)
    assert ran.code == 2
    assert complaint in ran.err
    assert "Traceback" not in ran.err
