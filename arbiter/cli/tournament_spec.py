"""Parses specification files of tournaments (TOML): the tournament in the form of the Python client, and its bots.

An error message names the file, the line, the field, and the values that are allowed.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple

import arbiter_client as arb

from arbiter.cli import bundled_bot
from arbiter.cli.failure import Failure
from arbiter.cli.instants import with_instants
from arbiter.cli.opening_file import with_lines
from arbiter.errors import Reason, Refusal, parameter_invalid
from arbiter.matches import time_control
from arbiter.matches.policy import ClockStart, NoShow, read_policy
from arbiter.options import Option, bounds_of
from arbiter.plain_text import is_plain
from arbiter.sandbox.limits import BOUNDS, ResourceLimits
from arbiter.text_files import text_of
from arbiter.toml_lines import line_of, places
from arbiter.tournaments import formats
from arbiter.tournaments.spec import Options, Spec
from arbiter.tournaments.spec_text import read_spec

BOTS: Final = "bots"
#: the name of a new player, as the server accepts it
NAME: Final = re.compile(r"(?=.{1,40}\Z)[a-z0-9]+(?:[_.-][a-z0-9]+)*", re.ASCII)
_SHELL_WORDS: Final = "a text of shell words, or a list of texts"
SANDBOX: Final = "sandbox"  #: the table of each bot's resource limits
HIGHEST_RATING: Final = 10_000
LONGEST: Final = 100  #: maximum characters of a name or a version
_invalid: Final = partial(parameter_invalid, of="a tournament")
HYPOTHESES: Final = ("elo0", "elo1")  #: of a trial
ELO_PARTS: Final = 100  #: of a hypothesis with decimals
MOST_SEARCHED: Final = 1_000_000_000  #: nodes, or milliseconds
OURS: Final = "ARBITER_"  #: environment variables that tell a bot where it plays


class BotTable(NamedTuple):
    """What a table `[[bots]]` may say."""

    name: Annotated[
        str,
        Option(
            "The player; for a bundled bot its own name if it is left out.",
            allowed="1 to 40 of a-z and 0-9; one `-`, `_` or `.` between two of these",
        ),
    ] = ""
    bot: Annotated[str, Option(f"A bot that is bundled: {', '.join(bundled_bot.names())}. Or else `command`.")] = ""
    command: Annotated[
        str, Option("The program, as a command line or a list of words. Or else `bot`.", allowed=_SHELL_WORDS)
    ] = ""
    args: Annotated[str, Option("Arguments for a bundled bot.", allowed=_SHELL_WORDS)] = ""
    env: Annotated[
        Mapping[str, str],
        Option(
            f"Environment variables, none that begins with `{OURS}`.",
            allowed="a table of texts",
            example='`{ LEVEL = "3" }`',
        ),
    ] = MappingProxyType({})
    folder: Annotated[str, Option("Where the program starts, from the folder of this file on.", allowed="a folder")] = (
        ""
    )
    sees: Annotated[
        str,
        Option(
            "Files and folders that it may read besides, in its sandbox, from the folder of this file on.",
            allowed=_SHELL_WORDS,
        ),
    ] = ""
    rating: Annotated[int, Option("What it is seeded by, in Elo.", (0, HIGHEST_RATING))] = 0
    version: Annotated[str, Option("The version that it must say it has.")] = ""
    uci: Annotated[
        str,
        Option(
            "A chess engine that speaks UCI, as a command line. In place of `bot` and `command`.", allowed=_SHELL_WORDS
        ),
    ] = ""
    gtp: Annotated[
        str, Option("A Go engine that speaks GTP, as a command line. In place of them too.", allowed=_SHELL_WORDS)
    ] = ""
    options: Annotated[
        Mapping[str, str | int | bool],
        Option(
            "With `uci`: options of the engine.",
            allowed="a table of texts, numbers and true or false",
            example="`{ Hash = 64 }`",
        ),
    ] = MappingProxyType({})
    nodes: Annotated[
        int, Option("With `uci`: nodes to search for a move; 0: as the clock says.", (0, MOST_SEARCHED))
    ] = 0
    depth: Annotated[int, Option("With `uci`: plies to search for a move; 0: as the clock says.", (0, 1_000))] = 0
    movetime: Annotated[
        int, Option("With `uci`: milliseconds to search for a move; 0: as the clock says.", (0, MOST_SEARCHED))
    ] = 0


ENGINES: Final = ("uci", "gtp")  #: the languages of engines
SEARCHES: Final = ("nodes", "depth", "movetime")
ENGINE_FIELDS: Final = ("options", *SEARCHES)  #: the fields that go with `uci` alone
BOT_FIELDS: Final = BotTable._fields
BOT_BOUNDS: Final = bounds_of(BotTable)


class BotEntry(NamedTuple):
    """A bot in a specification file, as `BotTable` says.

    bundled: '' for a command of its own. command: the arguments of a bundled bot, or else the whole command line; of an
    engine, the arguments of the bridge to it. version: '' for any.
    """

    name: str
    bundled: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    rating: int
    version: str
    folder: Path = Path()
    sees: tuple[Path, ...] = ()
    engine: bool = False


class File(NamedTuple):
    """A specification file: the tournament, and the bots that `arbiter tournament run` starts, with their limits.

    cautions: warnings for the organiser before the start, a sentence each: about the specification, and about a field
    of these bots.
    """

    path: Path
    tournament: arb.TournamentSpec
    bots: tuple[BotEntry, ...]
    limits: ResourceLimits
    cautions: tuple[str, ...] = ()


def read_file(path: Path) -> arb.TournamentSpec:
    """Return the tournament that a file specifies. Raises Failure."""
    return read_all(path).tournament


def read_all(path: Path) -> File:
    """Return the whole content of a file. Raises Failure, which names the file, the line, the field and what to do."""
    try:
        text = text_of(path.read_bytes())
        values = tomllib.loads(text)
    except OSError as error:
        raise Failure(f"can't read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise Failure(f"{path} is no TOML file: {error}") from None
    bots, limits = values.pop(BOTS, []), values.pop(SANDBOX, {})
    try:
        values = with_decimals(with_instants(with_lines(values, path.parent)))
        spec = read_spec(values, time_control.parse)
        bots = _bots(bots, path.parent)
        pairer = formats.of(spec)
        cautions = (pairer.caution(spec), pairer.field_caution(spec, len(bots)))
        return File(path, spec_value(spec), bots, _limits(limits), tuple(filter(None, cautions)))
    except Refusal as refusal:
        raise Failure(f"{_location(path, text, refusal)}{refusal.message}") from None


def _location(path: Path, text: str, refusal: Refusal) -> str:
    """Return the location of a refusal: `cup.toml, line 7 (options.rounds): `."""
    what, where = refusal.facts.get("what", ""), refusal.facts.get("where", "")
    if refusal.reason is Reason.GAME_UNKNOWN:
        where = "games"
    found = places(text)
    unknown = (f"{where}.{what}", what)  # for an unknown field, the error names the table that contains it
    field = next((name for name in unknown if name in found), where)
    line = line_of(found, field)
    if line:
        return f"{path}, line {line} ({field}): "
    return f"{path} ({field}): " if field else f"{path}: "


def with_decimals(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a specification with whole hypotheses of a trial: `elo1 = 1.75` is 175 of 100 parts.

    Raises Refusal PARAMETER_INVALID for one with more than two decimals, and for one beside `elo_parts`.
    """
    options = values.get("options")
    if not isinstance(options, dict) or not any(isinstance(options.get(name), float) for name in HYPOTHESES):
        return dict(values)
    if "elo_parts" in options:
        raise _invalid(options["elo_parts"], "options.elo_parts", "nothing beside a hypothesis with decimals")
    read = options | {"elo_parts": ELO_PARTS}
    for name in HYPOTHESES:
        given = options.get(name, getattr(Options(), name))
        parts = given * ELO_PARTS if isinstance(given, int | float) and abs(given) < HIGHEST_RATING else 0.5
        if abs(parts - round(parts)) > 1e-6:
            raise _invalid(given, f"options.{name}", "a number with at most two decimals")
        read[name] = round(parts)
    return {**values, "options": read}


def spec_value(spec: Spec) -> arb.TournamentSpec:
    """Return a specification as the client takes it. Raises Refusal for a policy that no match can have."""
    lines = spec.openings.lines.items()
    return arb.TournamentSpec(
        name=spec.name,
        format=arb.TournamentFormat[spec.format.name],
        games=spec.games,
        time=spec.time,
        rated=spec.rated,
        paired=spec.paired,
        at_once=spec.at_once,
        attempts=spec.attempts,
        options=arb.TournamentOptions(**asdict(spec.options)),
        openings=arb.Openings(
            **(
                asdict(spec.openings)
                | {
                    "lines": tuple(arb.OpeningLine(game, line) for game, given in lines for line in given),
                    "order": arb.OpeningOrder[spec.openings.order.name],
                }
            )
        ),
        entry=arb.EntryRules(
            **(asdict(spec.entry) | {"forbidden": tuple(arb.PlayerPair(*pair) for pair in spec.entry.forbidden)})
        ),
        schedule=arb.Schedule(**(asdict(spec.schedule) | {"too_few": arb.TooFewRule[spec.schedule.too_few.name]})),
        adjudication=arb.Adjudication(**asdict(spec.adjudication)),
        tie_breaks=tuple(arb.TieBreak[tie_break.value.upper()] for tie_break in spec.tie_breaks),
        policy=_policy(spec.policy),
        time_odds=spec.time_odds,
    )


def _policy(values: Mapping[str, int | str]) -> arb.TournamentPolicy:
    """Return the differences from the server's policy."""
    known = [field.name for field in fields(arb.TournamentPolicy)]
    for name in values:
        if name not in known:
            where, allowed = f"policy.{name}", ", ".join(known)
            raise _invalid(name, where, f"one of {allowed}")
    read = read_policy(values)
    said: dict[str, object] = {name: getattr(read, name) for name in values}
    starts = {ClockStart.WHEN_PRESENT: arb.StartRule.WHEN_PRESENT, ClockStart.AT_ONCE: arb.StartRule.AT_ONCE}
    no_shows = {NoShow.FORFEIT: arb.NoShowRule.FORFEIT, NoShow.VOID: arb.NoShowRule.VOID}
    said |= {"start": starts[read.start]} if "start" in said else {}
    said |= {"no_show": no_shows[read.no_show]} if "no_show" in said else {}
    return arb.TournamentPolicy(**said)  # type: ignore[arg-type]


# Bots


def _limits(values: Any) -> ResourceLimits:
    """Return the resource limits of a bot. Raises Refusal PARAMETER_INVALID."""
    if not isinstance(values, dict):
        raise _invalid(values, SANDBOX, "a table [sandbox]")
    for name, value in values.items():
        if name not in BOUNDS:
            raise _invalid(name, SANDBOX, f"one of {', '.join(BOUNDS)}")
        least, most = BOUNDS[name]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise _invalid(value, f"{SANDBOX}.{name}", f"a whole number from {least} to {most}")
    return ResourceLimits(**values)


def _bots(values: Any, base: Path) -> tuple[BotEntry, ...]:
    """Return the bots of a file in a folder. Raises Refusal PARAMETER_INVALID."""
    if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
        raise _invalid(values, BOTS, "tables, each headed [[bots]]")
    bots = tuple(_bot(each, f"{BOTS}[{number}]", base) for number, each in enumerate(values, start=1))
    names: set[str] = set()
    for number, bot in enumerate(bots, start=1):
        if bot.name in names:
            raise _invalid(bot.name, f"{BOTS}[{number}].name", "a name that no other bot has")
        names.add(bot.name)
    return bots


def _bot(values: Mapping[str, Any], where: str, base: Path) -> BotEntry:
    for name in values:
        if name not in BOT_FIELDS:
            raise _invalid(name, where, f"one of {', '.join(BOT_FIELDS)}")
    default, command = _program(values, where)
    name = _text(values, "name", where) or default
    if not NAME.fullmatch(name):
        allowed = "1 to 40 of a-z and 0-9; between two of these may stand one '-', '_' or '.'"
        raise _invalid(name, f"{where}.name", f"the name that the bot plays under, {allowed}")
    rating = values.get("rating", 0)
    least, most = BOT_BOUNDS["rating"]
    if not isinstance(rating, int) or isinstance(rating, bool) or not least <= rating <= most:
        raise _invalid(rating, f"{where}.rating", f"a whole number of Elo points from {least} to {most}")
    folder = Path(_text(values, "folder", where))
    if not (base / folder).is_dir():
        raise _invalid(folder, f"{where}.folder", f"a folder that is there, from {base} on")
    sees = tuple(map(Path, _split_words(values.get("sees", []), f"{where}.sees")))
    version = _text(values, "version", where)
    environment, bundled = _environment(values, where), values.get("bot", "")
    engine = any(language in values for language in ENGINES)
    return BotEntry(name, bundled, command, environment, rating, version, folder, sees, engine)


def _program(values: Mapping[str, Any], where: str) -> tuple[str, tuple[str, ...]]:
    """Return the name that a bot has by default, or '', and its command as `BotEntry` has it."""
    if sum(way in values for way in ("bot", "command", "uci", "gtp")) != 1:
        raise _invalid(values.get("bot", ""), f"{where}.bot", "either bot, which is bundled, or command, uci or gtp")
    for field in ENGINE_FIELDS:
        if field in values and "uci" not in values:
            raise _invalid(values[field], f"{where}.{field}", "nothing without uci, the engine that it is for")
    if "args" in values and "bot" not in values:
        raise _invalid(values["args"], f"{where}.args", "nothing beside a command, which holds its arguments itself")
    for language in ENGINES:
        if language in values:
            words = _command(values[language], f"{where}.{language}")
            flags = _engine(values, where) if language == "uci" else ["--gtp"]
            return Path(words[0]).name, (*flags, "--", *words)
    if "command" in values:
        return "", _command(values["command"], f"{where}.command")
    bundled = _text(values, "bot", where)
    if bundled not in bundled_bot.names():
        raise _invalid(bundled, f"{where}.bot", f"one of {', '.join(bundled_bot.names())}, or else a command")
    return bundled, _split_words(values.get("args", ""), f"{where}.args")


def _command(value: Any, where: str) -> tuple[str, ...]:
    words = _split_words(value, where)
    if not words or not words[0]:
        raise _invalid(value, where, "a command line, as a text or as a list of words")
    return words


def _engine(values: Mapping[str, Any], where: str) -> list[str]:
    """Return the options of the bridge to an engine."""
    options = values.get("options", {})
    if not isinstance(options, dict) or not all(isinstance(value, str | int) for value in options.values()):
        raise _invalid(options, f"{where}.options", "a table of texts, numbers and true or false, as { Hash = 64 }")
    words = []
    for name, value in options.items():
        text = f"{name}={str(value).lower() if isinstance(value, bool) else value}"
        if not is_plain(text, LONGEST):
            raise _invalid(value, f"{where}.options.{name}", f"printable, of at most {LONGEST} characters")
        words += ["--option", text]
    for name in SEARCHES:
        least, most = BOT_BOUNDS[name]
        number = values.get(name, 0)
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
            raise _invalid(number, f"{where}.{name}", f"a whole number from {least} to {most}")
        words += [f"--{name}", str(number)] if number else []
    return words


def _split_words(value: Any, where: str) -> tuple[str, ...]:
    """Return the words of a list, or of a text that is split as a shell does."""
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            raise _invalid(value, where, f"{_SHELL_WORDS} ({error})") from None
    if not isinstance(value, list) or not all(isinstance(word, str) and "\0" not in word for word in value):
        raise _invalid(value, where, _SHELL_WORDS)
    return tuple(value)


def _environment(values: Mapping[str, Any], where: str) -> dict[str, str]:
    given = values.get("env", {})
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise _invalid(given, f"{where}.env", 'a table of texts, as { LEVEL = "3" }')
    for name in given:
        if name.startswith(OURS):
            raise _invalid(name, f"{where}.env", f"names that do not begin with {OURS}, which the run sets itself")
    return dict(given)


def _text(values: Mapping[str, Any], name: str, where: str) -> str:
    value = values.get(name, "")
    if not isinstance(value, str) or not is_plain(value, LONGEST):
        raise _invalid(value, f"{where}.{name}", f"a text of at most {LONGEST} printable characters")
    return value
