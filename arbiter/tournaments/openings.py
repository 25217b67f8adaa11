"""The openings of games: random plies from a recorded seed, or lines from a list. Anyone can reproduce them.

The book of a variant is its list of openings. Each pair of players goes through it on its own: its n-th meeting takes
the n-th opening from where the pair begins (`Turn`), and none comes again before all have come. All games of a meeting
in a variant start alike. Where a meeting has one game of each variant, the players swap seats from meeting to meeting;
so a pair that goes through a book of even size again begins one opening later each time, and gets the other seats.

| openings | the book |
| --- | --- |
| lines, `sequential` | the lines in their order, each once |
| lines, `random` | the same, shuffled by the seed "SEED/GAME", or "SEED/GAME/PAIR" for pairs from number 1 on |
| plies, of which the rules allow at most `MOST_LISTED` | all of them, shuffled by the seed "SEED/GAME" |
| plies, of which there are more | drawn as below for each pair; none is among the first `MOST_LISTED` before it |
| neither | the initial position |

A game with several start positions (`Game.starts`) begins from one of them, unless lines are given: each pair goes
through all, shuffled by the seed "SEED/GAME/starts", or "SEED/GAME/PAIR/starts" for pairs from number 1 on. Plies, if
there are any, are drawn for each pair from that position.

To draw opening n, each move is drawn from the legal moves in bytewise order, with the seed "SEED/GAME/n/t", or
"SEED/GAME/PAIR/n/t" for pairs from number 1 on; t counts the tries from 0. The next try follows if the moves end the
game, or were drawn before. `arbiter.tournaments.lots` shuffles and draws.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import islice
from math import ceil
from typing import Final, NamedTuple

from arbiter.games import registry
from arbiter.games.contract import Position
from arbiter.tournaments.lots import Lots
from arbiter.tournaments.spec import OpeningOrder, Openings, Spec

#: tries for moves that do not end the game; after them the game starts at its initial position
MOST_TRIES: Final = 100
MOST_LISTED: Final = 1_000  #: openings of random plies that are compared with each other
MOST_SEARCHED: Final = 20_000  #: positions that are searched to list them

Line = tuple[str, ...]


class Turn(NamedTuple):
    """Which opening a meeting has.

    meeting: its number in the tournament, from 0. times: how often its two players have met before. first: where in the
    book they begin. pair: the number of the pair, in the order of first meetings, or 0 if all pairs get the same
    openings. paired: each game is played twice, with swapped seats.
    """

    meeting: int
    times: int
    first: int = 0
    pair: int = 0
    paired: bool = True


def opening(openings: Openings, game: str, turn: Turn) -> Line:
    """Return the first moves of a meeting's games in a variant; () for the initial position.

    Raises Refusal as the registry of games does.
    """
    if openings.order is OpeningOrder.MEETING:
        return _of_meeting(openings, game, turn.meeting)
    first, book = turn.first, _book(openings, game)
    seed = _seed(openings, game, turn)
    if openings.order is OpeningOrder.RANDOM:
        first, book = 0, tuple(Lots(seed).shuffled(book))
    if book:
        again, number = divmod(turn.times, len(book))
        turned = again if not turn.paired and len(book) % 2 == 0 else 0
        return book[(first + number + turned) % len(book)]
    if not openings.plies:
        return ()
    position = start(openings, game, turn)
    if position:
        return _draw(openings.plies, seed, game, turn.times, (), position)
    return _drawn(openings.plies, seed, game).line(turn.times)


def start(openings: Openings, game: str, turn: Turn) -> str:
    """Return the start position of a meeting's games in a variant, which openings without a book draw by lot.

    It is '' for the initial position. Raises Refusal as the registry of games does.
    """
    if openings.lines.get(game) or not registry.game(game).starts():
        return ""
    rules, starts = registry.game(game), _shuffled(_seed(openings, game, turn), game)
    drawn = starts[turn.times % len(starts)]
    return "" if drawn == rules.text(rules.initial()) else drawn


@lru_cache(maxsize=64)
def _shuffled(seed: str, game: str) -> tuple[str, ...]:
    return tuple(Lots(f"{seed}/starts").shuffled(registry.game(game).starts()))


def _seed(openings: Openings, game: str, turn: Turn) -> str:
    return f"{openings.seed}/{game}" + (f"/{turn.pair}" if turn.pair else "")


def _of_meeting(openings: Openings, game: str, number: int) -> Line:
    """Return the opening by the number of the meeting in the tournament alone, as older servers chose it."""
    lines = openings.lines.get(game)
    if lines:
        return lines[number % len(lines)]
    return _draw(openings.plies, f"{openings.seed}/{game}", game, number, ()) if openings.plies else ()


def _book(openings: Openings, game: str) -> tuple[Line, ...]:
    """Return the book of a variant; () if it has no openings, or more random ones than are listed."""
    lines = openings.lines.get(game)
    if lines or registry.game(game).starts():
        return tuple(dict.fromkeys(lines or ()))
    return _listed(openings.plies, openings.seed, game) if openings.plies else ()


@lru_cache(maxsize=16)
def _listed(plies: int, seed: str, game: str) -> tuple[Line, ...]:
    found = all_lines(plies, game, MOST_LISTED + 1)
    return () if found is None or len(found) > MOST_LISTED else tuple(Lots(f"{seed}/{game}").shuffled(found))


def all_lines(plies: int, game: str, most: int) -> list[Line] | None:
    """Return the openings of a length that do not end the game, or `most` of them; None if the search is too long.

    Raises Refusal as the registry of games does.
    """
    found: list[Line] = []
    for searched, line in enumerate(_search(plies, game)):
        if searched >= MOST_SEARCHED:
            return None
        if line is not None:
            found.append(line)
        if len(found) == most:
            break
    return found


def _search(plies: int, game: str) -> Iterator[Line | None]:
    """Yield each opening of a length in bytewise order, and None for every other position on the way."""
    rules = registry.game(game)
    stack: list[tuple[Position, Line]] = [(rules.initial(), ())]
    while stack:
        before, line = stack.pop()
        position = rules.play(before, line[-1]) if line else before
        if position.outcome is None and len(line) == plies:
            yield line
            continue
        yield None
        if position.outcome is None:
            stack += [(position, (*line, move)) for move in sorted(rules.moves(position), reverse=True)]


class _Drawn:
    """The random plies of a pair, in the order in which they are drawn. The first `MOST_LISTED` are kept."""

    def __init__(self, plies: int, seed: str, game: str) -> None:
        self._plies, self._seed, self._game = plies, seed, game
        self._lines: list[Line] = []
        self._known: set[Line] = set()

    def line(self, number: int) -> Line:
        while len(self._lines) <= min(number, MOST_LISTED - 1):
            line = self._draw(len(self._lines))
            self._lines.append(line)
            self._known.add(line)
        return self._lines[number] if number < MOST_LISTED else self._draw(number)

    def _draw(self, number: int) -> Line:
        return _draw(self._plies, self._seed, self._game, number, self._known)


@lru_cache(maxsize=256)
def _drawn(plies: int, seed: str, game: str) -> _Drawn:
    return _Drawn(plies, seed, game)


def _draw(plies: int, seed: str, game: str, number: int, known: Collection[Line], start: str = "") -> Line:
    rules = registry.game(game)
    for attempt in range(MOST_TRIES):
        lots = Lots(f"{seed}/{number}/{attempt}")
        position = rules.start(start)
        moves: list[str] = []
        while len(moves) < plies and position.outcome is None:
            moves.append(lots.one_of(sorted(rules.moves(position))))
            position = rules.play(position, moves[-1])
        if position.outcome is None and tuple(moves) not in known:
            return tuple(moves)
    return ()


def different(openings: Openings, game: str, most: int) -> int:
    """Return how many different openings a variant has, at least 1.

    Return `most` if there are as many or more, or if only its rules could tell and they are not installed.
    """
    if openings.book:
        return max(1, min(most, openings.book_size))
    lines = openings.lines.get(game)
    if lines:
        return min(most, len(set(lines)))
    if not registry.installed(game):
        return most
    if starts := registry.game(game).starts():
        return min(most, len(starts))
    listed = all_lines(openings.plies, game, most)
    return most if listed is None else max(1, len(listed))


# What the organiser is told


def few(spec: Spec, meetings: int | None) -> dict[str, int]:
    """Return the variants with too few openings, so that games may come again, each with how many it has.

    meetings: the most meetings of the same two players; None: as many as there is time for. A variant has enough if the
    two can play all these meetings without the same opening in the same seats, or if it has `MOST_LISTED` random ones.
    Raises Refusal as the registry of games does.
    """
    found: dict[str, int] = {}
    for game in spec.games:
        if spec.openings.book and not spec.openings.book_size:
            continue  # its size is known once the tournament is created
        lines = spec.openings.lines.get(game)
        most = MOST_LISTED if meetings is None else ceil(meetings / (1 if spec.paired else 2))
        if not lines:
            most = min(most, MOST_LISTED)
        number = different(spec.openings, game, len(lines) if lines else most)
        if number < most or (lines and meetings is None):
            found[game] = number
    return found


def repeats(spec: Spec, meetings: int | None) -> str:
    """Return a warning if the same two players play an opening again in the same seats, a sentence; else ''.

    meetings: as in `few`. Raises Refusal as the registry of games does.
    """
    short = few(spec, meetings)
    if not short:
        return ""
    counts = ", ".join(f"{number} in {game}" for game, number in islice(short.items(), 5))
    how_often = "as often as there is time for" if meetings is None else f"up to {meetings:,} times"
    return (
        f"Two players may meet {how_often}, and there are too few different openings for that ({counts}): they play an "
        "opening again in the same seats, and bots without chance of their own repeat the game. More openings: "
        "openings.plies and openings.seed, or openings.lines."
    )
