"""Which caller may make which call: a table of every RPC, every relation to its subject, and every kind of caller.

Each request would succeed if its caller may make it, so that "+" means that it was carried out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, player_pb2, refusal_pb2, tournament_pb2
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from arbiter.config import Limits
from arbiter.errors import Reason
from arbiter.games.registry import game
from arbiter.service.gate.rights import RIGHTS, Action
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served, served
from tests.rpc.calls import Metadata, Stubs, refusal_in
from tests.rpc.methods import METHODS
from tests.rpc.servers import ONE, ONE_OR_TWO, served_by

CALLERS = ("none", "wrong", "revoked", "play", "organise", "observe", "admin")

# "+" carried out, "T" TOKEN_INVALID, "S" SCOPE_MISSING, "N" refused whatever the scope, or hidden: it is not theirs;
# the columns are the CALLERS, in their order.
EVERYBODY, ALL_BUT_BROKEN, ANY_TOKEN = "+++ ++++", "+TT ++++", "TTT ++++"
PLAYERS, ORGANISERS, ADMINS, NOT_THEIRS = "TTT +SS+", "TTT S+S+", "TTT SSS+", "TTT NSSN"

SEATS = {"own": PLAYERS, "others": NOT_THEIRS}
ENDS = {"own": ORGANISERS, "own_tournament": ORGANISERS, "others": ADMINS}
ENTRIES = {"own": PLAYERS, "own_tournament": ORGANISERS, "others": ADMINS}
RUNS = {"own": ORGANISERS, "others": ADMINS}

TABLE = {
    "ServerService.GetServerInfo": {"any": EVERYBODY},
    "GameService.ListGames": {"any": EVERYBODY},
    "GameService.GetGame": {"any": EVERYBODY},
    "GameService.LegalMoves": {"any": EVERYBODY},
    "GameService.PlayMoves": {"any": EVERYBODY},
    "MatchService.CreateMatch": {"any": ORGANISERS},
    "MatchService.GetMatch": {"any": ANY_TOKEN},
    "MatchService.ListMatches": {"any": ANY_TOKEN},
    "MatchService.SubmitMove": SEATS,
    "MatchService.SubmitMoves": SEATS,
    "MatchService.Observe": {"any": ANY_TOKEN},
    "MatchService.OfferDraw": SEATS,
    "MatchService.AnswerDraw": SEATS,
    "MatchService.ClaimDraw": SEATS,
    "MatchService.Resign": SEATS,
    "MatchService.AbortMatch": ENDS,
    "MatchService.AdjudicateMatch": ENDS,
    "MatchService.GetTranscript": {"any": ANY_TOKEN},
    "PlayService.Play": {"own": PLAYERS},
    "PlayerService.RegisterPlayer": {"any": ALL_BUT_BROKEN},
    "PlayerService.CreateInvitation": {"any": ADMINS},
    "PlayerService.GetPlayer": {"any": ANY_TOKEN},
    "PlayerService.ListPlayers": {"any": ANY_TOKEN},
    "PlayerService.UpdateProfile": {"own": PLAYERS},
    "PlayerService.ChangePlayer": {"own": PLAYERS, "others": ADMINS},
    "PlayerService.DeletePlayer": {"own": PLAYERS, "others": ADMINS},
    "PlayerService.SuspendPlayer": {"any": ADMINS},
    "PlayerService.GrantBadge": {"any": ADMINS},
    "PlayerService.CreateToken": {"own": ANY_TOKEN, "others": ADMINS},  # with a scope that the caller's own token has
    "PlayerService.ListTokens": {"own": ANY_TOKEN, "others": ADMINS},
    "PlayerService.RevokeToken": {"this_token": ANY_TOKEN, "own": "TTT ++S+", "others": "TTT NNN+"},
    "PlayerService.CreateChallenge": {"own": PLAYERS},
    "PlayerService.AcceptChallenge": SEATS,
    "PlayerService.DeclineChallenge": SEATS,
    "PlayerService.CreateSeek": {"own": PLAYERS},
    "PlayerService.ListChallenges": {"own": PLAYERS},
    "TournamentService.CreateTournament": {"any": ORGANISERS},
    "TournamentService.EnterTournament": ENTRIES,
    "TournamentService.WithdrawFromTournament": ENTRIES,
    "TournamentService.ChangeEntry": ENTRIES,
    "TournamentService.StartTournament": RUNS,
    "TournamentService.GoOnFromReport": RUNS,
    "TournamentService.PauseTournament": RUNS,
    "TournamentService.ResumeTournament": RUNS,
    "TournamentService.CancelTournament": RUNS,
    "TournamentService.RuleOnGame": RUNS,
    "TournamentService.CorrectTournament": RUNS,
    "TournamentService.GetTournament": {"any": ANY_TOKEN},
    "TournamentService.ListTournaments": {"any": ANY_TOKEN},
    "TournamentService.GetStandings": {"any": ANY_TOKEN},
    "TournamentService.GetSeries": {"any": ANY_TOKEN},
    "TournamentService.ExportTournament": {"any": ANY_TOKEN},
    "TournamentService.CreateWebHook": RUNS,
    "TournamentService.ListWebHooks": RUNS,
    "TournamentService.RetryWebHook": RUNS,
    "TournamentService.DeleteWebHook": RUNS,
    "RatingService.GetLeaderboard": {"any": ANY_TOKEN},
    "RatingService.GetRating": {"any": ANY_TOKEN},
    "RatingService.ComparePlayers": {"any": ANY_TOKEN},
    "RatingService.RuleOnRatings": {"any": ADMINS},
    "RatingService.ExportRatingRulings": {"any": ANY_TOKEN},
}

SIGNS = {
    Reason.TOKEN_INVALID: "T",
    Reason.SCOPE_MISSING: "S",
    Reason.SEAT_NOT_YOURS: "N",
    Reason.CHALLENGE_NOT_FOUND: "N",
    Reason.TOKEN_NOT_FOUND: "N",
}
WAIT_S = 240  #: for the first match of a tournament, which starts at once
RULES = game("circle-of-life")
FIRST = min(RULES.moves(RULES.initial()))
LIMITS = Limits(open_tournaments=1_000, unknown_tokens_a_minute=1_000)  #: as many as these tests need
SCOPES = {scope.value: player_pb2.Scope.Value(f"SCOPE_{scope.name}") for scope in Scope}
LINE = game_pb2.LineOfPlay(game="circle-of-life", moves=[FIRST])


def test_the_table_has_every_rpc() -> None:
    assert set(TABLE) == set(METHODS)


def test_the_table_and_the_gate_have_the_same_rows() -> None:
    found = {f"{action.value}": {relation.value for relation in row} for action, row in RIGHTS.items()}
    assert found == {_snake(name): set(row) for name, row in TABLE.items()}
    assert set(RIGHTS) == set(Action)


def _snake(name: str) -> str:
    letters = name.partition(".")[2]
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in letters)[1:]


class Factory:
    """Makes things to which carol has a relation. She is the caller; erin is another organiser."""

    def __init__(self, stubs: Stubs) -> None:
        self.stubs = stubs
        self.scope = "play"  #: scopes of the token for the next request
        self.own: Metadata = []  #: that token
        self._made = 0

    async def enter(self) -> Factory:
        token = self.stubs.served.token
        self.carol = await token("carol", *Scope)
        self.erin = await token("erin", *Scope)
        self.bob = await token("bob")
        self.dave = await token("dave")
        return self

    def name(self) -> str:
        """Return a new name."""
        self._made += 1
        return f"n{self._made}"

    def by(self, relation: str) -> Metadata:
        """Return who makes a thing: carol, or another player."""
        return self.erin if relation == "others" else self.carol

    async def match(self, by: Metadata, *players: str) -> str:
        """Create a match; return its id."""
        request = match_pb2.CreateMatchRequest(
            request_id=self.name(),
            game="circle-of-life",
            players=players or ("bob", "dave"),
            time_control="none",
            start=match_pb2.START_RULE_AT_ONCE,
        )
        return str((await self.stubs.matches.CreateMatch(request, metadata=by)).match.match_id)

    async def seat(self, relation: str) -> dict[str, Any]:
        """Create a match in which carol has the first seat, or none; return the fields of a request about it."""
        players = ("bob", "dave") if relation == "others" else ("carol", "bob")
        return {"match_id": await self.match(self.erin, *players), "request_id": self.name()}

    async def tournament(self, by: Metadata, *entrants: str, start: bool = False) -> str:
        """Create a tournament; return its id."""
        spec = tournament_pb2.TournamentSpec(
            name="cup", format=tournament_pb2.TOURNAMENT_FORMAT_ROUND_ROBIN, games=["circle-of-life"], time="none"
        )
        calls = self.stubs.tournaments
        create = tournament_pb2.CreateTournamentRequest(request_id=self.name(), spec=spec)
        tournament_id = str((await calls.CreateTournament(create, metadata=by)).tournament.tournament_id)
        for player in entrants:
            enter = tournament_pb2.EnterTournamentRequest(
                request_id=self.name(), tournament_id=tournament_id, player=player
            )
            await calls.EnterTournament(enter, metadata=by)
        if start:
            request = tournament_pb2.StartTournamentRequest(request_id=self.name(), tournament_id=tournament_id)
            await calls.StartTournament(request, metadata=by)
        return tournament_id

    async def match_of_tournament(self, by: Metadata) -> str:
        """Create a tournament and wait for its match; return the match's id."""
        tournament_id = await self.tournament(by, "bob", "dave", start=True)
        feed = self.stubs.served.running.arbiter.feed
        async with asyncio.timeout(WAIT_S), feed.of_all(0, tournament_id) as stream:
            async for batch in stream:
                if isinstance(batch, list):
                    for event in batch:
                        if event.match_id != tournament_id:
                            return event.match_id
        raise AssertionError("the tournament has made no match")

    async def changing(
        self, kind: Callable[..., Message], relation: str, *entrants: str, start: bool = False, **fields: Any
    ) -> Message:
        """Create a tournament; return a request of a kind that changes it."""
        tournament_id = await self.tournament(self.by(relation), *entrants, start=start)
        return kind(request_id=self.name(), tournament_id=tournament_id, **fields)

    async def challenge(self, relation: str) -> str:
        """Have bob challenge carol, or another player; return the id."""
        terms = player_pb2.Terms(game="pods", time_control="1m")
        opponent = "dave" if relation == "others" else "carol"
        request = player_pb2.CreateChallengeRequest(request_id=self.name(), opponent=opponent, terms=terms)
        made = await self.stubs.players.CreateChallenge(request, metadata=self.bob)
        return str(made.challenge.challenge_id)

    async def new_token(self, player: str, *scopes: Scope) -> tuple[str, Metadata]:
        """Create a token; return its id and its metadata."""
        operator = await self.stubs.served.running.arbiter.accounts.authenticate(self._secret_of_admin())
        made = await self.stubs.served.running.arbiter.accounts.create_token(operator, player, scopes, "")
        return made[0].token_id, [("authorization", f"Bearer {made[1]}")]

    def _secret_of_admin(self) -> str | None:
        return self.stubs.served.running.admin_token

    async def prepare(self, scope: str) -> None:
        """Create the token for the next request."""
        self.scope = scope
        self.token_id, self.own = await self.new_token("carol", Scope(scope))


Make = Callable[[Factory, str], Awaitable[Message]]


async def ending(factory: Factory, relation: str, request: Any, **fields: Any) -> Message:
    """Return a request that ends a match."""
    match_id = await (
        factory.match_of_tournament(factory.carol)
        if relation == "own_tournament"
        else factory.match(factory.by(relation))
    )
    made: Message = request(request_id=factory.name(), match_id=match_id, **fields)
    return made


async def entry(factory: Factory, relation: str, *entrants: str, kind: Any) -> Message:
    """Return a request about carol's own entry in erin's tournament, or bob's in hers or in erin's."""
    by = factory.carol if relation == "own_tournament" else factory.erin
    tournament_id = await factory.tournament(by, *entrants)
    player = "carol" if relation == "own" else "bob"
    made: Message = kind(request_id=factory.name(), tournament_id=tournament_id, player=player)
    if isinstance(made, tournament_pb2.ChangeEntryRequest):
        made.byes.SetInParent()
    return made


async def make_request(factory: Factory, name: str, relation: str) -> Message:
    """Return a valid request about something new that has this relation to carol."""
    match name.partition(".")[2]:
        case "GetGame":
            return game_pb2.GetGameRequest(game="pods")
        case "LegalMoves":
            return game_pb2.LegalMovesRequest(line=LINE)
        case "PlayMoves":
            return game_pb2.PlayMovesRequest(line=LINE)
        case "CreateMatch":
            return match_pb2.CreateMatchRequest(
                request_id=factory.name(), game="pods", players=["bob", "dave"], time_control="1m"
            )
        case "GetMatch":
            return match_pb2.GetMatchRequest(match_id=await factory.match(factory.erin))
        case "GetTranscript":
            return match_pb2.GetTranscriptRequest(match_id=await factory.match(factory.erin))
        case "AbortMatch":
            return await ending(factory, relation, match_pb2.AbortMatchRequest)
        case "AdjudicateMatch":
            kind = match_pb2.RESULT_KIND_DRAW
            return await ending(factory, relation, match_pb2.AdjudicateMatchRequest, kind=kind, note="why")
        case _:
            return await make_seat_request(factory, name, relation)


async def make_seat_request(factory: Factory, name: str, relation: str) -> Message:
    """Return a request of a player at its seat, or of an observer, as `make_request` does."""
    match name.partition(".")[2]:
        case "SubmitMove":
            return match_pb2.SubmitMoveRequest(move=FIRST, **(await factory.seat(relation)))
        case "SubmitMoves":
            move = match_pb2.SubmitMoveRequest(move=FIRST, **(await factory.seat(relation)))
            return match_pb2.SubmitMovesRequest(moves=[move])
        case "Observe":
            return match_pb2.ObserveRequest(all=match_pb2.ObserveAll(after_token="0"))
        case "OfferDraw":
            return match_pb2.OfferDrawRequest(**(await factory.seat(relation)))
        case "AnswerDraw":
            return match_pb2.AnswerDrawRequest(accept=True, **(await factory.seat(relation)))
        case "ClaimDraw":
            return match_pb2.ClaimDrawRequest(**(await factory.seat(relation)))
        case "Resign":
            return match_pb2.ResignRequest(**(await factory.seat(relation)))
        case "Play":
            hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))
            return play_pb2.PlayRequest(acts=[hello])
        case "ChangePlayer":
            return player_pb2.ChangePlayerRequest(player="dave" if relation == "others" else "carol", hidden=False)
        case "DeletePlayer":  # carol is needed later
            return player_pb2.DeletePlayerRequest(player="dave" if relation == "others" else "carol", preview=True)
        case _:
            return await make_account_request(factory, name.partition(".")[2], relation)


async def make_account_request(factory: Factory, method: str, relation: str) -> Message:
    """Return a request about players or tournaments, as `make_request` does."""
    of_player = "dave" if relation == "others" else "carol"
    terms = player_pb2.Terms(game="pods", time_control="1m")
    match method:
        case "RegisterPlayer":
            return player_pb2.RegisterPlayerRequest(name=factory.name())
        case "SuspendPlayer":
            return player_pb2.SuspendPlayerRequest(name="dave", suspended=False)
        case "GrantBadge":
            return player_pb2.GrantBadgeRequest(player="carol", bot_version="1")
        case "CreateToken":
            return player_pb2.CreateTokenRequest(player=of_player, scopes=[SCOPES[factory.scope]])
        case "ListTokens":
            return player_pb2.ListTokensRequest(player=of_player)
        case "RevokeToken":
            if relation == "this_token":
                return player_pb2.RevokeTokenRequest(token_id=factory.token_id)
            return player_pb2.RevokeTokenRequest(token_id=(await factory.new_token(of_player, Scope(factory.scope)))[0])
        case "CreateChallenge":
            return player_pb2.CreateChallengeRequest(request_id=factory.name(), opponent="bob", terms=terms)
        case "AcceptChallenge":
            return player_pb2.AcceptChallengeRequest(challenge_id=await factory.challenge(relation))
        case "DeclineChallenge":
            return player_pb2.DeclineChallengeRequest(challenge_id=await factory.challenge(relation))
        case "CreateSeek":
            return player_pb2.CreateSeekRequest(request_id=factory.name(), terms=terms)
        case _:
            return await make_tournament_request(factory, method, relation)


async def make_tournament_request(factory: Factory, method: str, relation: str) -> Message:
    """Return a request about tournaments or ratings, as `make_request` does; or an empty one."""
    pb = tournament_pb2
    match method:
        case "CreateTournament":
            spec = pb.TournamentSpec(name="cup", format=pb.TOURNAMENT_FORMAT_LADDER, games=["pods"], time="1m")
            return pb.CreateTournamentRequest(request_id=factory.name(), spec=spec)
        case "EnterTournament":
            return await entry(factory, relation, kind=pb.EnterTournamentRequest)
        case "WithdrawFromTournament" | "ChangeEntry":
            return await entry(factory, relation, "carol", "bob", kind=getattr(pb, f"{method}Request"))
        case "StartTournament":
            return await factory.changing(pb.StartTournamentRequest, relation, "bob", "dave")
        case "PauseTournament":
            return await factory.changing(pb.PauseTournamentRequest, relation, "bob", "dave", start=True)
        case "ResumeTournament":
            tournament_id = await factory.tournament(factory.by(relation), "bob", "dave", start=True)
            pause = pb.PauseTournamentRequest(request_id=factory.name(), tournament_id=tournament_id)
            await factory.stubs.tournaments.PauseTournament(pause, metadata=factory.by(relation))
            return pb.ResumeTournamentRequest(request_id=factory.name(), tournament_id=tournament_id)
        case "CancelTournament" | "RuleOnGame" | "CorrectTournament" | "GoOnFromReport":
            return await factory.changing(getattr(pb, f"{method}Request"), relation)
        case "GetTournament" | "GetStandings" | "GetSeries" | "ExportTournament":
            asked: Message = getattr(pb, f"{method}Request")(tournament_id=await factory.tournament(factory.erin))
            return asked
        case "CreateWebHook" | "ListWebHooks" | "RetryWebHook" | "DeleteWebHook":
            return await web_hook_request(factory, method, relation)
        case "GetRating":
            return GetMessageClass(METHODS["RatingService.GetRating"].input_type)(player="bob")
        case "ComparePlayers":
            return GetMessageClass(METHODS["RatingService.ComparePlayers"].input_type)(player="bob", other="dave")
        case _:  # calls without an argument
            found = next(found for name, found in METHODS.items() if name.partition(".")[2] == method)
            return GetMessageClass(found.input_type)()


async def web_hook_request(factory: Factory, method: str, relation: str) -> Message:
    """Return a request about the web hooks of a tournament, as `make_request` does."""
    create = await factory.changing(tournament_pb2.CreateWebHookRequest, relation, url="https://example.org/hook")
    if method == "CreateWebHook":
        return create
    made = await factory.stubs.tournaments.CreateWebHook(create, metadata=factory.by(relation))
    asked: Message = getattr(tournament_pb2, f"{method}Request")(tournament_id=made.web_hook.tournament_id)
    if isinstance(asked, tournament_pb2.RetryWebHookRequest | tournament_pb2.DeleteWebHookRequest):
        asked.web_hook_id = made.web_hook.web_hook_id
    return asked


IN_VAIN = {  # matches of these tests refuse this to both seats, and tournaments a ruling that says nothing
    "TournamentService.RuleOnGame": Reason.ARGUMENT_INVALID,
    "TournamentService.CorrectTournament": Reason.ARGUMENT_INVALID,
    "TournamentService.GoOnFromReport": Reason.ARGUMENT_INVALID,
    "RatingService.RuleOnRatings": Reason.ARGUMENT_INVALID,
    "MatchService.AnswerDraw": Reason.DRAW_NOT_AVAILABLE,
    "MatchService.ClaimDraw": Reason.DRAW_NOT_AVAILABLE,
    "MatchService.OfferDraw": Reason.DRAW_NOT_AVAILABLE,
}


async def sign_of(server: Served, name: str, request: Message, metadata: Metadata) -> str:
    """Return the sign for the result of a request."""
    method = METHODS[name]
    path = f"/{method.containing_service.full_name}/{method.name}"
    reader = GetMessageClass(method.output_type).FromString
    writer = type(request).SerializeToString
    try:
        if method.client_streaming:
            open_stream: Any = server.channel.stream_stream(path, writer, reader)
            call = open_stream(metadata=metadata)
            await call.write(request)
        elif method.server_streaming:
            open_stream = server.channel.unary_stream(path, writer, reader)
            call = open_stream(request, metadata=metadata)
        else:
            ask: Any = server.channel.unary_unary(path, writer, reader)
            await ask(request, metadata=metadata)
            return "+"
        first = await call.read()
        call.cancel()
        if name == "MatchService.SubmitMoves" and first.answers[0].HasField("refusal"):
            return _sign(name, first.answers[0].refusal)
        return "+"
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.INTERNAL and "SendMessageOperation" in (error.debug_error_string() or ""):
            return await sign_of(
                server, name, request, metadata
            )  # the stream ended while our gRPC was writing, which hides the reason
        return _sign(name, refusal_in(error))


def _sign(name: str, refusal: refusal_pb2.Refusal) -> str:
    reason = Reason[refusal_pb2.RefusalReason.Name(refusal.reason).removeprefix("REFUSAL_REASON_")]
    return "+" if reason is IN_VAIN.get(name) else SIGNS.get(reason, f"({reason})")


@pytest.fixture(params=ONE_OR_TWO)
async def factory(request: pytest.FixtureRequest) -> AsyncIterator[Factory]:
    async with served_by(request.param, limits=LIMITS) as running:
        yield await Factory(Stubs(running)).enter()


@pytest.fixture
async def public_stage() -> AsyncIterator[Factory]:
    async with served(limits=LIMITS, public=True) as running:
        yield await Factory(Stubs(running)).enter()


async def signs_of(factory: Factory, name: str, relation: str) -> str:
    """Return the signs for a request by each kind of caller, in the order of the table."""
    server = factory.stubs.served
    await factory.prepare("play")
    gone_id, gone = await factory.new_token("carol", Scope.PLAY)
    revoke = player_pb2.RevokeTokenRequest(token_id=gone_id)
    await factory.stubs.players.RevokeToken(revoke, metadata=factory.carol)
    found = ""
    for metadata in ([], [("authorization", "Bearer nonsense")], gone):
        found += await sign_of(server, name, await make_request(factory, name, relation), metadata)
    found += " "
    for scope in CALLERS[3:]:
        await factory.prepare(scope)
        found += await sign_of(server, name, await make_request(factory, name, relation), factory.own)
        revoke.token_id = factory.token_id
        if relation != "this_token":
            await factory.stubs.players.RevokeToken(revoke, metadata=factory.carol)
    return found


@pytest.mark.long
@pytest.mark.parametrize("factory", [ONE, pytest.param(2, id="sharing", marks=pytest.mark.soak)], indirect=True)
@pytest.mark.parametrize("service", sorted({name.partition(".")[0] for name in TABLE}))
async def test_every_rpc_treats_each_caller_as_the_table_says(factory: Factory, service: str) -> None:
    wanted = {name: row for name, row in TABLE.items() if name.startswith(f"{service}.")}
    found = {name: {each: await signs_of(factory, name, each) for each in row} for name, row in wanted.items()}
    assert found == wanted


@pytest.mark.long
async def test_public_reading_needs_no_token_and_changes_nothing_else(public_stage: Factory) -> None:
    """A wrong token is refused as before; a caller without one sends none."""
    server = public_stage.stubs.served
    await public_stage.prepare("play")
    for name, row in TABLE.items():
        for relation, signs in row.items():
            request = await make_request(public_stage, name, relation)
            found = await sign_of(server, name, request, [])
            reads = row == {"any": ANY_TOKEN} and name != "PlayerService.GetPlayer"
            assert found == ("+" if reads else signs[0]), (name, relation)
            if reads:
                assert await sign_of(server, name, request, [("authorization", "Bearer nonsense")]) == "T", name
    somebody = player_pb2.GetPlayerRequest(name="bob")
    assert await sign_of(server, "PlayerService.GetPlayer", somebody, []) == "+"


@pytest.mark.long
async def test_readers_without_a_token_are_limited_by_address() -> None:
    async with served(limits=Limits(calls_a_second=20), public=True) as running:
        stubs, asked = Stubs(running), match_pb2.ListMatchesRequest()
        calls = [
            stubs.matches.ListMatches(asked) for _ in range(200)
        ]  # at once, so that a busy machine changes nothing
        found = await asyncio.gather(*calls, return_exceptions=True)
        refused_calls = [each for each in found if isinstance(each, grpc.aio.AioRpcError)]
        assert refused_calls
        assert {refusal_in(each).reason for each in refused_calls} == {refusal_pb2.REFUSAL_REASON_RATE_LIMITED}
        await stubs.matches.ListMatches(asked, metadata=await running.token("ann"))
    async with served(limits=Limits(streams_of_player=1), public=True) as running:
        stubs = Stubs(running)
        everything = match_pb2.ObserveRequest(all=match_pb2.ObserveAll(after_token="0"))
        first = stubs.matches.Observe(everything)
        await first.read()  # simultaneous calls may arrive in any order
        second = stubs.matches.Observe(everything)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await second.read()
        assert refusal_in(refused.value).reason == refusal_pb2.REFUSAL_REASON_RATE_LIMITED
        first.cancel()


async def test_nobody_organises_a_match_that_two_players_agreed_on(factory: Factory) -> None:
    """Its creator is a player: with a token of scope organise it would adjudicate its own rated match."""
    terms = player_pb2.Terms(game="pods", time_control="1m", rated=True)
    asked = player_pb2.CreateChallengeRequest(request_id="c", opponent="bob", terms=terms)
    made = (await factory.stubs.players.CreateChallenge(asked, metadata=factory.carol)).challenge
    accept = player_pb2.AcceptChallengeRequest(challenge_id=made.challenge_id)
    match = (await factory.stubs.players.AcceptChallenge(accept, metadata=factory.bob)).match
    _, organiser = await factory.new_token("carol", Scope.ORGANISE, Scope.PLAY)
    request = match_pb2.AdjudicateMatchRequest(
        request_id="mine", match_id=match.match_id, kind=match_pb2.RESULT_KIND_WIN, winner=1, note="I say so"
    )
    assert await sign_of(factory.stubs.served, "MatchService.AdjudicateMatch", request, organiser) == "S"
    assert await sign_of(factory.stubs.served, "MatchService.AdjudicateMatch", request, factory.stubs.admin) == "+"
