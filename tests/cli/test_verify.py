"""Keys and transcripts are verified, from a real server and from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Arbiter, Server
from tests.generators.transcripts import public_keys

GOLDEN = Path(__file__).parent.parent / "golden" / "transcripts"
KEYS = str(GOLDEN / "keys.json")
VECTORS = Path(__file__).parents[2] / "clients" / "vectors" / "transcripts"


@pytest.fixture
def match_id(server: Server, arbiter: Arbiter) -> str:
    for name in ("alice", "bob"):
        arbiter("token", "create", name)
    ran = arbiter("match", "create", "pods(size=5)", "alice", "bob", "--time", "90s", "--at-once")
    assert (ran.code, ran.err) == (0, "")
    return ran.out.strip()


@pytest.mark.long
def test_the_signature_of_a_server_is_verified_offline(arbiter: Arbiter, match_id: str, tmp_path: Path) -> None:
    arbiter("match", "adjudicate", match_id, "--winner", "2", "--note", "alice left")
    file, keys = tmp_path / "match.jsonl", tmp_path / "keys.json"
    assert arbiter("transcript", match_id, "--out", str(file)).out == f"3 events and the signature in {file}\n"
    assert arbiter("key", "export", "--out", str(keys)).out == f"1 public key in {keys}\n"
    ran = arbiter("verify", str(file), "--key", str(keys))
    assert ran.code == 0
    assert (
        f"{file} holds: match {match_id}, pods(size=5), alice against bob, 90s; bob (Humpback) won (adjudicated)"
        in ran.out
    )
    file.write_bytes(file.read_bytes().replace(b"alice left", b"alice lost"))
    assert "line 4: signature.head is" in arbiter("verify", str(file), "--key", str(keys)).complaint
    arbiter("transcript", match_id, "--out", str(file))
    assert "expected one of the keys" in arbiter("verify", str(file), "--key", KEYS).complaint


@pytest.mark.long
def test_a_running_server_uses_a_rotated_key(server: Server, arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = server.log.parent / "arbiter.keys"
    before = arbiter("key", "show").out.splitlines()
    said = arbiter("key", "rotate", "--store", f"sqlite:///{server.log.parent}/arbiter.db").out
    after = arbiter("key", "show").out.splitlines()
    assert len(after) == len(before) + 1
    assert f"Key {after[1].split(chr(9))[0]} in {ring} signs from" in said
    exported = arbiter("key", "export").out
    monkeypatch.setenv("ARBITER_SERVER", "127.0.0.1:1")  # no server listens there
    assert arbiter("key", "export", "--ring", str(ring)).out == exported
    assert arbiter("key", "show", "--ring", str(ring)).out.splitlines() == after


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.jsonl")), ids=lambda file: file.stem)
def test_golden_transcripts_hold_with_the_key_in_digits(arbiter: Arbiter, file: Path) -> None:
    digits = [word for key in public_keys() for word in ("--key", key.key.hex())]
    assert arbiter("verify", str(file), *digits).code == 0


@pytest.mark.long
def test_the_shared_transcripts_get_the_verdicts_of_their_index(arbiter: Arbiter) -> None:
    for row in json.loads((VECTORS / "index.json").read_text("utf-8")):
        ran = arbiter("verify", str(VECTORS / row["file"]), "--key", str(VECTORS / "keys.json"))
        assert ran.code == (0 if row["holds"] else 1), row
        expected = f"match {row['match_id']}, {row['game']}, " if row["holds"] else f"line {row['line']}: "
        assert expected in ran.out + ran.err, row


@pytest.mark.long
def test_a_file_that_can_not_be_verified_gets_one_line(arbiter: Arbiter, tmp_path: Path) -> None:
    pods = str(GOLDEN / "pods.jsonl")
    broken = tmp_path / "broken"
    broken.write_bytes(b"\xff")
    assert arbiter("verify", pods).code == 2
    assert "can't read" in arbiter("verify", str(tmp_path / "none"), "--key", KEYS).complaint
    assert "can't read" in arbiter("verify", pods, "--key", str(tmp_path / "none")).complaint
    assert "is no file of public keys" in arbiter("verify", pods, "--key", str(broken)).complaint
    assert "is no file of public keys" in arbiter("verify", pods, "--key", pods).complaint
    assert "cut off" in arbiter("verify", str(broken), "--key", KEYS).complaint


@pytest.mark.long
def test_a_transcript_is_written_as_text_and_read_again(arbiter: Arbiter, tmp_path: Path) -> None:
    file = tmp_path / "match.txt"
    assert arbiter("transcript", "--file", str(GOLDEN / "pods.jsonl"), "--text", "--out", str(file)).code == 0
    assert "{[%clk 0:00:0" in file.read_text()
    assert " [%eval " in file.read_text()
    shown = arbiter("transcript", "--from-text", str(file)).out
    assert shown.startswith("pods(size=3): alice against bob, 24 moves, ")
    file.write_text(file.read_text().replace("3. ", "4. ", 1))
    assert "'4.', expected '3.'" in arbiter("transcript", "--from-text", str(file)).complaint
    file.write_bytes(b"\xff")
    assert "nothing in UTF-8" in arbiter("transcript", "--from-text", str(file)).complaint
    assert "this is no transcript" in arbiter("transcript", "--file", KEYS, "--text").complaint
    assert "say which match" in arbiter("transcript").complaint
