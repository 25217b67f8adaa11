"""The history of a tournament for the checks, built from the events alone and independent of `Tournament`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from arbiter.tournaments import events as ev
from arbiter.tournaments.corrections import Disqualify, Results
from arbiter.tournaments.game_ends import ABSENCE, ELSEWHERE, NO_SHOW
from arbiter.tournaments.meetings import Meeting
from arbiter.tournaments.spec import Spec


def is_void(result: ev.EndedGame) -> bool:
    """Return whether a result is that of a void match, which is played again: both players left, or neither ended it.

    A match to which neither player came is void too, but lost by both.
    """
    by_nobody = result.cause in ("absence", "arbiter") or (result.cause, result.reason) == ("organiser", "aborted")
    return bool(result.match) and not result.winner and result.reason != NO_SHOW and by_nobody


class Kept(NamedTuple):
    """How a game of a bracket counted when the bracket went on: its half points, and whether that was decided."""

    points: tuple[int, int] | None
    decided: bool


class EarlierRounds:
    """The rounds, results and players of a tournament. While a round is checked, it holds only the earlier rounds.

    order: players in order of entry. here, gone: active and withdrawn players. asked: the byes that each player
    requested; sitting: the requested byes of each round. ratings: for seeding. starters: players from the start, by
    seed. rules: by which the rounds are paired, with their edition. open: the match of each running game. attempts: the
    number of matches of each game. meetings_of: each player's meetings, in order. going_on: meetings without all
    results. met: how often two players have been paired. came: whether each player came to its last game, and stayed.
    rulings: with other points that count now, by game; ruled_at: when each game was ruled on last. disqualified: in
    force now; out_at: since when; was_here: who had not withdrawn before. events: how many there were. granted: matches
    of each game that were made before it was ordered to be played again. kept: games by which a bracket went on.
    paired_at, ended_at: instants by meeting; the latter in the order of the log. forbidden: pairs that must not meet.
    pairs_by_hand, byes_by_hand: what an organiser has asked for each round. team: of each player, '' for none.
    left: the last round that was paired before a player withdrew. back_from: the first round of players who were
    disqualified at the start and are reinstated.
    elsewhere: how many rounds were paired before the tournament went on here, None without a report. virtual: how many
    rounds the report accelerates.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.order: list[str] = []
        self.here: set[str] = set()
        self.gone: set[str] = set()
        self.asked: dict[str, tuple[int, ...]] = {}
        self.ratings: dict[str, int] = {}
        self.sitting: dict[int, set[str]] = {}
        self.starters: list[str] = []
        self.rules = ""
        self.elsewhere: int | None = None
        self.virtual = 0
        self.meetings: dict[int, Meeting] = {}
        self.by_round: defaultdict[int, list[Meeting]] = defaultdict(list)
        self.byes: defaultdict[int, list[str]] = defaultdict(list)
        self.meeting_of_game: dict[int, int] = {}
        self.results: dict[int, ev.EndedGame] = {}
        self.open: dict[int, str] = {}
        self.attempts: Counter[int] = Counter()
        self.meetings_of: defaultdict[str, list[Meeting]] = defaultdict(list)
        self.going_on: dict[int, Meeting] = {}
        self.met: Counter[frozenset[str]] = Counter()
        self.came: dict[str, bool] = {}
        self.rulings: dict[int, ev.Ruled] = {}
        self.ruled_at: dict[int, int] = {}
        self.disqualified: dict[str, Disqualify] = {}
        self.out_at: dict[str, int] = {}
        self.was_here: set[str] = set()
        self.events = 0
        self.granted: Counter[int] = Counter()
        self.kept: dict[int, Kept] = {}
        self.paired_at: dict[int, int] = {}
        self.ended_at: dict[int, int] = {}
        self.forbidden = set(spec.pairs_apart)
        self.pairs_by_hand: dict[int, list[tuple[str, str]]] = {}
        self.byes_by_hand: dict[int, list[str]] = {}
        self.team: dict[str, str] = {}
        self.left: dict[str, int] = {}
        self.back_from: dict[str, int] = {}

    def leave(self, player: str) -> None:
        """Note that a player is not there any more."""
        self.here.discard(player)
        self.gone.add(player)
        self.left.setdefault(player, max(self.by_round, default=0))

    def come_back(self, player: str) -> None:
        """Note that a player is there again."""
        self.here.add(player)
        self.gone.discard(player)
        self.left.pop(player, None)

    def is_of_report(self, round_: int) -> bool:
        """Return whether a round was paired elsewhere."""
        return self.elsewhere is not None and round_ <= self.elsewhere

    def past(self) -> Iterator[Meeting]:
        """Yield the meetings of earlier rounds."""
        for meetings in self.by_round.values():
            yield from meetings

    def points(self, number: int) -> tuple[int, int] | None:
        """Return the half points of a game's seats as they count now; None if it is void, or has not ended."""
        result = self.results.get(number)
        if result is None:
            return None
        if number in self.kept:
            return self.kept[number].points
        decided = self.decided(number)
        if isinstance(decided, ev.Ruled):
            return (decided.points[0], decided.points[1]) if decided.points else None
        if decided is not None:
            out = self.out(number)
            return None if any(each.results is Results.VOID for each in out.values()) else self._forfeits(number, out)
        if result.winner:
            return (2, 0) if result.winner == 1 else (0, 2)
        return (1, 1) if self._came_to(result) else (0, 0)

    def _forfeits(self, number: int, out: Mapping[str, Disqualify]) -> tuple[int, int]:
        one, other = self.players_of(number)
        return (0 if one in out else 2, 0 if other in out else 2)

    def decided(self, number: int) -> ev.Ruled | Disqualify | None:
        """Return the newest decision on a game that counts: a ruling with other points, or a disqualification."""
        ruled = self.rulings.get(number)
        out = [each for player, each in self.out(number).items() if self.out_at[player] > self.ruled_at.get(number, 0)]
        return out[-1] if out else ruled

    def out(self, number: int) -> Mapping[str, Disqualify]:
        """Return the players of a game who are disqualified so that their results do not stand."""
        one, other = self.players_of(number)
        found = {player: self.disqualified[player] for player in (one, other) if player in self.disqualified}
        return {} if one == other else {name: each for name, each in found.items() if each.results is not Results.STAND}

    def players_of(self, number: int) -> tuple[str, str]:
        """Return the players of a game, by seat."""
        games = self.meetings[self.meeting_of_game[number]].games
        return next((game.seat1, game.seat2) for game in games if game.number == number)

    def margin(self, meeting: Meeting, player: str) -> int:
        """Return by how many half points a player has won a meeting so far."""
        total = 0
        for game in meeting.games:
            first, second = self.points(game.number) or (0, 0)
            total += first - second if game.seat1 == player else second - first
        return total

    def meeting_points(self, meeting: Meeting, player: str) -> int:
        """Return the half points of a player for a meeting that is over."""
        if len(meeting.games) == 1:
            number = meeting.games[0].number
            if self.decided(number) is not None:
                return (self.points(number) or (0, 0))[0 if meeting.games[0].seat1 == player else 1]
        margin, nobody = self.margin(meeting, player), not any(any(self.points(g.number) or ()) for g in meeting.games)
        return 2 if margin > 0 else 1 if margin == 0 and self.played(meeting) and not nobody else 0

    def played(self, meeting: Meeting) -> bool:
        """Return whether any game of a meeting was played, by a match to which both players came."""
        return any(self._was_played(game.number) for game in meeting.games)

    def _was_played(self, number: int) -> bool:
        result, decided = self.results.get(number), self.decided(number)
        if result is None or isinstance(decided, Disqualify) or (decided and decided.decision is ev.Decision.VOID):
            return False
        return self._came_to(result)

    @staticmethod
    def _came_to(result: ev.EndedGame) -> bool:
        if result.reason == ELSEWHERE:
            return result.cause != ABSENCE
        return bool(result.match) and result.reason != NO_SHOW and not is_void(result)

    def keep(self, numbers: Iterable[int]) -> None:
        """Note how games count now, before a decision on them, if their bracket has gone on by them."""
        for number in numbers:
            if number not in self.results or number in self.kept:
                continue
            meeting = self.meetings[self.meeting_of_game[number]]
            later = [self.meetings_of[player][-1] for player in self.players_of(number)]
            if meeting.place and any(m.number > meeting.number and m.place != meeting.place for m in later):
                self.kept[number] = Kept(self.points(number), self.decided(number) is not None)

    def games_of(self, player: str) -> list[int]:
        """Return the numbers of a player's games."""
        return [game.number for meeting in self.meetings_of[player] for game in meeting.games]

    def done(self, meeting: Meeting) -> bool:
        """Return whether all games of a meeting have ended."""
        return all(game.number in self.results for game in meeting.games)
