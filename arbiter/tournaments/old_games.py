"""Old games of a ladder: in memory there are their sums, and the record has each of them.

A ladder goes on for months. Its standings, ratings and pairings need counts of its old games, and not the games. So a
tournament that goes on drops games that ended long ago (`arbiter.tournaments.folding`) and keeps this. Its size follows
from the players, their pairs and the ways in which games end, except for eight bytes a game: the digest of its moves,
by which a game that only repeats another one is known (`arbiter.service.tournaments.own_ratings`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Generic, NamedTuple, TypeVar, overload

from arbiter.tournaments.counting_result import Disqualified, counting_result, taken_away
from arbiter.tournaments.game_ends import LOSS, GameResult
from arbiter.tournaments.meetings import ScheduledGame

T = TypeVar("T")
DIGEST_BYTES: Final = 8  #: of the moves of a game
A_MATCH: Final = "*"  #: in place of the id of an old game's match


class Numbered(Generic[T]):
    """A list whose items may be dropped: those that are left keep their places, and its length counts all of them."""

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: dict[int, T] = dict(enumerate(items))
        self._length = len(self._items)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return iter(self._items.values())

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._items.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbered) and (self._length, self._items) == (other._length, other._items)

    def __repr__(self) -> str:
        return f"Numbered({self._items!r} of {self._length})"

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        """Return an item, or those of a slice. Raises IndexError if there is none, or it was dropped."""
        try:
            if isinstance(place, slice):
                return [self._items[each] for each in range(self._length)[place]]
            return self._items[place if place >= 0 else place + self._length]
        except KeyError:
            raise IndexError(f"there is no item {place}, or it is an old one") from None

    def __setitem__(self, place: int, item: T) -> None:
        """Put an item in the place of another one, or after the last one."""
        self._items[place] = item
        self._length = max(self._length, place + 1)

    @property
    def left(self) -> int:
        """How many items have not been dropped."""
        return len(self._items)

    def append(self, item: T) -> None:
        """Add an item."""
        self._items[self._length] = item
        self._length += 1

    def extend(self, items: Iterable[T]) -> None:
        """Add items, in order."""
        for item in items:
            self.append(item)

    def has(self, place: int) -> bool:
        """Return whether there is an item at a place, from 0, that has not been dropped."""
        return place in self._items

    def cut(self, number: int) -> None:
        """Remove this many items from the end, as if they had never been."""
        for place in range(self._length - number, self._length):
            del self._items[place]
        self._length -= number

    def drop(self, place: int) -> None:
        """Drop the item at a place, from 0."""
        del self._items[place]

    def put_back(self, items: Mapping[int, T]) -> None:
        """Put items that were dropped back, by their places."""
        self._items = dict(sorted({**self._items, **items}.items()))

    def copy(self) -> Numbered[T]:
        """Return a copy, with the same items."""
        twin: Numbered[T] = Numbered()
        twin._items, twin._length = self._items.copy(), self._length
        return twin


class Kind(NamedTuple):
    """Games that are alike: the same seats, the same variant, the same end.

    result: as it was played, or as it counts; without its moves, and with `A_MATCH` for any match.
    """

    seat1: str
    seat2: str
    game: str
    result: GameResult


class Line(NamedTuple):
    """Rated games of which each may repeat another one, move by move. versions: as in `GameResult`."""

    seat1: str
    seat2: str
    game: str
    winner: int
    versions: tuple[str, ...]


class Sum(NamedTuple):
    """How many games there are of a kind, and the number of the last one."""

    games: int
    last: int


class Lines(NamedTuple):
    """How many games of a line have known moves, and the digests of these, each once, in ascending order."""

    games: int
    digests: bytes

    def among(self) -> set[bytes]:
        """Return the digests."""
        return {self.digests[n : n + DIGEST_BYTES] for n in range(0, len(self.digests), DIGEST_BYTES)}

    def with_game(self, digest: bytes) -> Lines:
        """Return this with one more game."""
        known = self.digests
        place = DIGEST_BYTES * bisect_left(
            range(len(known) // DIGEST_BYTES), digest, key=lambda n: known[n * DIGEST_BYTES : (n + 1) * DIGEST_BYTES]
        )
        if known[place : place + DIGEST_BYTES] == digest:
            return Lines(self.games + 1, known)
        return Lines(self.games + 1, known[:place] + digest + known[place:])


class Against(NamedTuple):
    """How many meetings a player has had with another one, and half points from these, as they were played."""

    meetings: int
    points: int


class OldGames:
    """The sums of the games that were dropped, as they were played: so they stay when players are disqualified.

    sums: by kind; lines: those of rated games with known moves. games, meetings: how many. meetings_of: how many
    meetings of each player; against: those of a player with another one. looked_at: how many meetings had been paired
    when old ones were last looked for.
    """

    def __init__(self) -> None:
        self.sums: dict[Kind, Sum] = {}
        self.lines: dict[Line, Lines] = {}
        self.games = 0
        self.meetings = 0
        self.looked_at = 0
        self.meetings_of: Counter[str] = Counter()
        self.against: dict[tuple[str, str], Against] = {}

    def __bool__(self) -> bool:
        return self.games > 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OldGames) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"OldGames({vars(self)!r})"

    def add_meeting(self, player: str, other: str, points: int) -> None:
        """Add a meeting of a player with another one, and its half points, as it was played."""
        self.meetings_of[player] += 1
        known = self.against.get((player, other), Against(0, 0))
        self.against[player, other] = Against(known.meetings + 1, known.points + points)

    def points(self, out: Mapping[str, Disqualified]) -> Counter[str]:
        """Return the half points of each player from its meetings. out: who is disqualified.

        Where results do not stand, all games of a meeting have the same one, and so has the meeting.
        """
        found: Counter[str] = Counter()
        for (player, other), each in self.against.items():
            taken = taken_away([out.get(player), out.get(other)])
            found[player] += each.points if taken is None else each.meetings * (taken.points or (LOSS, LOSS))[0]
        return found

    def counting(self, out: Mapping[str, Disqualified]) -> Iterator[tuple[Kind, Sum]]:
        """Yield the kinds with the results that count, and their sums. out: who is disqualified."""
        for kind, sum_ in self.sums.items():
            seats = [out.get(kind.seat1), out.get(kind.seat2)]
            yield kind._replace(result=counting_result(kind.result, seats, (), 0)), sum_

    def rated_lines(self, out: Mapping[str, Disqualified]) -> Iterator[tuple[Line, Lines]]:
        """Yield the lines whose games count for ratings. out: who is disqualified."""
        for line, known in self.lines.items():
            if taken_away([out.get(line.seat1), out.get(line.seat2)]) is None:
                yield line, known

    def add(self, game: ScheduledGame, result: GameResult) -> None:
        """Add a game that has ended, as it was played."""
        kind = Kind(game.seat1, game.seat2, game.game, result._replace(match=A_MATCH if result.match else "", moves=""))
        known = self.sums.get(kind, Sum(0, 0))
        self.sums[kind] = Sum(known.games + 1, max(known.last, game.number))
        self.games += 1
        if result.rated and result.moves:
            line = Line(game.seat1, game.seat2, game.game, result.winner, result.versions)
            self.lines[line] = self.lines.get(line, Lines(0, b"")).with_game(bytes.fromhex(result.moves))

    def copy(self) -> OldGames:
        """Return a copy."""
        twin = OldGames()
        for name, value in vars(self).items():
            setattr(twin, name, value if isinstance(value, int) else value.copy())
        return twin
