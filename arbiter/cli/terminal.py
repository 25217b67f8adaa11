"""The output of commands: tables and coloured text on a terminal, plain lines for programs and files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

IDS: Final = ("match", "tournament", "token", "key")  #: headings of columns whose words are for copying
WIDEST: Final = 1_000


def on_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def console() -> Console:
    """Return the console of standard output: no markup is interpreted, and lines are wrapped only on a terminal."""
    return Console(highlight=False, markup=False, soft_wrap=not on_terminal())


def say(text: str, style: str = "") -> None:
    """Print a line and flush it."""
    console().print(text, style=style or None)
    sys.stdout.flush()


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], nothing: str) -> None:
    """Print rows: as a table on a terminal (or the text `nothing` if there are none), otherwise as lines with tabs."""
    found = [tuple(row) for row in rows]
    if not on_terminal():
        for row in (tuple(headings), *found):
            print("\t".join(row))
        return
    if not found:
        say(nothing, "dim")
        return
    print_table(drawn_table(headings, found))


def print_table(drawn: Table) -> None:
    """Print a table on a terminal. Ids are never broken: a terminal that is too narrow for them wraps whole lines."""
    out = Console(highlight=False, markup=False)
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
        drawn.add_row(*row)
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
