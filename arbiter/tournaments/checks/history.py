"""The history of a tournament for the checks, built from the events alone and independent of `Tournament`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from arbiter.tournaments import events as ev
from arbiter.tournaments.game_ends import NO_SHOW
from arbiter.tournaments.meetings import Meeting
from arbiter.tournaments.spec import Spec


def is_void(result: ev.EndedGame) -> bool:
    """Return whether a result is that of a void match, which is played again: both players left, or neither ended it.

    A match to which neither player came is void too, but lost by both.
    """
    by_nobody = result.cause in ("absence", "arbiter") or (result.cause, result.reason) == ("organiser", "aborted")
    return bool(result.match) and not result.winner and result.reason != NO_SHOW and by_nobody


class EarlierRounds:
    """The rounds, results and players of a tournament. While a round is checked, it holds only the earlier rounds.

    order: players in order of entry. here, gone: active and withdrawn players. asked: the byes that each player
    requested; sitting: the requested byes of each round. ratings: for seeding. starters: players from the start, by
    seed. rules: by which the rounds are paired, with their edition. open: the match of each running game. attempts: the
    number of matches of each game. meetings_of: each player's meetings, in order. going_on: meetings without all
    results. met: how often two players have been paired. came: whether each player came to its last game, and stayed.
    rulings: that count now, by game.
    paired_at, ended_at: instants by meeting; the latter in the order of the log.
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
        self.paired_at: dict[int, int] = {}
        self.ended_at: dict[int, int] = {}

    def past(self) -> Iterator[Meeting]:
        """Yield the meetings of earlier rounds."""
        for meetings in self.by_round.values():
            yield from meetings

    def margin(self, meeting: Meeting, player: str) -> int:
        """Return by how many half points a player has won a meeting so far."""
        total = 0
        for game in meeting.games:
            result, ruling = self.results.get(game.number), self.rulings.get(game.number)
            if ruling is not None:
                first, second = ruling.points or (0, 0)
                total += first - second if game.seat1 == player else second - first
            elif result is not None and result.winner:
                total += 2 if (game.seat1, game.seat2)[result.winner - 1] == player else -2
        return total

    def meeting_points(self, meeting: Meeting, player: str) -> int:
        """Return the half points of a player for a meeting that is over."""
        ruling = self.rulings.get(meeting.games[0].number) if len(meeting.games) == 1 else None
        if ruling is not None:
            return (ruling.points or (0, 0))[0 if meeting.games[0].seat1 == player else 1]
        margin, ruled = self.margin(meeting, player), [self.rulings.get(game.number) for game in meeting.games]
        nobody = all(each is not None and not any(each.points) for each in ruled)
        return 2 if margin > 0 else 1 if margin == 0 and self.played(meeting) and not nobody else 0

    def played(self, meeting: Meeting) -> bool:
        """Return whether any game of a meeting was played, by a match to which both players came."""
        void = {number for number, ruling in self.rulings.items() if ruling.decision is ev.Decision.VOID}
        numbers = [game.number for game in meeting.games if game.number not in void]
        results = [self.results[number] for number in numbers if number in self.results]
        return any(result.match and result.reason != NO_SHOW and not is_void(result) for result in results)

    def done(self, meeting: Meeting) -> bool:
        """Return whether all games of a meeting have ended."""
        return all(game.number in self.results for game in meeting.games)
