"""A against B: the first two entrants meet until a sequential test, run by the arbiter, decides which is better.

Some meetings are paired ahead, so that as many games run in parallel as the specification allows. Pairs of games enter
the test in the order of their numbers, each once those before it have entered. Otherwise short games would enter first:
if a bot's lost games are longer than its won ones, the test would overrate it.

A pair is no evidence if both of its games have been played before, with the same moves and seats: deterministic bots
repeat the same pair from the same opening. So a trial is limited to its openings, and has no more different pairs than
openings.

Nor is a game to which a player did not come. Once players have missed `MOST_MISSED` times as many games in a row as a
pair has, or as are played at once if that is more, the trial waits no longer and ends undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.pairer import FreePlayers, InvalidOption, Pairer, arrange
from arbiter.tournaments.game_ends import NO_SHOW, GameResult
from arbiter.tournaments.meetings import Pair, ScheduledGame
from arbiter.tournaments.openings import few
from arbiter.tournaments.spec import Options, Spec, TieBreak
from arbiter.tournaments.tournament import Tournament

MOST_NORMALISED: Final = 200  #: normalised Elo of a hypothesis; from 232 on, `sprt` finds no likeliest distribution
MOST_MISSED: Final = 3  #: how often it waits for players who do not come, before it ends


class Trial(Pairer):
    """The pairer of a trial. A is the first entrant, B the second."""

    title = "Trial"
    purpose = "Is A better than B? Two players, until a sequential test decides."
    most_players = 2
    ends_by_test = True
    tie_breaks = (TieBreak.WINS,)

    def invalid_option(self, options: Options) -> InvalidOption | None:
        """Return elo0 if it is not below elo1, or a normalised hypothesis that is too far from 0."""
        if options.elo0 >= options.elo1:
            return InvalidOption(str(options.elo0), "elo0", f"less than options.elo1, which is {options.elo1}")
        for name, parts in (("elo0", options.elo0), ("elo1", options.elo1)):
            elo = parts / options.elo_parts
            if options.normalised and abs(elo) > MOST_NORMALISED:
                return InvalidOption(f"{elo:g}", name, f"from -{MOST_NORMALISED} to {MOST_NORMALISED}, normalised")
        return None

    def caution(self, spec: Spec) -> str:
        """Return a warning if there are few different openings."""
        counts = few(spec, self.most_meetings(spec.options))
        listed = ", ".join(f"{count} in {game}" for game, count in counts.items())
        if not listed:
            return ""
        return (
            f"This trial has few different openings ({listed}): bots without chance of their own repeat their games, "
            "each pair of games counts once, and the result speaks about these openings alone. Give it more of them: "
            "openings.plies and openings.seed, or openings.lines."
        )

    def most_meetings(self, options: Options) -> int:
        """Return after how many meetings the trial ends undecided."""
        return options.most_meetings

    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return another meeting if fewer games are waiting or running than can be played in parallel."""
        if self.over(tournament):
            return None
        pending = len(tournament.games) - len(tournament.results)
        if pending >= tournament.spec.at_once:
            return None
        number = len(tournament.meetings)
        a, b = sides(tournament)
        return arrange(tournament, number + 1, [Pair(b, a) if number % 2 else Pair(a, b)])

    def over(self, tournament: Tournament) -> bool:
        """Return whether the test must end undecided, or a side has withdrawn."""
        return len(tournament.meetings) >= tournament.spec.options.most_meetings or any(
            tournament.entrants[player].withdrawn for player in sides(tournament)
        )


def sides(tournament: Tournament) -> tuple[str, str]:
    """Return A and B."""
    playing = set(tournament.seeds)
    a, b = [player for player in tournament.entrants if player in playing][:2]
    return a, b


class TrialPair(NamedTuple):
    """Two games of a variant with swapped seats. half_points: A's, 0 to 4. repeated: both were played before."""

    game: str
    half_points: int
    repeated: bool


def pair_of(
    variant: str, a: str, games: Sequence[tuple[str, GameResult]], seen: set[tuple[str, str, str]]
) -> TrialPair | None:
    """Return the pair of two games; None if one was not played.

    a: player A. games: who had seat 1, and the result. seen: variant, seat 1 and moves of earlier games; these are
    added.
    """
    if not all(result.played for _, result in games):
        return None
    played = {(variant, seat1, result.moves) for seat1, result in games}
    repeated = played <= seen and all(result.moves for _, result in games)
    seen |= played
    return TrialPair(variant, sum(result.half_points(1 if seat1 == a else 2) for seat1, result in games), repeated)


class TrialPairs:
    """The pairs of a trial in the order of their numbers, up to the first pair that has not ended.

    The two games of a pair belong to one meeting, or, if a meeting has only one game of each variant, to two successive
    meetings, in which the seats are swapped too. A pair with a game that was not played is skipped.

    absent: who did not come to so many games in a row that the trial ends; then nothing more is read. patient: read all
    the same, as older servers did.
    """

    def __init__(self, tournament: Tournament, *, patient: bool = False) -> None:
        self._tournament = tournament
        self.absent: frozenset[str] = frozenset()
        self._patient = patient
        self._missed = 0  # games in a row
        self._missing: set[str] = set()  # who did not come to one of them
        self._read = 0  # meetings
        self._seen: set[tuple[str, str, str]] = set()  # variant, seat 1, moves

    def different(self, variant: str) -> int:
        """Return how many different games of a variant were played with the same seats, the more of both seatings."""
        return max(Counter(seat1 for game, seat1, _ in self._seen if game == variant).values(), default=0)

    def read(self) -> Iterator[TrialPair]:
        """Yield the pairs that can be counted now. Each pair is yielded once."""
        tournament = self._tournament
        a, _ = sides(tournament)
        step: Final = 1 if tournament.spec.paired else 2
        while not self.absent:
            those = tournament.meetings[self._read : self._read + step]
            if len(those) < step or not all(map(tournament.decided, those)):
                return
            self._read += step
            self._count_missed([game for meeting in those for game in meeting.games])
            for name in tournament.spec.games:
                games = [game for meeting in those for game in meeting.games if game.game == name]
                pair = pair_of(name, a, [(game.seat1, tournament.results[game.number]) for game in games], self._seen)
                if pair is not None:
                    yield pair

    def _count_missed(self, games: Sequence[ScheduledGame]) -> None:
        """Count the games in a row to which a player did not come. One whose matches were void tells nothing."""
        tournament = self._tournament
        for game in games:
            result = tournament.results[game.number]
            if result.played:
                self._missed = 0
                self._missing.clear()
            elif result.reason == NO_SHOW:
                self._missed += 1
                self._missing |= {(game.seat1, game.seat2)[seat - 1] for seat in (1, 2) if result.fault(seat)}
        if not self._patient and self._missed >= MOST_MISSED * max(len(games), tournament.spec.at_once):
            self.absent = frozenset(self._missing)
