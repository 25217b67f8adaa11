"""Any file and environment gives valid settings, or one line that says what is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from arbiter_protos.v1 import server_pb2
from hypothesis import given
from hypothesis import strategies as st

from arbiter.config import Settings, load
from arbiter.errors import OperatorError
from tests.fuzz import effort, near, sendable, texts

pytestmark = pytest.mark.long

FILE = """listen = "127.0.0.1:7400"
store = "sqlite:///arbiter.db"
registration = "open"
insecure = false
rules_workers = 2

[limits]
page_size = 100
silence_ms = 20000

[matches]
time_control = "5m+3s"
abandon_ms = 0

[credit]
bank_ms = 10000
"""
NUMBERS = st.sampled_from((0, -1, 1, 10, 10**6, 2**31, 2**53, 2**63, 10**30, 1.5, True, "7", "many", "", [], {}))


def numbers(settings: Settings) -> dict[str, int]:
    """Return every numeric setting by the name under which a server publishes it."""
    sections = (settings.limits, settings.matches, settings.credit)
    return {name: value for part in sections for name, value in part if isinstance(value, int)}


def holds(file: Path | None = None) -> Settings | None:
    """Load the settings; None if they are refused in one line."""
    try:
        settings = load(file)
    except OperatorError as error:
        one_line(error)
        return None
    server_pb2.GetServerInfoResponse(limits=numbers(settings))  # every number fits the field in which it is published
    return settings


def one_line(error: OperatorError) -> None:
    """Assert that an error is one line for the terminal."""
    assert 0 < len(str(error)) < 4_000
    assert "\n" not in str(error)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("configuration") / "arbiter.toml"


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """Set these variables, and no others of the arbiter, in the environment."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.upper().startswith("ARBITER_")]:
        del os.environ[name]
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@effort()
@given(data=st.data())
def test_files(file: Path, data: st.DataObject) -> None:
    text = sendable(data.draw(near([FILE], 3)))
    file.write_bytes(data.draw(st.just(text.encode()) | st.binary(max_size=60)))
    with environment({}):
        holds(file)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 50_000,
        "[" * 50_000,
        "a." * 5_000 + "b = 1",
        "\0",
        "a = 1e999999",
        "x = 9" + "9" * 10_000,
        "#" * 65_537,
    ],
)
def test_extreme_files(file: Path, text: str) -> None:
    file.write_text(text)
    with environment({}):
        assert holds(file) is None


@pytest.mark.parametrize("section", ["limits", "matches", "credit"])
@effort(0.5)
@given(data=st.data())
def test_every_setting_of_a_section(section: str, data: st.DataObject) -> None:
    kind = Settings.model_fields[section].annotation
    assert kind is not None
    names = sorted(kind.model_fields)
    values: dict[str, Any] = data.draw(st.dictionaries(st.sampled_from([*names, "colour"]), NUMBERS, max_size=4))
    with environment({}):
        try:
            settings = load(None, **{section: values})
        except OperatorError as error:
            one_line(error)
        else:
            server_pb2.GetServerInfoResponse(limits=numbers(settings))


@effort()
@given(data=st.data())
def test_environments(data: st.DataObject) -> None:
    names = [f"ARBITER_{name.upper()}" for name in Settings.model_fields]
    names += ["ARBITER_LIMITS__PAGE_SIZE", "ARBITER_LIMITS__", "ARBITER_CREDIT__BANK_MS__MORE", "ARBITER_COLOUR"]
    likely = ("1", "true", "closed", "127.0.0.1:1", "sqlite:///x.db", '{"page_size": 3}', "{}", "[", "nothing")
    value = texts(likely).map(lambda text: sendable(text[:1_000]).replace("\0", ""))
    with environment(data.draw(st.dictionaries(st.sampled_from(names), value, max_size=3))):
        holds()


@pytest.mark.parametrize("name", ["", ".", "no.toml", "a\0b", "x" * 300])
def test_paths_of_files(tmp_path: Path, name: str) -> None:
    with environment({}), pytest.raises(OperatorError) as caught:
        load(tmp_path / name)
    one_line(caught.value)


def test_an_unreadable_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied", str(file))

    file.write_text(FILE)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with environment({}), pytest.raises(OperatorError, match="Permission denied"):
        load(file)
