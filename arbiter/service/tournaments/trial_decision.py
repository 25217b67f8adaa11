"""The sequential test that decides a trial. It gets the trial's pairs of games in the order of their numbers."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from arbiter.ratings.pairs import Pairs
from arbiter.ratings.sprt import Standing, Verdict, hypotheses_in_parts, judge
from arbiter.tournaments.formats.trial import TrialPairs, sides
from arbiter.tournaments.openings import different
from arbiter.tournaments.tournament import Tournament

MOST_REPEATS: Final = 100  #: repeated pairs in a row after which new ones are unlikely, however many openings there are


class PairTest:
    """The test of A against B in its current state; `arbiter.tournaments.formats.trial` says which pairs count.

    The test is evaluated after every pair, and its first verdict is final. Pairs that end together are evaluated one by
    one. patient: as older servers did, wait for an absent player until the last meeting.
    """

    def __init__(self, tournament: Tournament, *, patient: bool = False) -> None:
        self._tournament = tournament
        options = tournament.spec.options
        self._hypotheses = hypotheses_in_parts(
            (options.elo0, options.elo1), options.elo_parts, (options.alpha, options.beta), options.normalised
        )
        self._reader = TrialPairs(tournament, patient=patient)
        self._pairs = Pairs()
        self._standing: Standing = judge(self._pairs, self._hypotheses)
        self._repeated = 0
        self._in_a_row = 0
        self.update()

    @property
    def pairs(self) -> Pairs:
        """The pairs that count, up to the verdict."""
        return self._pairs

    @property
    def verdict(self) -> Verdict:
        """The current verdict of the test."""
        return self._standing.verdict

    @property
    def has_decided(self) -> bool:
        """Whether the test ends the trial: it has a verdict, nothing new is to be expected, or a player is absent."""
        if self.verdict is not Verdict.UNDECIDED or self._reader.absent:
            return True
        return self._only_repeats

    @property
    def _only_repeats(self) -> bool:
        """Whether nothing new is to be expected. The rules, which may be a package's, are asked only after a repeat."""
        return self._in_a_row > 0 and self._in_a_row >= self._enough_repeats()

    @cached_property
    def _openings(self) -> dict[str, int]:
        """How many different openings each variant has, at most MOST_REPEATS."""
        spec = self._tournament.spec
        return {game: different(spec.openings, game, MOST_REPEATS) for game in spec.games}

    def update(self) -> None:
        """Add the pairs that can be counted now."""
        for pair in self._reader.read():
            if self.verdict is not Verdict.UNDECIDED:
                return
            self._in_a_row = self._in_a_row + 1 if pair.repeated else 0
            self._repeated += pair.repeated
            if not pair.repeated:
                self._pairs = self._pairs.with_pair(pair.half_points)
                self._standing = judge(self._pairs, self._hypotheses)

    def answer(self, *, older: bool = False) -> str:
        """Return the reason why the trial ends, as text for the record; '' while it goes on.

        older: in the words of older servers, which named the accepted hypothesis as if it were the difference.
        """
        said = self._said(older)
        if not said:
            return ""
        standing, counts = self._standing, ", ".join(map(str, self._pairs))
        repeated = f"; {self._repeated} more pairs repeated earlier ones and did not count" if self._repeated else ""
        return (
            f"{said}; log-likelihood ratio {standing.ratio:.3f}, "
            f"bounds {standing.lower:.3f} and {standing.upper:.3f}, pairs with 0 to 2 points: {counts}{repeated}"
        )

    def _enough_repeats(self) -> int:
        """Return after how many repeated pairs in a row nothing new is to be expected.

        Bots without chance always play the same game from an opening in the same seats. If these two have done so,
        every opening has been repeated after as many pairs as there are openings; otherwise new games may still come.
        """
        if any(self._reader.different(game) > number for game, number in self._openings.items()):
            return MOST_REPEATS
        return min(MOST_REPEATS, max(self._openings.values()) * len(self._openings))

    def _said(self, older: bool) -> str:
        """Return the verdict, or why there will be none; '' while the trial goes on."""
        tournament = self._tournament
        a, b = sides(tournament)
        if self.verdict is not Verdict.UNDECIDED:
            return f"{self.verdict.value}: {self._meaning(a, b, older)} from the openings of this trial"
        if self._only_repeats:
            last = f"last {self._in_a_row} pairs of games were all" if self._in_a_row > 1 else "last pair of games was"
            return (
                f"undecided: the {last} played before, move by move; "
                "give the trial more different openings (openings.plies, or openings.lines)"
            )
        if self._reader.absent:
            who = " and ".join(player for player in (a, b) if player in self._reader.absent)
            return f"undecided: {who} did not come to one game after another"
        if not tournament.all_decided():
            return ""
        gone = [player for player in (a, b) if tournament.entrants[player].withdrawn]
        if gone:
            return f"undecided: {' and '.join(gone)} withdrew"
        most = tournament.spec.options.most_meetings
        return f"undecided at the end of options.most_meetings, {most}" if len(tournament.meetings) >= most else ""

    def _meaning(self, a: str, b: str, older: bool) -> str:
        """Return what a verdict means: it says on which side of a bound the difference is, and not how large it is."""
        hypotheses, is_better = self._hypotheses, self.verdict is Verdict.H1
        unit = "normalised Elo" if hypotheses.normalised else "Elo"
        if older:
            return f"{a} is {hypotheses.elo1 if is_better else hypotheses.elo0:g} {unit} above {b}"
        if is_better:
            return f"{a} is better than {b} by more than {hypotheses.elo0:g} {unit}"
        return f"{a} is not better than {b} by {hypotheses.elo1:g} {unit}"
