"""Round robin: everybody meets everybody, by the Berger tables.

Source: FIDE Handbook C.05, Annex 1, "Details of Berger Table".

| rule | here |
| --- | --- |
| the tables for 3 to 16 players | yes, and beyond 16 by the rule that generates them |
| "Where there is an odd number of players, the highest number counts as a bye." | yes |
| "For a double-round tournament it is recommended to reverse the order of the last two rounds of the first cycle. This is to avoid three consecutive games with the same colour." | yes, in every cycle that another one follows; only four players over three or more cycles still have some |
| seats (colours) reversed in the second cycle | yes, and in every second cycle after it |
| drawing of lots for the numbers | no: the order of `players` is the order of the numbers |
| the tables by Varma (players of one federation meet early) | no |

The rule behind the tables, for an even number N of players: let m = N − 1. In odd rounds 1, 3, 5, … player N meets
1, 2, 3, … and holds seat 2; in even rounds 2, 4, … it meets N/2 + 1, N/2 + 2, … and holds seat 1. If its opponent is
p, then on the boards below p + k meets p − k for k = 1, 2, …, counted modulo m, and p + k holds seat 1.
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from arbiter.errors import argument_invalid

_invalid: Final = partial(argument_invalid, of="a round robin")


class Pairing(NamedTuple):
    """A pairing: round and board count from 1, boards anew in each round; `seat1` moves first."""

    round: int
    board: int
    seat1: str
    seat2: str


class Round(NamedTuple):
    """The pairings of one round in board order, and the player that sits out (None with an even number)."""

    number: int
    pairings: tuple[Pairing, ...]
    bye: str | None


def number_of_rounds(players: int, cycles: int = 1) -> int:
    """Return how many rounds it takes until each two of this many players have met `cycles` times."""
    return cycles * (players - 1 + players % 2)


def round_robin(players: Sequence[str], number: int, cycles: int = 1) -> Round:
    """Return a round, by its number from 1. In all of them each two of the players meet exactly `cycles` times.

    players: at least two different names; the first has number 1 in the tables.
    cycles: at least 1. Seats are those of the tables in the first cycle, swapped in the second, and so on: after an
    even number of cycles everyone has held each seat equally often, after an odd number the difference is at most 1.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed).
    """
    _check(players, number, cycles)
    entries: list[str | None] = list(players)
    if len(entries) % 2:
        entries.append(None)
    in_cycle = len(entries) - 1
    cycle, row = divmod(number - 1, in_cycle)
    if cycle + 1 < cycles and row >= in_cycle - 2 and in_cycle > 1:
        row = 2 * in_cycle - 3 - row  # the last two rounds are reversed
    drawn = [(entries[second], entries[first]) if cycle % 2 else (entries[first], entries[second])
             for first, second in _berger(len(entries), row)]  # fmt: skip
    return _round(number, drawn)


def _berger(size: int, row: int) -> list[tuple[int, int]]:
    """Return a round of the Berger table of an even size, from 0: the (seat 1, seat 2) indices, 0 for number 1."""
    modulus, last = size - 1, size - 1
    even_round = row % 2 == 1
    opponent = row // 2 + (size // 2 if even_round else 0)
    top = (last, opponent) if even_round else (opponent, last)
    return [top, *(((opponent + k) % modulus, (opponent - k) % modulus) for k in range(1, size // 2))]


def _round(number: int, drawn: list[tuple[str | None, str | None]]) -> Round:
    bye = next((first or second for first, second in drawn if first is None or second is None), None)
    met = [(first, second) for first, second in drawn if first is not None and second is not None]
    return Round(number, tuple(Pairing(number, board, *seats) for board, seats in enumerate(met, start=1)), bye)


def _check(players: Sequence[str], number: int, cycles: int) -> None:
    if cycles < 1:
        raise _invalid(str(cycles), "cycles", "a number from 1")
    if len(players) < 2:
        raise _invalid(f"{len(players)} players", "players", "two or more")
    rounds = number_of_rounds(len(players), cycles)
    if not 1 <= number <= rounds:
        raise _invalid(str(number), "number", f"1 to {rounds}")
    seen: set[str] = set()
    for player in players:
        if player in seen or not player:
            raise _invalid(player, "players", "names that are different and not empty")
        seen.add(player)
