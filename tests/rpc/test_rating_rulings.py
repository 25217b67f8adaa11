"""Rulings on ratings over real gRPC: made at one server, every leaderboard follows at once."""

from __future__ import annotations

from dataclasses import replace

import arbiter_client as arb
import pytest
from arbiter_client.bots.random import RandomBot
from arbiter_protos.v1 import rating_pb2 as pb

from arbiter.service.players.accounts import Scope
from arbiter.testing.served import served
from tests.rpc.servers import level
from tests.rpc.test_ratings import GAME, ScriptedServer
from tests.rpc.test_ratings import scripted as scripted
from tests.rpc.test_tournaments import LEAGUE, World
from tests.rpc.test_tournaments import world as world


@pytest.mark.long
async def test_games_are_made_unrated_and_rated_again_by_rulings(scripted: ScriptedServer) -> None:
    """Rulings are at one server, or at another one than the matches, and each leaderboard follows at once."""
    for winner, loser in (("ann", "ben"), ("ann", "eve"), ("eve", "ben"), ("ben", "ann")):
        await scripted.play(winner, loser, 1, label="cup" if winner == "eve" else "")
    async with await scripted.client("op", Scope.ADMIN) as operator:
        before = await operator.get_leaderboard(GAME)
        assert (before.games, before.rulings) == (4, 0)
        eve = arb.GameSelection(players=("eve",))
        preview = await operator.rule_on_ratings(arb.RatingDecision.UNRATED, eve, preview=True)
        assert (preview.ruling, len(preview.match_ids)) == (0, 2)
        assert await operator.get_leaderboard(GAME) == before
        assert await operator.export_rating_rulings() == b""

        made = await operator.rule_on_ratings(
            arb.RatingDecision.UNRATED, eve, note="engine found", revision=0, request_id="r"
        )
        assert (made.ruling, made.match_ids) == (1, preview.match_ids)
        after = await operator.get_leaderboard(GAME)
        assert (after.games, after.rulings, [row.player for row in after.rows]) == (2, 1, ["ann", "ben"])
        assert (await operator.get_rating("eve", GAME, history_points=5)).versions == ()
        assert (await operator.compare_players("eve", "ann", GAME)).total.wins == 0
        marks = {match.match_id: match.unrated_by for match in await operator.list_matches()}
        assert marks == {match_id: int(match_id in made.match_ids) for match_id in marks}
        assert [(await operator.get_match(match_id)).unrated_by for match_id in marks] == list(marks.values())
        again = await operator.rule_on_ratings(
            arb.RatingDecision.UNRATED, eve, note="engine found", revision=0, request_id="r"
        )
        assert again == made

        with pytest.raises(arb.ArbiterError) as refused_:
            await operator.rule_on_ratings(arb.RatingDecision.RATED, eve, revision=0)
        assert refused_.value.reason is arb.Reason.RATINGS_CHANGED
        cup = await operator.rule_on_ratings(arb.RatingDecision.RATED, arb.GameSelection(label="cup"))
        assert (await operator.get_leaderboard(GAME)).games == 3
        for ruling in (made, cup):
            await operator.rule_on_ratings(arb.RatingDecision.TAKEN_BACK, ruling=ruling.ruling, note="an appeal")
        undone = await operator.get_leaderboard(GAME)
        assert undone == replace(before, rulings=4)
        *lines, _ = (await operator.export_rating_rulings()).splitlines()
        assert [b"an appeal" in line for line in lines] == [False, False, True, True]


@pytest.mark.long
async def test_the_pages_of_a_leaderboard_agree_though_somebody_rules_on_ratings(scripted: ScriptedServer) -> None:
    await scripted.play("ann", "ben", 1)
    await scripted.play("cat", "dan", 1)
    async with await scripted.client("op", Scope.ADMIN) as operator:
        await operator.rule_on_ratings(arb.RatingDecision.UNRATED, arb.GameSelection(players=("cat",)))
        await operator.rule_on_ratings(arb.RatingDecision.RATED, arb.GameSelection(players=("cat",)))
        stub = operator.connection.ratings
        first = await operator.connection.ask(stub.GetLeaderboard, pb.GetLeaderboardRequest(page_size=1))
        assert (first.games, first.rulings, first.next_page_token) == (2, 2, "2.2-1")
        await operator.rule_on_ratings(arb.RatingDecision.UNRATED, arb.GameSelection(players=("ann",)))
        request = pb.GetLeaderboardRequest(page_size=1, page_token=first.next_page_token)
        second = await operator.connection.ask(stub.GetLeaderboard, request)
        assert (second.games, second.rulings, second.rows[0].place) == (2, 2, 2)


@pytest.mark.parametrize(
    ("games", "reason"),
    [
        (arb.GameSelection(players=("nobody-here",)), arb.Reason.PLAYER_NOT_FOUND),
        (arb.GameSelection(players=("ann",), game="ludo"), arb.Reason.GAME_UNKNOWN),
        (arb.GameSelection(label="\0"), arb.Reason.ARGUMENT_INVALID),
        (arb.GameSelection(match_ids=("m" * 101,)), arb.Reason.ARGUMENT_INVALID),
        (arb.GameSelection(players=("ann",)), arb.Reason.ARGUMENT_INVALID),
        (None, arb.Reason.ARGUMENT_INVALID),
    ],
)
async def test_a_ruling_on_nothing_is_refused(
    scripted: ScriptedServer, games: arb.GameSelection | None, reason: arb.Reason
) -> None:
    async with await scripted.client("op", Scope.ADMIN) as operator:
        with pytest.raises(arb.ArbiterError) as refused_:
            await operator.rule_on_ratings(arb.RatingDecision.UNRATED, games)
        assert refused_.value.reason is reason
        with pytest.raises(arb.ArbiterError) as refused_:
            await operator.rule_on_ratings(arb.RatingDecision.UNSPECIFIED, games)
        assert refused_.value.reason is arb.Reason.ARGUMENT_INVALID


async def test_a_ruling_is_about_as_many_games_as_the_limit_says() -> None:
    async with served(limits={"ruling_games": 1}) as server:
        scripted = ScriptedServer(server)
        for _ in range(2):
            await scripted.play("ann", "ben", 1)
        async with await scripted.client("ann", Scope.ADMIN) as operator:
            with pytest.raises(arb.ArbiterError) as refused_:
                await operator.rule_on_ratings(arb.RatingDecision.UNRATED, arb.GameSelection(players=("ann",)))
            assert refused_.value.reason is arb.Reason.RATE_LIMITED
            assert refused_.value.facts["limit"] == "1"


@pytest.mark.long
async def test_a_disqualification_takes_the_ratings_too_and_its_end_gives_them_back(world: World) -> None:
    organiser, boss = await world.client("org", Scope.ORGANISE), await world.client("boss", Scope.ADMIN)
    where = (await organiser.create_tournament(LEAGUE)).tournament_id
    for seed, name in enumerate(("ann", "ben", "cat")):
        await (await world.bot(name, RandomBot(seed))).enter_tournament(where)
    await organiser.start_tournament(where)
    await world.over(where)
    await level(world.server)
    before, out = await boss.get_leaderboard(), arb.Disqualification("ann", True, arb.DisqualifiedResults.VOID)
    for client, what, reason in (
        (organiser, out, arb.Reason.SCOPE_MISSING),
        (boss, arb.PointsAward("ann", 1), arb.Reason.ARGUMENT_INVALID),
    ):
        with pytest.raises(arb.ArbiterError) as refused_:
            await client.correct_tournament(where, what, ratings_too=True)
        assert refused_.value.reason is reason
    would = await boss.correct_tournament(where, out, preview=True, ratings_too=True)
    assert len(would.ratings_changed) == 2
    assert not any(each.disqualified for each in (await boss.get_tournament(where)).entrants), "nothing is done"
    assert await boss.get_leaderboard() == before
    for _ in range(2):  # a repeated request makes no second ruling
        made = await boss.correct_tournament(where, out, note="engine", ratings_too=True, request_id="d")
        assert made.ratings_changed == would.ratings_changed
    assert [match.unrated_by for match in await boss.list_matches(player="ann")] == [1, 1]
    assert (await boss.get_leaderboard()).games == before.games - 2
    back = await boss.correct_tournament(where, arb.Reinstatement("ann"), ratings_too=True, request_id="b")
    assert back.ratings_changed == would.ratings_changed
    await boss.correct_tournament(where, arb.Reinstatement("ann"), ratings_too=True, request_id="b")
    assert await boss.get_leaderboard() == replace(before, rulings=2)
    [*lines, _] = (await boss.export_rating_rulings()).splitlines()
    assert [b"engine" in line for line in lines] == [True, False]
