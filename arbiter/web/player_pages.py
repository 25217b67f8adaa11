"""A player's results for its page: by opponent, by game and seat, by version, by reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from arbiter.drawing.chart import AxisTick
from arbiter.service.ports.journal import MatchSummary, PlayerResult

MOST_OPPONENTS: Final = 50  #: rows of the table of opponents
FORM: Final = 20  #: newest results on the page of a player
DAY_MS: Final = 86_400_000
TICKS: Final = 4


class ResultCount(NamedTuple):
    """The results of one kind: its name, and the numbers won, drawn and lost. Void matches are not counted."""

    name: str
    won: int
    drawn: int
    lost: int

    @property
    def games(self) -> int:
        """The number of results."""
        return self.won + self.drawn + self.lost

    @property
    def share(self) -> float:
        """The player's share of the points, in percent."""
        return 100 * (self.won + self.drawn / 2) / max(self.games, 1)


class Results(NamedTuple):
    """The results of a player by each criterion, the most frequent first.

    void: the number of void matches. opponents: at most MOST_OPPONENTS; more: the number of others. reasons: the
    reasons of wins, draws and losses.
    """

    all: ResultCount
    opponents: Sequence[ResultCount]
    more: int
    seats: Sequence[ResultCount]
    versions: Sequence[ResultCount]
    reasons: Sequence[ResultCount]
    void: int


def results(player: str, found: Iterable[PlayerResult], seat_name: Callable[[str, int], str]) -> Results:
    """Return results by each criterion. `seat_name` returns the name of a seat in a game.

    Matches of the player against itself are left out.
    """
    counted = [each for each in found if each.opponent != player]
    valid = [each for each in counted if each.result != "void"]
    opponents = _scores(valid, lambda each: each.opponent)
    return Results(
        all=next(iter(_scores(valid, lambda each: player)), ResultCount(player, 0, 0, 0)),
        opponents=opponents[:MOST_OPPONENTS],
        more=max(0, len(opponents) - MOST_OPPONENTS),
        seats=_scores(valid, lambda each: f"{each.game}, {seat_name(each.game, each.seat)}"),
        versions=_scores(valid, lambda each: each.version or "not known"),
        reasons=_scores(valid, lambda each: each.reason.replace("_", " ")),
        void=sum(each.games for each in counted if each.result == "void"),
    )


def form(player: str, items: Iterable[object]) -> list[tuple[str, MatchSummary]]:
    """Return the newest results of a list of matches, as (W, D, L or –, match), the newest first."""
    found = []
    for item in items:
        if isinstance(item, MatchSummary) and item.end is not None and item.player_1 != item.player_2:
            own = 1 if item.player_1 == player else 2
            void, winner = item.end.result == "void", item.end.winner
            found.append(("–" if void else "D" if not winner else "W" if winner == own else "L", item))
    return found[:FORM]


def ticks(first_ms: int, last_ms: int, written: Callable[[int], str]) -> list[AxisTick]:
    """Return the labels of a time axis; `written` returns an instant as text: `2026-03-01 12:00 UTC`."""
    steps = range(TICKS) if last_ms > first_ms else range(1)
    instants = [first_ms + (last_ms - first_ms) * step // (TICKS - 1) for step in steps]
    span = last_ms - first_ms
    part = slice(0, 10) if span >= TICKS * DAY_MS else slice(5, 16) if span >= DAY_MS else slice(11, 16)
    return [AxisTick(at, written(at)[part]) for at in instants]


def _scores(found: Iterable[PlayerResult], of: Callable[[PlayerResult], str]) -> list[ResultCount]:
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for each in found:
        counts[of(each)][1 if each.won is None else 0 if each.won else 2] += each.games
    return sorted(
        (ResultCount(name, *three) for name, three in counts.items()), key=lambda score: (-score.games, score.name)
    )
