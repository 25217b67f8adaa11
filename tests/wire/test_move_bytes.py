"""The bytes of the items that every move sends equal those of the generated classes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from arbiter_protos.v1 import match_pb2, play_pb2
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.games.console import Console
from arbiter.games.registry import BUNDLED, game
from arbiter.matches.clock import UNLIMITED_MS, Ledger, SeatClock
from arbiter.matches.commands import Resign
from arbiter.matches.match import Match, Offer, available_ms, claimable
from arbiter.matches.policy import Policy
from arbiter.matches.requests import Receipt
from arbiter.matches.time_control import parse_pair
from arbiter.service.play.session import AnswerItem, Extras, PingItem, TurnItem, TurnListing
from arbiter.service.ports.rules import ListedMove
from arbiter.wire.encoding import key, number, part, text
from arbiter.wire.game_messages import board_message, contents
from arbiter.wire.match_messages import answer_message, fill_clocks
from arbiter.wire.play_items import item_bytes
from arbiter.wire.rules_messages import move_messages
from tests.matches.logged_match import receipt, started

INT64 = st.one_of(st.integers(0, 300), st.integers(-(2**63), 2**63 - 1))
INT32 = st.one_of(st.integers(0, 300), st.integers(-(2**31), 2**31 - 1))
TIMES = st.one_of(st.just(0), st.integers(1, UNLIMITED_MS))
WORDS = st.one_of(st.sampled_from(["", "é語🙂"]), st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
CONTROLS = ["none", "5m", "5m+3s", "300ms/move+10s", "1m+3x10s", "40/30m", "5m:none"]
CLOCKS = st.builds(SeatClock, TIMES, st.integers(0, 100), st.integers(0, 1_000))
SEATS: Any = st.sampled_from([1, 2])
MATCHES = {name: started(name, "5m").match for name in BUNDLED}


def turn_message(item: TurnItem, now: int, extras: Extras) -> play_pb2.Turn:
    """Return a turn as an object of its generated class."""
    match, seat = item.match, item.seat
    turn = play_pb2.Turn(
        match_id=match.id,
        game=match.created.game,
        seat=seat,
        ply=match.ply,
        position=match.text,
        last_moves=[
            play_pb2.RecentMove(ply=ply, seat=match.turns[ply], move=match.moves[ply])
            for ply in range(item.first_ply, match.ply)
        ],
        started_ms=match.since,
        now_ms=now,
        draw_claim=claimable(match) or "",
        draw_offered=match.offer is not None and match.offer.seat != seat,
        opponent=match.players[2 - seat],
        revision=match.revision,
    )
    fill_clocks(turn.clocks, match.controls, match.clocks, match.created.policy)
    if available_ms(match, seat) < UNLIMITED_MS:
        turn.available_ms = available_ms(match, seat)
    if extras.board:
        turn.board.extend(contents(match.game, match.position))
    if item.listing is not None:
        if extras.legal_move_count:
            turn.legal_move_count = item.listing.total
        turn.legal_moves.extend(move_messages(item.listing.moves))
    return turn


@st.composite
def matches(draw: st.DrawFn) -> Match:
    """Draw a match whose fields have any values of their types."""
    match = MATCHES[draw(st.sampled_from(sorted(MATCHES)))]
    moves = tuple(draw(st.lists(WORDS, max_size=4)))
    policy = Policy(move_cap_ms=draw(st.integers(1, 10**7)))
    players = (draw(WORDS), draw(WORDS))
    return replace(
        match,
        created=replace(match.created, match=draw(WORDS), game=draw(WORDS), players=players, policy=policy),
        controls=parse_pair(draw(st.sampled_from(CONTROLS))),
        clocks=(draw(CLOCKS), draw(CLOCKS)),
        text=draw(WORDS),
        moves=moves,
        turns=bytes(draw(SEATS) for _ in moves),
        since=draw(INT64),
        revision=draw(INT64),
        offer=draw(st.none() | st.builds(Offer, SEATS, st.just(0))),
    )


EXTRAS = st.builds(Extras, st.booleans(), st.booleans(), st.integers(0, 5), st.booleans())
LISTED = st.builds(ListedMove, WORDS, st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS, st.integers(-1, 5)), max_size=2))
LISTINGS: Any = st.builds(TurnListing, INT32, st.lists(LISTED, max_size=3).map(tuple))
LEDGERS = st.builds(Ledger, TIMES, st.none() | TIMES, TIMES, st.none() | TIMES, TIMES, TIMES, TIMES)


@given(matches(), SEATS, st.integers(0, 4), st.none() | LISTINGS, INT64, EXTRAS)
def test_a_turn_has_the_bytes_of_its_class(
    match: Match, seat: Any, first: int, listing: TurnListing | None, now: int, extras: Extras
) -> None:
    item = TurnItem(match, seat, min(first, match.ply), listing)
    made = play_pb2.PlayResponse(items=[play_pb2.PlayItem(turn=turn_message(item, now, extras))])
    assert item_bytes(item, now, extras) == made.SerializeToString()


@given(WORDS, WORDS, st.builds(Receipt, INT64, st.none(), INT32, st.none() | LEDGERS))
def test_a_receipt_has_the_bytes_of_its_class(request_id: str, match_id: str, answer: Receipt) -> None:
    made = play_pb2.PlayItem(answer=answer_message(request_id, match_id, answer))
    assert (
        item_bytes(AnswerItem(request_id, match_id, answer), 0, Extras())
        == play_pb2.PlayResponse(items=[made]).SerializeToString()
    )


def test_a_receipt_of_the_end_has_the_result() -> None:
    answer = receipt(started().do(Resign(1, "r")))
    assert answer.result is not None
    made = play_pb2.PlayItem(answer=answer_message("r", "m1", answer))
    assert (
        item_bytes(AnswerItem("r", "m1", answer), 0, Extras())
        == play_pb2.PlayResponse(items=[made]).SerializeToString()
    )


def test_a_refusal_is_an_answer_too() -> None:
    refusal = Refusal(Reason.MOVE_ILLEGAL, "it is not", move="a1", position="-")
    (item,) = play_pb2.PlayResponse.FromString(item_bytes(AnswerItem("r", "m1", refusal), 0, Extras())).items
    assert item.answer == answer_message("r", "m1", refusal)


def test_several_items_are_one_message() -> None:
    match = MATCHES["pods"]
    both = item_bytes(TurnItem(match, 1, 0), 7, Extras()) + item_bytes(PingItem(3), 7, Extras())
    message = play_pb2.PlayResponse.FromString(both)
    assert message.items[0].turn == turn_message(TurnItem(match, 1, 0), 7, Extras())
    assert message.items[1].ping.number == 3


@pytest.mark.parametrize("variant", sorted(BUNDLED))
def test_a_real_turn_of_every_game(variant: str) -> None:
    rules = game(variant)
    logged = started(variant, "1m+3x10s")
    logged.play(rules.moves(logged.match.position)[0], after_ms=1_234)
    item, extras = TurnItem(logged.match, logged.match.turn, 0), Extras(board=True)
    made = play_pb2.PlayResponse(items=[play_pb2.PlayItem(turn=turn_message(item, logged.now, extras))])
    assert item_bytes(item, logged.now, extras) == made.SerializeToString()


@pytest.mark.parametrize("variant", sorted(BUNDLED))
def test_the_turn_of_the_console_is_the_turn_of_a_match(variant: str) -> None:
    rules, logged = game(variant), started(variant, "none")
    console = Console(rules)
    for _ in range(2):
        move = rules.moves(logged.match.position)[0]
        logged.play(move)
        console.answer(f"play {move}")
    match, legal = logged.match, sorted(rules.moves(logged.match.position))
    listing = TurnListing(len(legal), tuple(ListedMove(move, ()) for move in legal))
    extras = Extras(board=True, legal_move_count=True)
    (item,) = play_pb2.PlayResponse.FromString(item_bytes(TurnItem(match, match.turn, 0, listing), 0, extras)).items
    for field in ("match_id", "started_ms", "opponent", "revision", "available_ms", "clocks"):  # not of the rules
        item.turn.ClearField(field)
    turn = json_format.Parse(console.answer("turn"), play_pb2.Turn())
    for sent in (item.turn, turn):
        sent.board.sort(key=lambda content: content.cell)
    assert turn == item.turn
    rows = json.loads(console.answer("board"))
    assert [[cell and cell["cell"] for cell in row] for row in rows] == [
        [name if name in {content.cell for content in turn.board} else None for name in line.cells]
        for line in board_message(rules.board).lines
    ]


@given(INT64, WORDS)
def test_fields_have_the_bytes_of_a_class(value: int, words: str) -> None:
    receipt = match_pb2.Receipt(match_id=words, revision=value)
    made = text(key(receipt, "match_id"), words) + number(key(receipt, "revision"), value)
    assert made == receipt.SerializeToString()
    answer = match_pb2.MoveAnswer(receipt=receipt)
    assert part(key(answer, "receipt"), made) == answer.SerializeToString()


def test_keys_of_many_fields_take_two_bytes() -> None:
    assert key(play_pb2.Turn, "revision") == b"\x88\x01"
    assert key(play_pb2.Turn, "match_id") == b"\x0a"
