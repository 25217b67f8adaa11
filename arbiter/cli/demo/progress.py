"""How far a demo is: a value made of what the event stream says, and of which match plays which fixture."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import arbiter_client as arb

from arbiter.cli.demo.plan import PLAYERS, Fixture
from arbiter.tournaments.crosstable import Crosstable, Result, crosstable

WINDOW_MS: Final = 5_000  #: over which moves a second are counted

BY_PLAY: Final = (arb.Cause.RULES, arb.Cause.AGREEMENT, arb.Cause.RESIGNATION)
"""Causes of an end that lie in the game; all others are worth a word in the report."""


class Played(NamedTuple):
    """A fixture that has ended with a result that counts."""

    fixture: Fixture
    match_id: str
    result: arb.Result
    plies: int

    @property
    def winner(self) -> Literal[0, 1, 2]:
        """The winner's seat, or 0 for a draw."""
        return 1 if self.result.winner == 1 else 2 if self.result.winner == 2 else 0

    @property
    def score(self) -> str:
        """The score as people write it, seat 1 first."""
        return ("½–½", "1–0", "0–1")[self.winner]

    def for_table(self) -> Result:
        """Return the result as a crosstable takes it."""
        return Result(self.fixture.seat1, self.fixture.seat2, self.winner)


class Progress:
    """How far a run is.

    fixtures: all of them. played: those that have ended, in the order of their ends. under_way: match ids by fixture.
    moves: all that are on record. Instants are UTC in milliseconds since 1970.
    """

    def __init__(self, fixtures: Sequence[Fixture], name: str, began_ms: int) -> None:
        self.fixtures = tuple(fixtures)
        self.name = name
        self.began_ms = began_ms
        self.played: list[Played] = []
        self.under_way: dict[Fixture, str] = {}
        self.plies: dict[str, int] = {}
        self.void = 0
        self._recent: deque[int] = deque()
        self._earlier = 0  #: moves that were on record when this process began

    @property
    def games(self) -> tuple[str, ...]:
        """The games, by name."""
        return tuple(sorted({fixture.game for fixture in self.fixtures}))

    @property
    def moves(self) -> int:
        """The moves on record."""
        return sum(self.plies.values())

    @property
    def moves_now(self) -> int:
        """The moves that were played since this process began."""
        return self.moves - self._earlier

    def begin(self, fixture: Fixture, match_id: str) -> None:
        """Take note that a match plays a fixture."""
        self.under_way[fixture] = match_id
        self.plies.setdefault(match_id, 0)

    def moved(self, match_id: str, ply: int, at_ms: int) -> None:
        """Take note of a move; `ply` counts the moves with it."""
        self.plies[match_id] = ply
        if at_ms < self.began_ms:
            self._earlier += 1
        else:
            self._recent.append(at_ms)

    def end(self, fixture: Fixture, match_id: str, result: arb.Result) -> Played | None:
        """Take note that a match has ended; return what was played, or None if it is void and does not count."""
        self.under_way.pop(fixture, None)
        if result.kind not in (arb.ResultKind.WIN, arb.ResultKind.DRAW):
            self.void += 1
            return None
        played = Played(fixture, match_id, result, self.plies.get(match_id, 0))
        self.played.append(played)
        return played

    def moves_a_second(self, now_ms: int) -> float:
        """Return how many moves a second were played lately."""
        window_ms = max(1, min(WINDOW_MS, now_ms - self.began_ms))
        while self._recent and self._recent[0] < now_ms - window_ms:
            self._recent.popleft()
        return len(self._recent) * 1000 / window_ms

    def of(self, game: str) -> list[Played]:
        """Return what was played in a game, in the order of the plan."""
        order = {fixture: number for number, fixture in enumerate(self.fixtures)}
        return sorted((each for each in self.played if each.fixture.game == game), key=lambda each: order[each.fixture])

    def table(self, game: str = "") -> Crosstable:
        """Return the crosstable of a game, or of all games together."""
        games = [game] if game else self.games
        return crosstable(PLAYERS, (each.for_table() for name in games for each in self.of(name)))

    def not_by_play(self) -> list[Played]:
        """Return what ended by a flag, a rule violation, absence or a decision."""
        return [each for each in self.played if each.result.cause not in BY_PLAY]
