"""Old matches are played again by the installed rules: what is the same, what differs, and which code it was."""

from __future__ import annotations

import shutil
import sqlite3
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import pytest

from arbiter.event_json.canonical import decode, encode
from arbiter.games import circle_of_life, registry
from arbiter.games.circle_of_life import CircleOfLife
from arbiter.matches.record import read
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from tests.cli.command import Arbiter

GOLDEN = Path(__file__).parent.parent / "golden" / "transcripts"
MATCHES = len(list(GOLDEN.glob("*.jsonl")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the golden transcripts, one of them in a folder of its own."""
    shutil.copytree(GOLDEN, tmp_path / "matches" / "in")
    (tmp_path / "matches" / "in" / "opening.jsonl").rename(tmp_path / "matches" / "opening.jsonl")
    return tmp_path / "matches"


def changed(file: Path, kind: str, name: str, value: object) -> None:
    """Change a field of the last event of a kind in a transcript."""
    lines = file.read_bytes().splitlines()
    at = max(number for number, line in enumerate(lines) if f'"kind":"{kind}"'.encode() in line)
    fields = decode(lines[at])
    assert isinstance(fields, dict)
    lines[at] = encode({**fields, name: value})  # type: ignore[dict-item]
    file.write_bytes(b"\n".join(lines) + b"\n")


def test_matches_of_these_rules_are_the_same(arbiter: Arbiter, folder: Path) -> None:
    ran = arbiter("rules", "check", str(folder), "--csv")
    assert (ran.code, ran.err) == (0, "")
    heading, *rows = (line.split(",") for line in ran.out.splitlines())
    assert heading == ["game", "rules then", "rules now", "matches", "differ"]
    assert sum(int(row[-2]) for row in rows) == MATCHES
    assert {row[-1] for row in rows} == {"0"}
    code = registry.code("pods")
    assert ["pods", "not noted", f"game-arbiter {version('game-arbiter')} {code.sha256[:12]}"] in [r[:3] for r in rows]


@pytest.mark.parametrize(
    ("match", "kind", "field", "value", "said"),
    [
        ("pods", "moved", "move", "zz", "m-pods, pods(size=3): ply"),
        ("opening", "moved", "position", "x", "x in the record, "),
        ("opening", "moved", "turn", 1, "turn after ply "),
        ("pods", "ended", "reason", "pods_full", "the end by the rules: "),
        ("pods", "ended", "cause", "resignation", "the end by the rules: none in the record, "),
        ("position", "created", "position", "x", "start position or opening: "),
        ("position", "started", "position", "x", "at the start: x in the record, "),
        ("hop-it", "created", "game", "ludo", "hop-it, ludo: the rules are not installed here"),
    ],
)
def test_a_match_that_would_go_differently_is_named(
    arbiter: Arbiter, folder: Path, match: str, kind: str, field: str, value: object, said: str
) -> None:
    changed(next(folder.rglob(f"{match}.jsonl")), kind, field, value)
    ran = arbiter("rules", "check", str(folder))
    assert ran.code == 1
    assert said in ran.out
    problem = "would go differently" if value != "ludo" else "not checked: the rules are not installed here"
    assert ran.err == f"arbiter: 1 match of {MATCHES} {problem}\n"


def test_other_rules_are_noticed(arbiter: Arbiter, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CircleOfLife, "text", lambda self, position: "elsewhere")
    ran = arbiter("rules", "check", str(folder))
    assert ran.code == 1
    assert ran.out.count("elsewhere now") == 5


def test_rules_that_raise_are_noticed(arbiter: Arbiter, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CircleOfLife, "play", lambda self, position, move: [][1])
    ran = arbiter("rules", "check", str(folder))
    assert ran.out.count("the rules raised IndexError: list index out of range") == 5
    assert ran.err == f"arbiter: 5 matches of {MATCHES} would go differently\n"


@pytest.mark.long
def test_all_matches_of_a_store_are_played_again(arbiter: Arbiter, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(store.removeprefix("sqlite:///")) as raw:
        ((all_matches, ended),) = raw.execute("SELECT count(*), sum(ended_sequence > 0) FROM match")
    raw.close()
    assert 0 < ended < all_matches
    ran = arbiter("rules", "check", "--store", store, "--csv")
    assert (ran.code, ran.err) == (0, "")
    rows = [line.split(",") for line in ran.out.splitlines()[1:]]
    assert sum(int(row[-2]) for row in rows) == all_matches
    assert {row[-1] for row in rows} == {"0"}
    monkeypatch.setattr(CircleOfLife, "text", lambda self, position: "elsewhere")
    ran = arbiter("rules", "check", "--store", store)
    assert ran.code == 1
    assert "would go differently" in ran.err


@pytest.mark.long
def test_a_damaged_match_and_a_store_that_is_not_there_are_named(arbiter: Arbiter, store: str, tmp_path: Path) -> None:
    with sqlite3.connect(store.removeprefix("sqlite:///")) as raw:
        raw.execute("UPDATE event SET body = body || ' ' WHERE revision = 2")
    raw.close()
    assert "is damaged" in arbiter("rules", "check", "--store", store).complaint
    assert "none.keys" in arbiter("rules", "check", "--store", f"sqlite:///{tmp_path}/none.db").complaint
    assert not (tmp_path / "none.db").exists()
    both = arbiter("rules", "check", str(tmp_path), "--store", store)
    assert "stands in place of a store" in both.complaint


@pytest.mark.parametrize("data", [b"", b"{}\n", b"nonsense\n", b"\xff"])
def test_what_is_no_transcript_is_named(arbiter: Arbiter, folder: Path, data: bytes) -> None:
    (folder / "wrong.jsonl").write_bytes(data)
    ran = arbiter("rules", "check", str(folder))
    assert ran.code == 1
    assert str(folder / "wrong.jsonl") in ran.complaint
    assert "is no folder" in arbiter("rules", "check", str(folder / "none")).complaint


@virtually
async def test_the_record_of_a_match_names_the_code_of_its_rules() -> None:
    server = InMemoryArbiter()
    match = await server.create("circle-of-life(target=3)")
    first = (await server.journal.read(match.id))[0].body
    assert read(first) == match.created
    files = sorted(Path(circle_of_life.__file__).parent.glob("*.py"))
    whole = b"".join(file.name.encode() + b"\0" + sha256(file.read_bytes()).digest() for file in files)
    assert decode(first)["code"] == {
        "package": "game-arbiter",
        "version": version("game-arbiter"),
        "sha256": sha256(whole).hexdigest(),
    }
    other = await server.create("openspiel-nim")
    assert other.created.code is not None
    assert other.created.code.package == "game-arbiter-openspiel"
    assert other.created.code.version == f"0.1.0, open-spiel {version('open-spiel')}"
