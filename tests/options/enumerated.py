"""Every option that Arbiter accepts: of configuration, of a tournament's specification, of commands, of the client."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple, get_args, get_type_hints

import arbiter_client as arb
from arbiter_client.calls.base import Calls
from cyclopts import App, Argument, ArgumentCollection
from pydantic import BaseModel

from arbiter.cli.app import build
from arbiter.cli.connection import CONNECTION
from arbiter.cli.table_options import TABLE
from arbiter.config import Settings
from arbiter.tournaments.spec import Spec

CLIENT: Final[dict[str, Callable[..., Any]]] = {
    "Client": arb.Client.__init__,
    "BlockingClient": arb.BlockingClient.__init__,
    "play": arb.play,
    "run": arb.run,
}
"""What a program calls to reach a server, beside the calls of the contract."""


STATE: Final = {"_runs"}
"""Attributes of a bot that its run sets."""


class CommandOption(NamedTuple):
    """An option of a command: the command's words, its name as it is written, its parameter, and how it may be negated.

    given: how it is written with a value; '' for a positional one.
    """

    command: str
    name: str
    parameter: str
    given: tuple[str, ...]


def settings(model: type[BaseModel] = Settings, before: str = "") -> Iterator[str]:
    """Yield the names of all settings, with their sections."""
    for name, found in model.model_fields.items():
        if isinstance(found.annotation, type) and issubclass(found.annotation, BaseModel):
            yield from settings(found.annotation, f"{before}{name}.")
        else:
            yield before + name


def specification(part: type[Any] = Spec, before: str = "") -> Iterator[str]:
    """Yield the names of all fields of a tournament's specification, with their parts."""
    hints = get_type_hints(part)
    for each in dataclasses.fields(part):
        if dataclasses.is_dataclass(hints[each.name]):
            yield from specification(hints[each.name], f"{before}{each.name}.")
        else:
            yield before + each.name


def _commands(app: App, words: tuple[str, ...] = ()) -> Iterator[tuple[str, App]]:
    if words and app.default_command is not None:
        yield " ".join(words), app
    for name in app:
        if not name.startswith("-"):
            yield from _commands(app[name], (*words, name))


COMMANDS: Final = dict(_commands(build()))  #: all commands that do something, by their words


@cache
def accepted(command: str) -> ArgumentCollection:
    """Return what a command accepts: it takes long to find out."""
    return COMMANDS[command].assemble_argument_collection()


def takes(command: str, options: type[Any]) -> bool:
    """Return whether a command has these options, which several share: known sooner than by `accepted`."""
    function: Any = COMMANDS[command].default_command
    return any(issubclass(each, options) for each in _types(function))


def _types(annotated: Any) -> Iterator[type[Any]]:
    """Yield the types of a function's parameters, and of the fields of those that are data classes."""
    for hint in get_type_hints(annotated).values():
        for each in (hint, *get_args(hint)):
            if isinstance(each, type):
                yield each
            if dataclasses.is_dataclass(each):
                yield from _types(each)


def is_of_connection(option: Argument) -> bool:
    """Return whether an option is one of those by which a command reaches a server."""
    groups: Any = option.parameter.group
    return CONNECTION in groups


def is_of_table(option: Argument) -> bool:
    """Return whether an option is one of those by which a command writes its table in another form."""
    groups: Any = option.parameter.group
    return TABLE in groups and bool(option.keys)


def table_options(command: str) -> set[str]:
    """Return the options of a command that choose the form of its table."""
    return {each.names[0] for each in accepted(command) if is_of_table(each)}


def options_of(command: str) -> Iterator[CommandOption]:
    """Yield the options of one command, without those of its connection (`connected`) and of its table."""
    for each in accepted(command):
        if is_of_connection(each) or is_of_table(each) or each.names == ("*",):
            continue
        given = tuple(name for name in each.names if name.startswith("--") and not name.startswith("--empty-"))
        yield CommandOption(command, each.names[0], each.field_info.name, given)


def connection_options(command: str) -> set[str]:
    """Return the options of a command by which it reaches a server."""
    return {each.names[0] for each in accepted(command) if is_of_connection(each) and each.names != ("*",)}


def calls() -> dict[str, Callable[..., Any]]:
    """Return the calls of the Python client by their names."""
    return {
        name: method
        for kind in Calls.__subclasses__()
        for name, method in vars(kind).items()
        if not name.startswith("_") and callable(method)
    }


def arguments(function: Callable[..., Any]) -> list[str]:
    """Return the names of a function's arguments, without `self`."""
    return [name for name in inspect.signature(function).parameters if name != "self"]


def client() -> Iterator[str]:
    """Yield the arguments of all calls of the Python client, of how it connects, and of how a bot is played."""
    for name, function in {**CLIENT, **calls()}.items():
        for argument in arguments(function):
            yield f"{name}.{argument}"
    for attribute in get_type_hints(arb.Bot):
        if attribute not in STATE:
            yield f"Bot.{attribute}"
