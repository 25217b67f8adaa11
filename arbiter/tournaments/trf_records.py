"""The records of a tournament report besides its players: what a pairing program must know to pair the next round.

`arbiter.tournaments.trf` has the table of them. Lines and columns count from 1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import combinations, zip_longest
from typing import Final, NamedTuple

from arbiter.plain_text import plain

LAST_ROUND: Final = 999  #: which these records have room for
MOST_ENTRIES: Final = 20_000  #: pairs, byes, and virtual points, one for each player and round


class TrfError(ValueError):
    """A text that is no report. `line` and `column` count from 1."""

    def __init__(self, line: int, column: int, problem: str) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.line = line
        self.column = column


class Kept(NamedTuple):
    """Two players, the smaller number first, who must not meet from one round to another."""

    pair: tuple[int, int]
    first: int = 1
    last: int = LAST_ROUND


class Bye(NamedTuple):
    """A player that is not paired in a round; 0: in the next one. result: `F`, `H` or `Z`."""

    round: int
    number: int
    result: str


class Virtual(NamedTuple):
    """The virtual half points of a player of each round, from the first one."""

    number: int
    half_points: tuple[int, ...]


class OtherRecords(NamedTuple):
    """What these records say. Each field is sorted, and has nothing twice.

    initial: the seat of an odd number in the first round, 0 if that is not said. baku: acceleration follows from the
    system.
    """

    initial: int = 0
    kept_apart: tuple[Kept, ...] = ()
    virtual: tuple[Virtual, ...] = ()
    byes: tuple[Bye, ...] = ()
    baku: bool = False


class RecordReader:
    """Reads these records, one line after the other. at: in which line each player and pair is named, for messages."""

    def __init__(self) -> None:
        self.at: dict[int | Kept, int] = {}
        self._initial = 0
        self._kept_apart: set[Kept] = set()
        self._virtual: dict[int, list[int]] = {}
        self._byes: set[Bye] = set()
        self._baku = False
        self._entries = 0

    def read(self) -> OtherRecords:
        """Return what the lines say."""
        virtual = (Virtual(player, tuple(points)) for player, points in sorted(self._virtual.items()))
        kept_apart, byes = tuple(sorted(self._kept_apart)), tuple(sorted(self._byes))
        return OtherRecords(self._initial, kept_apart, tuple(virtual), byes, self._baku)

    def add(self, line: str, number: int) -> None:
        """Read a line; others than these records are left out. Raises TrfError."""
        match line[:3]:
            case "XXC" | "152":
                self._initial = _initial(line, number) or self._initial
            case "XXP":
                self._apart(number, _numbers(line, number), 1, LAST_ROUND)
            case "260":
                first = number_in(line, number, 4, 7, "a round")
                last = number_in(line, number, 8, 11, "a round")
                self._apart(number, _columns(line, number, 12), first, last)
            case "XXA":
                player, points = number_in(line, number, 4, 8, "a player's number"), line[9:].rstrip()
                halves = [_points(line, number, 9 + at, 13 + at) for at in range(0, len(points), 5)]
                self._count(number, len(halves))
                self._add_virtual(number, player, halves)
            case "250":
                self._virtual_range(line, number)
            case "240" | "XXZ":
                found = _byes(line, number)
                self._count(number, len(found))
                self._byes.update(found)
                self._name(number, [each.number for each in found])
            case "192":
                self._baku = line.rstrip().endswith("_BAKU")
            case "299":
                raise TrfError(number, 1, "points that do not follow from results are not read: take the line out")
            case "162" | "XXS" | "BBW" | "BBD" | "BBL" | "BBZ" | "BBF" | "BBU":
                _check_points(line, number)

    def check_players(self, players: Collection[int]) -> None:
        """Raise TrfError if a record names a player that has no line."""
        for number, line in self.at.items():
            if isinstance(number, int) and number not in players:
                raise TrfError(line, 5, f"there is no player {number}: add its line or take the number out")

    def _count(self, line: int, entries: int) -> None:
        """Count what a line says before it is read. Raises TrfError if it is too much."""
        self._entries += entries
        if self._entries > MOST_ENTRIES:
            problem = f"pairs, byes and virtual points of players and rounds: more than {MOST_ENTRIES} are not read"
            raise TrfError(line, 1, problem)

    def _name(self, line: int, named: Iterable[int | Kept]) -> None:
        for each in named:
            self.at.setdefault(each, line)

    def _apart(self, line: int, numbers: list[int], first: int, last: int) -> None:
        if len(set(numbers)) != len(numbers) or len(numbers) < 2:
            raise TrfError(line, 5, "expected the numbers of two players or more, each once")
        self._count(line, len(numbers) * (len(numbers) - 1) // 2)
        new = [Kept((min(pair), max(pair)), first, last) for pair in combinations(numbers, 2)]
        self._kept_apart.update(new)
        self._name(line, [*numbers, *new])

    def _virtual_range(self, line: str, number: int) -> None:
        if _points(line, number, 4, 8):
            raise TrfError(number, 5, "match points of teams are not read: leave these columns blank")
        points = _points(line, number, 9, 13)
        first, last = number_in(line, number, 14, 17, "a round"), number_in(line, number, 18, 21, "a round")
        one, other = number_in(line, number, 22, 26, "a number"), number_in(line, number, 27, 31, "a number")
        if not 1 <= first <= last or not 1 <= one <= other:
            raise TrfError(number, 15, "expected the first and the last round, then the first and the last player")
        self._count(number, last * (other - one + 1))
        for player in range(one, other + 1):
            self._add_virtual(number, player, [0] * (first - 1) + [points] * (last - first + 1))

    def _add_virtual(self, line: int, player: int, new: list[int]) -> None:
        before = self._virtual.get(player, [])
        self._virtual[player] = [newer or older for older, newer in zip_longest(before, new, fillvalue=0)]
        self._name(line, [player])


def write(others: OtherRecords) -> Iterator[str]:
    """Yield the lines of these records, without ends of lines."""
    if others.initial:
        yield f"XXC {'white1' if others.initial == 1 else 'black1'}"
    for kept in others.kept_apart:
        one, other = kept.pair
        if (kept.first, kept.last) == (1, LAST_ROUND):
            yield f"XXP {one} {other}"
        else:
            yield f"260 {kept.first:3} {kept.last:3} {one:4} {other:4}"
    for each in others.virtual:
        yield f"XXA {each.number:4} {' '.join(f'{points / 2:4.1f}' for points in each.half_points)}"
    for bye in others.byes:
        if bye.round:
            yield f"240 {bye.result} {bye.round:3} {bye.number:4}"
    away = [str(bye.number) for bye in others.byes if not bye.round]
    if away:
        yield f"XXZ {' '.join(away)}"
    if others.baku:
        yield "192 FIDE_DUTCH_2026_BAKU"


def number_in(line: str, number: int, start: int, end: int, what: str) -> int:
    """Return the number in some places of a line, from 0, and 0 for blanks. Raises TrfError."""
    text = line[start:end].strip()
    if not re.fullmatch(r"\d{0,9}", text, re.ASCII):
        raise TrfError(number, start + 1, f"expected {what}, and found {plain(text)!r}: is the line in its columns?")
    return int(text or 0)


def _initial(line: str, number: int) -> int:
    words = line[3:].split()
    seats = {"white1": 1, "black1": 2, "W": 1, "B": 2}
    found = [seats[word] for word in words if word in seats]
    if line.startswith("152") and not found:
        raise TrfError(number, 5, f"{plain(line[4:].strip())!r} is no colour: write W or B")
    if "rank" in words:
        raise TrfError(number, 5, "pairing by the order of the lines is not read: number the players in their order")
    return found[0] if found else 0


def _numbers(line: str, number: int) -> list[int]:
    found = re.finditer(r"\S+", line[3:])
    return [number_in(line, number, 3 + each.start(), 3 + each.end(), "a player's number") for each in found]


def _columns(line: str, number: int, start: int) -> list[int]:
    places = range(start, len(line.rstrip()), 5)
    return [number_in(line, number, place, place + 4, "a player's number") for place in places]


def _points(line: str, number: int, start: int, end: int) -> int:
    text = line[start:end].strip().replace(",", ".") or "0"
    if not re.fullmatch(r"\d{1,2}(\.[05]0?)?", text, re.ASCII):
        raise TrfError(number, start + 1, f"{plain(text)!r} are no points: write them as 0.5")
    return round(2 * float(text))


def _byes(line: str, number: int) -> list[Bye]:
    if line.startswith("XXZ"):
        return [Bye(0, player, "Z") for player in _numbers(line, number)]
    result, round_ = line[4:5].upper(), number_in(line, number, 6, 9, "a round")
    if result not in ("F", "H", "Z"):
        raise TrfError(number, 5, f"{plain(result)!r} is no bye: write F, H or Z")
    if not round_:
        raise TrfError(number, 7, "expected a round, from 1")
    return [Bye(round_, player, result) for player in _columns(line, number, 10)]


_STANDARD: Final = {
    **dict.fromkeys(("W", "WW", "BW", "FW", "FPB", "PAB", "P", "BBW", "BBU"), 2),
    **dict.fromkeys(("D", "WD", "BD", "HPB", "BBD"), 1),
    **dict.fromkeys(("L", "WL", "BL", "FL", "ZPB", "A", "BBL", "BBZ", "BBF"), 0),
}
"""The half points of each result, by its code in records of points."""


def _check_points(line: str, number: int) -> None:
    """Raise TrfError for points that are not counted here."""
    if line.startswith("BB"):
        given = [(line[:3], line[3:])]
    elif line.startswith("XXS"):
        given = [(code, points) for code, _, points in (word.partition("=") for word in line[3:].split())]
    else:
        given = [(line[at : at + 1], line[at + 1 : at + 5]) for at in range(5, len(line.rstrip()), 9)]
    for code, text in given:
        points = _points(text, number, 0, len(text))
        if _STANDARD.get(code) != points:
            raise TrfError(
                number,
                5,
                f"{plain(code)} = {points / 2:g} points are not counted here: a win is 1, a draw 0.5, a loss 0",
            )
