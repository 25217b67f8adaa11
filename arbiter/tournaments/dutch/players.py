"""What the rounds so far say of a player: score, colour preference, floats (C.04.3, Articles 1.2 to 1.7)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

NONE: Final = 0
MILD: Final = 1
STRONG: Final = 2
ABSOLUTE: Final = 3

DOWN: Final = -1
UP: Final = 1

WIN: Final = 2  #: half points


class Result(NamedTuple):
    """One round of a player.

    opponent: the pairing number, 0 without one. seat: 1 or 2, 0 without one. points: half points. played: whether the
    game was played over the board; a win or loss by forfeit was not.
    """

    opponent: int = 0
    seat: int = 0
    points: int = 0
    played: bool = False


class Entry(NamedTuple):
    """A player's record for the pairing of the next round.

    number: the pairing number (TPN), at least 1. results: of all rounds so far, in order. present: whether it is to be
    paired. virtual: virtual half points by round, from the first one, for an accelerated tournament; 0 where missing.
    """

    number: int
    results: Sequence[Result] = ()
    present: bool = True
    virtual: Sequence[int] = ()


class Player(NamedTuple):
    """A player to be paired.

    place: the pairing number among the players who have been paired so far or are now (C.04.2: a player that has not
    arrived has none). score: half points, with virtual ones. difference: games with seat 1 less those with seat 2.
    repeated: the seat of the last two games if it was the same, else 0. wanted: the preferred seat, 0 for none;
    strength: of that preference. seats: of all games, in order. floats: in the last round and in the one before it.
    bye: whether C2 allows the bye. unplayed: rounds without a game. met: the opponents so far, by number.
    """

    number: int
    place: int
    score: int
    difference: int
    repeated: int
    wanted: int
    strength: int
    seats: tuple[int, ...]
    floats: tuple[int, int]
    bye: bool
    unplayed: int
    met: frozenset[int]


def ranked(entries: Collection[Entry]) -> list[Player]:
    """Return the players to be paired, by score and pairing number (1.2)."""
    by_number = {entry.number: entry for entry in entries}
    rounds = max((len(entry.results) for entry in entries), default=0)
    arrived = sorted(entry.number for entry in entries if entry.present or any(map(_in_pairing, entry.results)))
    places = {number: place for place, number in enumerate(arrived, start=1)}
    players = [_player(entry, places[entry.number], rounds, by_number) for entry in entries if entry.present]
    return sorted(players, key=lambda player: (-player.score, player.number))


def _in_pairing(result: Result) -> bool:
    """Return whether a player was in the pairing of a round: it had an opponent, or was allocated the bye."""
    return result.opponent > 0 or result.points >= WIN


def _player(entry: Entry, place: int, rounds: int, entries: Mapping[int, Entry]) -> Player:
    seats = tuple(result.seat for result in entry.results if result.played)
    difference = seats.count(1) - seats.count(2)
    repeated = seats[-1] if len(seats) > 1 and seats[-1] == seats[-2] else 0
    if abs(difference) > 1:
        wanted, strength = (2 if difference > 0 else 1), ABSOLUTE
    elif repeated:
        wanted, strength = 3 - repeated, ABSOLUTE
    elif difference:
        wanted, strength = (2 if difference > 0 else 1), STRONG
    elif seats:
        wanted, strength = 3 - seats[-1], MILD
    else:
        wanted, strength = 0, NONE
    return Player(
        number=entry.number,
        place=place,
        score=_score(entry, rounds) + _virtual(entry, rounds),
        difference=difference,
        repeated=repeated,
        wanted=wanted,
        strength=strength,
        seats=seats,
        floats=(_float(entry, rounds - 1, entries), _float(entry, rounds - 2, entries)),
        bye=not any(result.points >= WIN and not result.played for result in entry.results),
        unplayed=rounds - len(seats),
        met=frozenset(result.opponent for result in entry.results if result.played),
    )


def _score(entry: Entry, rounds: int) -> int:
    return sum(result.points for result in entry.results[:rounds])


def _virtual(entry: Entry, round_: int) -> int:
    return entry.virtual[round_] if round_ < len(entry.virtual) else 0


def _float(entry: Entry, round_: int, entries: Mapping[int, Entry]) -> int:
    """Return the float of a round, counted from 0: `DOWN`, `UP`, or 0 (1.4.2, 1.4.3)."""
    if not 0 <= round_ < len(entry.results):
        return 0
    result = entry.results[round_]
    if not result.played:
        return DOWN if result.points else 0
    own, other = (_score(each, round_) + _virtual(each, round_) for each in (entry, entries[result.opponent]))
    return DOWN if own > other else UP if own < other else 0


def scores(players: Iterable[Player]) -> list[int]:
    """Return the different scores, from the highest."""
    return sorted({player.score for player in players}, reverse=True)
