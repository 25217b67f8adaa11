"""What a bot is told on its Play stream: turns, draw offers, ends, tournaments."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from arbiter_client.errors import ArbiterError
from arbiter_client.values.game import CellContent, LegalMove, Line
from arbiter_client.values.match import Clock, Result
from arbiter_client.values.reading import ELSEWHERE
from arbiter_client.values.tournament import TournamentFormat, TournamentPhase


@dataclass(slots=True)
class LiveMatch:
    """A match that the bot plays, from its first turn to its end.

    A match of the bot against itself is two of these, one a seat. `opening_plies`: how many of the first moves nobody
    played.
    `moves` are those played up to the bot's latest turn; `over` turns true when the match ends or the bot stops, so
    that a long search may give up. `memory` is the bot's own, for what it wants to keep from turn to turn.
    """

    match_id: str
    game: str
    seat: int
    opponent: str
    time_control: str = ""
    rated: bool = False
    label: str = ""
    opening_plies: int = 0
    moves: tuple[str, ...] = ()
    over: bool = False
    memory: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecentMove:
    """A move that was played, after `ply` others."""

    ply: int
    seat: int
    move: str


@dataclass(frozen=True, slots=True)
class Turn:
    """It is the bot's turn.

    `clocks` are by seat, empty without a time control; `draw_claim` is the reason for which the bot may claim a draw,
    or ''. `board`, `legal_move_count` and `legal_moves` are there as the bot's `extras` ask for them. `refused` is set
    when the bot's first choice for this turn was refused.
    """

    game: str
    seat: int
    ply: int
    position: str
    last_moves: tuple[RecentMove, ...]
    clocks: tuple[Clock, ...]
    started_ms: int
    now_ms: int
    draw_claim: str
    draw_offered: bool
    opponent: str
    board: tuple[CellContent, ...]
    legal_move_count: int | None
    legal_moves: tuple[LegalMove, ...]
    available_ms: int
    revision: int
    match: LiveMatch = field(default_factory=lambda: LiveMatch("", "", 0, ""), metadata=ELSEWHERE)
    refused: ArbiterError | None = field(default=None, metadata=ELSEWHERE)
    received_s: float = field(default_factory=time.monotonic, metadata=ELSEWHERE)

    @property
    def line(self) -> Line:
        """The line of play that leads to this turn."""
        return Line(self.game, moves=self.match.moves)

    @property
    def time_left_ms(self) -> float | None:
        """How long the bot may still think, from now, before its flag falls; None without a limit."""
        if not self.available_ms:
            return None
        thought_ms = (self.now_ms - self.started_ms) + (time.monotonic() - self.received_s) * 1000
        return max(0.0, self.available_ms - thought_ms)


@dataclass(frozen=True, slots=True)
class DrawOffer:
    """The opponent offers a draw."""

    match: LiveMatch


@dataclass(frozen=True, slots=True)
class FinishedMatch:
    """A match of the bot's has ended, perhaps while it was away. `match` is None where the bot never saw it live.

    In a match of the bot against itself `seat` is 1.
    """

    match_id: str
    game: str
    seat: int
    opponent: str
    result: Result
    position: str
    match: LiveMatch | None = field(default=None, metadata=ELSEWHERE)

    @property
    def score(self) -> float | None:
        """The bot's points: 1, ½ or 0, or None where the match does not count."""
        return self.result.score(self.seat)


@dataclass(frozen=True, slots=True)
class TournamentCall:
    """A tournament that the bot may enter, or one that it plays in (`entered`).

    games: the variants that are played. time_control: the bot's own, where the tournament gives it another one.
    start_ms: 0: when its organiser says so. entry_closes_ms: 0: with the start, or with the end where players may come
    after the start.
    """

    tournament_id: str
    name: str
    format: TournamentFormat
    games: tuple[str, ...]
    time_control: str
    rated: bool
    phase: TournamentPhase
    entered: bool
    creator: str
    start_ms: int
    entry_closes_ms: int
