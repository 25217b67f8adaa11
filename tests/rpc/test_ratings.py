"""Ratings over real gRPC: leaderboards that are current after every game, ratings of a player, comparisons."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import arbiter_client as arb
import pytest
from arbiter_protos.v1 import rating_pb2 as pb

from arbiter.errors import OperatorError, Reason, Refusal
from arbiter.matches.commands import Adjudicate, Arrive, Create, Play, Resign, ResultKind
from arbiter.ratings.rated_matches import ACROSS_GAMES
from arbiter.service.matches.live import SEATS
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served, served
from arbiter.wire.rating_messages import REPEATED
from tests.rpc.calls import Stubs, refused
from tests.rpc.servers import ONE_OR_TWO, Servers, served_by
from tests.rpc.test_matches import signing

GAME = "pods(size=3)"
OTHER = "circle-of-life"


class ScriptedServer:
    """A server whose matches end as a test says, without bots.

    Of several servers, matches are played at the first one, and clients ask the last one.
    """

    def __init__(self, server: Served) -> None:
        self.server = server
        self.arbiter = server.running.arbiter
        self._made = 0

    async def play(
        self,
        one: str,
        two: str,
        winner: int,
        game: str = GAME,
        versions: tuple[str, str] = ("", ""),
        label: str = "",
        opening: Sequence[str] = (),
        rated: bool = True,
    ) -> None:
        """Create a match that ends at once; winner 0 is a draw, -1 void."""
        self._made += 1
        command = Create(
            game, (one, two), "none", "org", f"r{self._made}", self.arbiter.policy, rated, label, opening=tuple(opening)
        )
        matches = self.arbiter.matches
        match = await matches.create(command)
        await matches.act(match.id, Arrive(1, versions[0]))
        await matches.act(match.id, Arrive(2, versions[1]))
        if winner > 0:
            await matches.act(match.id, Resign(2 if winner == 1 else 1, "gives up"))
        else:
            await matches.act(match.id, Adjudicate("org", "judged", ResultKind.VOID if winner else ResultKind.DRAW))

    async def violate(self, one: str, two: str) -> None:
        """Create a match that the first player loses by illegal moves."""
        self._made += 1
        command = Create(GAME, (one, two), "none", "org", f"r{self._made}", self.arbiter.policy, True)
        matches = self.arbiter.matches
        match = await matches.create(command)
        for seat in SEATS:
            await matches.act(match.id, Arrive(seat))
        for strike in range(self.arbiter.policy.illegal_moves):
            with suppress(Refusal):
                await matches.act(match.id, Play(1, f"strike {strike}", 0, "?", match.at))

    async def client(self, name: str, *scopes: Scope) -> arb.Client:
        (header,) = await self.server.token(name, *scopes)
        addresses = reversed(self.server.address.split(","))
        return arb.Client(",".join(addresses), token=header[1].removeprefix("Bearer "))


@pytest.fixture(params=ONE_OR_TWO)
async def scripted(request: pytest.FixtureRequest) -> AsyncIterator[ScriptedServer]:
    async with served_by(request.param, signing, ratings={"anchors": {"ann": 100.0, "nobody": 0.0}}) as server:
        for name in ("ann", "ben", "cat", "dan", "eve"):
            await server.token(name)
        yield ScriptedServer(server)


@pytest.mark.long
async def test_a_leaderboard_is_current_after_every_game(scripted: ScriptedServer) -> None:
    async with await scripted.client("ann") as client:
        empty = await client.get_leaderboard(GAME)
        assert (empty.rows, empty.games, empty.players, empty.game) == ((), 0, 0, GAME)
        for games in range(1, 6):
            await scripted.play("ann", "ben", 1)
            board = await client.get_leaderboard(GAME)
            assert board.games == games
            assert [(row.player, row.games) for row in board.rows] == [("ann", games), ("ben", games)]
        assert board.rows[0].rating == arb.Estimate(100.0, 100.0, 100.0), "it is an anchor"
        assert board.rows[1].rating.low < board.rows[1].rating.value < min(100.0, board.rows[1].rating.high)
        assert board.rows[1].provisional
        assert board.rows[1].above_next is None
        assert board.anchors == (
            arb.Anchor("ann", 100.0, (arb.AnchoredPlayer("ann", None, False),)),
            arb.Anchor("nobody", 0.0),
        )
        for changes in ({"winner": -1}, {"winner": 1, "rated": False}, {"winner": 1, "game": OTHER}):
            await scripted.play("ann", "ben", **changes)
        assert await client.get_leaderboard(GAME) == board
        across = await client.get_leaderboard()
        assert (across.games, across.note, board.note) == (6, ACROSS_GAMES, "")


async def test_a_suspended_player_is_left_out_of_leaderboards_and_keeps_its_rating(scripted: ScriptedServer) -> None:
    for winner, loser in (("ben", "cat"), ("cat", "dan"), ("ben", "dan")):
        await scripted.play(winner, loser, 1)
    async with await scripted.client("ann") as client, await scripted.client("boss", Scope.ADMIN) as boss:
        before = await client.get_leaderboard(GAME)
        assert [(row.place, row.player) for row in before.rows] == [(1, "ben"), (2, "cat"), (3, "dan")]
        await boss.suspend_player("cat")
        board = await client.get_leaderboard(GAME)
        assert [(row.place, row.player) for row in board.rows] == [(1, "ben"), (2, "dan")]
        assert board.players == 2
        assert [row.rating for row in board.rows] == [before.rows[0].rating, before.rows[2].rating]
        assert (await client.get_rating("cat", GAME)).versions != ()
        assert "cat" in [each.name for each in await boss.list_players()]
        await boss.suspend_player("cat", suspended=False)
        assert (await client.get_leaderboard(GAME)).rows == before.rows


async def test_a_server_does_not_begin_with_anchors_in_conflict() -> None:
    with pytest.raises(OperatorError, match="ann = 1 and ann@1 = 2"):
        async with served(ratings={"anchors": {"ann": 1.0, "ann@1": 2.0}}):
            pass


async def test_versions_are_rated_separately_and_the_newest_is_shown(scripted: ScriptedServer) -> None:
    for version, winner in (("1.9", 2), ("1.10", 1), ("1.10", 1)):
        await scripted.play("ben", "cat", winner, versions=(version, ""))
    async with await scripted.client("ann") as client:
        newest = await client.get_leaderboard(GAME)
        assert [(row.place, row.player, row.version) for row in newest.rows] == [(1, "ben", "1.10"), (2, "cat", "")]
        everyone = await client.get_leaderboard(GAME, all_versions=True)
        assert {(row.player, row.version, row.games) for row in everyone.rows} == {
            ("ben", "1.10", 2),
            ("ben", "1.9", 1),
            ("cat", "", 3),
        }
        assert {row.group for row in everyone.rows} == {1}, "after three games the order is not established"
        standing = await client.get_rating("ben", GAME, history_points=10)
        assert [row.version for row in standing.versions] == ["1.10", "1.9"]
        assert set(standing.versions) <= set(everyone.rows)
        assert [each.version for each in standing.history] == ["1.10", "1.9"]
        last = [each.marks[-1].rating for each in standing.history]
        assert last == [row.rating for row in standing.versions]
        assert (await client.get_rating("dan", GAME, history_points=10)).versions == ()


async def test_games_lost_by_absence_are_counted_in_columns_of_their_own(scripted: ScriptedServer) -> None:
    for _ in range(2):
        await scripted.violate("ben", "cat")
    async with await scripted.client("ann") as client:
        board = await client.get_leaderboard(GAME)
        assert [(row.player, row.games, row.forfeits) for row in board.rows] == [
            ("cat", 2, arb.Forfeits(0, 0, 0)),
            ("ben", 2, arb.Forfeits(0, 0, 2)),
        ]
        assert board.rows[0].rating.value > board.rows[1].rating.value


async def test_pages_show_the_ratings_of_one_time(scripted: ScriptedServer) -> None:
    for pair in (("ann", "ben"), ("ben", "cat"), ("cat", "dan")):
        await scripted.play(*pair, 1)
    stubs = await Stubs(scripted.server).enter()
    first = await stubs.ratings.GetLeaderboard(pb.GetLeaderboardRequest(page_size=2, game=GAME), metadata=stubs.alice)
    assert [row.player for row in first.rows] == ["ann", "ben"]
    await scripted.play("dan", "ann", 1)
    rest = await stubs.ratings.GetLeaderboard(
        pb.GetLeaderboardRequest(page_size=2, game=GAME, page_token=first.next_page_token), metadata=stubs.alice
    )
    if isinstance(scripted.server, Servers):  # another one, which has not shown the ratings of the first page
        assert (rest.games, [row.place for row in rest.rows]) == (4, [3, 4])
    else:
        assert [(row.place, row.player) for row in rest.rows] == [(3, "cat"), (4, "dan")]
        assert (rest.games, rest.players, rest.next_page_token) == (3, 4, "")
    gone = await stubs.ratings.GetLeaderboard(
        pb.GetLeaderboardRequest(page_size=2, game=GAME, page_token="2-2"), metadata=stubs.alice
    )
    assert (gone.games, [row.place for row in gone.rows]) == (4, [3, 4])


async def test_two_players_are_compared(scripted: ScriptedServer) -> None:
    for opening in (["a1", "e5"], ["b1", "a2"]):
        await scripted.play("ann", "ben", 1, game="pods", label="duel", opening=opening)
        await scripted.play("ben", "ann", 0, game="pods", label="duel", opening=opening)
    await scripted.play("ben", "ann", 1, game=GAME)
    await scripted.play("ben", "cat", 1, game=GAME)
    async with await scripted.client("ann") as client:
        found = await client.compare_players("ann", "ben")
        assert [(each.game, each.seat, each.wins, each.draws, each.losses) for each in found.encounters] == [
            ("pods", 1, 2, 0, 0),
            ("pods", 2, 0, 2, 0),
            (GAME, 2, 0, 0, 1),
        ]
        assert (found.total.wins, found.total.draws, found.total.losses) == (2, 2, 1)
        assert (found.paired.pairs, found.paired.unpaired, found.paired.score) == ((0, 0, 0, 2, 0), 1, 0.75)
        assert found.paired.test.verdict is arb.Verdict.UNDECIDED
        assert found.paired.evidence.low < 0.5 < found.paired.evidence.high
        assert found.rated is not None
        assert found.rated.superiority > 0.5
        assert found.note == ACROSS_GAMES
        back = await client.compare_players("ben", "ann", "pods", elo0=-5, elo1=5, alpha=0.01, beta=0.02)
        assert (back.total.wins, back.total.losses) == (0, 2)
        assert back.paired.pairs == (0, 2, 0, 0, 0)
        test = back.paired.test
        assert (test.elo0, test.elo1, test.alpha, test.beta) == (-5, 5, 0.01, 0.02)
        strangers = await client.compare_players("ann", "dan")
        assert (strangers.encounters, strangers.rated) == ((), None)
        assert strangers.paired.evidence == arb.ConfidenceSequence(0.0, 1.0, -1200.0, 1200.0)


@pytest.mark.long
async def test_a_pair_that_repeats_another_does_not_count(scripted: ScriptedServer) -> None:
    async with await scripted.client("ann") as client:
        for number in range(24):
            opening = ["b1", "a2"] if number == 0 else ["a1", "e5"]
            await scripted.play("ann", "ben", 1, game="pods", label=f"duel {number}", opening=opening)
            await scripted.play("ben", "ann", 2, game="pods", label=f"duel {number}", opening=opening)
            if number == 1:
                before = await client.compare_players("ann", "ben", "pods")
        found = await client.compare_players("ann", "ben", "pods")
    assert found.rated is not None
    assert found.rated == before.rated, "copies add no certainty to the ratings of the two"
    assert before.note == ""
    assert found.total.wins == 48
    assert found.paired.pairs == (0, 0, 0, 0, 2), "one pair counts for each opening"
    assert found.paired.test.verdict is arb.Verdict.UNDECIDED
    assert found.note == REPEATED.format(22)


async def test_versions_are_compared(scripted: ScriptedServer) -> None:
    for version, winner in (("1", 2), ("2", 1), ("2", 1)):
        await scripted.play("ben", "cat", winner, versions=(version, "9"))
    async with await scripted.client("ann") as client:
        every = await client.compare_players("ben", "cat", GAME)
        assert (every.total.wins, every.total.losses) == (2, 1)
        assert every.rated is not None
        assert (every.rated.player_version, every.rated.other_version) == ("2", "9")
        old = await client.compare_players("ben", "cat", GAME, player_version="1")
        assert (old.total.wins, old.total.losses) == (0, 1)
        assert old.rated is not None
        assert old.rated.player_version == "1"
        unknown = await client.compare_players("ben", "cat", GAME, player_version="")
        assert (unknown.total.games, unknown.rated) == (0, None)


@pytest.mark.parametrize(
    ("method", "request_", "reason"),
    [
        ("GetLeaderboard", pb.GetLeaderboardRequest(game="ludo"), Reason.GAME_UNKNOWN),
        ("GetLeaderboard", pb.GetLeaderboardRequest(game="pods(size=99)"), Reason.PARAMETER_INVALID),
        ("GetLeaderboard", pb.GetLeaderboardRequest(page_size=-1), Reason.ARGUMENT_INVALID),
        ("GetLeaderboard", pb.GetLeaderboardRequest(page_token="7"), Reason.ARGUMENT_INVALID),
        ("GetRating", pb.GetRatingRequest(player="nobody"), Reason.PLAYER_NOT_FOUND),
        ("GetRating", pb.GetRatingRequest(player="ann", history_points=101), Reason.ARGUMENT_INVALID),
        ("ComparePlayers", pb.ComparePlayersRequest(player="ann", other="nobody"), Reason.PLAYER_NOT_FOUND),
        ("ComparePlayers", pb.ComparePlayersRequest(player="ann", other="ann"), Reason.ARGUMENT_INVALID),
        ("ComparePlayers", pb.ComparePlayersRequest(player="ann", other="ben", elo1=-1), Reason.ARGUMENT_INVALID),
        ("ComparePlayers", pb.ComparePlayersRequest(player="ann", other="ben", elo1=1e9), Reason.ARGUMENT_INVALID),
        (
            "ComparePlayers",
            pb.ComparePlayersRequest(player="ann", other="ben", alpha=float("nan")),
            Reason.ARGUMENT_INVALID,
        ),
    ],
)
async def test_impossible_questions_are_refused_with_a_reason(
    scripted: ScriptedServer, method: str, request_: object, reason: Reason
) -> None:
    stubs = await Stubs(scripted.server).enter()
    await refused(getattr(stubs.ratings, method)(request_, metadata=stubs.alice), reason)


@pytest.mark.long
async def test_players_of_a_tournament_are_seeded_by_their_ratings(scripted: ScriptedServer) -> None:
    for _ in range(3):
        await scripted.play("ben", "cat", 1)
    async with await scripted.client("org", Scope.ORGANISE) as organiser:
        spec = arb.TournamentSpec("cup", arb.TournamentFormat.ROUND_ROBIN, (GAME,), "1m")
        cup = (await organiser.create_tournament(spec)).tournament_id
        ratings = {row.player: row.rating.value for row in (await organiser.get_leaderboard(GAME)).rows}
        for name in ("cat", "dan", "ben"):
            entered = await organiser.enter_tournament(cup, name, request_id=f"enter {name}")
            assert entered.rating == (round(ratings[name]) + 1_500 if name in ratings else 0)
        assert (await organiser.enter_tournament(cup, "ann", rating=1)).rating == 1
        await scripted.play("cat", "ben", 1)
        again = await organiser.enter_tournament(cup, "cat", request_id="enter cat")
        assert again.rating == round(ratings["cat"]) + 1_500, "the rating at its entry"
        started = await organiser.start_tournament(cup)
        assert [each.player for each in started.entrants] == ["ben", "cat", "ann", "dan"]


async def test_a_player_with_too_many_waiting_calls_is_refused_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(limits={"ratings_waiting": 2}) as server:
        stubs = await Stubs(server).enter()
        ratings, asked, going_on = server.running.arbiter.ratings, asyncio.Semaphore(0), asyncio.Event()
        work = ratings.edition

        async def slowly(*arguments: Any) -> Any:
            asked.release()
            await going_on.wait()
            return await work(*arguments)

        monkeypatch.setattr(ratings, "edition", slowly)
        request = pb.GetLeaderboardRequest()
        waiting = [asyncio.ensure_future(stubs.ratings.GetLeaderboard(request, metadata=stubs.alice)) for _ in range(2)]
        for _ in waiting:
            await asked.acquire()
        third = asyncio.ensure_future(stubs.ratings.GetLeaderboard(request, metadata=stubs.alice))
        served_too = asyncio.ensure_future(asked.acquire())
        await asyncio.wait({third, served_too}, return_when=asyncio.FIRST_COMPLETED)
        assert not served_too.done(), "it is refused, and does not wait too"
        served_too.cancel()
        await refused(third, Reason.RATE_LIMITED, limit="2")
        others = asyncio.ensure_future(stubs.ratings.GetLeaderboard(request, metadata=stubs.bob))
        await asked.acquire()
        going_on.set()
        assert {(await answer).games for answer in (*waiting, others)} == {0}
