"""The pictures of deploy/CHOOSING.md and RESULTS.md: `… stopping --svg deploy/pictures` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from arbiter.drawing.chart import AxisTick, Curve, Mark, chart_svg
from arbiter.ratings import evidence, sprt
from arbiter.ratings.difference import difference
from arbiter.ratings.pairs import Pairs
from tests.studies.coverage import SEED
from tests.studies.stopping import StoppedRun, every_look, fixed, sequential, shares, simulated

ELO1: Final = 20.0  #: what all pictures are about: a test of 0 against 20 Elo
TRUTHS: Final = tuple(range(-10, 41, 5))
LEAST: Final = 15  #: the smallest drawn difference of the rule that is valid at every look: below, it takes very long
LOOK: Final = 10  #: pairs between two looks of a drawn run
LONGEST: Final = 2_500  #: pairs of a drawn run


def write_pictures(folder: Path, trials: int) -> None:
    """Write all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"games-needed": games_needed(trials), "test-runs": runs(), "two-intervals": two_intervals()}
    for name, text in texts.items():
        (folder / f"{name}.svg").write_text(text + "\n", encoding="utf-8")


def games_needed(trials: int) -> str:
    """Return a chart of the mean number of games by true difference; bands contain 90 % of the trials."""
    games = float(fixed(ELO1))
    rule = sequential(ELO1)
    late = [truth for truth in TRUTHS if truth >= LEAST]
    curves = [
        Curve("fixed number", [Mark(truth, games, games, games) for truth in TRUTHS]),
        Curve("sequential test", [_mark(truth, simulated(truth, ELO1, rule, trials)) for truth in TRUTHS]),
        Curve("every look", [_mark(truth, simulated(truth, ELO1, every_look, trials)) for truth in late]),
    ]
    ticks = [AxisTick(truth, f"{truth} Elo") for truth in TRUTHS[::2]]
    return chart_svg("Games until a decision, by how much A is better", curves, ticks, "games")


def _mark(truth: float, ended: StoppedRun) -> Mark:
    return Mark(truth, ended.mean, ended.quantile(0.05), ended.quantile(0.95))


def _run(truth: float) -> Iterator[Pairs]:
    """Yield the results of a run at each look."""
    rng = np.random.default_rng([SEED, round(truth)])
    counts = np.zeros(5, dtype=np.int64)
    for _ in range(LONGEST // LOOK):
        counts = counts + rng.multinomial(LOOK, shares(truth))
        yield Pairs(*counts.tolist())


def runs() -> str:
    """Return a chart of three runs of the sequential test between its bounds."""
    hypotheses = sprt.Hypotheses(0.0, ELO1)
    names = {20: "A 20 Elo better", 10: "A 10 Elo better", 0: "A and B equal"}
    curves = []
    for truth, name in names.items():
        marks = [Mark(0, 0, 0, 0)]
        for pairs in _run(truth):
            standing = sprt.judge(pairs, hypotheses)
            ratio = min(max(standing.ratio, standing.lower), standing.upper)
            marks.append(Mark(2 * pairs.total, ratio, ratio, ratio))
            if standing.verdict is not sprt.Verdict.UNDECIDED:
                break
        curves.append(Curve(name, marks))
    last = max(curve.marks[-1].at for curve in curves)
    empty = sprt.judge(Pairs(), hypotheses)
    for name, bound in (("accept 20 Elo", empty.upper), ("accept 0 Elo", empty.lower)):
        curves.append(Curve(name, [Mark(at, bound, bound, bound) for at in (0, last)]))
    title = "Three runs of a test of 0 against 20 Elo: its log-likelihood ratio"
    return chart_svg(title, curves, _games_ticks(last), "LLR")


def two_intervals() -> str:
    """Return a chart of one run with both 95 % intervals."""
    looks = [pairs for pairs in _run(ELO1) if pairs.total % (5 * LOOK) == 0 and pairs.total >= 100]
    once = [(2 * pairs.total, difference(pairs)) for pairs in looks]
    always = [(2 * pairs.total, difference(pairs).elo, evidence.interval(pairs)) for pairs in looks]
    curves = [
        Curve("every look", [Mark(at, value, each.elo_low, each.elo_high) for at, value, each in always]),
        Curve("fixed number", [Mark(at, each.elo, each.low, each.high) for at, each in once]),
        Curve("truth", [Mark(2 * pairs.total, ELO1, ELO1, ELO1) for pairs in looks]),
    ]
    return chart_svg("Both 95 % intervals in one run; A is 20 Elo better", curves, _games_ticks(2 * LONGEST), "Elo")


def _games_ticks(last: float) -> list[AxisTick]:
    step = 1_000 if last > 2_000 else 200
    return [AxisTick(at, f"{at:,} games") for at in range(step, int(last) + 1, step)]
