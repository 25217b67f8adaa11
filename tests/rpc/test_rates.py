"""How often a caller may call, and what its calls cost."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, play_pb2_grpc, player_pb2, rating_pb2, tournament_pb2
from google.protobuf.message import Message

from arbiter.errors import Reason
from arbiter.rpc.servicing import call_of
from arbiter.service import background
from arbiter.service.gate import admission
from arbiter.service.gate.addresses import counted_as
from arbiter.service.matches.reading import MatchReader
from tests.rpc.calls import Metadata, refused
from tests.rpc.methods import METHODS
from tests.rpc.test_limits import RULES, server


class ManualClock:
    """A clock for the rates that the test sets: a period lasts until the test ends it, however slow the machine is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._now_ms = 1_000_000
        monkeypatch.setattr(admission, "_now_ms", lambda: self._now_ms)
        monkeypatch.setattr(background, "thread_time", lambda: 0.0)  # nor do calls cost more for their time

    def pass_s(self, seconds: int = 2) -> None:
        """Let seconds pass; after two seconds a budget of calls is full again."""
        self._now_ms += 1_000 * seconds


async def answered_until_refused(ask: Any, request: Any, metadata: Metadata, limit: int) -> None:
    """Call as often as is allowed at once, and once more."""
    for _ in range(limit):
        await ask(request, metadata=metadata)
    await refused(
        ask(request, metadata=metadata), Reason.RATE_LIMITED, limit=str(limit), retry_after_ms=str(2000 // limit)
    )


@pytest.mark.long
async def test_calls_have_a_rate_and_moves_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(monkeypatch)
    async with server(calls_a_second=10) as stubs:
        match_id = (await stubs.match()).match_id
        everything = match_pb2.ListMatchesRequest()
        for _ in range(2):
            await answered_until_refused(stubs.matches.ListMatches, everything, stubs.alice, 20)
            clock.pass_s()
        await answered_until_refused(stubs.matches.ListMatches, everything, stubs.alice, 20)
        position = RULES.initial()
        for ply in range(40):  # neither the moves of a caller that may make no more calls, nor more than 20 of them
            text = min(RULES.moves(position))
            receipt = await stubs.move(position.turn, match_id, ply, text)
            position = RULES.play(position, text)
            assert receipt.ply == ply + 1
        await refused(stubs.matches.ListMatches(everything, metadata=stubs.alice), Reason.RATE_LIMITED)
        await answered_until_refused(stubs.games.ListGames, game_pb2.ListGamesRequest(), [], 20)
        clock.pass_s()
        wrong = [("authorization", "Bearer nonsense")]  # attempts with tokens count for the address
        register = stubs.players.RegisterPlayer
        for _ in range(20):
            await refused(
                register(player_pb2.RegisterPlayerRequest(name="carol"), metadata=wrong), Reason.TOKEN_INVALID
            )
        await refused(
            register(player_pb2.RegisterPlayerRequest(name="carol"), metadata=wrong), Reason.RATE_LIMITED, limit="20"
        )


async def test_an_answer_of_many_rows_counts_as_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(monkeypatch)
    async with server(calls_a_second=10, call_rows=2) as stubs:
        for n in range(8):
            await stubs.match(f"r{n}")
        list_all, everything = stubs.matches.ListMatches, match_pb2.ListMatchesRequest()
        for _ in range(4):  # one call, and four for eight rows: twenty in all
            assert len((await list_all(everything, metadata=stubs.alice)).matches) == 8
        await refused(list_all(everything, metadata=stubs.alice), Reason.RATE_LIMITED, retry_after_ms="100")
        clock.pass_s()
        for _ in range(19):
            await list_all(match_pb2.ListMatchesRequest(page_size=1, player="nobody"), metadata=stubs.alice)
        await list_all(everything, metadata=stubs.alice)  # the call is answered, and its rows are charged afterwards
        await refused(list_all(everything, metadata=stubs.alice), Reason.RATE_LIMITED, retry_after_ms="500")


PAGED = {name for name, method in METHODS.items() if "page_size" in method.input_type.fields_by_name}
IN_MEMORY = {"GameService.ListGames"}  #: a page with a few constant rows


async def test_every_call_with_rows_is_charged_by_them(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    monkeypatch.setattr(admission.Admission, "charge", lambda self, caller, rows: counted.append(rows))
    async with server() as stubs:
        match_id = (await stubs.match()).match_id
        abort = match_pb2.AbortMatchRequest(match_id=match_id, request_id="a")
        await stubs.matches.AbortMatch(abort, metadata=stubs.org)
        spec = tournament_pb2.TournamentSpec(
            name="cup", format=tournament_pb2.TOURNAMENT_FORMAT_ROUND_ROBIN, games=["pods"], time="1m"
        )
        create = tournament_pb2.CreateTournamentRequest(request_id="t", spec=spec)
        cup = (await stubs.tournaments.CreateTournament(create, metadata=stubs.org)).tournament.tournament_id
        enter = tournament_pb2.EnterTournamentRequest(tournament_id=cup, request_id="e")
        await stubs.tournaments.EnterTournament(enter, metadata=stubs.alice)
        challenge = player_pb2.CreateChallengeRequest(
            request_id="c", opponent="bob", terms=player_pb2.Terms(game="pods")
        )
        await stubs.players.CreateChallenge(challenge, metadata=stubs.alice)
        requests: dict[str, tuple[Message, int]] = {
            "MatchService.ListMatches": (match_pb2.ListMatchesRequest(), 1),
            "MatchService.GetMatch": (match_pb2.GetMatchRequest(match_id=match_id), 3),
            "PlayerService.ListPlayers": (player_pb2.ListPlayersRequest(), 3),
            "PlayerService.ListTokens": (player_pb2.ListTokensRequest(), 1),
            "PlayerService.ListChallenges": (player_pb2.ListChallengesRequest(), 1),
            "TournamentService.ListTournaments": (tournament_pb2.ListTournamentsRequest(), 1),
            "TournamentService.GetTournament": (tournament_pb2.GetTournamentRequest(tournament_id=cup), 1),
            "TournamentService.GetStandings": (tournament_pb2.GetStandingsRequest(tournament_id=cup), 1),
            "RatingService.GetLeaderboard": (rating_pb2.GetLeaderboardRequest(), 0),
            "RatingService.GetRating": (rating_pb2.GetRatingRequest(player="alice"), 0),
            "RatingService.ComparePlayers": (rating_pb2.ComparePlayersRequest(player="alice", other="bob"), 0),
        }
        assert requests.keys() >= PAGED - IN_MEMORY
        for name, (request, rows) in requests.items():
            counted.clear()
            service, _, method = name.partition(".")
            stub = getattr(
                stubs,
                {"PlayerService": "players", "MatchService": "matches"}.get(service, "")
                or service.removesuffix("Service").lower() + "s",
            )
            await getattr(stub, method)(request, metadata=stubs.alice)
            assert [min(found, rows) for found in counted] == [rows], name


@pytest.mark.long
async def test_simultaneous_calls_are_delayed_and_all_answered() -> None:
    """After the first twenty, calls wait for their share of the second; players, and other callers, do not wait."""
    async with server(calls_a_second=200) as stubs:
        began = asyncio.get_running_loop().time()
        ask = stubs.players.GetPlayer
        await asyncio.gather(*(ask(player_pb2.GetPlayerRequest(), metadata=stubs.alice) for _ in range(150)))
        assert asyncio.get_running_loop().time() - began >= 0.45  # 100 of them, five milliseconds each
        await asyncio.gather(*(ask(player_pb2.GetPlayerRequest(), metadata=stubs.bob) for _ in range(50)))


@pytest.mark.long
async def test_refusals_are_delayed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first twenty, refusals wait for their turn, at twice the rate of calls."""
    ManualClock(monkeypatch)  # no budget refills
    async with server(calls_a_second=50) as stubs:
        began = asyncio.get_running_loop().time()
        refused_at: list[float] = []

        async def call() -> None:
            asked = stubs.players.GetPlayer(player_pb2.GetPlayerRequest(), metadata=stubs.alice)
            if await asked.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
                refused_at.append(asyncio.get_running_loop().time() - began)

        await asyncio.gather(*(call() for _ in range(200)))
    assert len(refused_at) == 100
    assert max(refused_at) >= 0.75  # eighty of them, ten milliseconds each


async def test_refusals_of_every_call_wait_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves and Play streams have no rate of their own; nobody else waits."""
    waits: list[float] = []
    sleep_ms = admission._sleep_ms

    async def noted(wait_ms: int) -> None:
        waits.append(wait_ms)
        await sleep_ms(0)

    monkeypatch.setattr(admission, "_sleep_ms", noted)
    ManualClock(monkeypatch)  # no budget refills
    async with server(calls_a_second=50) as stubs:
        move = match_pb2.SubmitMoveRequest(request_id="r", match_id="nowhere", move="a1")
        for _ in range(25):
            await refused(stubs.matches.SubmitMove(move, metadata=stubs.alice), Reason.MATCH_NOT_FOUND)
        assert waits == [0] * 20 + [10, 20, 30, 40, 50]
        waits.clear()
        await refused(stubs.matches.SubmitMove(move, metadata=stubs.bob), Reason.MATCH_NOT_FOUND)
        hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="9.0"))
        open_stream = play_pb2_grpc.PlayServiceStub(stubs.served.channel).Play
        refused_stream = open_stream(iter([play_pb2.PlayRequest(acts=[hello])]), metadata=stubs.alice)
        await refused(refused_stream, Reason.VERSION_UNSUPPORTED)
        assert waits == [0, 60]
        waits.clear()
        nothing: Any = stubs.served.channel.unary_unary("/arbiter.v1.MatchService/Nothing")
        assert await nothing(b"", metadata=stubs.alice).code() is grpc.StatusCode.UNIMPLEMENTED
        assert waits == [70]


@pytest.mark.long
async def test_a_call_whose_budget_has_refilled_while_it_waited_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(monkeypatch)
    async with server(calls_a_second=50) as stubs:
        ask = stubs.players.GetPlayer
        calls = [ask(player_pb2.GetPlayerRequest(), metadata=stubs.alice) for _ in range(200)]
        ends = asyncio.as_completed([call.code() for call in calls])
        while await next(ends) is grpc.StatusCode.OK:
            pass
        clock.pass_s()
        codes = [await call.code() for call in calls]
    assert codes.count(grpc.StatusCode.RESOURCE_EXHAUSTED) < 100


async def test_long_answers_to_one_caller_are_sent_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of simultaneous calls the next begins when the one before has ended, after its rows are charged."""
    began: list[float] = []
    reading = 0
    summaries = MatchReader.summaries

    async def watched(self: MatchReader, *asked: Any) -> Any:
        nonlocal reading
        reading += 1
        assert reading == 1
        began.append(asyncio.get_running_loop().time())
        try:
            await asyncio.sleep(0)  # another one could begin here
            return await summaries(self, *asked)
        finally:
            reading -= 1

    monkeypatch.setattr(MatchReader, "summaries", watched)
    async with server(calls_a_second=100, call_rows=1) as stubs:
        for n in range(20):
            await stubs.match(f"r{n}")
        ask, everything = stubs.matches.ListMatches, match_pb2.ListMatchesRequest()
        answers = await asyncio.gather(*(ask(everything, metadata=stubs.alice) for _ in range(8)))
    assert [len(answer.matches) for answer in answers] == [20] * 8
    # Twenty rows are twenty calls of a hundred a second. Less than five times that only if the third call began late.
    assert began[7] - began[2] >= 0.95


@pytest.mark.long
async def test_guessing_tokens_is_stopped_and_a_caller_with_a_token_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = ManualClock(monkeypatch)
    async with server(unknown_tokens_a_minute=20, calls_a_second=100_000) as stubs:
        ask, request = stubs.players.GetPlayer, player_pb2.GetPlayerRequest()
        new = await stubs.served.token("carol")  # has not called yet: the server has no state for it
        for n in range(20):
            guess = [("authorization", f"Bearer guess {n}")]
            await refused(ask(request, metadata=guess), Reason.TOKEN_INVALID)
        for n in range(200):
            guess = [("authorization", f"Bearer another {n}")]
            await refused(ask(request, metadata=guess), Reason.RATE_LIMITED, limit="20", retry_after_ms="3000")
        for own, name in ((stubs.alice, "alice"), (new, "carol")):
            assert (await ask(request, metadata=own)).player.name == name
        await refused(ask(request), Reason.TOKEN_INVALID)  # a missing token is no guess
        for _ in range(3):
            clock.pass_s(1)
        await refused(ask(request, metadata=guess), Reason.TOKEN_INVALID)
        await refused(ask(request, metadata=guess), Reason.RATE_LIMITED)


async def test_strangers_register_at_a_limited_rate_and_admins_without_limit() -> None:
    async with server(registrations_a_minute=2) as stubs:
        register = stubs.players.RegisterPlayer
        await register(player_pb2.RegisterPlayerRequest(name="one"))
        await refused(register(player_pb2.RegisterPlayerRequest(name="one")), Reason.PLAYER_EXISTS)  # it counts too
        third = player_pb2.RegisterPlayerRequest(name="three")
        await refused(register(third), Reason.RATE_LIMITED, limit="2")
        await refused(register(third, metadata=stubs.alice), Reason.RATE_LIMITED, limit="2")
        assert (await register(third, metadata=stubs.admin)).player.name == "three"


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:192.0.2.1:40000", "192.0.2.1"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:40000", "2001:db8:1:2::/64"),
        ("ipv6:[2001:db8:1:2::9]:40000", "2001:db8:1:2::/64"),
        ("ipv6:%5Bfe80::1%25eth0%5D:40000", "fe80::/64"),
        ("ipv6:%5B::ffff:192.0.2.1%5D:40000", "192.0.2.1"),
        ("unix:/run/arbiter", "unix:"),
        ("", ":"),
    ],
)
def test_the_address_of_a_call(peer: str, address: str) -> None:
    class Context:
        def peer(self) -> str:
            return peer

        def invocation_metadata(self) -> None:
            return None

    context: Any = Context()
    assert counted_as(call_of(context).address) == address
