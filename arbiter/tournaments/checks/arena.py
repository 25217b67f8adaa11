"""The check of an arena: only free players are paired, and with those whom they have met less often.

The rules, as `arbiter.tournaments.formats.arena` and deploy/CHOOSING.md state them:

1. Nobody meets the opponent of its last meeting again while one of the two could meet somebody else, who is free or
   plays, until twice the usual length of a meeting has passed since then, or ten seconds if that is longer.
2. As many pairs as possible. 3. Among these, pairs that have met least often. 4. Among these, the nearest scores.

For 2 to 4 each exchange of opponents between two pairs, or with players who were left over, is tried: none may be
better. An exchange in which anybody would meet its last opponent again is not tried, so whether a player could have
waited does not matter. In a field of more than `MOST_FREE` players an arena looks for opponents of about the same score
only, and here 2 to 4 are not checked. Records of arenas before these rules, which do not name them, are checked for
rematches while others were free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Final, NamedTuple

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.check import FormatCheck, only_the_free
from arbiter.tournaments.checks.history import EarlierRounds

RULES: Final = "the arbiter's rules for arenas of November 2026"
MOST_FREE: Final = 24

Duo = tuple[str, str]


class ArenaCheck(FormatCheck):
    """Checks each round against the rounds before it."""

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check a paired round."""
        yield from only_the_free(history, event)
        pairs = [(meeting.first, meeting.second) for meeting in event.meetings]
        paired = {player for pair in pairs for player in pair}
        alone = [player for player in event.free if player not in paired]
        fresh = _fresh(history)
        if history.rules != RULES:
            yield from _needless(pairs, alone, fresh)
            return
        for first, second in pairs:
            yield from _too_soon(history, event, first, second)
        if len(event.free) <= MOST_FREE:
            yield from _left_over(pairs, alone, fresh)
            yield from _better(history, pairs, alone, fresh)


def _fresh(history: EarlierRounds) -> Callable[[str, str], bool]:
    """Return a function that says whether two players may meet, and neither met the other in its last meeting."""
    never = frozenset(history.forbidden)

    def fresh(first: str, second: str) -> bool:
        again = _last(history, first) == second or _last(history, second) == first
        return not again and frozenset((first, second)) not in never

    return fresh


def _last(history: EarlierRounds, player: str) -> str:
    meetings = history.meetings_of[player]
    return "" if not meetings else meetings[-1].second if meetings[-1].first == player else meetings[-1].first


def _needless(pairs: list[Duo], alone: list[str], fresh: Callable[[str, str], bool]) -> Iterator[str]:
    """Yield rematches that could have been avoided among the players who were free."""
    again = [pair for pair in pairs if not fresh(*pair)]
    for first, second in again:
        for other in alone:
            if fresh(first, other) or fresh(second, other):
                yield f"{first} and {second} meet again, though {other} was free"
    for (a, b), (c, d) in combinations(again, 2):
        if (fresh(a, c) and fresh(b, d)) or (fresh(a, d) and fresh(b, c)):
            yield f"{a} and {b} meet again, though {c} and {d} were free"


def _too_soon(history: EarlierRounds, event: ev.Paired, first: str, second: str) -> Iterator[str]:
    """Yield a pair of which one met the other in its last meeting, a short time ago, while others were around."""
    again = [player for player, other in ((first, second), (second, first)) if _last(history, player) == other]
    never = history.forbidden
    playing = {player for meeting in history.going_on.values() for player in meeting.players}
    around = (set(event.free) | (playing & history.here)) - {first, second}
    others = [other for other in around if any(frozenset((one, other)) not in never for one in (first, second))]
    if not again or not others:
        return
    ended = list(history.ended_at)
    for player in again:
        number = history.meetings_of[player][-1].number
        so_far = ended[: ended.index(number) + 1]
        usual = sum(history.ended_at[each] - history.paired_at[each] for each in so_far) // len(so_far)
        left = history.ended_at[number] + max(10_000, 2 * usual) - event.at
        if left > 0:
            yield f"{first} and {second} meet again {left} ms too soon: {min(others)} was free or played"
            return


def _left_over(pairs: list[Duo], alone: list[str], fresh: Callable[[str, str], bool]) -> Iterator[str]:
    """Yield players who were left over, though one more pair was possible."""
    for one, other in combinations(alone, 2):
        if fresh(one, other):
            yield f"{one} and {other} were free, and were not paired"
        for first, second in pairs:
            if (fresh(first, one) and fresh(second, other)) or (fresh(first, other) and fresh(second, one)):
                yield f"{one} and {other} were left over, and could have met {first} and {second}"


class _Worth(NamedTuple):
    """How good some pairs are, less is better: their past meetings, then the differences of their scores."""

    met: int
    apart: int

    def __str__(self) -> str:
        """Return it as words."""
        return f"({self.met} earlier meetings, {self.apart} points apart)"


def _better(
    history: EarlierRounds, pairs: list[Duo], alone: list[str], fresh: Callable[[str, str], bool]
) -> Iterator[str]:
    """Yield pairs that would be better with exchanged opponents, or if one of them met a player who was left over."""
    scores = {player: _score(history, player) for pair in pairs for player in pair}
    scores |= {player: _score(history, player) for player in alone}

    def worth(*some: Duo) -> _Worth:
        apart = sum(abs(scores[a] - scores[b]) for a, b in some)
        return _Worth(sum(history.met[frozenset(pair)] for pair in some), apart)

    swaps = [
        ([(a, b), (c, d)], others)
        for (a, b), (c, d) in combinations(pairs, 2)
        for others in ([(a, c), (b, d)], [(a, d), (b, c)])
    ]
    swaps += [([(a, b)], [(one, other)]) for a, b in pairs for one in (a, b) for other in alone]
    for these, those in swaps:
        if all(fresh(*pair) for pair in those) and worth(*those) < worth(*these):
            said, meant = (", ".join(f"{a}–{b}" for a, b in some) for some in (these, those))
            yield f"{said} {worth(*these)} were paired, and {meant} {worth(*those)} would have been better"


def _score(history: EarlierRounds, player: str) -> int:
    """Return a player's arena points: 2 for a win, 1 for a draw, twice that right after two wins in a row.

    A game to which neither player came is lost by both. A void one does not count.
    """
    score, row = 0, 0
    for game in (game for meeting in history.meetings_of[player] for game in meeting.games):
        both = history.points(game.number)
        if both is None:
            continue
        points = both[0 if player == game.seat1 else 1]
        score += points * (2 if row > 1 else 1)
        row = row + 1 if points == 2 else 0
    return score
