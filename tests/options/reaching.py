"""Commands that run until they call what a test has replaced."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from arbiter.cli.app import run
from tests.options.enumerated import COMMANDS, accepted


class Reached(Exception):
    """A command has called what the test is about: its name, and the arguments."""

    def __init__(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        super().__init__(name)
        self.call = (name, arguments, named)


def reaching(name: str) -> Callable[..., NoReturn]:
    """Return a function that ends the command with what it was called with."""

    def reached(*arguments: Any, **named: Any) -> NoReturn:
        raise Reached(name, arguments, named)

    return reached


def call_of(words: list[str]) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return what a command calls first, of what the test has replaced."""
    with pytest.raises(Reached) as reached:
        assert run(words) == 0, "it ended before it called anything"
    return reached.value.call


MORE = {
    "tournament rule": ["p0", "1", "1-0"],
    "tournament disqualify": ["p0", "ann"],
    "tournament reinstate": ["p0", "ann"],
    "tournament replay": ["p0", "1"],
    "tournament points": ["p0", "ann", "1"],
    "tournament lot": ["p0", "ann", "ben"],
    "tournament pair": ["p0", "3", "ann", "ben"],
    "tournament bye": ["p0", "ann", "3"],
    "tournament pair-round": ["p0", "3"],
    "tournament forbid": ["p0", "ann", "ben"],
    "tournament allow": ["p0", "ann", "ben"],
    "archive": ["--days", "7"],
    "bot run": ["--exec", "true", "--sandbox", "off"],
    "conformance": ["--bot", "true", "--badge", "ann"],
    "match adjudicate": ["p0", "--winner", "1", "--note", "why"],
    "play": ["pods", "--opponent", "ben"],
    "ratings rule": ["unrated"],
    "ratings take-back": ["1"],
    "transcript": ["p0"],
    "watch": ["p0"],
}
"""What commands need that have no required positional arguments, or more than these."""


def required(command: str) -> list[str]:
    """Return the words that a command needs, with an argument for each positional parameter."""
    positional = [each for each in accepted(command) if each.index is not None and each.required]
    return MORE.get(command, [f"p{number}" for number, _ in enumerate(positional)])


def module_of(command: str) -> Any:
    """Return the module of a command."""
    function = COMMANDS[command].default_command
    assert function is not None
    return import_module(function.__module__)


class RecordingClient:
    """A client that ends the command at its first call."""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        return reaching(name)


def passed(*arguments: Any) -> SimpleNamespace:
    """Return a report of a bot that has passed."""
    return SimpleNamespace(passed=True)


ran = SimpleNamespace(bot_version="1", absent_words="")  #: a kit after its run


def specification(folder: Path) -> Path:
    """Write the smallest specification of a tournament."""
    file = folder / "cup.toml"
    file.write_text('name = "cup"\nformat = "round_robin"\ngames = ["pods"]\ntime = "1s"\n')
    return file
