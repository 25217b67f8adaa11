"""The progress of a tournament, computed from its event stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final, NamedTuple

import arbiter_client as arb

from arbiter.tournaments.game_ends import NO_SHOW, WALKOVER

WINDOW_MS: Final = 5_000  #: the period over which moves per second are counted

BY_PLAY: Final = (arb.Cause.RULES, arb.Cause.AGREEMENT, arb.Cause.RESIGNATION)
"""Causes of an end that lie in the game; all others are worth a word in the report."""


class RunningMatch(NamedTuple):
    """A match of the tournament. number: the number of its game, 0 until it is known; plies: moves so far.

    before: the moves so far when this process began, at least those of the opening.
    """

    match_id: str
    number: int
    attempt: int
    game: str
    players: tuple[str, ...]
    plies: int
    before: int


class EndedMatch(NamedTuple):
    """A match that has ended with a result that counts, and when it ended."""

    board: RunningMatch
    result: arb.Result
    at_ms: int

    @property
    def came(self) -> bool:
        """Whether both players came to it, so that it was played."""
        return self.result.reason != NO_SHOW

    @property
    def score(self) -> str:
        """The usual notation of the score, seat 1 first; two losses if neither player appeared."""
        if self.result.winner:
            return ("1–0", "0–1")[self.result.winner - 1]
        return "½–½" if self.result.kind is arb.ResultKind.DRAW else "0–0"


class Progress:
    """The progress of a tournament. Times are UTC in milliseconds since 1970.

    began_ms: when this process began; a resumed tournament has earlier events. paired: number of games. boards: matches
    under way. played: matches that have ended, in the order of their ends. void: the number of matches that ended
    without a result. replays: the number of games that have begun again, each time that they did. given_up: the number
    of games of which all matches were void.
    """

    def __init__(self, began_ms: int) -> None:
        self.began_ms = began_ms
        self.paired = 0
        self.boards: dict[str, RunningMatch] = {}
        self.played: list[EndedMatch] = []
        self.void = 0
        self.replays = 0
        self.walkovers = 0
        self.given_up = 0
        self._moves = 0  #: since this process began, of matches that have ended
        self._looks: deque[tuple[int, int]] = deque([(began_ms, 0)])  #: when it was looked, and the moves by then
        self._first: Mapping[str, int] | None = None  #: the plies of the matches of the first look
        self._numbers: dict[str, tuple[int, int]] = {}  #: game and attempt, by match

    @property
    def games(self) -> int:
        """The number of games that were played and have ended: both players came to them."""
        return sum(each.came for each in self.played)

    @property
    def moves_now(self) -> int:
        """The moves that were played since this process began; of matches under way, as of the last look."""
        return self._moves + sum(board.plies - board.before for board in self.boards.values())

    def take(self, event: arb.TournamentEvent | arb.MatchEvent) -> EndedMatch | None:
        """Apply an event of the tournament or of one of its matches; return the match that it ended, if any."""
        if isinstance(event, arb.TournamentEvent):
            self._of_tournament(event)
            return None
        what = event.what
        if isinstance(what, arb.MatchCreated):
            before = len(what.opening)
            if event.at_ms < self.began_ms and self._first is not None:
                before = self._first.get(event.match_id, before)
            self.boards[event.match_id] = RunningMatch(event.match_id, 0, 0, what.game, what.players, before, before)
        elif isinstance(what, arb.Result):
            return self._ended(event, what)
        return None

    def looked(self, plies: Mapping[str, int], now_ms: int) -> None:
        """Note how far the matches under way are: to be woken for each move would cost more than to look."""
        self._first = plies if self._first is None else self._first
        for match_id in plies.keys() & self.boards.keys():
            self.boards[match_id] = self.boards[match_id]._replace(plies=plies[match_id])
        self._looks.append((now_ms, self.moves_now))
        while len(self._looks) > 2 and self._looks[0][0] < now_ms - WINDOW_MS:
            self._looks.popleft()

    @property
    def moves_a_second(self) -> float:
        """The recent number of moves per second, as of the last looks."""
        (from_ms, before), (to_ms, after) = self._looks[0], self._looks[-1]
        return (after - before) * 1000 / max(1, to_ms - from_ms)

    def number_of(self, match_id: str) -> tuple[int, int]:
        """Return the game for which a match was created, and its attempt, or zeros."""
        return self._numbers.get(match_id, (0, 0))

    def not_by_play(self) -> list[EndedMatch]:
        """Return the matches that ended by a flag, a rule violation, absence or a decision."""
        return [each for each in self.played if each.result.cause not in BY_PLAY]

    def _of_tournament(self, event: arb.TournamentEvent) -> None:
        what = event.what
        if isinstance(what, arb.GamesPaired):
            self.paired += len(what.games)
        elif isinstance(what, arb.GameBegun):
            self._numbers[what.match_id] = (what.number, what.attempt)
            self.replays += what.attempt > 1
            if what.match_id in self.boards:
                board = self.boards[what.match_id]
                self.boards[what.match_id] = board._replace(number=what.number, attempt=what.attempt)
        elif isinstance(what, arb.GameEnded) and not what.match_id:
            self.walkovers += 1
            self.given_up += what.reason != WALKOVER
        elif isinstance(what, arb.GameVoided):
            self.void += 1

    def _ended(self, event: arb.MatchEvent, result: arb.Result) -> EndedMatch | None:
        board = self.boards.pop(event.match_id, None)
        if board is not None:
            board = board._replace(plies=event.plies)
            if event.at_ms >= self.began_ms:
                self._moves += board.plies - board.before
        nobody_came = result.reason == NO_SHOW and result.party is arb.Party.PLAYERS
        if board is None or (result.kind not in (arb.ResultKind.WIN, arb.ResultKind.DRAW) and not nobody_came):
            return None
        played = EndedMatch(board, result, event.at_ms)
        self.played.append(played)
        return played
