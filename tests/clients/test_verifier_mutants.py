"""Every check of the JavaScript verifier is needed by a shared vector: without the check, some verdict differs.

So any other verifier that agrees with the index makes these checks too. A mutant is the verifier without one check.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "clients" / "javascript"
VECTORS = ROOT / "clients" / "vectors" / "transcripts"
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")  # in CI a skipped test is a failure

SKIP = "((..._) => {})("  #: replaces a check
LOOP = "for (const name of Object.keys(must)) {"

FIELDS = (
    *(
        "events",
        "head",
        "match",
        "algorithm",
        "key_id",
        "revision",
        "previous",
        "started",
        "credited",
        "charged",
        "left",
    ),
    *("ply", "seat", "turn", "clocks", "strikes", "facts", "winner"),
)
"""Fields that the verifier compares with an expected value."""

NEEDLESS = (
    "keys: expected a list",
    "is not among the public keys",
    "is no time control",
    "but the flag had fallen",
    "there are no nulls",
    "  moved: { may:",
)
"""Checks that only give a better reason: without them, the next check rejects the same line."""


class Mutant(NamedTuple):
    """A verifier without one check."""

    name: str
    file: str
    source: str


def mutants() -> Iterator[Mutant]:
    """Yield the verifier without each of its checks in turn, and without each comparison of a field."""
    for file in ("verify.mjs", "story.mjs", "canonical.mjs"):
        source = (SOURCES / file).read_text(encoding="utf-8")
        for call in re.finditer(r"(?<!function )(?<![\w.])(check|agree)\((?!Signature)", source):
            line = source.count("\n", 0, call.start()) + 1
            if any(words in source.splitlines()[line - 1] for words in NEEDLESS):
                continue
            mutated = source[: call.start()] + SKIP + source[call.end() :]
            yield Mutant(f"{file}:{line} {call[1]}", file, mutated)
    agree = (SOURCES / "canonical.mjs").read_text(encoding="utf-8")
    assert LOOP in agree
    for name in FIELDS:
        yield Mutant(f"field {name}", "canonical.mjs", agree.replace(LOOP, f'{LOOP} if (name === "{name}") continue;'))
    story = (SOURCES / "story.mjs").read_text(encoding="utf-8")
    for found in re.finditer(r"^  (\w+): \{ may: ", story, re.M):
        if any(words in found[0] for words in NEEDLESS):
            continue
        mutated = story[: found.end()] + "() => true, was: " + story[found.end() :]
        yield Mutant(f"story.mjs may of {found[1]}", "story.mjs", mutated)


MUTANTS = list(mutants())


PROGRAM = """
import { readFileSync } from "node:fs";
const { folder, verifiers, files, keyFiles, expected } = JSON.parse(readFileSync(0, "utf8"));
const content = new Map([...files, ...keyFiles, "keys.json"].map((file) => [file, readFileSync(`${folder}/${file}`)]));
const verdict = (of) => {
  try { of(); return "holds"; } catch (error) { return /^line \\d+/.exec(error.message)?.[0] ?? "refused"; }
};
for (const [number, verifier] of verifiers.entries()) {
  const { readKeys, verify } = await import(verifier);
  const { keys } = JSON.parse(content.get("keys.json"));
  const asked = files.map((file) => () => verify(content.get(file), keys));
  asked.push(...keyFiles.map((file) => () => readKeys(content.get(file))));
  const verdicts = [];
  for (const of of asked) {
    verdicts.push(verdict(of));
    if (number > 0 && verdicts.at(-1) !== expected[verdicts.length - 1]) break; // one vector detects a mutant
  }
  console.log(JSON.stringify(verdicts));
}
"""


def index(name: str) -> list[dict[str, Any]]:
    """Return the rows of an index of vectors; those that are read to their end, and so detect least, come last."""
    rows: list[dict[str, Any]] = json.loads((VECTORS / name).read_text("utf-8"))
    return sorted(rows, key=lambda row: row.get("line_without_rules") or sys.maxsize)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the verdict of each verifier on each vector: valid, the number of the wrong line, or that keys are
    refused; those of a mutant only up to the first that is not the expected one."""
    folders = {"": SOURCES}
    for number, mutant in enumerate(MUTANTS):
        folder = folders[mutant.name] = tmp_path_factory.mktemp(f"mutant{number}")
        for source in SOURCES.glob("*.mjs"):
            shutil.copy(source, folder)
        (folder / mutant.file).write_text(mutant.source, encoding="utf-8")
    asked = {
        "folder": str(VECTORS),
        "verifiers": [(folder / "verify.mjs").as_uri() for folder in folders.values()],
        "files": [row["file"] for row in index("index.json")],
        "keyFiles": [row["file"] for row in index("keys-index.json")],
        "expected": expected(),
    }
    command = [NODE or "node", "--input-type=module", "--eval", PROGRAM]
    ran = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False, timeout=250)
    assert not ran.stderr, ran.stderr
    return dict(zip(folders, map(json.loads, ran.stdout.splitlines()), strict=True))


def expected() -> list[str]:
    """Return the verdicts of the index."""
    lines = [row["line_without_rules"] for row in index("index.json")]
    verdicts_of_files = ["holds" if line is None else f"line {line}" for line in lines]
    return verdicts_of_files + ["holds" if row["holds"] else "refused" for row in index("keys-index.json")]


def test_the_complete_verifier_agrees_with_the_index(verdicts: dict[str, list[str]]) -> None:
    assert verdicts[""] == expected()


@pytest.mark.parametrize("name", [mutant.name for mutant in MUTANTS])
def test_a_vector_detects_a_verifier_without_a_check(verdicts: dict[str, list[str]], name: str) -> None:
    assert verdicts[name] != expected()
