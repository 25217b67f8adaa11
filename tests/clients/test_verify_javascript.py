"""The second verifier, in another language and without our code, gives the same verdicts."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from arbiter.event_json.canonical import decode, digest, encode
from arbiter.matches.record import read
from arbiter.matches.signing import Signature, Statement
from arbiter.matches.transcript import write
from tests.generators import transcripts

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "transcripts"
KEYS = GOLDEN / transcripts.KEY_FILE
VECTORS = ROOT / "clients" / "vectors" / "transcripts"
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")  # in CI a skipped test is a failure


def ask(*files: Path, keys: Path = KEYS) -> tuple[int, list[str]]:
    command = [NODE or "node", str(ROOT / "clients" / "javascript" / "verify.mjs"), str(keys), *map(str, files)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert ran.stderr == ""
    return ran.returncode, ran.stdout.splitlines()


def test_the_golden_transcripts_hold() -> None:
    code, lines = ask(*sorted(GOLDEN.glob("*.jsonl")))
    assert code == 0
    assert all(": holds: " in line and line.endswith("NOT CHECKED: the rules of the game") for line in lines)
    assert len(lines) == len(transcripts.MATCH_PLANS)


def test_the_verifier_runs_through_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "javascript").symlink_to(ROOT / "clients" / "javascript")
    command = [NODE or "node", "javascript/verify.mjs", str(KEYS), str(GOLDEN / "pods.jsonl")]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ": holds: " in ran.stdout


def test_the_shared_transcripts_get_the_verdicts_of_their_index() -> None:
    index = json.loads((VECTORS / "index.json").read_text("utf-8"))
    files = [VECTORS / row["file"] for row in index]
    code, said = ask(*files, keys=VECTORS / "keys.json")
    assert code == 1
    for row, file, line in zip(index, files, said, strict=True):
        found = row["line_without_rules"]
        assert line.startswith(f"{file}: holds: " if found is None else f"{file}: line {found}: "), row


def test_every_change_is_found(tmp_path: Path) -> None:
    data = (GOLDEN / "pods.jsonl").read_bytes()
    lines = data.splitlines(keepends=True)
    damaged = [b"".join((*lines[:n], *lines[n + 1 :])) for n in range(len(lines))]
    damaged += [b"".join((*lines[:n], line, *lines[n:])) for n, line in enumerate(lines)]
    damaged += [data[:n] + bytes((data[n] ^ 1,)) + data[n + 1 :] for n in range(0, len(data), 61)]
    damaged += [data[:n] for n in range(0, len(data), 997)]
    files = []
    for number, content in enumerate(damaged):
        files.append(tmp_path / f"{number:04}.jsonl")
        files[-1].write_bytes(content)
    code, said = ask(*files)
    assert code == 1
    assert len(said) == len(files)
    assert [line for line in said if ": line " not in line] == []


def test_a_wrong_ledger_is_found_though_it_is_signed(tmp_path: Path) -> None:
    expected = {}
    for plan in transcripts.MATCH_PLANS:
        lines = (GOLDEN / f"{plan.name}.jsonl").read_bytes().splitlines()[:-1]
        number = max(n for n, line in enumerate(lines) if decode(line)["kind"] == "moved")
        for name in ("started", "credited", "charged", "left"):
            value = decode(lines[number])
            value["ledger"][name] += 1
            file = forged(tmp_path, lines, number, value).rename(tmp_path / f"{plan.name}-{name}.jsonl")
            expected[file] = f"{file}: line {number + 1}: ledger.{name} is {value['ledger'][name]}, expected"
    code, said = ask(*expected)
    assert code == 1
    for line, start in zip(said, expected.values(), strict=True):
        assert line.startswith(start)


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("rejected", {"facts": {"actual": "3", "expected": "7"}}, "facts is"),
        ("ended", {"key": "00" * 32}, ""),
        ("ended", {"key": "00"}, "key: nothing that it could open"),
    ],
)
def test_an_impossible_event_is_found_though_it_is_signed(
    tmp_path: Path, kind: str, change: dict[str, Any], said: str
) -> None:
    lines = (GOLDEN / "pods.jsonl").read_bytes().splitlines()[:-1]
    number = next(n for n, line in enumerate(lines) if decode(line)["kind"] == kind)
    code, (complaint,) = ask(forged(tmp_path, lines, number, decode(lines[number]) | change))
    assert code == 1
    assert f": line {number + 1}: {said}" in complaint


@pytest.mark.parametrize(
    ("plan", "rules", "said"),
    [
        ("by-length", {"plies": 10}, "reason: the match is not that long"),
        ("by-length", {"plies": 6}, 'expected "ended"'),
        ("by-evaluation", {"evaluation": 250, "evaluation_plies": 5}, "reason: the comments do not bear it out"),
        ("by-evaluation", {"evaluation": 350, "evaluation_plies": 4}, "reason: the comments do not bear it out"),
        ("by-evaluation", {"draw_plies": 2}, "reason: the comments do not bear it out"),
    ],
)
def test_an_end_that_contradicts_the_adjudication_rules_is_found(
    tmp_path: Path, plan: str, rules: dict[str, int], said: str
) -> None:
    lines = (GOLDEN / f"{plan}.jsonl").read_bytes().splitlines()[:-1]
    code, (complaint,) = ask(forged(tmp_path, lines, 0, decode(lines[0]) | {"adjudication": rules}))
    assert code == 1
    assert said in complaint


def forged(folder: Path, lines: list[bytes], number: int, value: dict[str, Any]) -> Path:
    """Return a transcript with one line changed, the hash chain computed again, and signed."""
    log, previous = lines[:number], decode(lines[number])["previous"]
    for line in (encode(value), *lines[number + 1 :]):
        log.append(encode(decode(line) | {"previous": previous}))
        previous = digest(log[-1])
    key = next(key for key in transcripts.KEYS if key.public.valid_at(read(log[-1]).at))
    statement = Statement(value["match"], len(log), previous, key.public.key_id)
    file = folder / "forged.jsonl"
    file.write_bytes(write(log, Signature(statement, key.sign(statement.message()))))
    return file
