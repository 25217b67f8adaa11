"""Curves with bands over time, for the history of ratings, as SVG and as text for a terminal.

A curve is a line through its marks, with a band around it (an interval). In the SVG, curves differ by colour, by dash
and by the name at their end, so colour is never the only difference. In the terminal they differ by the letter of their
points. The axis of time is to scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import Final, NamedTuple

from arbiter.drawing.shapes import Point, element, label, number, polygon, words
from arbiter.plain_text import plain

WIDTH: Final = 880.0  #: pixels of an SVG
HEIGHT: Final = 460.0
LEFT: Final = 68.0  #: pixels of the margins around the field
RIGHT: Final = 168.0
TOP: Final = 56.0
BOTTOM: Final = 52.0
TEXT: Final = 14.0
APART: Final = 17.0  #: minimum pixels between the names at the ends of curves
MOST_CHARACTERS: Final = 20  #: maximum of the name and the value at the end of a curve, which RIGHT has room for
MOST_CURVES: Final = 8  #: maximum in one chart: with more, colours and letters would repeat

COLOURS: Final = ("#0b5fa5", "#c2410c", "#2f7d32", "#8e24aa", "#b8860b", "#00838f", "#ad1457", "#5d4037")
DASHES: Final = ("", "9 5", "2 5", "12 4 2 4", "5 5", "16 6", "1 3", "8 3 3 3")
LETTERS: Final = "ABCDEFGH"

STYLE: Final = """
text{font-family:system-ui,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;fill:#37424a}
.paper{fill:#fbfaf6}
.title{font-weight:700}
.grid{stroke:#dbe4e8;stroke-width:1}
.axis{stroke:#8a979e;stroke-width:1.5}
.tick{fill:#53626b}
.band{opacity:.16}
.curve{fill:none;stroke-width:2.6;stroke-linejoin:round;stroke-linecap:round}
"""

DARK_COLOURS: Final = ("#6db6f2", "#ff9a62", "#7fce82", "#d79be8", "#e6c35c", "#5fd0db", "#f48cb6", "#c8a99c")
DARK_STYLE: Final = (
    "@media(prefers-color-scheme:dark){text{fill:#e4e9eb}.paper{fill:#14191c}.grid{stroke:#2c3539}.tick{fill:#97a5ac}"
    + "".join(f".ink{n}{{stroke:{colour}}}.dye{n}{{fill:{colour}}}" for n, colour in enumerate(DARK_COLOURS))
    + "}"
)
"""The style of a chart on a page whose screen is dark."""


class Mark(NamedTuple):
    """A point of a curve: its time (any unit, the same for all), its value, and the ends of its interval."""

    at: float
    value: float
    low: float
    high: float


class Curve(NamedTuple):
    """A named curve; marks are in order of time."""

    name: str
    marks: Sequence[Mark]


class AxisTick(NamedTuple):
    """A labelled time on the axis of time."""

    at: float
    text: str


class _Scale(NamedTuple):
    """The range of a chart: times, and values with the distance of the grid lines; 0 for powers of ten."""

    first: float
    last: float
    low: float
    high: float
    step: float


def chart_svg(
    title: str,
    curves: Sequence[Curve],
    ticks: Sequence[AxisTick] = (),
    unit: str = "Elo",
    adapts: bool = False,
    with_bands: bool = True,
    digits: int = 0,
    powers: bool = False,
) -> str:
    """Return a chart as a standalone SVG document. It shows the first eight curves, and no curve without marks.

    adapts: it is dark where the screen is. with_bands: with the intervals, which hide each other where curves are many.
    digits: decimal places of the values in the description. powers: the axis of values is logarithmic; all values
    must be more than 0.
    """
    shown = _shown(curves)
    scale = _powers(shown) if powers else _scale(shown)
    described = "; ".join(_legend(curve, unit, digits) for curve in shown) or "nothing to show yet"
    bands = [polygon(_band(curve, scale), class_=f"band dye{n}", fill=COLOURS[n]) for n, curve in enumerate(shown)]
    return element(
        "svg",
        element("title", words(title)),
        element("desc", words(f"{described}.")),
        element("style", STYLE + DARK_STYLE if adapts else STYLE),
        element("rect", class_="paper", width=WIDTH, height=HEIGHT, rx=14.0),
        label(title, (LEFT, 28.0), 20.0, "title", "start"),
        *_grid(scale, ticks, unit),
        *(bands if with_bands else ()),
        *(_line(curve, scale, n) for n, curve in enumerate(shown)),
        *_names(shown, scale, digits),
        *(() if shown else (label("nothing to show yet", (WIDTH / 2, HEIGHT / 2), 18.0, "tick"),)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(WIDTH)} {number(HEIGHT)}",
        width=WIDTH,
        height=HEIGHT,
        role="img",
        aria_label=title,
    )


def chart_text(
    title: str, curves: Sequence[Curve], ticks: Sequence[AxisTick] = (), width: int = 72, height: int = 16
) -> str:
    """Return a chart as lines of text, ending with a newline; `width` and `height` of the plot area in characters.

    Points are letters, intervals are shaded; where curves meet, the first in the list is on top.
    """
    shown = _shown(curves)
    if not shown:
        return f"{title}\n  nothing to show yet\n"
    scale = _scale(shown)
    rows = [[" "] * width for _ in range(height)]
    for curve in shown:
        for column, mark in _columns(curve, scale, width):
            for row in range(_row(mark.high, scale, height), _row(mark.low, scale, height) + 1):
                rows[row][column] = "░"
    for n, curve in reversed(list(enumerate(shown))):
        for column, mark in _columns(curve, scale, width):
            rows[_row(mark.value, scale, height)][column] = LETTERS[n]
    values = {_row(value, scale, height): f"{value:g}" for value in _lines(scale)}
    margin = max(map(len, values.values()))
    lines = [title]
    lines += [
        f"{values.get(n, ''):>{margin}} {'┤' if n in values else '│'}{''.join(row).rstrip()}"
        for n, row in enumerate(rows)
    ]
    lines.append(f"{'':{margin}} └{'─' * width}")
    lines.append(f"{'':{margin}}  {_tick_line(scale, ticks, width)}".rstrip())
    lines += [f"{'':{margin}}  {LETTERS[n]}  {_legend(curve, '').strip()}" for n, curve in enumerate(shown)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _shown(curves: Sequence[Curve]) -> list[Curve]:
    return [curve for curve in curves if curve.marks][:MOST_CURVES]


def _legend(curve: Curve, unit: str, digits: int = 0) -> str:
    mark = curve.marks[-1]
    value, low, high = (f"{each:.{digits}f}" for each in (mark.value, mark.low, mark.high))
    return f"{plain(curve.name)}: {value} {unit}".rstrip() + f" ({low} to {high})"


def _scale(curves: Sequence[Curve]) -> _Scale:
    """Return a scale whose grid lines have round values, about five of them.

    It contains all values, and the bands at the ends of the curves. Early bands are often many times as wide and would
    flatten all curves: they are cut off at the edge.
    """
    marks = [mark for curve in curves for mark in curve.marks] or [Mark(0, 0, -100, 100)]
    ends = [curve.marks[-1] for curve in curves] or marks
    first, last = min(mark.at for mark in marks), max(mark.at for mark in marks)
    low = min(*(mark.value for mark in marks), *(mark.low for mark in ends))
    high = max(*(mark.value for mark in marks), *(mark.high for mark in ends))
    rough = max(high - low, 1e-9) / 5
    size = 10 ** floor(log10(rough))
    step = next(size * part for part in (1, 2, 2.5, 5, 10) if size * part >= rough * 0.999)
    low, high = floor(low / step) * step, ceil(high / step) * step
    return _Scale(first, last, low, high if high > low else low + step, step)


def _powers(curves: Sequence[Curve]) -> _Scale:
    """Return a logarithmic scale from one power of ten to another; it contains all bands."""
    marks = [mark for curve in curves for mark in curve.marks] or [Mark(0, 1, 1, 1)]
    low, high = floor(log10(min(mark.low for mark in marks))), ceil(log10(max(mark.high for mark in marks)))
    first, last = min(mark.at for mark in marks), max(mark.at for mark in marks)
    return _Scale(first, last, 10.0**low, 10.0 ** max(high, low + 1), 0.0)


def _lines(scale: _Scale) -> list[float]:
    """Return the values of the grid lines."""
    if not scale.step:
        return [10.0**power for power in range(round(log10(scale.low)), round(log10(scale.high)) + 1)]
    count = round((scale.high - scale.low) / scale.step)
    return [round(scale.low + n * scale.step, 9) + 0.0 for n in range(count + 1)]


def _fraction(value: float, least: float, most: float) -> float:
    """Return where a value lies between two others, clamped to 0 to 1; 0.5 if the two are equal."""
    return min(max((value - least) / (most - least), 0.0), 1.0) if most > least else 0.5


def _place(at: float, value: float, scale: _Scale) -> Point:
    x = LEFT + _fraction(at, scale.first, scale.last) * (WIDTH - LEFT - RIGHT)
    part = _fraction(value, scale.low, scale.high) if scale.step else _fraction(*map(log10, (value, *scale[2:4])))
    y = HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)
    return x, y


def _grid(scale: _Scale, ticks: Sequence[AxisTick], unit: str) -> Iterator[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    for value in _lines(scale):
        _, y = _place(scale.first, value, scale)
        yield element("line", class_="grid", x1=LEFT, y1=y, x2=right, y2=y)
        yield label(f"{value:g}", (LEFT - 10, y), TEXT, "tick", "end")
    yield element("line", class_="axis", x1=LEFT, y1=bottom, x2=right, y2=bottom)
    yield label(unit, (LEFT - 10, TOP - 18), TEXT, "tick", "end")
    for at, text in ticks:
        if scale.first <= at <= scale.last:
            x, _ = _place(at, scale.low, scale)
            yield element("line", class_="axis", x1=x, y1=bottom, x2=x, y2=bottom + 6)
            yield label(text, (x, bottom + 20), TEXT, "tick")


def _band(curve: Curve, scale: _Scale) -> list[Point]:
    upper = [_place(mark.at, mark.high, scale) for mark in curve.marks]
    return upper + [_place(mark.at, mark.low, scale) for mark in reversed(curve.marks)]


def _line(curve: Curve, scale: _Scale, n: int) -> str:
    points = [_place(mark.at, mark.value, scale) for mark in curve.marks]
    path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
    line = element("path", class_=f"curve ink{n}", d=path, stroke=COLOURS[n], stroke_dasharray=DASHES[n])
    x, y = points[-1]
    dot = element("circle", class_=f"dye{n}", cx=x, cy=y, r=4.0, fill=COLOURS[n])
    return element("g", element("title", words(curve.name)), line, dot)


def _names(curves: Sequence[Curve], scale: _Scale, digits: int) -> Iterator[str]:
    """Yield the names at the ends of the curves, moved apart where they would overlap."""
    ends = sorted((_place(curve.marks[-1].at, curve.marks[-1].value, scale)[1], n) for n, curve in enumerate(curves))
    lowest = HEIGHT - BOTTOM - APART * (len(ends) - 1)
    y = TOP
    for wanted, n in ends:
        y = max(y, min(wanted, lowest))
        lowest += APART
        mark = curves[n].marks[-1]
        value = f"{mark.value:.{digits}f}"
        text = f"{_short(plain(curves[n].name), MOST_CHARACTERS - 1 - len(value))} {value}"
        name = label(text, (WIDTH - RIGHT + 20, y), TEXT, "name", "start")
        yield element(
            "g", element("circle", class_=f"dye{n}", cx=WIDTH - RIGHT + 13, cy=y, r=3.0, fill=COLOURS[n]), name
        )
        y += APART


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _row(value: float, scale: _Scale, height: int) -> int:
    return round((1 - _fraction(value, scale.low, scale.high)) * (height - 1))


def _columns(curve: Curve, scale: _Scale, width: int) -> Iterator[tuple[int, Mark]]:
    """Yield the points of each column from a curve's first mark to its last, interpolated linearly between marks."""
    marks = curve.marks
    places = [round(_fraction(mark.at, scale.first, scale.last) * (width - 1)) for mark in marks]
    for (start, mark), (end, following) in zip(
        zip(places, marks, strict=True), zip(places[1:], marks[1:], strict=True), strict=False
    ):
        for column in range(start, end):
            part = (column - start) / (end - start)
            yield column, Mark(*(a + (b - a) * part for a, b in zip(mark, following, strict=True)))
    yield places[-1], marks[-1]


def _tick_line(scale: _Scale, ticks: Sequence[AxisTick], width: int) -> str:
    """Return the axis's labels, centred on their times; a label that would touch the one before is left out."""
    line, free = "", 0
    for at, text in sorted(ticks):
        if scale.first <= at <= scale.last:
            start = round(_fraction(at, scale.first, scale.last) * (width - 1)) - len(text) // 2
            start = max(0, min(start, width - len(text)))
            if start >= free:
                line = line.ljust(start) + text
                free = start + len(text) + 1
    return line
