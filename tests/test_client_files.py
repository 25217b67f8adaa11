"""Files, settings, callbacks and hooks have the same names in every client, as the pages of `clients` say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from arbiter_protos.v1 import player_pb2

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
}
"""What a language calls a file instead: in Java a file is named after its class. Remove a row once it is renamed."""


def listed() -> list[str]:
    """Return the names of the table of files."""
    page = (CLIENTS / "BEHAVIOUR.md").read_text("utf-8")
    table = page.partition("## Files")[2].partition("## Behaviour")[0]
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


NOT_THERE: Final = {
    ("rust", "log"): "the log goes to the `log` crate",
    ("java", "log"): "the log goes to System.Logger",
    ("cpp", "log"): "the log goes to what `set_log` names",
}
"""What a language does not have, and why."""
OTHERWISE: Final = {
    ("typescript", "think_time"): "thinkTimeMs",  # numbers have their units in their names
    ("typescript", "array"): "boardArray",  # a board is a message, and has no methods of ours
    ("go", "array"): "BoardArray",
    ("cpp", "array"): "board_array",
    ("java", "plain_text"): "PlainText",  # a function of its class: `PlainText.of`
    ("go", "accept_challenges"): "DeclineChallenges",  # what is not set is false in Go
}
"""What a language calls something instead."""


def names(heading: str) -> list[str]:
    """Return the names in the first column of a table of the section about the bot or about hooks."""
    page = (CLIENTS / "README.md").read_text("utf-8")
    rows = page.partition(f"\n| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    spans = [span for row in rows for span in re.findall(r"`([^`]+)`", row.split("|")[1])]
    return [re.sub(r"\(.*", "", span).rpartition(".")[2] for span in spans]


def spelled(language: str, name: str) -> str:
    """Return a name as a language writes it."""
    first, *others = name.split("_")
    if language in ("python", "rust", "cpp"):
        return name
    tail = "".join(part.capitalize() for part in others)
    return (first.capitalize() if language == "go" else first) + tail


def code(language: str) -> str:
    """Return the text of a client's own files, without those of tests and generated ones."""
    folder = CLIENTS / language / ("include" if language == "cpp" else PLACES[language])
    files = [path for path in folder.rglob("*") if path.suffix in (".py", ".ts", ".go", ".rs", ".java", ".hpp")]
    kept = [path for path in files if not re.search(r"_test\.|/generated/|/arbiterpb/|/node_modules/", path.as_posix())]
    return "\n".join(path.read_text("utf-8") for path in kept)


@pytest.mark.parametrize("heading", ["callback", "setting of the bot", "hook", "for the bot's use"])
@pytest.mark.parametrize("language", PLACES)
def test_what_a_bot_uses_has_the_same_name_in_every_language(language: str, heading: str) -> None:
    wanted = names(heading)
    assert len(wanted) >= 4
    text = code(language)
    missing = [
        name
        for name in wanted
        if (language, name) not in NOT_THERE
        and not re.search(rf"\b{OTHERWISE.get((language, name), spelled(language, name))}\b", text)
    ]
    assert not missing, f"clients/{language} does not have {', '.join(missing)}"


WRITTEN_BY_HAND: Final = {
    "python": r"class Terms:\n(.*?)\n\n\n",
    "typescript": r"interface Terms \{\n(.*?)\n\}",
    "go": r"type Terms struct \{\n(.*?)\n\}",
}
"""Where a language's own terms of challenges and seeks are. Rust, Java and C++ have the protocol's message."""


@pytest.mark.parametrize("language", WRITTEN_BY_HAND)
def test_terms_have_every_field_of_the_protocol(language: str) -> None:
    found = re.search(WRITTEN_BY_HAND[language], code(language), re.DOTALL)
    assert found is not None
    declared = re.sub(r"//[^\n]*|/\*.*?\*/|\"\"\".*?\"\"\"", "", found[1], flags=re.DOTALL)
    fields = [field.name for field in player_pb2.Terms.DESCRIPTOR.fields]
    missing = [name for name in fields if not re.search(rf"\b{spelled(language, name)}\b", declared)]
    assert not missing, f"clients/{language}: Terms lack {', '.join(missing)}"
