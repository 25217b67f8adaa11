"""The order in which a pair goes through an opening book, by the numbers of its entries. Anyone can reproduce it.

| order | entry of a pair's meeting k, from 0 |
| --- | --- |
| `sequential` | `book_first`, and one further for each meeting |
| `random` | 1 + (start + k × step) mod size |

`step` has no common divisor with the size, so that none comes again before all have come. `start` and `step` are drawn
from the seed "SEED/GAME", or "SEED/GAME/PAIR" for pairs from number 1 on (`arbiter.tournaments.lots`).
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from arbiter.tournaments.lots import Lots
from arbiter.tournaments.openings import Turn
from arbiter.tournaments.spec import OpeningOrder, Openings


class Opening(NamedTuple):
    """How a game begins: the text of its position ('' for the initial one), the moves after it, and the entry's number.

    number: in the book, from 1; 0 if it is from no book.
    """

    moves: tuple[str, ...] = ()
    position: str = ""
    number: int = 0


def entry_number(openings: Openings, game: str, turn: Turn) -> int:
    """Return the number of the entry of a meeting, from 1.

    A pair that goes through a book of even size again begins one entry later, if it plays single games: so it gets each
    opening in the other seats.
    """
    size = openings.book_size
    again, k = divmod(turn.times, size)
    k += again if not turn.paired and size % 2 == 0 else 0
    if openings.order is not OpeningOrder.RANDOM:
        return 1 + (openings.book_first - 1 + turn.first + k) % size
    lots = Lots(f"{openings.seed}/{game}" + (f"/{turn.pair}" if turn.pair else ""))
    start, step = lots.below(size), 1 + lots.below(size)
    while gcd(step, size) != 1:
        step = step % size + 1
    return 1 + (start + k * step) % size
