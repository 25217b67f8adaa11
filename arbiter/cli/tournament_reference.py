"""Everything that a tournament's file may say, with defaults: `arbiter tournament reference`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.markdown import Markdown

from arbiter.cli.terminal import console, on_terminal, write_text
from arbiter.cli.tournament_bots import ENGINE, ENGINE_FIELDS, BotTable
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
    "series": "[series]: the table over a series, with `schedule.every`",
    "league": "[league]: divisions, whose seasons begin as `schedule.every` says",
    "adjudication": "[adjudication]: when the arbiter ends a game",
    "policy": "[policy]: the policy of matches; by default the server's",
    "bots": "[[bots]]: the bots of `arbiter tournament run`",
    "engine": "[engine]: what all engines with `uci` have",
    "sandbox": "[sandbox]: what each bot may take",
}

NEEDED: Final = "needed"
OF_ENGINES: Final = f"The keys of `[[bots]]` from `{ENGINE_FIELDS[0]}` on. Those of a bot take precedence."
INTRODUCTION: Final = """\
# The file of a tournament

`arbiter tournament reference` prints this page. A file is TOML. The default is in brackets. Times whose names end in
`_ms` are whole milliseconds; a command line may be a list of its words too. `arbiter tournament create` reads the same
file as `arbiter tournament run`, and leaves the bots to others.
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
    found["engine"] = {name: found["bots"][name] for name in ENGINE_FIELDS}
    return {table: found[table] for table in HEADINGS}


OPENING_FILE: Final = Described(
    "file",
    str,
    "",
    Option(
        "A file with the lines, each a variant and its moves; `#` begins a comment.",
        allowed="a path, from this file's folder on",
    ),
)
"""It is read before the specification, in which its lines are."""


def page() -> str:
    """Return the reference as Markdown."""
    parts = [INTRODUCTION]
    for table, options in tables().items():
        lines = [
            f"| `{name}` | {each.allowed}{_default(table, each)} | {_meaning(each.option)} |"
            for name, each in options.items()
        ]
        listed = (*_HEAD, *lines) if table != ENGINE else (OF_ENGINES,)
        parts.append("\n".join((f"## {_quoted(HEADINGS[table])}\n", *listed, "")))
    return "\n".join(parts)


_HEAD: Final = ("| key | allowed | meaning |", "| -- | -- | -- |")


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
    """Return the default of an option in brackets, as it is written in a file; '' where it is the server's."""
    shown = option.shown_default if table != "policy" else ""
    return f" ({NEEDED})" if option.default is UNSET else f" (`{shown}`)" if shown else ""
