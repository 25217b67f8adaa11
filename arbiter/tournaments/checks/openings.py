"""The check of openings: each pair goes through the book on its own, and has none again before it has had all.

It is written from that rule, not from the code that chooses openings. Tournaments of older servers, which went through
the book by the number of the meeting, are not checked: their records do not contain the openings. Where the rules of a
game are not installed, openings that are drawn by these rules are not checked either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from arbiter.games import registry
from arbiter.tournaments.meetings import Meeting, ScheduledGame
from arbiter.tournaments.spec import ALL_READ, OpeningOrder, Spec

MOST_COUNTED: Final = 1_000  #: random openings of which none comes again; beyond them one may come again by chance
MOST_POSITIONS: Final = 20_000

Line = tuple[str, ...]


class OpeningsCheck:
    """The openings of a tournament's meetings so far. alike: every pair plays the same openings in the same order."""

    def __init__(self, spec: Spec, alike: bool) -> None:
        self._spec = spec
        self._alike = alike
        self._met: Counter[frozenset[str]] = Counter()
        self._times: dict[int, int] = {}  # how often the players of a meeting had met before, by meeting
        self._had: defaultdict[tuple[frozenset[str], str], dict[int, Line]] = defaultdict(dict)
        self._of_all: dict[tuple[str, int], Line] = {}

    def paired(self, meeting: Meeting) -> None:
        """Note a meeting."""
        pair = frozenset((meeting.first, meeting.second))
        self._times[meeting.number] = self._met[pair]
        self._met[pair] += 1

    def begun(self, game: ScheduledGame, opening: Line, position: str = "", entry: int = 0) -> Iterator[str]:
        """Yield what is wrong with the opening of a game of a noted meeting.

        Of a book only the numbers of its entries are known here. Their order is not checked. In a large book the next
        entry takes the place of a wrong one, so there one may come again before all have come.
        """
        openings = self._spec.openings
        if openings.book:
            opening = (str(entry), position, *opening)
        if openings.order is OpeningOrder.MEETING:
            return
        lines = list(dict.fromkeys(openings.lines.get(game.game, ())))
        if not (lines or openings.book or registry.installed(game.game)):
            return
        starts = () if lines or openings.book else registry.game(game.game).starts()
        where = f"game {game.number}"
        if openings.book:
            given = entry in range(1, openings.book_size + 1)
        else:
            given = opening in lines if lines else self._is_drawn(starts, opening, position, entry)
        if not given:
            yield f"{where} has an opening that the specification does not give: {' '.join(opening) or 'none'}"
            return
        opening = (position, *opening) if starts else opening
        times = self._times.get(game.meeting)
        if times is None:
            yield f"{where} is of meeting {game.meeting}, which was never paired"
            return
        had = self._had[frozenset((game.seat1, game.seat2)), game.game]
        if had.setdefault(times, opening) != opening:
            yield f"{where} has another opening than the other games of meeting {game.meeting}"
        if self._alike and self._of_all.setdefault((game.game, times), opening) != opening:
            yield f"{where} has another opening than other pairs that have met {times} times before"
        if opening and openings.book_size <= ALL_READ:
            size = openings.book_size or len(lines) or len(starts) or _count(openings.plies, game.game)
            for problem in self._out_of_turn(lines, size, opening, times, had):
                yield f"{where} has {problem}"

    def _is_drawn(self, starts: Sequence[str], opening: Line, position: str, entry: int) -> bool:
        """Return whether an opening is none, or random plies from one of the start positions."""
        return len(opening) in (0, self._spec.openings.plies) and not entry and position in ("", *starts)

    def _out_of_turn(
        self, lines: Sequence[Line], size: int, opening: Line, times: int, had: Mapping[int, Line]
    ) -> Iterator[str]:
        """Yield what is wrong with an opening beside those that the pair had, in a book of a size."""
        openings = self._spec.openings
        for earlier, line in had.items():
            if earlier == times or earlier // size != times // size:
                continue
            if line == opening and (
                lines or openings.book or size < MOST_COUNTED or max(earlier, times) < MOST_COUNTED
            ):
                yield f"the opening of an earlier meeting, before the pair has had all {size}"
                continue
            ordered = lines and openings.order is OpeningOrder.SEQUENTIAL
            if ordered and (lines.index(opening) - lines.index(line) - times + earlier) % size:
                yield "an opening out of order"


@lru_cache(maxsize=64)
def _count(plies: int, game: str) -> int:
    """Return how many openings of a length do not end the game; `MOST_COUNTED` if that many or too many to try."""
    rules = registry.game(game)
    level = [rules.initial()]
    tried = 0
    for _ in range(plies):
        below = []
        for position in level:
            for move in rules.moves(position):
                tried += 1
                following = rules.play(position, move)
                if following.outcome is None:
                    below.append(following)
                if tried > MOST_POSITIONS:
                    return MOST_COUNTED
        level = below
    return max(1, min(len(level), MOST_COUNTED))
