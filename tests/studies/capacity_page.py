"""The tables about several servers in deploy/FIGURES.md, from what `arbiter bench cluster` kept: `make capacity`.

Each table of the page stands between a line `<!-- NAME, from cluster.json -->` and a line `<!-- end -->`. The text
around the tables is written by hand.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from arbiter.bench.processes import BenchError
from arbiter.bench.report import Bound, Figure, shown
from tests.studies import capacity_table as tables
from tests.studies.capacity import Load

PAGE: Final = "FIGURES.md"
KEPT: Final = "cluster.json"
UNKNOWN: Final = "not kept"

Row = tuple[str, ...]
_PART = re.compile(r"(?<=<!-- )(\w+)(, from cluster\.json -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)


class _Servers(NamedTuple):
    """Servers that were measured: how their keys begin; how many there are, 0 for the one on SQLite."""

    key: str
    number: int
    bus: bool

    @property
    def name(self) -> str:
        if not self.number:
            return "one, SQLite"
        return f"{self.number}{' with NATS' if self.bus else ''}"


def page(text: str, kept: Mapping[str, Any]) -> str:
    """Return the text of the page with all tables written anew. Raises BenchError if other figures were kept."""
    return _PART.sub(lambda found: f"{found[1]}{found[2]}{_markdown(PARTS[found[1]](kept))}", text)


def _markdown(rows: Iterable[Sequence[str]]) -> str:
    head, *rest = rows
    lines = [f"| {' | '.join(row)} |" for row in (head, ["--"] * len(head), *rest)]
    return "\n".join(("", *lines, "", ""))


def _plan(kept: Mapping[str, Any]) -> list[Row]:
    """Return how the figures were measured."""
    plan, machine = kept.get("plan", {}), kept["machine"]
    rounds = max(len(figure["rounds"]) for figure in kept["figures"])
    return [
        ("day", "pairs of players", "rounds", "seconds of each", "processors", "modules", "time stolen"),
        (
            kept.get("date", UNKNOWN),
            f"{plan.get('pairs', UNKNOWN)}",
            f"{rounds}",
            f"{plan.get('seconds', UNKNOWN)}",
            f"{machine['processors']}",
            "compiled" if machine["compiled"] else "interpreted",
            f"{machine['stolen']:g} %",
        ),
    ]


def _measured(kept: Mapping[str, Any]) -> list[Row]:
    """Return moves, processor time and latencies of all servers."""
    figures, sizes = _figures(kept), _sizes(kept)
    rows = (
        ("moves a second, players answer at once", "moves_per_s"),
        (f"{_load(figures, 'single_loaded_us')} moves/s offered: processor time a move, µs", "loaded_us"),
        ("the same, of the one on SQLite", "us_loaded_ratio"),
        ("PostgreSQL, µs", "postgres_us"),
        (f"{_load(figures, 'single_ack_p50_ms')} moves/s offered: acknowledged, p50, ms", "ack_p50_ms"),
        ("the same, p99", "ack_p99_ms"),
        ("commit to observer (at another server), p50, ms", "seen_p50_ms"),
    )
    found: list[Row] = [("servers", *(size.name for size in sizes))]
    for title, key in rows:
        cells = [figures.get(f"{size.key}_{key}") for size in sizes]
        if any(cells):
            found.append((title, *(figure.shown if figure else "" for figure in cells)))
    return found


PARTS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[Row]]]] = {"plan": _plan, "measured": _measured}
"""The tables of the page, by the names in its marks."""


def _figures(kept: Mapping[str, Any]) -> dict[str, Figure]:
    return {each["key"]: _figure(each) for each in kept["figures"]}


def _figure(kept: Mapping[str, Any]) -> Figure:
    named = (kept["key"], kept["title"], kept["value"], kept["unit"], kept["goal"])
    return Figure(*named, bound=Bound(kept["bound"]), rounds=tuple(kept["rounds"]))


def _sizes(kept: Mapping[str, Any]) -> list[_Servers]:
    """Return all servers that were measured: the single process first, then by number, without a bus and with it."""
    keys = [re.fullmatch(r"(replicas_(\d+)(_bus)?)_moves_per_s", figure["key"]) for figure in kept["figures"]]
    several = [_Servers(key[1], int(key[2]), key[3] is not None) for key in keys if key]
    return [_Servers("single", 0, False), *sorted(several, key=lambda servers: (servers.number, servers.bus))]


def _load(figures: Mapping[str, Figure], key: str) -> str:
    """Return how many moves a second were offered for a figure, as its title says."""
    found = re.search(r"([\d,]+) moves/s offered", figures[key].title) if key in figures else None
    return shown(float(found[1].replace(",", ""))) if found else UNKNOWN


_NOT_KEPT: Final = "is not what `arbiter bench … --json FILE` keeps: measure again"


def answer(write: Callable[[str], object], arguments: Sequence[str]) -> None:
    """Write by the model what machines carry: what gives out first, and what to do then. Nothing is measured.

    Three tables, with tabs between their columns, say what some cores carry, how many cores carry all of it, and how
    the predictions compare with what was measured. Exits with code 2 and a line on standard error for wrong arguments.
    Raises BenchError for another file.
    """
    wanted = _wanted(arguments)
    load = Load(wanted.matches, wanted.pace, wanted.observers)
    try:
        kept = json.loads(wanted.file.read_bytes())
        costs, compared = tables.costs_in(kept), tables.checks(kept)
    except OSError as error:
        raise BenchError(f"{wanted.file} can't be read: {error.strerror}") from None
    except BenchError as error:
        raise BenchError(f"{wanted.file}: {error}") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise BenchError(f"{wanted.file} {_NOT_KEPT}") from None
    write(
        f"A move: {costs.move:,.0f} µs of a replica, {costs.follow:,.0f} µs of each other one, {costs.database:,.0f} + "
        f"{costs.read:,.0f} µs of PostgreSQL. Wanted: {load.moves:,.0f} moves/s in {load.matches:,} matches.\n"
    )
    for head, rows in (
        (tables.HEADINGS, tables.rows(load, costs, wanted.cores)),
        (tables.NEEDED_HEADINGS, tables.needed_rows(load, costs)),
        (tables.CHECK_HEADINGS, compared),
    ):
        write("".join("\t".join(map(str, row)) + "\n" for row in (head, *rows)))
    if wanted.svg is not None:
        wanted.svg.write_text(tables.capacity_svg(load, costs) + "\n", encoding="utf-8")


class _Wanted(NamedTuple):
    """What is asked for: a file that `arbiter bench cluster` has kept, cores of all machines, and the load."""

    file: Path
    cores: tuple[int, ...]
    matches: int
    observers: int
    pace: float
    svg: Path | None


def _wanted(arguments: Sequence[str]) -> _Wanted:
    parser = argparse.ArgumentParser("python -m tests.studies capacity", description="What machines carry, by a model.")
    parser.add_argument("file", type=Path, metavar="FILE", help="what `arbiter bench cluster --json FILE` has kept")
    parser.add_argument("--cores", type=_numbers, default=(8, 64), help="of all machines, with commas between")
    parser.add_argument("--matches", type=_positive, default=100_000, help="live matches that are wanted")
    parser.add_argument("--observers", type=_positive, default=1_000_000, help="each of one match")
    parser.add_argument("--pace", type=float, default=0.1, help="moves a second in each match")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a picture of the moves a second by cores")
    return _Wanted(**vars(parser.parse_args(arguments)))


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted({_positive(each) for each in text.split(",")}))


def main(arguments: Sequence[str]) -> int:
    """Write the page's tables. The argument is the folder of the page, `deploy`."""
    folder = Path(*arguments[:1])
    kept = json.loads((folder / KEPT).read_bytes())
    text = page((folder / PAGE).read_text(encoding="utf-8"), kept)
    (folder / PAGE).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
