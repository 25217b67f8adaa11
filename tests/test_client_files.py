"""The files of the clients have the same names in every language, as the table of `clients/README.md` says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

CLIENTS: Final = Path(__file__).parents[1] / "clients"
PLACES: Final = {
    "python": "arbiter_client",
    "typescript": "src",
    "go": ".",
    "rust": "src",
    "java": "src/main/java/arbiter/client",
    "cpp": "src",
}
OTHER: Final = {
    ("java", "seats"): "seat",
    ("java", "observing"): "observation",
    ("java", "channel"): "connection",
    ("java", "values"): "turn",
    ("java", "log"): "outage",
    ("cpp", "seats"): "seat",
    ("cpp", "policies"): "lobby",
    ("cpp", "seeking"): "lobby",
    ("cpp", "slots"): "lobby",
    ("cpp", "observing"): "watching",
}
"""What a language calls a file instead: in Java a file is named after its class. Remove a row once it is renamed."""


def listed() -> list[str]:
    """Return the names of the table of files."""
    page = (CLIENTS / "README.md").read_text("utf-8")
    table = page.partition("### Files")[2].partition("### The bot")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def named(language: str) -> set[str]:
    """Return the names of a client's files and folders, as Python writes them, without those of tests."""
    folder = CLIENTS / language / PLACES[language]
    paths = [*folder.glob("*"), *folder.glob("*/*")] if language != "go" else [*folder.glob("*.go")]
    if language == "cpp":
        paths += (CLIENTS / "cpp" / "include" / "arbiter").glob("*")
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", path.name.partition(".")[0]).lower() for path in paths}


@pytest.mark.parametrize("language", PLACES)
def test_files_have_the_same_names_in_every_language(language: str) -> None:
    there = named(language)
    assert len(listed()) > 20
    missing = [name for name in listed() if not {name, OTHER.get((language, name), name)} & there]
    assert not missing, f"clients/{language} has no file named {', '.join(missing)}"
