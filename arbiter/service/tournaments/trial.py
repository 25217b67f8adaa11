"""The sequential test that decides a trial, fed with its pairs of games as they are done."""

from __future__ import annotations

from arbiter.ratings.pairs import Pairs
from arbiter.ratings.sprt import Hypotheses, Verdict, judge
from arbiter.tournaments.formats.trial import sides
from arbiter.tournaments.meetings import Game, Meeting
from arbiter.tournaments.tournament import Tournament

MILLE = 1_000  #: error rates stand in a specification in thousandths


class PairTest:
    """The test of A against B as far as it is.

    A pair is two games of the same variant with the seats swapped: those of a meeting, or where a meeting has only one
    game of each variant, those of two meetings in a row, in which the seats are swapped too. Games that were not played
    count nowhere.
    """

    def __init__(self, tournament: Tournament) -> None:
        self._tournament = tournament
        options = tournament.spec.options
        self._hypotheses = Hypotheses(options.elo0, options.elo1, options.alpha / MILLE, options.beta / MILLE)
        self._pairs = Pairs()
        self._counted: set[int] = set()  # meetings
        for meeting in tournament.meetings:
            self.take(meeting)

    def take(self, meeting: Meeting) -> None:
        """Count the pairs of a meeting, if they are done."""
        tournament = self._tournament
        those = [meeting]
        if not tournament.spec.paired:
            first = meeting.number - (meeting.number + 1) % 2
            those = tournament.meetings[first - 1 : first + 1]
        done = len(those) == (1 if tournament.spec.paired else 2) and all(map(tournament.decided, those))
        if not done or meeting.number in self._counted:
            return
        self._counted.update(each.number for each in those)
        a, _ = sides(tournament)
        for name in tournament.spec.games:
            games = [game for each in those for game in each.games if game.game == name]
            if all(tournament.results[game.number].played for game in games):
                self._pairs = self._pairs.with_pair(sum(self._scored(game, a) for game in games))

    def _scored(self, game: Game, player: str) -> int:
        return self._tournament.results[game.number].half_points(1 if game.seat1 == player else 2)

    def answer(self) -> str:
        """Return what the test says, in words for the record; '' while it is undecided."""
        standing = judge(self._pairs, self._hypotheses)
        if standing.verdict is Verdict.UNDECIDED:
            return ""
        a, b = sides(self._tournament)
        elo = self._hypotheses.elo1 if standing.verdict is Verdict.H1 else self._hypotheses.elo0
        counts = ", ".join(map(str, self._pairs))
        return (
            f"{standing.verdict.value}: {a} is {elo:g} Elo above {b}; log-likelihood ratio {standing.ratio:.3f}, "
            f"bounds {standing.lower:.3f} and {standing.upper:.3f}, pairs with 0 to 2 points: {counts}"
        )
