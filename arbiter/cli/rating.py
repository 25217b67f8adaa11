"""`arbiter rating`: the ratings of a player's bots, and their history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import arbiter_client as arb

from arbiter.cli.argument_types import RatedVariant
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.given_files import written_as_svg
from arbiter.cli.ratings_view import FORFEITS, drawn_rows, interval, print_json, whole
from arbiter.cli.table_options import Json, TableOptions
from arbiter.cli.terminal import for_people, remark, say, table, write_line, write_text
from arbiter.drawing.chart import MOST_CURVES, AxisTick, Curve, Mark, chart_svg, chart_text

TICKS: Final = 5  #: labelled times on the axis of a chart
DAY_MS: Final = 86_400_000
ROWS: Final = ("version", "at", "rating", "95 % interval")
HEADINGS: Final = ("player", "version", "at", "rating", "low", "high")


def rating(
    player: str,
    /,
    *,
    game: RatedVariant = "",
    points: int = 40,
    svg: Path | None = None,
    json: Json = False,
    output: TableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """Show the ratings of a player, by version of its bot, and their history as a chart and in rows.

    Each point is computed only from the games that had ended by then. There is a row for each point at which the rating
    has changed.

    :param player: The player.
    :param points: Maximum number of points in time of the chart, up to 100.
    :param svg: Write the chart to this file, as SVG.
    """
    if svg is not None:
        written_as_svg(svg, True)
    with connected(connection) as client:
        found = client.get_rating(player, game, history_points=points)
    curves = _curves(player, found.history)
    title = f"{player}: {found.game or 'all games together'}"
    if svg is not None:
        _write(svg, chart_svg(title, curves, _ticks(curves)), output)
    if json:
        print_json(found)
    elif for_people(output):
        _print_rating(found, title, curves)
    else:
        marks = ((each.version, mark) for each in found.history for mark in changes(each.marks))
        rows = ((player, version, str(mark.at_ms), *_numbers(mark.rating)) for version, mark in marks)
        table(HEADINGS, rows, "", output)


def changes(marks: Sequence[arb.RatingMark]) -> Iterator[arb.RatingMark]:
    """Yield the points of a history at which the rating is another one than before, each instant once."""
    before: arb.RatingMark | None = None
    for mark in marks:
        if before is None or (mark.rating != before.rating and mark.at_ms > before.at_ms):
            yield mark
            before = mark


def _print_rating(found: arb.Rating, title: str, curves: Sequence[Curve]) -> None:
    headings, rows = drawn_rows(found.versions)
    table(headings[:1] + headings[2:], [row[:1] + row[2:] for row in rows], "It has played no rated game.", None)
    if any(row.provisional for row in found.versions):
        say("? provisional: little is known yet.", "dim")
    if curves:
        write_text("\n" + chart_text(title, curves, _ticks(curves)))
        write_line()
        table(ROWS, changed_rows(found.history), "", None)
    if found.note:
        say(found.note, "yellow")
    lost = [f"{sum(getattr(row.forfeits, name) for row in found.versions)} {FORFEITS[name]}" for name in FORFEITS]
    if any(row.forfeits != arb.Forfeits(0, 0, 0) for row in found.versions):
        say(f"Lost without play: {', '.join(lost)}.", "dim")


def changed_rows(history: Sequence[arb.RatingHistory]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each change of a rating of the versions in the chart, as `ROWS`; times are local."""
    for each in history[:MOST_CURVES]:
        for mark in changes(each.marks):
            yield each.version, _local(mark.at_ms, "%Y-%m-%d %H:%M:%S"), whole(mark.rating.value), interval(mark.rating)


def _curves(player: str, history: Sequence[arb.RatingHistory]) -> list[Curve]:
    """Return the curves of the newest versions, as many as fit into a chart."""
    return [
        Curve(
            f"{player} {each.version}".rstrip(),
            [Mark(mark.at_ms, mark.rating.value, mark.rating.low, mark.rating.high) for mark in each.marks],
        )
        for each in history[:MOST_CURVES]
    ]


def _ticks(curves: Sequence[Curve]) -> list[AxisTick]:
    instants = [mark.at for curve in curves for mark in curve.marks]
    if not instants:
        return []
    first, last = min(instants), max(instants)
    form = "%Y-%m-%d" if last - first >= 2 * DAY_MS else "%H:%M:%S"
    steps = range(TICKS) if last > first else range(1)
    return [AxisTick(at, _local(at, form)) for at in (first + (last - first) * step / (TICKS - 1) for step in steps)]


def _local(at_ms: float, form: str) -> str:
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime(form)


def _numbers(estimate: arb.Estimate) -> tuple[str, ...]:
    return tuple(f"{number:.3f}" for number in (estimate.value, estimate.low, estimate.high))


def _write(file: Path, text: str, output: TableOptions | None) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise Failure(f"can't write {file}: {error.strerror or error}") from None
    remark(f"the chart in {file}", output, "dim")
