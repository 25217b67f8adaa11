"""The items of a bot's Play stream: turns, draw offers, ends, tournaments."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from arbiter_client.errors import ArbiterError
from arbiter_client.think_time import EXPECTED_PLIES, think_time_ms
from arbiter_client.values.game import CellContent, LegalMove, Line
from arbiter_client.values.match import Clock, Result
from arbiter_client.values.reading import ELSEWHERE
from arbiter_client.values.tournament import TournamentFormat, TournamentPhase


@dataclass(slots=True)
class LiveMatch:
    """A match that the bot plays, from its first turn to its end.

    A match of the bot against itself is two of these, one for each seat. `time_control`: the bot's own;
    `match_time_control`: the match's, with a colon between two that differ. `opening_plies`: how many of the first
    moves nobody played. `start_position`: that from which `moves` begin; '' for the game's initial one. `moves` are
    those up to the bot's latest turn. `over` becomes true when the match ends or the bot stops, so that a long search
    may end. `memory` is free for the bot's own data about the match.
    """

    match_id: str
    game: str
    seat: int
    opponent: str
    time_control: str = ""
    match_time_control: str = ""
    rated: bool = False
    label: str = ""
    opening_plies: int = 0
    start_position: str = ""
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
    """The bot is to move.

    `clocks` are by seat, empty without a time control. `draw_claim` is the reason for which the bot may claim a draw,
    or ''. `board`, `legal_move_count` and `legal_moves` are present if the bot's `extras` request them. `refused` is
    set if the bot's first choice for this turn was refused.
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
        """The time that the bot has from now until its flag falls; None without a limit."""
        if not self.available_ms:
            return None
        thought_ms = (self.now_ms - self.started_ms) + (time.monotonic() - self.received_s) * 1000
        return max(0.0, self.available_ms - thought_ms)

    def think_time_ms(self, expected_plies: int = EXPECTED_PLIES, matches: int = 1) -> float | None:
        """Return how long to think for this move from now, in milliseconds; None without a time limit.

        expected_plies: to the end of the game, of both players. matches: how many think in this process.
        `clients/README.md` has the rules.
        """
        left_ms = self.time_left_ms
        if left_ms is None:
            return None
        clock = self.clocks[self.seat - 1] if len(self.clocks) >= self.seat else None
        main_ms = min(left_ms, clock.remaining_ms) if clock else left_ms
        moves_left = clock.moves_left if clock else 0
        return think_time_ms(self.match.time_control, left_ms, main_ms, moves_left, expected_plies, matches)


@dataclass(frozen=True, slots=True)
class DrawOffer:
    """The opponent offers a draw."""

    match: LiveMatch


@dataclass(frozen=True, slots=True)
class FinishedMatch:
    """A match of the bot has ended, perhaps while it was away.

    `match` is None if this run never saw it live. In a match of the bot against itself `seat` is 1.
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
        """The bot's points: 1, ½ or 0, or None if the match is void."""
        return self.result.score(self.seat)


@dataclass(frozen=True, slots=True)
class TournamentCall:
    """A tournament that the bot may enter, or one in which it plays (`entered`).

    games: its variants. time_control: the bot's own, if it has another one than the other players. start_ms: 0 if its
    organiser starts it. entry_closes_ms: 0 if entry closes with the start, or at the end for a tournament with late
    entry.
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
