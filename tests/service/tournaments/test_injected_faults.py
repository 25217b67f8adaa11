"""Injected faults of tournaments: the simulations of tournaments have to find each of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from arbiter.errors import Refusal
from arbiter.service.tournaments.driver import TournamentDriver
from arbiter.service.tournaments.game_matches import abort
from arbiter.testing.clock import run
from arbiter.testing.random_tournaments import MANY_NO_SHOWS, drawn, restless
from arbiter.tournaments import commands as do
from arbiter.tournaments.checker import violations
from arbiter.tournaments.formats.gauntlet import Gauntlet
from arbiter.tournaments.formats.pairer import FreePlayers
from arbiter.tournaments.game_ends import GameResult
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.spec import Format
from arbiter.tournaments.tournament import Tournament
from tests.service.tournaments.test_crashes import ended_together

pytestmark = pytest.mark.long

Inject = Callable[[pytest.MonkeyPatch], None]
SEEDS = 1_000  #: the largest number of seeds that are tried


def seats_follow_from_the_turn(patch: pytest.MonkeyPatch) -> None:
    """A gauntlet in which the seat depends on the sum of turn and head, which is constant for each other player."""
    propose = Gauntlet.propose

    def proposed(self: Gauntlet, tournament: Tournament, field: FreePlayers) -> do.Arrange | None:
        proposal = propose(self, tournament, field)
        if proposal is None:
            return None
        heads, others = self._sides(tournament)
        turn = tournament.rounds % max(len(heads), len(others))
        pairs = [sorted(pair[:2], key=[*heads, *others].index) for pair in proposal.pairs]
        swapped = [Pair(*(pair[::-1] if (turn + i) % 2 else pair)) for i, pair in enumerate(pairs)]
        return replace(proposal, pairs=tuple(swapped))

    patch.setattr(Gauntlet, "propose", proposed)


def a_no_show_counts_as_played(patch: pytest.MonkeyPatch) -> None:
    """Results that count a game to which a player did not come as a played one."""
    patch.setattr(GameResult, "played", property(lambda self: bool(self.match)))


def violations_in(format_: Format) -> Iterator[str]:
    """Yield what the checker finds in random tournaments of a format."""
    for seed in range(SEEDS):
        if drawn(random.Random(seed))[0].format is format_:
            yield from violations(restless(random.Random(seed), MANY_NO_SHOWS).log)


@pytest.mark.parametrize(
    ("inject", "format_", "text"),
    [
        (seats_follow_from_the_turn, Format.GAUNTLET, "times and seat 2"),
        (a_no_show_counts_as_played, Format.SWISS, "has won without play before"),
    ],
)
def test_random_tournaments_find_it(
    inject: Inject, format_: Format, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inject(monkeypatch)
    assert any(text in violation for violation in violations_in(format_))


def ends_without_waiting_for_its_matches(patch: pytest.MonkeyPatch) -> None:
    """A tournament that ends at once, and only then ends the running matches: one of them may just have ended."""
    decide = TournamentDriver._decide

    def decided(self: TournamentDriver, command: do.Command, at: int | None = None) -> Refusal | None:
        running = list(self._newest.running.values())
        refusal = decide(self, command, at)
        if self._newest.end is not None:
            for each in running:
                self._tasks.start(abort(self._dependencies.matches, each.match, self.id))
        return refusal

    patch.setattr(TournamentDriver, "_closing", lambda self, now: False)
    patch.setattr(TournamentDriver, "_decide", decided)


def test_late_ends_of_matches_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ends_without_waiting_for_its_matches(monkeypatch)
    assert any(loses_a_result(seed) for seed in range(SEEDS))


def loses_a_result(seed: int) -> bool:
    try:
        run(ended_together("time", seed))
    except AssertionError as error:
        return "is lost" in str(error)
    return False
