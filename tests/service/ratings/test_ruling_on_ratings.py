"""Rulings on ratings as a use case: live ratings are those of the exported record with its rulings, on all servers."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.keys.key_ring import holds
from arbiter.matches.signing import PublicKey, checking
from arbiter.ratings.rated_matches import Result
from arbiter.ratings.rating_list import marks, rating_list
from arbiter.ratings.rating_results import RatingList
from arbiter.ratings.rulings import NO_GAMES, Command, Decision, Rulings, Selection
from arbiter.service.ratings.ruling_on_ratings import RatingRulings, RulingsError, read
from arbiter.testing.clock import virtually
from tests.fuzz import effort
from tests.refusals import refusing
from tests.service.ratings.test_rating_queries import HOUR, RatedArbiter
from tests.service.tournaments.test_tournament_verification import CHECK, KEY

PLAYERS = ("ann", "ben", "eve")


class RuledArbiter(RatedArbiter):
    """An arbiter with ratings and rulings, and another server of its store."""

    def __init__(self, most: int = 100) -> None:
        super().__init__()
        journal = self.server.journal
        self.rulings, self.beside = [RatingRulings(journal, self, KEY, most) for _ in range(2)]
        self.made = 0

    async def rule(self, decision: Decision, selection: Selection = NO_GAMES, ruling: int = 0) -> int:
        """Rule on ratings at one server or the other; return the number of the ruling."""
        self.made += 1
        command = Command("org", f"ruling {self.made}", decision, selection, ruling, "why")
        server = (self.rulings, self.beside)[self.made % 2]
        return (await server.rule(command, preview=False)).number

    async def exported(self) -> Rulings:
        """Return the log as its file says, verified."""
        return read(await self.rulings.file(), CHECK)

    async def matches(self) -> list[str]:
        """Return the ids of all rated matches, in the order of their end."""
        return await self.server.journal.rated_matches(NO_GAMES, 1_000)

    async def recomputed(self) -> list[tuple[int, Result]]:
        """Return the results of all matches, with their ends, as the exported rulings have them."""
        unrated = (await self.exported()).unrated()
        those = zip(await self.matches(), self.results, strict=True)
        return [(at, result._replace(rated=match not in unrated)) for match, (at, result) in those]


async def both(rated: RuledArbiter, game: str = "") -> tuple[RatingList, RatingList]:
    """Return the ratings that are served, and those from the exported record."""
    results = [result for _, result in await rated.recomputed()]
    return await rated.ratings.rating_list((game,) if game else ()), rating_list(results, {}, game or None)


@pytest.mark.long
@effort(0.2)
@given(st.integers(0, 2**32))
def test_live_ratings_are_those_of_the_exported_record_with_its_rulings(seed: int) -> None:
    """Also by variant, and every point of a history."""

    @virtually
    async def run() -> None:
        dice, rated = Random(seed), RuledArbiter()
        for _ in range(dice.randrange(4, 14)):
            if dice.random() < 0.5 or not rated.results:
                await asyncio.sleep(dice.randrange(3_600))
                one, two = dice.sample(PLAYERS, 2)
                await rated.play(one, two, dice.choice(("pods", "hop-it")))
            else:
                await random_ruling(rated, dice)
            for game in ("", "pods"):
                served, recomputed = await both(rated, game)
                assert served == recomputed
        rated.later_ms = HOUR
        results, player = await rated.recomputed(), dice.choice(PLAYERS)
        for _, points in (await rated.ratings.of_player(player, "", 8)).history:
            for point in points[:-1]:
                assert point == marks((each for at, each in results if at < point.at_ms), point.at_ms, {})[player]

    run()


async def random_ruling(rated: RuledArbiter, dice: Random) -> None:
    """Make any ruling that is possible."""
    log, kind = await rated.beside.log(), dice.randrange(5)
    ends = [at for at, _ in rated.results]
    with suppress(Refusal):  # no game meets the conditions, or there is no such ruling
        if kind == 0:
            await rated.rule(Decision.TAKEN_BACK, ruling=dice.randrange(1, log.revision + 2))
            return
        selection = (
            Selection(matches=tuple(dice.sample(await rated.matches(), dice.randrange(1, len(ends) + 1)))),
            Selection(players=tuple(dice.sample(PLAYERS, dice.randrange(1, 4)))),
            Selection(players=("eve",), since=dice.choice(ends)),
            Selection(players=("ann",), game="pods", until=dice.choice(ends) + 1),
        )[kind - 1]
        await rated.rule(dice.choice((Decision.UNRATED, Decision.UNRATED, Decision.RATED)), selection)


@virtually
async def test_a_ruling_is_about_the_games_that_meet_all_conditions() -> None:
    rated = RuledArbiter()
    for one, two in (("ann", "ben"), ("ann", "eve"), ("ben", "eve"), ("eve", "ann")):
        await asyncio.sleep(3_600)
        await rated.play(one, two)
    matches, ends = await rated.matches(), [at for at, _ in rated.results]
    for selection, wanted in (
        (Selection(players=("eve",)), (1, 2, 3)),
        (Selection(players=("eve", "ann")), (1, 3)),
        (Selection(players=("eve", "ann", "ben")), (0, 1, 2, 3)),
        (Selection(players=("eve",), since=ends[2]), (2, 3)),
        (Selection(players=("eve",), since=ends[1], until=ends[2]), (1,)),
        (Selection(matches=(matches[2],)), (2,)),
    ):
        command = Command("org", "preview", Decision.UNRATED, selection, 0, "")
        found = await rated.rulings.rule(command, preview=True)
        assert (found.number, found.matches) == (0, tuple(sorted(matches[number] for number in wanted)))
    assert (await rated.rulings.log()).revision == 0, "these were previews"


@virtually
async def test_two_servers_rule_at_the_same_time_one_after_the_other() -> None:
    rated = RuledArbiter()
    await rated.play("ann", "eve")
    eve = Selection(players=("eve",))
    one, two = [Command("org", name, Decision.UNRATED, eve, 0, name) for name in ("one", "two")]
    made = await asyncio.gather(rated.rulings.rule(one, preview=False), rated.beside.rule(two, preview=False))
    assert sorted(each.number for each in made) == [1, 2]
    assert sorted(len(each.matches) for each in made) == [1, 1]
    again = await rated.beside.rule(one, preview=False)
    assert (again.number, again.matches) == (made[0].number, made[0].matches)
    conditional = [Command("org", name, Decision.RATED, eve, 0, "", 2) for name in ("three", "four")]
    asked = zip((rated.rulings, rated.beside), conditional, strict=True)
    calls = [server.rule(each, preview=False) for server, each in asked]
    found = await asyncio.gather(*calls, return_exceptions=True)
    (refusal,) = [each for each in found if isinstance(each, Refusal)]
    assert refusal.reason is Reason.RATINGS_CHANGED
    assert (await rated.rulings.log()).revision == (await rated.beside.log()).revision == 3


@virtually
async def test_a_ruling_whose_answer_is_lost_is_made_once() -> None:
    rated = RuledArbiter()
    await rated.play("ann", "eve")
    command = Command("org", "r", Decision.UNRATED, Selection(players=("eve",)), 0, "")
    rated.server.journal.lie = True
    with pytest.raises(Refusal, match="database"):
        await rated.rulings.rule(command, preview=False)
    rated.server.journal.lie = False
    assert (await rated.beside.rule(command, preview=False)).number == 1
    assert (await rated.exported()).revision == 1


@virtually
async def test_what_is_no_rated_game_and_too_many_games_are_refused() -> None:
    rated = RuledArbiter(most=2)
    for _ in range(3):
        await rated.play("ann", "eve")
    matches = await rated.matches()
    for selection, reason in (
        (Selection(matches=("nothing",)), Reason.ARGUMENT_INVALID),
        (Selection(players=("ben",)), Reason.ARGUMENT_INVALID),
        (Selection(players=("eve",)), Reason.RATE_LIMITED),
        (Selection(matches=tuple(matches)), Reason.RATE_LIMITED),
    ):
        with refusing(reason):
            await rated.rule(Decision.UNRATED, selection)
    assert await rated.rule(Decision.UNRATED, Selection(matches=tuple(matches[:2]))) == 1


@virtually
async def test_the_ruling_on_a_match_that_does_not_count_is_found() -> None:
    rated = RuledArbiter()
    await rated.play("ann", "eve")
    (match,) = await rated.matches()
    assert await rated.beside.on_match(match) is None
    await rated.rule(Decision.UNRATED, Selection(players=("eve",)))
    found = await rated.beside.on_match(match)
    assert found is not None
    assert (found[0], found[1].note) == (1, "why")
    await rated.rule(Decision.TAKEN_BACK, ruling=1)
    assert await rated.beside.on_match(match) is await rated.beside.on_match("nothing") is None


@virtually
async def test_a_file_of_rulings_that_was_changed_is_refused() -> None:
    rated = RuledArbiter()
    assert await rated.rulings.file() == b""
    await rated.play("ann", "eve")
    await rated.rule(Decision.UNRATED, Selection(players=("eve",)))
    await rated.rule(Decision.TAKEN_BACK, ruling=1)
    data, check = await rated.rulings.file(), CHECK
    first, second, signature = data.splitlines(keepends=True)
    assert read(data, check).unrated() == read(b"", check).unrated() == {}
    for wrong in (
        first + signature,
        signature,
        first + second,
        second + signature,
        first.replace(b"why", b"who") + second + signature,
        first + second.replace(b"why", b"who") + signature,
        first + second + signature.replace(b'"rulings":2', b'"rulings":3'),
    ):
        with pytest.raises(RulingsError, match="line"):
            read(wrong, check)
    other = PublicKey("0" * 16, bytes(32))
    with pytest.raises(RulingsError, match=r"signature\.key"):
        read(data, checking([other], holds))
