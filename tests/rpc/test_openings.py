"""Openings, and matches of a player against itself, over real gRPC: created, played, observed, and verified twice."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from arbiter_protos.v1 import match_pb2 as pb

from arbiter.errors import Reason
from arbiter.keys.key_ring import holds
from arbiter.matches.signing import checking, write_keys
from arbiter.matches.transcript import verify
from arbiter.testing.player import BotClient
from tests.generators.transcripts import public_keys
from tests.rpc.calls import Stubs, refused
from tests.rpc.test_comments import seen, transcript
from tests.rpc.test_matches import stubs as stubs

ROOT = Path(__file__).parent.parent.parent
NODE = shutil.which("node")
OPENING = ("a1", "e3", "b1")
GAME = "pods(size=3)"


async def events(stubs: Stubs, match_id: str) -> list[pb.MatchEvent]:
    asked = pb.ObserveRequest(match=pb.ObserveMatch(match_id=match_id))
    stream = stubs.matches.Observe(asked, metadata=stubs.bob)
    return [item.event async for part in stream for item in part.items if item.HasField("event")]


def proved(data: bytes, folder: Path) -> None:
    """Verify a transcript with both verifiers; the one in JavaScript if node is installed (in CI it is)."""
    verify(data, checking(public_keys(), holds))
    (folder / "keys.json").write_text(write_keys(public_keys()))
    (folder / "match.jsonl").write_bytes(data)
    if NODE is not None:
        script = str(ROOT / "clients" / "javascript" / "verify.mjs")
        command = [NODE, script, str(folder / "keys.json"), str(folder / "match.jsonl")]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
        assert (ran.returncode, ": holds: " in ran.stdout) == (0, True), ran.stdout


@pytest.mark.long
async def test_a_match_from_an_opening(stubs: Stubs, tmp_path: Path) -> None:
    made = await stubs.match(game=GAME, opening=OPENING, time_control="3/1m")
    assert (made.ply, made.turn, made.opening_plies) == (3, 2, 3)
    channel = stubs.served.channel
    async with BotClient(channel, stubs.alice) as alice, BotClient(channel, stubs.bob) as bob:
        turn = await bob.first_item("turn")
        assert (turn.ply, turn.seat) == (3, 2)
        assert [(move.ply, move.seat, move.move) for move in turn.last_moves] == [
            (0, 1, "a1"), (1, 2, "e3"), (2, 1, "b1")
        ]  # fmt: skip
        assert [clock.moves_left for clock in turn.clocks] == [3, 3]
        assert len((await alice.first_item("turn")).last_moves) == 4
        await alice.result(made.match_id)
        assert alice.refused == bob.refused == []
    created, started, *others = await events(stubs, made.match_id)
    assert tuple(created.created.opening) == OPENING
    assert (started.turn_started.ply, started.turn_started.turn, started.turn_started.position) == (
        3, 2, made.position
    )  # fmt: skip
    played = [event.moved for event in others if event.HasField("moved")]
    assert [move.ply for move in played] == list(range(3, 3 + len(played)))
    match = await seen(stubs, made.match_id)
    assert tuple(match.moves) == (*OPENING, *(move.move for move in played))
    assert (match.ply, match.opening_plies) == (len(match.moves), 3)
    proved(await transcript(stubs, made.match_id), tmp_path)


async def test_impossible_openings_are_refused(stubs: Stubs) -> None:
    for opening, reason, facts in (
        (["a1", "?"], Reason.MOVE_MALFORMED, {"move": "?", "ply": "1"}),
        (["a1", "a1"], Reason.MOVE_ILLEGAL, {"move": "a1", "ply": "1"}),
        (["a1"] * 1_001, Reason.ARGUMENT_INVALID, {"where": "opening", "allowed": "at most 1000 moves"}),
    ):
        request = pb.CreateMatchRequest(request_id="r", game=GAME, players=["alice", "bob"], opening=opening)
        await refused(stubs.matches.CreateMatch(request, metadata=stubs.org), reason, **facts)
    assert (await stubs.match(game=GAME, opening=OPENING)).opening_plies == 3  # none of these requests created a match


@pytest.mark.long
async def test_a_player_against_itself(stubs: Stubs, tmp_path: Path) -> None:
    request = pb.CreateMatchRequest(request_id="x", game=GAME, players=["alice", "alice"], rated=True)
    await refused(stubs.matches.CreateMatch(request, metadata=stubs.org), Reason.ARGUMENT_INVALID, where="rated")
    made = await stubs.match(game=GAME, players=["alice", "alice"], start=pb.START_RULE_WHEN_PRESENT)
    offer = pb.OfferDrawRequest(request_id="offer", match_id=made.match_id)
    async with BotClient(stubs.served.channel, stubs.alice) as alice:
        assert (await alice.result(made.match_id)).cause == pb.CAUSE_RULES
        assert alice.refused == []
        turns = [item.turn for item in alice.items if item.HasField("turn")]
        assert [turn.ply for turn in turns] == list(range(len(turns)))
        assert {turn.seat for turn in turns} == {1, 2}
        assert (alice.results[made.match_id].seat, alice.results[made.match_id].opponent) == (1, "alice")
    await refused(stubs.matches.OfferDraw(offer, metadata=stubs.alice), Reason.MATCH_NOT_ACTIVE)
    await refused(stubs.matches.OfferDraw(offer, metadata=stubs.bob), Reason.SEAT_NOT_YOURS)
    listed = await stubs.matches.ListMatches(pb.ListMatchesRequest(player="alice"), metadata=stubs.alice)
    assert [match.match_id for match in listed.matches] == [made.match_id]
    proved(await transcript(stubs, made.match_id), tmp_path)
