"""The bots in the file of a tournament: tables `[[bots]]`, and `[engine]` with what all chess engines have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple

from arbiter.cli import bundled_bot
from arbiter.errors import parameter_invalid
from arbiter.options import Option, bounds_of
from arbiter.plain_text import PLAYER_NAME, PLAYER_NAME_RULE, is_plain

BOTS: Final = "bots"
#: the name of a new player, as the server accepts it
_SHELL_WORDS: Final = "shell words, or a list of texts"
_COMMAND_LINE: Final = "a command"
HIGHEST_RATING: Final = 10_000
LONGEST: Final = 100  #: maximum characters of a name or a version
_invalid: Final = partial(parameter_invalid, of="a tournament")
MOST_MOVES: Final = 10_000  #: successive ones with a score
MOST_CENTIPAWNS: Final = 10_000
MOST_SEARCHED: Final = 1_000_000_000  #: nodes, or milliseconds
OURS: Final = "ARBITER_"  #: environment variables that tell a bot where it plays


class BotTable(NamedTuple):
    """What a table `[[bots]]` may say."""

    name: Annotated[
        str,
        Option(
            "The player; bundled bots and engines have a name of their own.",
            allowed=PLAYER_NAME_RULE.replace("'", "`"),
        ),
    ] = ""
    bot: Annotated[
        str,
        Option(
            f"A bundled bot: {', '.join(bundled_bot.names())}. Or else one of `command`, `uci`, `gtp`, `lines`, "
            "`json_lines`."
        ),
    ] = ""
    command: Annotated[str, Option("A program that connects to the arbiter.", allowed=_COMMAND_LINE)] = ""
    args: Annotated[
        str,
        Option(
            "Arguments of a bundled bot. With others than `--seed N` it plays over the network.",
            allowed="words",
        ),
    ] = ""
    env: Annotated[
        Mapping[str, str],
        Option(
            "Environment variables.",
            allowed="a table",
            example='`{ LEVEL = "3" }`',
        ),
    ] = MappingProxyType({})
    folder: Annotated[str, Option("Where the program starts.", allowed="a folder")] = ""
    sees: Annotated[
        str,
        Option(
            "Files and folders that it may read besides.",
            allowed="paths",
        ),
    ] = ""
    rating: Annotated[int, Option("What it is seeded by, in Elo.", (0, HIGHEST_RATING))] = 0
    team: Annotated[str, Option("Its team: the first bots have its boards, the others are reserves.")] = ""
    version: Annotated[str, Option("The version that it must name.")] = ""
    uci: Annotated[
        str,
        Option("A chess engine that speaks UCI.", allowed=_COMMAND_LINE),
    ] = ""
    gtp: Annotated[str, Option("A Go engine that speaks GTP.", allowed=_COMMAND_LINE)] = ""
    lines: Annotated[str, Option("A program that reads and writes lines.", allowed=_COMMAND_LINE)] = ""
    json_lines: Annotated[str, Option("A program that reads and writes lines of JSON.", allowed=_COMMAND_LINE)] = ""
    options: Annotated[
        Mapping[str, str | int | bool],
        Option(
            "Options of the engine.",
            allowed="a table",
            example="`{ Hash = 64 }`",
        ),
    ] = MappingProxyType({})
    nodes: Annotated[int, Option("Nodes for a move; 0: by the clock.", (0, MOST_SEARCHED))] = 0
    depth: Annotated[int, Option("Plies for a move; 0: by the clock.", (0, 1_000))] = 0
    movetime: Annotated[int, Option("Milliseconds for a move; 0: by the clock.", (0, MOST_SEARCHED))] = 0
    resign_moves: Annotated[
        int,
        Option(
            "It resigns after this many of its moves in a row with a score of at most minus `resign_score`.",
            (0, MOST_MOVES),
        ),
    ] = 0
    resign_score: Annotated[int, Option("In centipawns, as the engine says.", (0, MOST_CENTIPAWNS))] = 0
    draw_moves: Annotated[
        int,
        Option(
            "It offers and accepts a draw after this many of its moves in a row with a score within `draw_score` of "
            "0; a capture or a pawn move begins a new count.",
            (0, MOST_MOVES),
        ),
    ] = 0
    draw_score: Annotated[int, Option("In centipawns.", (0, MOST_CENTIPAWNS))] = 0
    draw_from: Annotated[int, Option("The first move at which it may do so.", (0, 10_000))] = 0
    cores: Annotated[
        int,
        Option("How many cores it runs on, which no other bot with `cores` has; 0: all.", (0, 1_024)),
    ] = 0
    ponder: Annotated[bool, Option("It thinks in its opponent's time too.")] = False
    dialogue: Annotated[bool, Option("Each line that it reads or writes is in its log.")] = False


ENGINE: Final = "engine"  #: the table of what all engines have
ENGINES: Final = ("uci", "gtp", "lines", "json_lines")  #: the languages of programs that the bridge asks
NAMED: Final = ENGINES[:2]  #: those of programs that have a name of their own
ENGINE_FIELDS: Final = BotTable._fields[BotTable._fields.index("options") :]  #: what all bots with `uci` may have once
SWITCHES: Final = ("ponder", "dialogue")  #: what the bridge to an engine is told by yes or no
#: the numbers that the bridge to an engine is told
NUMBERS: Final = tuple(name for name in ENGINE_FIELDS if name not in ("options", "cores", *SWITCHES))
UCI_FIELDS: Final = ("options", *NUMBERS, "ponder")  #: the fields that go with `uci` alone
#: the arguments of a bundled bot that plays in the process of its server; all others are about its connection
ONLY_SEEDED: Final = re.compile(r"(?:--seed[= ][0-9]+)?", re.ASCII)
THREADS: Final = "threads"  #: the option of an engine, in any case
BOT_FIELDS: Final = BotTable._fields
BOT_BOUNDS: Final = bounds_of(BotTable)


class EngineEntry(NamedTuple):
    """How an engine is spoken to, and how it searches. language: one of ENGINES. numbers: by their names, NUMBERS.

    ponder: whether it thinks in its opponent's time. dialogue: whether its dialogue is logged.
    """

    language: str
    options: Mapping[str, str] = MappingProxyType({})
    numbers: Mapping[str, int] = MappingProxyType({})
    ponder: bool = False
    dialogue: bool = False


class BotEntry(NamedTuple):
    """A bot in a specification file, as `BotTable` says.

    bundled: '' for a command of its own. command: the arguments of a bundled bot, or else the whole command line.
    version: '' for any. engine: None for a bot that connects by itself; a bundled one that does not speaks lines. team:
    '' for none.
    """

    name: str
    bundled: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    rating: int
    version: str
    folder: Path = Path()
    sees: tuple[Path, ...] = ()
    engine: EngineEntry | None = None
    cores: int = 0
    team: str = ""

    @property
    def threads(self) -> int:
        """How many threads think for it in a game, as far as its options say so."""
        options = self.engine.options if self.engine is not None else {}
        told = (value for name, value in options.items() if name.lower() == THREADS)
        return max((int(number) for number in told if number.isdecimal()), default=1)


def read_bots(values: Any, base: Path, engines: Mapping[str, Any]) -> tuple[BotEntry, ...]:
    """Return the bots of a file in a folder. Raises Refusal PARAMETER_INVALID."""
    if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
        raise _invalid(values, BOTS, "tables, each headed [[bots]]")
    bots = tuple(
        _bot(_with_engines(each, engines), f"{BOTS}[{number}]", base) for number, each in enumerate(values, start=1)
    )
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
    if not PLAYER_NAME.fullmatch(name):
        raise _invalid(name, f"{where}.name", f"the name that the bot plays under, {PLAYER_NAME_RULE}")
    rating = _number(values, "rating", where, " of Elo points")
    folder = Path(_text(values, "folder", where))
    if not (base / folder).is_dir():
        raise _invalid(folder, f"{where}.folder", f"a folder that is there, from {base} on")
    sees = tuple(map(Path, _split_words(values.get("sees", []), f"{where}.sees")))
    version = _text(values, "version", where)
    environment, bundled = _environment(values, where), values.get("bot", "")
    language = next((language for language in ENGINES if language in values), "")
    if bundled and bundled not in bundled_bot.ASKING and ONLY_SEEDED.fullmatch(" ".join(command)):
        language = "json_lines"
    engine = _engine(values, where, language) if language else None
    program = (name, bundled, command, environment)
    cores, team = _number(values, "cores", where), _text(values, "team", where)
    return BotEntry(*program, rating, version, folder, sees, engine, cores, team)


def _program(values: Mapping[str, Any], where: str) -> tuple[str, tuple[str, ...]]:
    """Return the name that a bot has by default, or '', and its command as `BotEntry` has it."""
    if sum(way in values for way in ("bot", "command", *ENGINES)) != 1:
        one_of = f"either bot, which is bundled, or one of command, {', '.join(ENGINES)}"
        raise _invalid(values.get("bot", ""), f"{where}.bot", one_of)
    for field in UCI_FIELDS:
        if field in values and "uci" not in values:
            raise _invalid(values[field], f"{where}.{field}", "nothing without uci, the engine that it is for")
    if "dialogue" in values and not any(language in values for language in ENGINES):
        raise _invalid(values["dialogue"], f"{where}.dialogue", f"nothing without one of {', '.join(ENGINES)}")
    if "args" in values and "bot" not in values:
        raise _invalid(values["args"], f"{where}.args", "nothing beside a command, which holds its arguments itself")
    for language in ENGINES:
        if language in values:
            words = _command(values[language], f"{where}.{language}")
            return Path(words[0]).name if language in NAMED else "", words
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


def _engine(values: Mapping[str, Any], where: str, language: str) -> EngineEntry:
    """Return how an engine is spoken to."""
    options = values.get("options", {})
    if not isinstance(options, dict) or not all(isinstance(value, str | int) for value in options.values()):
        raise _invalid(options, f"{where}.options", "a table of texts, numbers and true or false, as { Hash = 64 }")
    texts = dict[str, str]()
    for name, value in options.items():
        texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
        if not name.strip() or not is_plain(f"{name}={texts[name]}", LONGEST):
            raise _invalid(value, f"{where}.options.{name}", f"printable, of at most {LONGEST} characters")
    numbers = {name: _number(values, name, where) for name in NUMBERS}
    for score, moves in (("resign_score", "resign_moves"), ("draw_score", "draw_moves"), ("draw_from", "draw_moves")):
        if values.get(score) and not values.get(moves):
            raise _invalid(0, f"{where}.{moves}", f"at least 1 where {score} is given")
    return EngineEntry(language, texts, numbers, *(_switch(values, name, where) for name in SWITCHES))


def read_engines(values: Any) -> Mapping[str, Any]:
    """Return what all engines of a file have. Raises Refusal PARAMETER_INVALID."""
    if not isinstance(values, dict):
        raise _invalid(values, ENGINE, "a table [engine]")
    for name in values:
        if name not in ENGINE_FIELDS:
            raise _invalid(name, ENGINE, f"one of {', '.join(ENGINE_FIELDS)}")
    _engine(values, ENGINE, "uci")
    _number(values, "cores", ENGINE)
    return values


def _with_engines(bot: Mapping[str, Any], engines: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a bot with what all engines have, if it is one."""
    if "uci" not in bot:
        return bot
    options = bot.get("options", {})
    both = {**engines.get("options", {}), **options} if isinstance(options, dict) else options
    return {**engines, **bot, "options": both}


def _number(values: Mapping[str, Any], name: str, where: str, unit: str = "") -> int:
    number = values.get(name, 0)
    least, most = BOT_BOUNDS[name]
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise _invalid(number, f"{where}.{name}", f"a whole number{unit} from {least} to {most}")
    return number


def _switch(values: Mapping[str, Any], name: str, where: str) -> bool:
    value = values.get(name, False)
    if not isinstance(value, bool):
        raise _invalid(value, f"{where}.{name}", "true or false")
    return value


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
