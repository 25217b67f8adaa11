"""Whom a bot plays: challenges, its own seeks and those of others, and tournaments, within its limit of matches."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import grpc
import pytest
from arbiter_protos.v1 import play_pb2, player_pb2, tournament_pb2

if TYPE_CHECKING:
    from conftest import Messages, Peer, Refuse

GONE = ("CHALLENGE_NOT_FOUND", grpc.StatusCode.NOT_FOUND)


class Sociable(arb.Bot):
    """Plays the first letter of the alphabet, and records the closed challenges."""

    name = "sociable"

    def __init__(self, **said: Any) -> None:
        self.received: list[Any] = []
        vars(self).update(said)

    async def choose(self, turn: arb.Turn) -> str:
        return "a"

    async def challenge_closed(self, closed: arb.ChallengeClosed) -> None:
        self.received.append(closed)


@asynccontextmanager
async def stream_of(peer: Any, bot: arb.Bot, **more: Any) -> Any:
    """Connect a bot to the peer, and yield its stream after both hellos."""
    task = asyncio.create_task(arb.play(bot, peer.address, token="secret", **more))
    try:
        stream = await peer.stream()
        stream.hello = await stream.meet()
        stream.task = task
        yield stream
    finally:
        task.cancel()
        await asyncio.wait([task])


def challenge(challenge_id: str, game: str = "pods", control: str = "1m+1s", by: str = "bob", to: str = "alice") -> Any:
    terms = player_pb2.Terms(game=game, time_control=control)
    return player_pb2.Challenge(challenge_id=challenge_id, challenger=by, opponent=to, terms=terms)


def call(tournament_id: str = "t1", **more: Any) -> play_pb2.TournamentCall:
    fields = {
        "name": "cup",
        "games": ["pods"],
        "time_control": "1m+1s",
        "phase": tournament_pb2.TOURNAMENT_PHASE_ENTRY,
    }
    return play_pb2.TournamentCall(tournament_id=tournament_id, **{**fields, **more})


async def quiet(stream: Any) -> None:
    """Wait until the bot has handled all earlier messages."""
    await stream.say(ping=play_pb2.Ping(number=99))
    await stream.read("pong")


# Challenges


async def verdicts(peer: Any, bot: arb.Bot, *challenges: Any) -> dict[str, tuple[str, str]]:
    async with stream_of(peer, bot) as stream:
        for each in challenges:
            await stream.say(challenge=each)
        await peer.until(lambda: len(peer.asked) >= len(challenges))
    return {request.challenge_id: (method, getattr(request, "reason", "")) for method, request, _ in peer.asked}


async def test_challenges_are_accepted_by_policy(peer: Peer) -> None:
    bot = Sociable(games=("pods",), time_controls=("1m+1s",), opponents=("bob", "carol"))
    said = await verdicts(
        peer,
        bot,
        challenge("c1", "pods(size=5)"),
        challenge("c2", "hop-it"),
        challenge("c3", control="none"),
        challenge("c4", by="mallory"),
        challenge("c5", by="carol"),
    )
    assert said == {
        "c1": ("AcceptChallenge", ""),
        "c2": ("DeclineChallenge", "this bot plays pods"),
        "c3": ("DeclineChallenge", "this bot plays at 1m+1s"),
        "c4": ("DeclineChallenge", "this bot plays against bob, carol"),
        "c5": ("AcceptChallenge", ""),
    }


async def test_ratings_of_challengers_are_asked_for_and_limited(peer: Peer) -> None:
    peer.ratings = {"bob": [1500.0, 1900.0], "carol": [1399.5], "dave": [1601.0], "erin": []}
    bot = Sociable(least_rating=1400, most_rating=1600)
    async with stream_of(peer, bot) as stream:
        for player in ("bob", "carol", "dave", "erin"):
            await stream.say(challenge=challenge(player, "pods(size=5)", by=player))
        await peer.until(lambda: len(peer.asked) == 8)
    assert {(request.player, request.game) for request in peer.requests("GetRating")} == {
        (player, "pods(size=5)") for player in peer.ratings
    }
    assert [request.challenge_id for request in peer.requests("AcceptChallenge")] == ["bob"]
    assert {request.challenge_id: request.reason for request in peer.requests("DeclineChallenge")} == {
        "carol": "this bot plays against ratings of at least 1400",
        "dave": "this bot plays against ratings of at most 1600",
        "erin": "this bot plays against ratings of at least 1400",
    }


async def test_a_tournament_must_be_rated_if_the_bot_wants_that(peer: Peer) -> None:
    async with stream_of(peer, Sociable(enter_tournaments=True, rated=True)) as stream:
        await stream.say(tournament=call("t1"))
        await stream.say(tournament=call("t2", rated=True))
        assert (await peer.until_asked("EnterTournament")).tournament_id == "t2"
        await quiet(stream)
    assert len(peer.requests("EnterTournament")) == 1


async def test_a_bot_may_take_no_challenges(peer: Peer) -> None:
    said = await verdicts(peer, Sociable(accept_challenges=False), challenge("c1"))
    assert said == {"c1": ("DeclineChallenge", "this bot accepts no challenges")}


async def test_a_bots_own_decision_overrides_its_policy(peer: Peer) -> None:
    class Choosy(Sociable):
        def challenged(self, challenge: arb.Challenge) -> bool | str:
            return True if challenge.challenge_id == "c1" else "not today " * 50

    said = await verdicts(peer, Choosy(accept_challenges=False), challenge("c1"), challenge("c2"))
    assert said["c1"] == ("AcceptChallenge", "")
    assert said["c2"] == ("DeclineChallenge", ("not today " * 50)[:200])


async def test_a_bot_with_an_error_in_its_decision_declines_the_challenge(
    peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Sociable):
        def challenged(self, challenge: arb.Challenge) -> bool:
            raise ZeroDivisionError

    said = await verdicts(peer, Failing(), challenge("c1"))
    assert said == {"c1": ("DeclineChallenge", "the bot failed to consider it")}
    assert "sociable failed in challenged" in caplog.text


async def test_simultaneous_challenges_are_accepted_only_up_to_the_limit(peer: Peer, message: type[Messages]) -> None:
    bot = Sociable(most_matches=2)
    async with stream_of(peer, bot) as stream:
        assert stream.hello.most_matches == 2
        three = [play_pb2.PlayItem(challenge=challenge(f"c{number}")) for number in (1, 2, 3)]
        await stream.context.write(play_pb2.PlayResponse(items=three))
        await peer.until(lambda: len(peer.asked) == 3)
        declined = await peer.until_asked("DeclineChallenge")
        assert (declined.challenge_id, declined.reason[:23]) == ("c3", "this bot plays 2 matche")
        await quiet(stream)
        assert bot.playing == 2  # though the matches have not arrived on a stream yet
        await stream.say(match=message.match("of-c1"), ended=message.ended("of-c1"))
        await stream.read("acknowledge")
        assert bot.playing == 1
        await stream.say(challenge=challenge("c4"))
        assert (await peer.until_asked("AcceptChallenge", 3)).challenge_id == "c4"


async def test_a_match_that_arrives_on_the_stream_before_the_answer_is_counted_once(
    peer: Peer, message: type[Messages]
) -> None:
    bot = Sociable(most_matches=1)
    async with stream_of(peer, bot) as stream:
        await stream.say(match=message.match("of-c1"))
        await quiet(stream)
        bot.most_matches = 2
        await stream.say(challenge=challenge("c1"))
        await peer.until_asked("AcceptChallenge")
        while bot.playing != 1:
            await quiet(stream)


async def test_a_refused_acceptance_does_not_count(peer: Peer, refuse: Refuse) -> None:
    bot = Sociable(most_matches=1)
    peer.refusals["AcceptChallenge"] = [refuse(*GONE)]
    async with stream_of(peer, bot) as stream:
        await stream.say(challenge=challenge("c1"))
        await peer.until_asked("AcceptChallenge")
        while bot.playing:
            await quiet(stream)
        await stream.say(challenge=challenge("c2"))
        assert (await peer.until_asked("AcceptChallenge", 2)).challenge_id == "c2"


@pytest.mark.parametrize("accepted", [False, True])
async def test_a_challenge_is_accepted_once_the_seek_for_the_last_match_is_withdrawn(
    peer: Peer, refuse: Refuse, accepted: bool
) -> None:
    peer.refusals["DeclineChallenge"] = [refuse(*GONE)] if accepted else []
    async with stream_of(peer, Sociable(seeks=(PODS,)), matches=1) as stream:
        await peer.until_asked("CreateSeek")
        await stream.say(challenge=challenge("c1"))
        await peer.until(lambda: len(peer.asked) >= 4)
        asked = [(method, getattr(request, "challenge_id", "")) for method, request, _ in peer.asked]
    answer = "DeclineChallenge" if accepted else "AcceptChallenge"
    assert asked[2:4] == [("DeclineChallenge", "s1"), (answer, "c1")]


async def test_a_bot_that_accepts_everything_agrees_to_no_more_matches_than_it_plays(peer: Peer) -> None:
    class Eager(Sociable):
        async def challenged(self, challenge: arb.Challenge) -> bool:
            return True

    async with stream_of(peer, Eager(), matches=1) as stream:
        await stream.say(challenge=challenge("c1"))
        await peer.until_asked("AcceptChallenge")
        await stream.say(challenge=challenge("c2"))
        declined = await peer.until_asked("DeclineChallenge")
    assert (declined.challenge_id, declined.reason) == ("c2", "this bot has agreed to as many matches as it plays")


async def test_a_bot_that_is_stopping_agrees_to_nothing(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    considered = asyncio.Event()

    class Asked(Sociable):
        async def challenged(self, challenge: arb.Challenge) -> bool:
            considered.set()
            return True

    answer = peer.answer

    async def held(method: str, request: Any, context: Any) -> None:
        if method == "DeclineChallenge":
            await considered.wait()
        await answer(method, request, context)

    monkeypatch.setattr(peer, "answer", held)
    async with stream_of(peer, Asked(seeks=(PODS,))) as stream:
        await peer.until_asked("CreateSeek")
        await quiet(stream)
        stream.task.cancel()
        await stream.say(challenge=challenge("c1"))
        await asyncio.wait([stream.task])
    assert peer.requests("AcceptChallenge") == []


# Seeks of others


async def test_suitable_seeks_are_accepted_if_the_bot_wants_that(peer: Peer) -> None:
    bot = Sociable(accept_seeks=True, games=("pods",), opponents=("bob",), most_matches=2)
    async with stream_of(peer, bot) as stream:
        assert stream.hello.seeks
        await stream.say(seek=challenge("s1", "hop-it", to=""))
        await stream.say(seek=challenge("s2", by="mallory", to=""))
        await stream.say(seek=challenge("s3", by="alice", to=""))  # its own seek
        await stream.say(seek=challenge("s4", to=""))
        await peer.until_asked("AcceptChallenge")
        await stream.say(seek=challenge("s5", to=""))
        await peer.until_asked("AcceptChallenge", 2)
        await stream.say(seek=challenge("s6", to=""))  # the bot has as many matches as it takes
        await quiet(stream)
    assert [(method, request.challenge_id) for method, request, _ in peer.asked] == [
        ("AcceptChallenge", "s4"),
        ("AcceptChallenge", "s5"),
    ]


async def test_seeks_are_ignored_by_default(peer: Peer) -> None:
    async with stream_of(peer, Sociable()) as stream:
        assert not stream.hello.seeks
        await stream.say(seek=challenge("s1", to=""))
        await quiet(stream)
    assert peer.asked == []


async def test_another_player_may_be_faster(peer: Peer, refuse: Refuse, caplog: pytest.LogCaptureFixture) -> None:
    class Choosy(Sociable):
        async def sought(self, seek: arb.Challenge) -> bool:
            return seek.terms.game == "pods"

    peer.refusals["AcceptChallenge"] = [refuse(*GONE), refuse("PLAYER_SUSPENDED", grpc.StatusCode.PERMISSION_DENIED)]
    async with stream_of(peer, Choosy(accept_seeks=True)) as stream:
        await stream.say(seek=challenge("s1", "hop-it", to=""))
        for number in (2, 3, 4):
            await stream.say(seek=challenge(f"s{number}", to=""))
            await peer.until_asked("AcceptChallenge", number - 1)
    assert [request.challenge_id for request in peer.requests("AcceptChallenge")] == ["s2", "s3", "s4"]
    assert "said CHALLENGE_NOT_FOUND" not in caplog.text
    assert "the seek of bob can't be accepted: said PLAYER_SUSPENDED" in caplog.text


# Seeks of its own


PODS = arb.Terms("pods", "1m+1s", rated=True, seat=2)
HOP_IT = arb.Terms("hop-it")


async def test_seeks_are_open_while_the_bot_takes_more_matches(peer: Peer, message: type[Messages]) -> None:
    bot = Sociable(seeks=(PODS, HOP_IT), most_matches=2)
    async with stream_of(peer, bot) as stream:
        made = [(await peer.until_asked("CreateSeek", times)).terms for times in (1, 2)]
        assert [(terms.game, terms.time_control, terms.rated, terms.seat) for terms in made] == [
            ("pods", "1m+1s", True, 2),
            ("hop-it", "", False, 0),
        ]
        taken, other = list(peer.seeks)
        del peer.seeks[taken]  # one is accepted: the bot makes it again, because it takes a second match
        await stream.say(challenge_closed=play_pb2.ChallengeClosed(challenge_id=taken, match_id="m1"))
        await peer.until_asked("CreateSeek", 3)
        await stream.say(match=message.match("m1"))
        await stream.say(match=message.match("m2"))  # this match came from elsewhere: the bot has its two matches
        await peer.until(lambda: not peer.seeks)
        await stream.say(ended=message.ended("m2"))
        await stream.read("acknowledge")
        await peer.until(lambda: len(peer.seeks) == 2)
    assert [closed.challenge_id for closed in bot.received] == [taken]
    assert other in {request.challenge_id for request in peer.requests("DeclineChallenge")}


async def test_a_seek_is_not_repeated_after_the_last_match(peer: Peer, message: type[Messages]) -> None:
    bot = Sociable(seeks=(PODS,), most_matches=1)
    async with stream_of(peer, bot) as stream:
        await peer.until_asked("CreateSeek")
        await peer.until(lambda: len(peer.seeks) == 1)
        (taken,) = peer.seeks
        del peer.seeks[taken]
        await stream.say(challenge_closed=play_pb2.ChallengeClosed(challenge_id=taken, match_id="m1"))
        await quiet(stream)
        await stream.say(match=message.match("m1"), turn=message.turn(0))
        await stream.read("move")
    assert len(peer.requests("CreateSeek")) == 1


async def test_what_fails_about_its_seeks_is_done_again_and_no_open_seek_is_forgotten(
    peer: Peer, refuse: Refuse
) -> None:
    failed = refuse("ARGUMENT_INVALID", grpc.StatusCode.INTERNAL)
    peer.refusals = {"ListChallenges": [failed], "DeclineChallenge": [failed]}
    terms = player_pb2.Terms(game="hop-it")
    peer.seeks["old"] = player_pb2.Challenge(challenge_id="old", challenger="alice", terms=terms)
    async with stream_of(peer, Sociable(seeks=(PODS, HOP_IT), most_matches=1)) as stream:
        await peer.until_asked("CreateSeek")
        del peer.seeks["old"]
        await stream.say(challenge_closed=play_pb2.ChallengeClosed(challenge_id="old", match_id="m1"))
        await peer.until(lambda: not peer.seeks)
    withdrawn = [request.challenge_id for request in peer.requests("DeclineChallenge")]
    assert withdrawn == ["s1", "s1"]
    assert len(peer.requests("CreateSeek")) == 1


async def test_seeks_are_withdrawn_at_the_end(peer: Peer) -> None:
    async with stream_of(peer, Sociable(seeks=(PODS, HOP_IT))):
        await peer.until_asked("CreateSeek", 2)
    assert peer.seeks == {}
    assert len(peer.requests("DeclineChallenge")) == 2


async def test_after_a_lost_connection_only_missing_seeks_are_made_again(peer: Peer) -> None:
    async with stream_of(peer, Sociable(seeks=(PODS, HOP_IT))) as stream:
        await peer.until_asked("CreateSeek", 2)
        kept, taken = list(peer.seeks)
        del peer.seeks[taken]  # while the bot was disconnected, so that it got no message
        stream.end.set_result(None)
        await (await peer.stream()).meet()
        assert (await peer.until_asked("CreateSeek", 3)).terms.game == "hop-it"
        assert kept in peer.seeks
    assert len(peer.requests("CreateSeek")) == 3


async def test_a_seek_of_a_run_that_crashed_is_used(peer: Peer) -> None:
    terms = player_pb2.Terms(game="hop-it", time_control="5m", seat=1)  # the server's form of ("hop-it", "", 0)
    peer.seeks["old"] = player_pb2.Challenge(challenge_id="old", challenger="alice", terms=terms)
    terms = player_pb2.Terms(game="hop-it", time_control="5m", rated=True)
    peer.seeks["strange"] = player_pb2.Challenge(challenge_id="strange", challenger="alice", terms=terms)
    async with stream_of(peer, Sociable(seeks=(HOP_IT, PODS))):
        assert (await peer.until_asked("CreateSeek")).terms.game == "pods"
        assert len(peer.seeks) == 3
    assert list(peer.seeks) == ["strange"]
    assert len(peer.requests("CreateSeek")) == 1


async def test_a_refused_seek_ends_the_run(peer: Peer, refuse: Refuse) -> None:
    peer.refusals["CreateSeek"] = [refuse("GAME_UNKNOWN", grpc.StatusCode.INVALID_ARGUMENT)]
    async with stream_of(peer, Sociable(seeks=(arb.Terms("go"),))) as stream:
        with pytest.raises(arb.ArbiterError, match="said GAME_UNKNOWN") as refused:
            await asyncio.wait_for(stream.task, 240)
    assert refused.value.reason == arb.Reason.GAME_UNKNOWN


async def test_no_more_seeks_are_open_than_matches_may_be_played(peer: Peer, message: type[Messages]) -> None:
    bot = Sociable(seeks=(PODS, arb.Terms("hop-it"), arb.Terms("pondlife")))
    async with stream_of(peer, bot, matches=2) as stream:
        await peer.until_asked("CreateSeek", 2)
        await quiet(stream)
        assert len(peer.seeks) == 2
        taken = peer.requests("CreateSeek")[0]
        del peer.seeks["s1"]
        await stream.say(challenge_closed=play_pb2.ChallengeClosed(challenge_id="s1", match_id="m1"))
        await stream.say(match=message.match("m1", game=taken.terms.game))
        await quiet(stream)
        assert len(peer.requests("CreateSeek")) == 2  # one match is running, one seek is open
        await stream.say(ended=message.ended("m1"))
        await stream.read("acknowledge")
        await quiet(stream)
        assert len(peer.requests("CreateSeek")) == 2
        [second] = peer.seeks
        await stream.say(challenge_closed=play_pb2.ChallengeClosed(challenge_id=second, match_id="m2"))
        peer.seeks.clear()
        await stream.say(challenge=challenge("c1"))
        assert (await peer.until_asked("DeclineChallenge")).reason.startswith("this bot has as many matches")
        await stream.say(ended=message.ended("m2", cursor="c2"))
        await stream.read("acknowledge")
        await stream.closed()
        await asyncio.wait_for(stream.task, 240)


async def test_accepted_matches_are_finished(peer: Peer, message: type[Messages]) -> None:
    async with stream_of(peer, Sociable(), matches=1) as stream:
        await stream.say(match=message.match("m1"))
        await stream.say(match=message.match("m2"))
        await stream.say(ended=message.ended("m1"))
        await stream.read("acknowledge")
        await stream.say(turn=message.turn(match_id="m2"))
        assert (await stream.read("move")).match_id == "m2"
        await stream.say(ended=message.ended("m2", cursor="c2"))
        await stream.read("acknowledge")
        await stream.closed()
        await asyncio.wait_for(stream.task, 240)


@pytest.mark.parametrize("method", ["CreateSeek", "ListChallenges"])
async def test_a_busy_server_is_asked_again(peer: Peer, refuse: Refuse, method: str) -> None:
    terms = player_pb2.Terms(game="hop-it", time_control="5m", seat=1)
    peer.seeks["old"] = player_pb2.Challenge(challenge_id="old", challenger="alice", terms=terms)
    peer.refusals[method] = [refuse("STORE_UNAVAILABLE", grpc.StatusCode.UNAVAILABLE, retry_after_ms="1")] * 2
    async with stream_of(peer, Sociable(seeks=(PODS, HOP_IT)), patience_s=0):
        await peer.until(lambda: len(peer.seeks) == 2)
    assert [request.terms.game for request in peer.requests("CreateSeek")][-1] == "pods"
    assert peer.seeks == {}


# Tournaments


async def test_suitable_tournaments_are_entered(peer: Peer) -> None:
    bot = Sociable(enter_tournaments=True, games=("pods", "hop-it"), time_controls=("1m+1s",))
    async with stream_of(peer, bot) as stream:
        assert stream.hello.tournaments
        await stream.say(tournament=call("t1", games=["pods", "elevation"]))
        await stream.say(tournament=call("t2", time_control="none"))
        await stream.say(tournament=call("t3", entered=True, phase=tournament_pb2.TOURNAMENT_PHASE_RUNNING))
        await stream.say(tournament=call("t4", games=["pods(size=5)", "hop-it"]))
        request = await peer.until_asked("EnterTournament")
        await quiet(stream)
    assert (request.tournament_id, request.player) == ("t4", "")
    assert len(peer.requests("EnterTournament")) == 1


async def test_tournaments_are_ignored_by_default(peer: Peer) -> None:
    async with stream_of(peer, Sociable()) as stream:
        assert not stream.hello.tournaments
        await stream.say(tournament=call())
        await quiet(stream)
    assert peer.asked == []


async def test_a_refused_entry_is_reported_and_not_repeated(
    peer: Peer, refuse: Refuse, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[arb.TournamentCall] = []

    class Asked(Sociable):
        def called(self, call: arb.TournamentCall) -> bool:
            seen.append(call)
            return True

    peer.refusals["EnterTournament"] = [refuse("TOURNAMENT_CLOSED", grpc.StatusCode.FAILED_PRECONDITION)]
    async with stream_of(peer, Asked(enter_tournaments=True)) as stream:
        await stream.say(tournament=call("t1"))
        await peer.until_asked("EnterTournament")
        stream.end.set_result(None)
        second = await peer.stream()
        await second.meet()
        await second.say(tournament=call("t1"))  # the call again
        await second.say(tournament=call("t2", format=tournament_pb2.TOURNAMENT_FORMAT_SWISS))
        assert (await peer.until_asked("EnterTournament", 2)).tournament_id == "t2"
    assert "the tournament cup can't be entered: said TOURNAMENT_CLOSED" in caplog.text
    assert [(call.tournament_id, call.format.name, call.phase.name) for call in seen] == [
        ("t1", "UNSPECIFIED", "ENTRY"),
        ("t2", "SWISS", "ENTRY"),
    ]


@pytest.mark.parametrize("matches", [None, 1])
async def test_the_defaults_send_no_requests(peer: Peer, matches: int | None) -> None:
    async with stream_of(peer, Sociable(), matches=matches) as stream:
        assert (stream.hello.seeks, stream.hello.tournaments, stream.hello.most_matches) == (False, False, 0)
