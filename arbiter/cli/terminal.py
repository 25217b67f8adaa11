"""The output of commands: tables and coloured text on a terminal, plain lines for programs and files.

Every command writes through this module. Most of what is shown was written by other people, and a server that is
asked may be anybody's: characters that can't be printed are escaped here (`arbiter.plain_text`), so that no text moves
the cursor, changes the title, turns a line around, or forges a line or a column.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from arbiter.plain_text import plain, plain_json

IDS: Final = ("match", "tournament", "token", "key")  #: headings of columns whose words are for copying
WIDEST: Final = 1_000


def on_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


class PlainConsole(Console):
    """A console that interprets no markup, and escapes what can't be printed in everything that it renders."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render as rich does; the texts have line ends, and otherwise only printable characters."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(plain(segment.text, "\n"), segment.style)


def console() -> PlainConsole:
    """Return the console of standard output; lines are wrapped only on a terminal."""
    return PlainConsole(soft_wrap=not on_terminal())


def say(text: str, style: str = "") -> None:
    """Print a text as one line and flush it; a line end in it is escaped."""
    say_lines(plain(text), style)


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


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], nothing: str) -> None:
    """Print rows: as a table on a terminal (or the text `nothing` if there are none), otherwise as lines with tabs."""
    found = [tuple(row) for row in rows]
    if not on_terminal():
        sys.stdout.write("".join("\t".join(map(plain, row)) + "\n" for row in (tuple(headings), *found)))
        return
    if not found:
        say(nothing, "dim")
        return
    print_table(drawn_table(headings, found))


def print_table(drawn: Table) -> None:
    """Print a table on a terminal. Ids are never broken: a terminal that is too narrow for them wraps whole lines."""
    out = PlainConsole()
    least = Measurement.get(out, out.options.update(max_width=WIDEST), drawn).minimum
    if least > out.width:
        out.width = least
    out.print(drawn, crop=False)


def drawn_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return rows as a table for a terminal."""
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for heading in headings:
        drawn.add_column(heading, overflow="fold", no_wrap=heading in IDS)
    for row in rows:
        drawn.add_row(*map(plain, row))
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
