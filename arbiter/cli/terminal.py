"""The output of commands: tables and coloured text on a terminal, plain lines for programs and files.

Every command writes through this module. Most of what is shown was written by other people, and a server that is
asked may be anybody's: characters that can't be printed are escaped here (`arbiter.plain_text`), so that no text moves
the cursor, changes the title, turns a line around, or forges a line or a column.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from arbiter.cli.table_options import TableOptions
from arbiter.plain_text import plain, plain_json
from arbiter.table_text import Cell, Columns, shown, table_text

IDS: Final = ("match", "tournament", "token", "key")  #: headings of columns whose words are for copying
WIDEST: Final = 1_000


def on_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def for_people(options: TableOptions | None) -> bool:
    """Return whether a command writes for people: on a terminal, if no form of its table is asked for."""
    return on_terminal() and (options is None or options.form() is None)


class PlainConsole(Console):
    """A console that interprets no markup, and escapes what can't be printed in everything that it renders."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render as rich does; the texts have line ends, and otherwise only printable characters."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text, "\n"), segment.style)


def console(options: TableOptions | None = None) -> PlainConsole:
    """Return the console of standard output; lines are wrapped only on a terminal.

    If a form of the command's table is asked for, standard output is for the table alone, and this is standard error.
    """
    return PlainConsole(soft_wrap=not on_terminal(), stderr=options is not None and options.form() is not None)


def say(text: str, style: str = "") -> None:
    """Print a text as one line and flush it; a line end in it is escaped."""
    say_lines(plain(text), style)


def remark(text: str, options: TableOptions | None, style: str = "") -> None:
    """Print lines beside a command's table; to standard error if a form of the table is asked for."""
    console(options).print(text, style=style or None)
    sys.stdout.flush()


def say_lines(text: str, style: str = "") -> None:
    """Print a text of several lines and flush it."""
    console().print(text, style=style or None)
    sys.stdout.flush()


def write_text(text: str) -> None:
    """Write a text to standard output, with its own line ends and never wrapped, and flush it."""
    sys.stdout.write(plain(text, "\n"))
    sys.stdout.flush()


def write_line(*cells: str) -> None:
    """Write a line to standard output, never wrapped, and flush it: one text, or cells with tabs between them."""
    sys.stdout.write("\t".join(map(plain, cells)) + "\n")
    sys.stdout.flush()


def write_json(value: Any) -> None:
    """Write a value as JSON to standard output and flush it."""
    write_text(plain_json(json.dumps(value, ensure_ascii=False, indent=2)) + "\n")


def write_drawing(text: str) -> None:
    """Print lines with ANSI colours of our own, which are left out where standard output takes none."""
    console().print(Text.from_ansi(text, no_wrap=True, overflow="ignore"), crop=False, end="")
    sys.stdout.flush()


def tell(text: str) -> None:
    """Write a text as one line to standard error and flush it."""
    sys.stderr.write(plain(text) + "\n")
    sys.stderr.flush()


def table(headings: Sequence[str], rows: Iterable[Sequence[Cell]], nothing: str, options: TableOptions | None) -> None:
    """Print rows: in the form that is asked for; else as a table on a terminal, or as lines with tabs.

    nothing: what a terminal shows if there are no rows.
    """
    tables({"": (headings, rows)}, nothing, options)


def tables(
    named: Mapping[str, tuple[Sequence[str], Iterable[Sequence[Cell]]]], nothing: str, options: TableOptions | None
) -> None:
    """Print several tables as `table` does, with an empty line between them; in JSON, each under its name."""
    found = {name: Columns(headings, [tuple(row) for row in rows]) for name, (headings, rows) in named.items()}
    form = options.form() if options is not None else None
    if form is not None:
        write_text(table_text(form, found))
        return
    for number, columns in enumerate(found.values()):
        if number:
            write_line()
        if not on_terminal():
            rows_of_text = (columns.headings, *(map(shown, row) for row in columns.rows))
            sys.stdout.write("".join("\t".join(map(plain, row)) + "\n" for row in rows_of_text))
        elif columns.rows:
            print_table(drawn_table(*columns))
        else:
            say(nothing, "dim")


def print_table(drawn: Table) -> None:
    """Print a table on a terminal. Ids are never broken: a terminal that is too narrow for them wraps whole lines."""
    out = PlainConsole()
    least = Measurement.get(out, out.options.update(max_width=WIDEST), drawn).minimum
    if least > out.width:
        out.width = least
    out.print(drawn, crop=False)


def drawn_table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Table:
    """Return rows as a table for a terminal. A heading may have several lines."""
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for heading in headings:
        drawn.add_column("\n".join(map(plain, heading.split("\n"))), overflow="fold", no_wrap=heading in IDS)
    for row in rows:
        drawn.add_row(*(plain(shown(cell)) for cell in row))
    return drawn


def instant(at_ms: int) -> str:
    """Return a time (milliseconds since 1970) as local date and time, or an empty text for none."""
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S") if at_ms else ""


def clock_text(left_ms: float) -> str:
    """Return a time as clocks show it: `1:02:03`, `4:59`, and tenths in the last twenty seconds: `0:07.3`."""
    left_ms = max(0.0, left_ms)
    tenths = int(left_ms // 100)
    seconds = tenths // 10
    if seconds < 20:
        return f"0:{seconds:02}.{tenths % 10}"
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: `1 game`, `1,204 games`. several: the plural where it does not just add an s."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
