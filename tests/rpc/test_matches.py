"""MatchService over real gRPC: creating, listing, moving, ending, and transcripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from arbiter_protos.v1 import match_pb2 as pb
from arbiter_protos.v1 import server_pb2

from arbiter.bootstrap.world import World
from arbiter.config import Settings
from arbiter.errors import Reason
from arbiter.games.registry import game
from arbiter.keys.key_ring import holds
from arbiter.matches.signing import PublicKey
from arbiter.matches.transcript import split, verify
from arbiter.testing.served import memory_world
from tests.generators.transcripts import KEYS, public_keys
from tests.rpc.calls import Stubs, refused
from tests.rpc.servers import ONE_OR_TWO, served_by


class TestRing:
    """The test kit's keys as a signer."""

    __test__ = False

    def public_keys(self) -> tuple[PublicKey, ...]:
        """Return the public keys, newest first."""
        return public_keys()

    def sign(self, key_id: str, message: bytes) -> bytes:
        """Return a key's signature."""
        return next(key for key in KEYS if key.public.key_id == key_id).sign(message)


@asynccontextmanager
async def signing(settings: Settings) -> AsyncIterator[World]:
    """Open a world in memory that has keys."""
    async with memory_world(settings) as world:
        yield world._replace(signer=TestRing())


@pytest.fixture(params=ONE_OR_TWO)
async def stubs(request: pytest.FixtureRequest) -> AsyncIterator[Stubs]:
    async with served_by(request.param, signing) as server:
        yield await Stubs(server).enter()


def first_move(variant: str = "circle-of-life") -> str:
    """Return the first of the legal moves at the start."""
    rules = game(variant)
    return min(rules.moves(rules.initial()))


async def test_the_same_request_creates_the_same_match(stubs: Stubs) -> None:
    match = await stubs.match(time_control="5m", label="cup", rated=True)
    assert (match.game, list(match.players), match.phase) == ("circle-of-life", ["alice", "bob"], pb.PHASE_ACTIVE)
    assert (await stubs.match(time_control="5m", label="cup", rated=True)).match_id == match.match_id
    other = pb.CreateMatchRequest(request_id="r", game="pods", players=["alice", "bob"])
    await refused(stubs.matches.CreateMatch(other, metadata=stubs.org), Reason.REQUEST_ID_REUSED, request_id="r")


@pytest.mark.parametrize(
    ("fields", "reason", "facts"),
    [
        ({"game": "ludo"}, Reason.GAME_UNKNOWN, {"what": "ludo"}),
        ({"game": "pods(size=x)"}, Reason.PARAMETER_INVALID, {"what": "x"}),
        ({"time_control": "soon"}, Reason.PARAMETER_INVALID, {}),
        ({"policy": pb.Policy(illegal_moves=0)}, Reason.PARAMETER_INVALID, {"where": "policy.illegal_moves"}),
        ({"players": ["alice", "carol"]}, Reason.PLAYER_NOT_FOUND, {"id": "carol"}),
        ({"players": ["alice"]}, Reason.ARGUMENT_INVALID, {"where": "players"}),
        ({"players": ["alice", "alice"], "rated": True}, Reason.ARGUMENT_INVALID, {"where": "rated"}),
        ({"label": "x" * 101}, Reason.ARGUMENT_INVALID, {}),
        ({"request_id": ""}, Reason.ARGUMENT_INVALID, {"where": "request id"}),
    ],
)
async def test_impossible_matches_are_refused(
    stubs: Stubs, fields: dict[str, object], reason: Reason, facts: dict[str, str]
) -> None:
    await refused(stubs.match(**fields), reason, **facts)  # type: ignore[arg-type]


async def test_a_move_counts_once(stubs: Stubs) -> None:
    match_id = (await stubs.match()).match_id
    move = first_move()
    receipt = await stubs.move(1, match_id, 0, move, "a")
    assert receipt.ply == 1
    assert await stubs.move(1, match_id, 0, move, "a") == receipt
    await refused(stubs.move(1, match_id, 1, move, "a"), Reason.REQUEST_ID_REUSED, request_id="a")
    match = (
        await stubs.matches.GetMatch(pb.GetMatchRequest(match_id=match_id, with_moves=True), metadata=stubs.bob)
    ).match
    assert (match.ply, list(match.moves), match.revision) == (1, [move], receipt.revision)


async def test_moves_that_are_refused(stubs: Stubs) -> None:
    match_id = (await stubs.match()).match_id
    move = first_move()
    await refused(stubs.move(1, "nowhere", 0, move), Reason.MATCH_NOT_FOUND, id="nowhere")
    await refused(stubs.move(1, match_id, 3, move), Reason.PLY_MISMATCH, expected="0", actual="3")
    await refused(stubs.move(2, match_id, 0, move), Reason.NOT_YOUR_TURN, seat="2", turn="1")
    await refused(stubs.move(1, match_id, 0, "?", "x"), Reason.MOVE_MALFORMED, move="?", strikes_left="3")
    await stubs.move(1, match_id, 0, move, "a")
    await refused(stubs.move(2, match_id, 1, move, "b"), Reason.MOVE_ILLEGAL, move=move, ply="1", strikes_left="3")
    stranger = pb.ResignRequest(request_id="s", match_id=match_id)
    carol = await stubs.served.token("carol")
    await refused(stubs.matches.Resign(stranger, metadata=carol), Reason.SEAT_NOT_YOURS)
    waiting = (await stubs.match("w", start=pb.START_RULE_WHEN_PRESENT)).match_id
    await refused(stubs.move(1, waiting, 0, move), Reason.MATCH_NOT_ACTIVE, phase="pending")


async def test_resignation_ends_a_match_once(stubs: Stubs) -> None:
    match_id = (await stubs.match()).match_id
    request = pb.ResignRequest(request_id="enough", match_id=match_id)
    receipt = (await stubs.matches.Resign(request, metadata=stubs.bob)).receipt
    assert (receipt.result.winner, receipt.result.reason, receipt.result.responsible_seat) == (1, "resignation", 2)
    assert (await stubs.matches.Resign(request, metadata=stubs.bob)).receipt == receipt
    await refused(stubs.move(1, match_id, 0, first_move()), Reason.MATCH_NOT_ACTIVE, phase="ended")


async def test_an_organiser_ends_matches(stubs: Stubs) -> None:
    one, two = (await stubs.match("1")).match_id, (await stubs.match("2")).match_id
    abort = pb.AbortMatchRequest(request_id="a", match_id=one, note="the venue is on fire")
    match = (await stubs.matches.AbortMatch(abort, metadata=stubs.org)).match
    assert (match.result.kind, match.result.reason, match.result.note) == (pb.RESULT_KIND_VOID, "aborted", abort.note)
    assert (await stubs.matches.AbortMatch(abort, metadata=stubs.org)).match == match
    abort.note = "another"
    await refused(stubs.matches.AbortMatch(abort, metadata=stubs.org), Reason.REQUEST_ID_REUSED, request_id="a")
    abort.request_id = "b"
    await refused(stubs.matches.AbortMatch(abort, metadata=stubs.org), Reason.MATCH_NOT_ACTIVE, phase="ended")
    judge = pb.AdjudicateMatchRequest(request_id="j", match_id=two, kind=pb.RESULT_KIND_WIN, note="bob was right")
    await refused(stubs.matches.AdjudicateMatch(judge, metadata=stubs.org), Reason.ARGUMENT_INVALID, where="winner")
    judge.winner = 2
    match = (await stubs.matches.AdjudicateMatch(judge, metadata=stubs.org)).match
    assert (match.result.winner, match.result.cause) == (2, pb.CAUSE_ORGANISER)
    for field, value in (("note", ""), ("kind", 0)):
        wrong = pb.AdjudicateMatchRequest(request_id="k", match_id=two, kind=pb.RESULT_KIND_DRAW, note="n")
        setattr(wrong, field, value)
        await refused(stubs.matches.AdjudicateMatch(wrong, metadata=stubs.org), Reason.ARGUMENT_INVALID, where=field)


async def test_draws_in_pondlife(stubs: Stubs) -> None:
    match_id = (await stubs.match(game="pondlife")).match_id
    offer = pb.OfferDrawRequest(request_id="o", match_id=match_id)
    answer = pb.AnswerDrawRequest(request_id="n", match_id=match_id)
    claim = pb.ClaimDrawRequest(request_id="c", match_id=match_id)
    await refused(stubs.matches.AnswerDraw(answer, metadata=stubs.bob), Reason.DRAW_NOT_AVAILABLE)
    await refused(stubs.matches.ClaimDraw(claim, metadata=stubs.alice), Reason.DRAW_NOT_AVAILABLE)
    await stubs.matches.OfferDraw(offer, metadata=stubs.alice)
    # what was refused stays refused: a new decision needs a new request id
    await refused(stubs.matches.AnswerDraw(answer, metadata=stubs.bob), Reason.DRAW_NOT_AVAILABLE)
    answer.request_id = "no"
    await stubs.matches.AnswerDraw(answer, metadata=stubs.bob)
    offer.request_id = "again"
    await refused(stubs.matches.OfferDraw(offer, metadata=stubs.alice), Reason.DRAW_NOT_AVAILABLE)
    await stubs.move(1, match_id, 0, first_move("pondlife"))
    offer.request_id = "once more"
    await stubs.matches.OfferDraw(offer, metadata=stubs.alice)
    answer.request_id, answer.accept = "yes", True
    receipt = (await stubs.matches.AnswerDraw(answer, metadata=stubs.bob)).receipt
    assert (receipt.result.kind, receipt.result.reason) == (pb.RESULT_KIND_DRAW, "draw_agreed")
    without = pb.OfferDrawRequest(request_id="o", match_id=(await stubs.match("p", game="pods")).match_id)
    await refused(stubs.matches.OfferDraw(without, metadata=stubs.alice), Reason.DRAW_NOT_AVAILABLE)


async def test_lists_have_filters_and_pages(stubs: Stubs) -> None:
    made = [(await stubs.match(str(n), label=f"cup {n % 2}")).match_id for n in range(5)]
    pods = (await stubs.match("pods", game="pods")).match_id
    await stubs.matches.Resign(pb.ResignRequest(request_id="r", match_id=made[0]), metadata=stubs.alice)

    async def ids(**fields: object) -> list[str]:
        found, token = list[str](), ""
        while True:
            asked = pb.ListMatchesRequest(page_size=2, page_token=token, **fields)  # type: ignore[arg-type]
            page = await stubs.matches.ListMatches(asked, metadata=stubs.alice)
            assert len(page.matches) <= 2
            found, token = found + [match.match_id for match in page.matches], page.next_page_token
            if not token:
                return found

    assert await ids() == [pods, *reversed(made)]
    assert await ids(label="cup 1") == [made[3], made[1]]
    assert await ids(game=f"pods(size={game('pods').values['size']})") == await ids(game="pods", player="bob") == [pods]
    assert await ids(phase=pb.PHASE_ENDED) == [made[0]]
    assert made[0] not in await ids(phase=pb.PHASE_PENDING)
    assert await ids(player="carol") == []
    for field, value in (("page_size", -1), ("page_token", "x")):
        wrong = pb.ListMatchesRequest(**{field: value})  # type: ignore[arg-type]
        await refused(stubs.matches.ListMatches(wrong, metadata=stubs.alice), Reason.ARGUMENT_INVALID, where=field)


async def test_a_transcript_is_the_record_and_is_valid_once_signed(stubs: Stubs) -> None:
    match_id = (await stubs.match()).match_id
    await stubs.move(1, match_id, 0, first_move())

    async def transcript() -> bytes:
        call = stubs.matches.GetTranscript(pb.GetTranscriptRequest(match_id=match_id), metadata=stubs.bob)
        return b"".join([part.lines async for part in call])

    async def records() -> list[bytes]:
        asked = pb.ObserveRequest(match=pb.ObserveMatch(match_id=match_id), with_record=True)
        found = list[bytes]()
        async for response in stubs.matches.Observe(asked, metadata=stubs.bob):
            found += [item.event.record for item in response.items if item.HasField("event")]
            if any(item.HasField("bookmark") for item in response.items):
                break
        return found

    lines, signature = split(await transcript())
    assert (lines, signature) == (await records(), None)
    await stubs.matches.Resign(pb.ResignRequest(request_id="r", match_id=match_id), metadata=stubs.bob)
    info = await stubs.server.GetServerInfo(server_pb2.GetServerInfoRequest())
    keys = {key.key_id: key.key for key in info.public_keys}
    verified = verify(
        await transcript(),
        lambda signed, at: (
            ""
            if holds(keys[signed.statement.key], signed.signature, signed.statement.message())
            else "not signed by this arbiter"
        ),
    )
    assert len(verified.events) == verified.match.revision == len(await records())
    unknown = stubs.matches.GetTranscript(pb.GetTranscriptRequest(match_id="nowhere"), metadata=stubs.bob)
    await refused(unknown, Reason.MATCH_NOT_FOUND, id="nowhere")
