"""Everything that a tournament's file may say, with defaults: `arbiter tournament reference`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.markdown import Markdown

from arbiter.cli.terminal import console, on_terminal, write_text
from arbiter.cli.tournament_bots import BOTS, ENGINE, ENGINE_FIELDS, UCI_FIELDS, BotTable
from arbiter.matches.policy import Policy
from arbiter.options import UNSET, Described, Option, options_of
from arbiter.sandbox.limits import ResourceLimits
from arbiter.tournaments import formats
from arbiter.tournaments.spec import PARTS, Format, Spec

HEADINGS: Final = {
    "": "The tournament",
    "options": "[options]: what only some formats have",
    "openings": "[openings]: how games start",
    "entry": "[entry]: who may enter",
    "groups": "[groups]: categories, and authors of several bots",
    "schedule": "[schedule]: when things happen",
    "series": "[series]: the table over a series",
    "league": "[league]: the divisions of a series",
    "adjudication": "[adjudication]: when the arbiter ends a game",
    "policy": "[policy]: the policy of matches; by default the server's",
    "bots": "[[bots]]: the bots of `arbiter tournament run`",
    "engine": "[engine]: what only engines with `uci` have",
    "sandbox": "[sandbox]: what each bot may take",
}

NEEDED: Final = "needed"
OF_ENGINES: Final = """\
A bot with `uci` may have these keys too. Here they, `cores` and `dialogue` hold for all such bots; what a bot has
itself takes precedence.
"""
INTRODUCTION: Final = """\
# The file of a tournament

`arbiter tournament reference` prints this page. A file is TOML. Keys that end in `_ms` are milliseconds. Commands,
`args` and `sees` may be lists of words. Paths begin at the folder of the file. `arbiter tournament create` ignores the
bots.
"""


def reference() -> None:
    """Show everything that a tournament's file may say, with what is allowed and the defaults."""
    text = page()
    if on_terminal():
        console().print(Markdown(text), soft_wrap=False)
    else:
        write_text(text)


def tables() -> Mapping[str, Mapping[str, Described]]:
    """Return every option of a file, by the name of its table ('' for the file itself) and its own name."""
    parts: Mapping[str, type] = {"": Spec, **PARTS, "policy": Policy, "bots": BotTable, "sandbox": ResourceLimits}
    found = {table: dict(options_of(part)) for table, part in parts.items()}
    found["openings"]["file"] = OPENING_FILE
    found["adjudication"]["syzygy"] = TABLE_FOLDER
    found["engine"] = {name: found["bots"][name] for name in ENGINE_FIELDS}
    return {table: found[table] for table in HEADINGS}


OPENING_FILE: Final = Described(
    "file",
    str,
    "",
    Option(
        "A file with the lines, each a variant and its moves; `#` begins a comment.",
        allowed="a path",
    ),
)
"""It is read before the specification, in which its lines are."""


TABLE_FOLDER: Final = Described(
    "syzygy",
    str,
    "",
    Option(
        "The folder of the tables, for `arbiter tournament run`; a server has a setting `syzygy`. "
        "Without `syzygy_pieces` all tables are used.",
        allowed="a path",
    ),
)
"""It is read before the specification too, which has the number of pieces alone."""


def page() -> str:
    """Return the reference as Markdown."""
    parts = [INTRODUCTION]
    for table, options in tables().items():
        lines = [
            f"| `{name}` | {each.allowed} | {_default(table, each)} | {_meaning(each.option)} |"
            for name, each in options.items()
            if (name in UCI_FIELDS) == (table == ENGINE) or table not in (BOTS, ENGINE)
        ]
        about = (OF_ENGINES,) if table == ENGINE else ()
        parts.append("\n".join((f"## {_quoted(HEADINGS[table])}\n", *about, *_HEAD, *lines, "")))
    return "\n".join(parts)


_HEAD: Final = ("|  | allowed | default |  |", "| -- | -- | -- | -- |")


def _quoted(heading: str) -> str:
    """Return a heading with the name of its table as code."""
    table, colon, rest = heading.partition("]: ")
    return f"`{table}]`: {rest}" if colon else heading


def _meaning(option: Option) -> str:
    """Return what an option means, after the titles of the formats that have it, and how it is written."""
    titles = ", ".join(formats.PAIRERS[Format(each)].title for each in option.formats)
    meaning = f"{titles.capitalize()}: {option.meaning[0].lower()}{option.meaning[1:]}" if titles else option.meaning
    return f"{meaning} As {option.example}." if option.example else meaning


def _default(table: str, option: Described) -> str:
    """Return the default of an option, as it is written in a file; '' where it is the server's."""
    shown = option.shown_default if table != "policy" else ""
    return NEEDED if option.default is UNSET else f"`{shown}`" if shown else ""
