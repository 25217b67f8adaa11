"""`arbiter top`: what one or several servers do now, from their metrics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Group
from rich.live import Live
from rich.text import Text

from arbiter.cli.argument_types import Flag
from arbiter.cli.failure import Failure
from arbiter.cli.metrics_text import LOG_PLACE, Interval, Sample, read, separated
from arbiter.cli.terminal import PlainConsole, drawn_table, on_terminal, write_line

ADDRESS: Final = "127.0.0.1:9464"
NONE: Final = "–"  #: where there is no figure
MOST_ROWS: Final = 6  #: games, and reasons of refusals, that are shown


def top(
    address: str = ADDRESS,
    /,
    *,
    every: Annotated[float, Parameter(validator=Number(gte=0.1))] = 2.0,
    once: Flag = False,
    tls_root: Path | None = None,
) -> None:
    """Show what a server does now: moves and their times, commits, players, streams, refusals, queues, memory.

    It reads the metrics of `arbiter serve --metrics HOST:PORT`. Each figure is of the last interval. Ctrl-C ends it.
    Several servers are shown side by side; one that does not answer has no figures. If they share a store, it also
    shows how many records of the log each one lacks that another one had read when the interval began.

    :param address: The address of the metrics, as HOST:PORT, or their URL; those of several servers with commas.
    :param every: Seconds between two looks.
    :param once: Show one interval, and end. That is what happens where the output is no terminal.
    :param tls_root: Trust this certificate (PEM), for a URL with https.
    """
    addresses = separated(address)
    before = looked(addresses, tls_root)
    if once or not on_terminal():
        time.sleep(every)
        intervals = _intervals(before, looked(addresses, tls_root))
        log = log_before(intervals)
        for one, interval in zip(addresses, intervals, strict=True):
            of_server = (one,) if len(addresses) > 1 else ()
            for section in sections(interval, log) if interval is not None else ():
                for name, *figures in section.rows:
                    write_line(*of_server, section.title, name, *figures)
        return
    console = PlainConsole()
    console.print(f"Looking at {address} for {every:g} s.")
    with Live(console=console, auto_refresh=False, screen=True, vertical_overflow="crop") as live:
        while True:
            time.sleep(every)
            after = looked(addresses, tls_root)
            live.update(picture(addresses, _intervals(before, after)), refresh=True)
            before = after


def looked(addresses: Sequence[str], tls_root: Path | None) -> list[Sample | None]:
    """Return what each server shows, None for one that does not answer. Raises Failure if none does."""
    with ThreadPoolExecutor(len(addresses)) as threads:  # one that is gone may keep its caller waiting for long
        found = list(threads.map(lambda address: _looked(address, tls_root), addresses))
    for each in found:
        if isinstance(each, Sample):
            return [sample if isinstance(sample, Sample) else None for sample in found]
    assert isinstance(found[0], Failure)
    raise found[0]


def _looked(address: str, tls_root: Path | None) -> Sample | Failure:
    try:
        return read(address, tls_root)
    except Failure as failure:
        return failure


def _intervals(before: Sequence[Sample | None], after: Sequence[Sample | None]) -> list[Interval | None]:
    """Return the interval of each server; None if it has not answered at both ends."""
    pairs = zip(before, after, strict=True)
    return [Interval(one, other) if one is not None and other is not None else None for one, other in pairs]


class Section(NamedTuple):
    """A table: its title, the headings of its figures, and its rows, each with its name first."""

    title: str
    headings: Sequence[str]
    rows: Sequence[tuple[str, ...]]


def picture(addresses: Sequence[str], intervals: Sequence[Interval | None]) -> Group:
    """Return the tables for a terminal, with columns for each server."""
    head = Text(f"{', '.join(addresses)}  {time.strftime('%H:%M:%S')}  Ctrl-C ends", style="bold")
    log = log_before(intervals)
    found = [sections(interval, log) if interval is not None else [] for interval in intervals]
    shown = next((each for each in found if each), None)
    if shown is None:
        return Group(head, Text("No server has answered twice yet."))
    tables = []
    for number, (title, headings, _) in enumerate(shown):
        beside = [each[number] if each else Section(title, headings, ()) for each in found]
        tables.append(drawn_table((title, *_headings(addresses, headings)), _rows(beside)))
    return Group(head, *tables)


def _headings(addresses: Sequence[str], headings: Sequence[str]) -> list[str]:
    if len(addresses) == 1:
        return list(headings)
    return [f"{address}\n{heading}" for address in addresses for heading in headings]


def _rows(beside: Sequence[Section]) -> list[tuple[str, ...]]:
    """Return the rows of all servers in one: the names of any of them, and a dash where one has no such row."""
    by_name = [{name: figures for name, *figures in section.rows} for section in beside]
    names = dict.fromkeys(name for rows in by_name for name in rows)
    none = [NONE] * len(beside[0].headings)
    return [(name, *(figure for rows in by_name for figure in rows.get(name, none))) for name in names]


def log_before(intervals: Sequence[Interval | None]) -> int | None:
    """Return how far any server had read the log when the interval began; None if only one server is looked at."""
    if len(intervals) == 1:
        return None
    return max((int(interval.before.value(LOG_PLACE)) for interval in intervals if interval is not None), default=0)


def sections(interval: Interval, log: int | None = None) -> list[Section]:
    """Return everything that is shown of an interval. log: how far any server had read the log when it began."""
    now = interval.after
    memory_mib = now.value("process_resident_memory_bytes") / (1 << 20)
    up_s = time.time() - now.value("process_start_time_seconds")
    return [
        Section(
            "server",
            ("now",),
            [
                ("version", f"{now.label('arbiter_build_info', 'version')}, up {_span(up_s)}"),
                ("processors in use", f"{interval.rate('process_cpu_seconds_total'):.2f}"),
                ("memory", f"{memory_mib:,.0f} MiB"),
                ("live matches", _number(now.value("arbiter_live_matches"))),
                ("connected players", _number(now.value("arbiter_connected_players"))),
                ("observers", _number(now.value("arbiter_observers"))),
                ("queued writes", _number(now.value("arbiter_queued_writes"))),
                ("requests for rules that wait", _number(now.value("arbiter_rules_jobs", state="waiting"))),
                ("items that wait for players", _number(now.value("arbiter_unsent_items"))),
                ("answers that nobody has read", f"{now.value('arbiter_unread_bytes') / (1 << 20):,.1f} MiB"),
                ("ahead of the system's clock", f"{now.value('arbiter_clock_offset_seconds'):+.3f} s"),
                ("other servers that were gone", _number(now.value("arbiter_failovers_total"))),
                ("times it was taken for gone", _number(now.value("arbiter_taken_for_gone_total"))),
                *([("records behind the log", _behind(int(now.value(LOG_PLACE)), log))] if log is not None else []),
            ],
        ),
        Section("times", ("p50", "p99", "a second"), _times(interval)),
        Section("moves", ("a second",), _rates(interval, "arbiter_moves_total", "game")),
        Section("refusals", ("a second",), _rates(interval, "arbiter_refusals_total", "reason")),
    ]


def _behind(place: int, log: int) -> str:
    """Return how many records a server lacks that another one had before; a dash if it follows no log."""
    return f"{max(0, log - place):,}" if place else NONE


def _times(interval: Interval) -> list[tuple[str, ...]]:
    stages = {
        "a move, until it is durable": ("arbiter_move_seconds", {"stage": "acknowledge"}),
        "a turn, until it is handed over": ("arbiter_move_seconds", {"stage": "hand_over"}),
        "the network, there and back": ("arbiter_move_seconds", {"stage": "network"}),
        "a commit": ("arbiter_commit_seconds", {}),
        "the event loop is late by": ("arbiter_event_loop_late_seconds", {}),
    }
    return [
        (
            title,
            *(_time(interval.quantile(share, name, **labels)) for share in (0.5, 0.99)),
            f"{interval.rate(f'{name}_count', **labels):,.1f}",
        )
        for title, (name, labels) in stages.items()
    ]


def _rates(interval: Interval, name: str, label: str) -> list[tuple[str, ...]]:
    rates = interval.rates(name, label)
    rows: list[tuple[str, ...]] = [(word, f"{rate:,.1f}") for word, rate in list(rates.items())[:MOST_ROWS]]
    rest = sum(list(rates.values())[MOST_ROWS:])
    return [*rows, ("others", f"{rest:,.1f}")] if rest else rows or [("none", "0.0")]


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return NONE
    return f"{seconds * 1_000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _span(seconds: float) -> str:
    minutes, hours, days = seconds / 60, seconds / 3_600, seconds / 86_400
    if days >= 2:
        return f"{days:.0f} days"
    return f"{hours:.0f} h" if hours >= 2 else f"{minutes:.0f} min"
