"""Files that people write: whatever their editors make of line ends and encodings is read, or named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import arbiter_client as arb
import pytest
from arbiter_client import credentials
from arbiter_client import text_files as of_client

from arbiter import text_files
from arbiter.cli.failure import Failure
from arbiter.cli.opening_file import read_lines
from arbiter.cli.tournament_spec import read_all
from arbiter.cli.transcript import _replay_report
from arbiter.config import load
from arbiter.errors import OperatorError

NAMES = "Zürich"
SPEC = f'name = "{NAMES}"\nformat = "round_robin"\ngames = ["pods"]\ntime = "1m"\n'
CONFIG = f'# {NAMES}\nlisten = "127.0.0.1:7512"\n'
TOKENS = f'["127.0.0.1:7400"]\n"{NAMES}" = "secret"\n'
OPENINGS = f"pods a1 b2  # {NAMES}\npods b1\n"
NOTATION = f'[Site "{NAMES}"]\n'


def kept(path: Path) -> Any:
    """Read a credentials file."""
    with pytest.MonkeyPatch.context() as changes:
        changes.setenv("ARBITER_CREDENTIALS", str(path))
        return credentials.entries()


Read = Callable[[Path], Any]
FILES: dict[str, tuple[Read, str, type[Exception]]] = {
    "tournament": (read_all, SPEC, Failure),
    "openings": (read_lines, OPENINGS, Failure),
    "configuration": (lambda path: load(path).listen, CONFIG, OperatorError),
    "credentials": (kept, TOKENS, arb.CredentialsError),
}
EDITORS = {
    "a byte-order mark": lambda text: text.encode("utf-8-sig"),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "all line ends and a mark": lambda text: text.replace("\n", "\r", 1).replace("\n", "\r\n", 1).encode("utf-8-sig"),
}
WRONG = {
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 the other way round": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "Latin-1": lambda text: text.encode("latin-1"),
}


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("kind", FILES)
def test_marks_and_line_ends_of_editors_change_nothing(tmp_path: Path, kind: str, editor: str) -> None:
    read, text, _ = FILES[kind]
    file = tmp_path / "file.toml"
    file.write_bytes(text.encode())
    expected = read(file)
    file.write_bytes(EDITORS[editor](text))
    assert read(file) == expected


@pytest.mark.parametrize("encoding", WRONG)
@pytest.mark.parametrize("kind", [*FILES, "notation"])
def test_other_encodings_are_named(tmp_path: Path, kind: str, encoding: str) -> None:
    read, text, error = FILES.get(kind) or (_replay_report, NOTATION, Failure)
    file = tmp_path / "file.toml"
    file.write_bytes(WRONG[encoding](text))
    number = 1 + text.partition(NAMES)[0].count("\n")
    latin = rf"line {number} has the byte 0xfc, which is 'ü' in Latin-1 and nothing in UTF-8: save the file as UTF-8"
    expected = latin if encoding == "Latin-1" else "it is text in UTF-16, or has zero bytes: save it as UTF-8"
    with pytest.raises(error, match=expected) as raised:
        read(file)
    assert str(file) in str(raised.value)


def test_a_mistake_is_found_in_the_line_that_an_editor_shows(tmp_path: Path) -> None:
    file = tmp_path / "cup.toml"
    file.write_bytes(EDITORS["all line ends and a mark"](SPEC.replace('"1m"', '"1 hour"')))
    with pytest.raises(Failure, match=r"cup.toml, line 4 \(time\)"):
        read_all(file)


@pytest.mark.parametrize("change", [*EDITORS.values(), *WRONG.values()])
def test_server_and_client_read_alike(change: Callable[[str], bytes]) -> None:
    said = []
    for module in (text_files, of_client):
        try:
            said.append(module.text_of(change(SPEC)))
        except ValueError as error:
            said.append(str(error))
    assert said[0] == said[1]
