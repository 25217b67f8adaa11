"""Ratings as use cases: current after every game, computed once for all who ask, and kept for a while."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
import structlog
from structlog.testing import capture_logs

from arbiter.errors import Reason
from arbiter.matches.commands import Arrive, Create, Resign
from arbiter.ratings.counts import identity
from arbiter.ratings.rated_matches import Result
from arbiter.ratings.rating_list import marks, rating_list
from arbiter.ratings.rating_results import RatingList, RatingPoint
from arbiter.service.ports.journal import RULINGS, RatedGames, Record, StoreFailed, Subject, Tally
from arbiter.service.ratings import rating_ports
from arbiter.service.ratings import rating_queries as module
from arbiter.service.ratings.rating_ports import RatingFailed
from arbiter.service.ratings.rating_queries import PERIODS, Ratings
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryJournal
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats import FreePlayers, Strength
from arbiter.tournaments.formats.ladder import Ladder
from arbiter.tournaments.spec import Format, Openings
from arbiter.tournaments.tournament import Tournament
from tests.refusals import refusing
from tests.service.tournaments.contest import Contest, spec_of

HOUR = 3_600_000


class CountingRating(InProcessRating):
    """A rating worker that counts its jobs, and fails if the test says so."""

    def __init__(self) -> None:
        self.boards = 0
        self.periods: list[int] = []
        self.fails = False

    async def rating_list(self, tallies: Sequence[Tally], anchors: Mapping[str, float]) -> RatingList:
        self.boards += 1
        await asyncio.sleep(0)
        if self.fails:
            raise RatingFailed("the test says so")
        return await super().rating_list(tallies, anchors)

    async def history(
        self, tallies: Sequence[tuple[int, Tally]], period_ms: int, periods: Sequence[int], anchors: Mapping[str, float]
    ) -> Mapping[int, Mapping[str, RatingPoint]]:
        self.periods += periods
        return await super().history(tallies, period_ms, periods, anchors)


class RatedArbiter:
    """An arbiter with ratings, and matches that end at once."""

    def __init__(self, anchors: Mapping[str, float] | None = None) -> None:
        self.server = InMemoryArbiter()
        self.worker = CountingRating()
        self.later_ms = 0
        self.ratings = Ratings(self.server.journal, self, self.worker, anchors or {}, structlog.get_logger())
        self.results: list[tuple[int, Result]] = []  # with the times of their ends

    def now_ms(self) -> int:
        """Return the time at which somebody asks."""
        return self.server.clock.now_ms() + self.later_ms

    async def play(self, winner: str, loser: str, game: str = "pods", versions: tuple[str, str] = ("", "")) -> None:
        """Create a rated match that ends at once; the winner has seat 1."""
        matches, number = self.server.arbiter.matches, len(self.results)
        command = Create(game, (winner, loser), "none", "org", f"r{number}", self.server.arbiter.policy, True)
        match = await matches.create(command)
        await matches.act(match.id, Arrive(1, versions[0]))
        await matches.act(match.id, Arrive(2, versions[1]))
        await matches.act(match.id, Resign(2, "gives up"))
        one, two = map(identity, (winner, loser), versions)
        ended = await matches.match(match.id)
        self.results.append((ended.at, Result(game, True, one, two, "win", 1, "resignation")))

    def record(self, game: str | None = None) -> RatingList:
        """Return the record of results."""
        return rating_list([result for _, result in self.results], self.ratings.anchors, game)


@pytest.mark.long
@virtually
async def test_ratings_are_current_after_every_game_and_computed_once_between_two() -> None:
    rated = RatedArbiter({"ann": 200.0})
    for games in range(1, 4):
        await rated.play("ann", "ben")
        await rated.play("ben", "cat", "circle-of-life")
        assert await rated.ratings.rating_list(("pods",)) == rated.record("pods")
        assert await rated.ratings.rating_list() == rated.record()
        assert (await rated.ratings.rating_list()).games == 2 * games
    done = rated.worker.boards
    boards = await asyncio.gather(*(rated.ratings.rating_list(("pods",)) for _ in range(5)))
    assert set(map(id, boards)) == {id(boards[0])}
    assert rated.worker.boards == done
    await rated.play("ann", "ben")
    boards = await asyncio.gather(*(rated.ratings.rating_list(("pods",)) for _ in range(5)))
    assert {found.games for found in boards} == {4}
    assert rated.worker.boards == done + 1, "all callers wait for one computation"


@pytest.mark.long
@virtually
async def test_anchors_that_contradict_the_games_are_logged_once() -> None:
    rated = RatedArbiter({"ann": 3_000.0, "ben": -3_000.0})
    with capture_logs() as logged:
        for _ in range(3):
            for winner, loser in (("ann", "ben"), ("ben", "ann")):
                for _ in range(8):
                    await rated.play(winner, loser)
            await rated.ratings.rating_list()
    assert [(each["player"], each["anchor"]) for each in logged if each["event"] == "anchor_contradicted"] == [
        ("ann", 3_000.0),
        ("ben", -3_000.0),
    ]


@virtually
async def test_a_request_during_a_computation_gets_the_games_until_then() -> None:
    rated = RatedArbiter()
    await rated.play("ann", "ben")
    asked = asyncio.create_task(rated.ratings.rating_list())
    while not rated.worker.boards:  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0)
    await rated.play("ann", "ben")
    assert (await rated.ratings.rating_list()).games == 2
    assert (await asked).games in (1, 2)


@pytest.mark.long
@virtually
async def test_older_ratings_are_kept_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BOARDS_KEPT", 2)
    rated = RatedArbiter()
    for _ in range(4):
        await rated.play("ann", "ben")
        await rated.ratings.rating_list()
    wanted = [RatedGames(games, 0) for games in (4, 3, 2)]
    assert [(await rated.ratings.edition((), of)).ratings.games for of in wanted] == [4, 3, 4]


@virtually
async def test_strengths_are_those_of_the_newest_versions_by_all_games_of_the_selection() -> None:
    rated = RatedArbiter()
    await rated.play("ann", "ben", versions=("1", ""))
    await rated.play("ben", "ann", "circle-of-life", versions=("", "2"))
    await rated.play("ben", "cat", "hop-it")
    found = await rated.ratings.strengths(("pods", "circle-of-life"))
    assert set(found) == {"ann", "ben"}
    rows = {row.player: row for row in rating_list([result for _, result in rated.results[:2]], {}).newest}
    assert found["ann"].rating == rows["ann@2"].rating
    assert 0 < found["ann"].deviation < 600
    assert await rated.ratings.strengths(("elevation",)) == {}


@pytest.mark.long
@virtually
async def test_a_history_has_the_ratings_of_each_time() -> None:
    rated = RatedArbiter()
    for number in range(6):
        await rated.play("ann" if number % 3 else "ben", "ben" if number % 3 else "ann", versions=("1", "1"))
        await asyncio.sleep(2 * HOUR / 1000)
    standing = await rated.ratings.of_player("ann", "pods", 20)
    assert [row.player for row in standing.versions] == ["ann@1"]
    [(name, found)] = standing.history
    assert name == "ann@1"
    assert 10 <= len(found) <= 20
    assert len({after.at_ms - before.at_ms for before, after in pairwise(found[:-1])}) == 1
    for mark in found[:-1]:
        assert mark.at_ms % min(PERIODS) == 0
        ended = [result for at_ms, result in rated.results if at_ms < mark.at_ms]
        assert mark == marks(ended, mark.at_ms, {})["ann@1"]
    last = rated.record("pods").all_versions[standing.versions[0].place - 1]
    assert found[-1][1:] == (last.rating, last.low, last.high)

    done = len(rated.worker.periods)
    assert await rated.ratings.of_player("ben", "pods", 20)
    assert len(rated.worker.periods) == done, "past ratings are computed once"
    await rated.play("ann", "cat", versions=("2", ""))
    newer = await rated.ratings.of_player("ann", "pods", 20)
    assert [row.player for row in newer.versions] == ["ann@2", "ann@1"]
    assert len(rated.worker.periods) <= done + 1
    assert (await rated.ratings.of_player("ann", "pods", 0)).history == ()
    assert await rated.ratings.of_player("dan", "", 20) == ((), ())


@virtually
@pytest.mark.long
async def test_a_history_is_read_from_its_last_instant_on_while_nothing_before_has_changed() -> None:
    rated = RatedArbiter()
    journal = rated.server.journal
    asked: list[int] = []
    dated_tallies = journal.dated_tallies

    async def noting(game: str, period_ms: int, since: int = 0) -> list[tuple[int, Tally]]:
        asked.append(since * period_ms)
        return await dated_tallies(game, period_ms, since)

    journal.dated_tallies = noting  # type: ignore[misc]
    for _ in range(6):
        await rated.play("ann", "ben", versions=("1", "1"))
        await asyncio.sleep(2 * HOUR / 1000)
    [(_, found)] = (await rated.ratings.of_player("ann", "pods", 20)).history
    assert asked == [found[0].at_ms]
    [(_, again)] = (await rated.ratings.of_player("ann", "pods", 20)).history
    assert asked[1:] == [rated.now_ms() - rated.now_ms() % (found[1].at_ms - found[0].at_ms)]
    assert again == found

    late_ms = rated.now_ms() - 7 * HOUR  # of an end that is stored long after it was decided
    stored = rated.server._store.journal
    assert isinstance(stored, MemoryJournal)
    row = next(iter(stored._rows.values()))
    assert row.end is not None
    stored._rows["late"] = replace(row, match_id="late", end=replace(row.end, ended_ms=late_ms, winner=2))
    [(_, later)] = (await rated.ratings.of_player("ann", "pods", 20)).history
    before = [each for each in found if each.at_ms <= late_ms]
    assert later[: len(before)] == tuple(before)
    assert not set(later[len(before) :]) & set(found)
    assert asked[-1] == found[0].at_ms

    stored.rule_now(Record(RULINGS, 1, b"", Subject.RATINGS), {row.match_id: 1})
    [(_, ruled)] = (await rated.ratings.of_player("ann", "pods", 20)).history
    assert not set(ruled) & set(later)


@virtually
async def test_the_longest_history_has_no_more_points_than_asked_for() -> None:
    rated = RatedArbiter()
    await rated.play("ann", "ben")
    for points in (1, 2, 3, 100):
        [(_, found)] = (await rated.ratings.of_player("ann", "", points)).history
        assert 1 <= len(found) <= points
    rated.later_ms = 40 * 365 * 24 * HOUR
    for points in (1, 2, 3, 100):
        [(_, found)] = (await rated.ratings.of_player("ann", "", points)).history
        assert 1 <= len(found) <= points


@virtually
async def test_a_failed_computation_is_refused_and_repeated_on_the_next_request() -> None:
    rated = RatedArbiter()
    await rated.play("ann", "ben")
    rated.worker.fails = True
    with refusing(Reason.BUDGET_SPENT):
        await rated.ratings.rating_list()
    rated.worker.fails = False
    assert (await rated.ratings.rating_list()).games == 1
    await rated.play("ann", "ben")

    async def fail() -> None:
        raise StoreFailed("the test says so")

    rated.server.journal.before_reading = fail  # type: ignore[method-assign]
    with pytest.raises(StoreFailed):
        await rated.ratings.rating_list()


@virtually
async def test_two_players_who_never_met_are_compared_by_their_ratings() -> None:
    rated = RatedArbiter()
    for loser in ("ann", "cat"):
        await rated.play("ben", loser)
        await rated.play("ben", loser)
    await rated.play("ann", "ben")
    found = await rated.ratings.compare(rating_ports.ComparisonRequest("ann", "cat"), "pods")
    assert (found.lines, found.total.games, found.pairs.total) == ((), 0, 0)
    assert found.fitted is not None
    assert found.fitted.elo.value > 0
    assert found.fitted.superiority > 0.5


@pytest.mark.long
@virtually
async def test_a_ladder_pairs_by_these_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Strength]] = []
    propose = Ladder.propose

    def looked_at(self: Ladder, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        seen.append(dict(field.strengths))
        return propose(self, tournament, field)

    monkeypatch.setattr(Ladder, "propose", looked_at)
    contest = Contest(4, bot_version="2.0")
    spec = spec_of(Format.LADDER, duration_ms=25_000)
    await contest.ended(await contest.start(spec))
    assert seen[0] == {}
    assert set(seen[-1]) == set(contest.names)
    listed = await contest.server.arbiter.ratings.rating_list(spec.games)
    assert {row.player for row in listed.newest} == {f"{name}@2.0" for name in contest.names}
    assert set(contest.names) == set(await contest.server.arbiter.ratings.strengths(spec.games))


@pytest.mark.long
@virtually
async def test_the_games_of_a_tournament_are_paired_by_their_meetings_and_openings() -> None:
    contest = Contest(2)
    openings = Openings(plies=2, seed="lots")
    spec = spec_of(Format.ROUND_ROBIN, paired=True, cycles=4, games=("circle-of-life",), openings=openings)
    log = await contest.ended(await contest.start(spec))
    one, two = contest.names
    found = await contest.server.arbiter.ratings.compare(rating_ports.ComparisonRequest(one, two), "circle-of-life")
    assert (found.total.games, found.pairs.total, found.unpaired) == (8, 4, 0)
    scored: Counter[int] = Counter()
    for meeting in log.tournament.meetings:
        results = [(game, log.tournament.results[game.number]) for game in meeting.games]
        scored[sum(result.half_points(1 if game.seat1 == one else 2) for game, result in results)] += 1
    assert found.pairs == tuple(scored[half_points] for half_points in range(5))
