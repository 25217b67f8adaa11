"""The shared vectors, which all clients use: refusals, items, lines, and the rules of the engines."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import IntEnum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import grpc
import pytest
from arbiter_client import credentials
from arbiter_client.engines import standing
from arbiter_client.errors import from_refusal, from_rpc
from arbiter_client.seats import joined, own_time_control
from arbiter_client.think_time import think_time_ms
from arbiter_client.time_control import canonical, same
from arbiter_client.values.reading import read
from arbiter_protos.v1 import match_pb2, play_pb2, refusal_pb2

from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.perft import perft

if TYPE_CHECKING:
    from conftest import Peer

VECTORS = Path(__file__).parents[2] / "vectors"
GAMES = ("circle-of-life", "elevation", "hop-it", "pods", "pondlife")


def load(name: str) -> Any:
    return json.loads((VECTORS / name).read_text("utf-8"))


def named(rows: list[dict[str, Any]]) -> pytest.MarkDecorator:
    """Return a parametrization with one test for each row."""
    return pytest.mark.parametrize("row", rows, ids=[row["name"] for row in rows])


# Refusals

REFUSALS = load("refusals.json")


def plain(error: arb.ClientError) -> dict[str, Any]:
    """Return an error in the form of the vectors."""
    if not isinstance(error, arb.ArbiterError):
        return {"error": type(error).__name__}
    return {
        "error": type(error).__name__,
        "reason": str(error.reason),
        "code": error.code,
        "message": error.message,
        "facts": dict(error.facts),
        "temporary": error.temporary,
        "retry_after_ms": round(error.retry_after_s * 1000),
    }


@named(REFUSALS["messages"])
def test_a_refusal_becomes_an_error(row: dict[str, Any]) -> None:
    refusal = refusal_pb2.Refusal.FromString(base64.b64decode(row["refusal"]))
    assert plain(from_refusal(refusal)) == row["expected"]


@named(REFUSALS["statuses"])
def test_a_failed_call_becomes_an_error(row: dict[str, Any]) -> None:
    trailer = grpc.aio.Metadata()
    if row["details"] is not None:
        trailer.add("grpc-status-details-bin", base64.b64decode(row["details"]))
    code = grpc.StatusCode[row["code"]]
    failure = grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailer, details=row["status_message"])
    error = plain(from_rpc(failure, "here:1"))
    if row["expected"].get("message", "") is None:  # a sentence of the client itself
        assert "here:1" in error.pop("message")
        error["message"] = None
    assert error == row["expected"]


# Items

VALUES = {
    "match": arb.Match,
    "turn": arb.Turn,
    "ended": arb.FinishedMatch,
    "challenge": arb.Challenge,
    "challenge_closed": arb.ChallengeClosed,
    "seek": arb.Challenge,
    "tournament": arb.TournamentCall,
}
"""The items for which this client has values; it reads the others where it needs them."""


def compare(value: Any, expected: Any, where: str) -> None:
    """Compare a value with its plain form, in all fields of the form; an unset field counts as empty."""
    if is_dataclass(value) and expected is None:
        assert not any(getattr(value, field.name) for field in fields(value)), where
    elif is_dataclass(value):
        for field in fields(value):
            if not field.metadata.get("elsewhere"):
                compare(getattr(value, field.name), expected[field.name], f"{where}.{field.name}")
    elif isinstance(value, tuple):
        assert len(value) == len(expected), where
        for number, item in enumerate(value):
            compare(item, expected[number], f"{where}[{number}]")
    elif isinstance(value, IntEnum):
        assert value.name == expected, where
    elif isinstance(value, Mapping):
        assert dict(value) == expected, where
    else:
        assert value == expected, where


@named(load("items.json"))
def test_a_response_is_read(row: dict[str, Any]) -> None:
    response = play_pb2.PlayResponse.FromString(base64.b64decode(row["response"]))
    items = [(item.WhichOneof("item"), item) for item in response.items]
    known = [(kind, getattr(item, kind)) for kind, item in items if kind is not None]
    assert [kind for kind, _ in known] == [expected["kind"] for expected in row["expected"]]
    for (kind, message), expected in zip(known, row["expected"], strict=True):
        if kind in VALUES:
            compare(read(VALUES[kind], message), expected, kind)
        elif kind == "notice":
            assert from_refusal(message).message == expected["message"]
            assert str(from_refusal(message).reason) in (expected["reason"], "UNKNOWN")
        else:
            for field, value in expected.items():
                if field not in ("kind", "refusal", "receipt"):
                    assert getattr(message, field) == value, field


async def test_a_bot_handles_all_items(peer: Peer) -> None:
    """For any player, and with as many players as a future version may have."""

    class Anything(arb.Bot):
        accept_seeks = enter_tournaments = True

        async def choose(self, turn: arb.Turn) -> str:
            return "c3"

    task = asyncio.create_task(arb.play(Anything(), peer.address, token="secret"))
    stream = await peer.stream()
    await stream.meet()
    for row in load("items.json"):
        await stream.context.write(play_pb2.PlayResponse.FromString(base64.b64decode(row["response"])))
    await stream.say(hello=play_pb2.ServerHello(player="alice", silence_most_ms=60_000))
    for players in (["alice"], ["alice", "bob", "carol"], ["bob", "carol", "alice"]):
        await stream.say(match=match_pb2.Match(match_id="m9", players=players, phase=match_pb2.PHASE_ACTIVE))
    await stream.say(ping=play_pb2.Ping(number=2**64 - 1))
    while (act := await stream.acts.get()) is not None and act.pong.number != 2**64 - 1:
        pass
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


# Lines


@named(load("lines.json"))
def test_the_moves_up_to_a_turn(row: dict[str, Any]) -> None:
    turn = play_pb2.Turn(ply=row["ply"], last_moves=[play_pb2.RecentMove(**move) for move in row["last_moves"]])
    assert joined(tuple(row["known"]), turn) == (None if row["gap"] else tuple(row["moves"]))


# Time controls


@named(load("time_controls.json"))
def test_time_controls_have_a_canonical_form(row: dict[str, Any]) -> None:
    if row["canonical"] is None:
        with pytest.raises(ValueError, match="time control"):
            canonical(row["text"])
    else:
        assert canonical(row["text"]) == row["canonical"]
    assert same(row["text"], row["canonical"] or "5m") == (row["canonical"] is not None)
    assert same(row["text"], row["text"])


@named(load("time_odds.json"))
def test_each_seat_has_a_time_control_of_its_own(row: dict[str, Any]) -> None:
    match = match_pb2.Match(time_control=row["time_control"], time_controls=row["time_controls"])
    assert [own_time_control(match, seat) for seat in (1, 2)] == row["own"]


def test_the_time_to_think() -> None:
    for row in load("think_times.json"):
        arguments = {name: value for name, value in row.items() if name not in ("name", "think_ms")}
        assert think_time_ms(**arguments) == pytest.approx(row["think_ms"], abs=0.001), row["name"]


# What a bot is told of boards, openings and opponents


@named(load("opening_books.json"))
def test_opening_books(row: dict[str, Any]) -> None:
    if row["moves"] is None:
        with pytest.raises(arb.ArbiterError, match=f"line {row['line']} of the opening book") as refused:
            arb.OpeningBook.parse(row["text"])
        assert refused.value.reason == arb.Reason.PARAMETER_INVALID
    else:
        assert list(arb.OpeningBook.parse(row["text"]).moves(row["game"], row["played"])) == row["moves"]


def test_a_book_has_a_move_for_a_turn_but_not_in_a_match_from_a_position_of_its_own() -> None:
    book = arb.OpeningBook.parse("pods b1 c2\npods b1 d3\n")
    match = arb.LiveMatch("m1", "pods", 2, "bob", moves=("b1",))
    turn = arb.Turn("pods", 2, 1, "", (), (), 0, 0, "", False, "bob", (), None, (), 0, 1, match)
    assert [book.move(turn, lambda chance=chance: chance) for chance in (0.0, 0.99)] == ["c2", "d3"]  # type: ignore[misc]
    match.start_position = "elsewhere"
    assert book.move(turn) is None


@named(load("plain_texts.json"))
def test_texts_of_others_are_safe_to_show(row: dict[str, Any]) -> None:
    assert arb.plain_text(row["text"]) == row["plain"]


@named(load("board_arrays.json"))
def test_boards_as_arrays(row: dict[str, Any]) -> None:
    board = arb.Board("", arb.Tile.SQUARE, (), (), tuple(arb.CellLine(tuple(line)) for line in row["lines"]))
    contents = [arb.CellContent(**told, facing=None, height=None, mark="") for told in row["contents"]]
    found = [[None if cell is None else f"{cell.owner}{cell.piece}" for cell in line] for line in board.array(contents)]
    assert found == row["array"]


@named(load("filters.json"))
def test_settings_exclude_challenges(row: dict[str, Any]) -> None:
    bot = BotOf(row["settings"])
    told = dict(row["challenge"])
    challenger, rating = told.pop("challenger"), told.pop("rating")
    assert bot.objection(arb.Challenge("c1", challenger, "alice", arb.Terms(**told), 0, rating)) == row["objection"]


class BotOf(arb.Bot):
    """A bot with settings of the vectors."""

    def __init__(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            assert hasattr(self, name)
            setattr(self, name, value)

    def choose(self, turn: arb.Turn) -> str:
        raise AssertionError(turn)


# Credentials


@named(load("credentials.json"))
def test_credentials_files(row: dict[str, Any]) -> None:
    if row["entries"] is None:
        with pytest.raises(ValueError):  # noqa: PT011 - the text is the parser's
            credentials.parse(row["text"])
    else:
        assert credentials.parse(row["text"])[0] == row["entries"]


# Rules

POSITIONS = {game: load(f"positions/{game}.json") for game in GAMES}


def turn_of(variant: str, moves: list[str], ply: dict[str, Any]) -> arb.Turn:
    """Return a turn in a line of play from the initial position."""
    match = arb.LiveMatch("m1", variant, ply["turn"], "bob", moves=tuple(moves))
    return arb.Turn(
        game=variant,
        seat=ply["turn"],
        ply=len(moves),
        position=ply["position"],
        last_moves=(),
        clocks=(),
        started_ms=0,
        now_ms=0,
        draw_claim=ply["draw_claim"],
        draw_offered=False,
        opponent="bob",
        board=(),
        legal_move_count=ply["count"],
        legal_moves=(),
        available_ms=0,
        revision=1,
        match=match,
    )


def check(game: Any, position: Any, ply: dict[str, Any]) -> None:
    """Compare a position of the engine with a ply of the vectors."""
    outcome = position.outcome
    moves = sorted(game.moves(position))
    assert game.text(position) == ply["position"]
    assert position.turn == ply["turn"]
    assert (outcome and {"winner": outcome.winner, "reason": outcome.reason}) == ply["outcome"]
    assert (game.claim(position) or "") == ply["draw_claim"]
    assert (len(moves), sha256("\n".join(moves).encode()).hexdigest()) == (ply["count"], ply["sha256"])
    assert ply["legal"] is None or moves == ply["legal"]


@pytest.mark.parametrize("game", GAMES)
def test_lines_of_play(game: str) -> None:
    for line in POSITIONS[game]["lines"]:
        rules = registry.game(line["variant"])
        position = rules.initial() if line["start"] is None else rules.parse(line["start"])
        for move, ply in zip([*line["moves"], None], line["plies"], strict=True):
            check(rules, position, ply)
            position = rules.play(position, move) if move is not None else position
        if line["start"] is None:
            last = turn_of(line["variant"], line["moves"], line["plies"][-1])
            assert standing(last).position == position


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_single_turns_and_counts(game: str) -> None:
    for row in POSITIONS[game]["turns"]:
        rules = registry.game(row["variant"])
        after = rules.play(rules.parse(row["position"]), row["move"])
        assert rules.text(after) == row["after"], row["name"]
    for row in POSITIONS[game]["perft"]:
        rules = registry.game(row["variant"])
        start = rules.initial() if row["position"] is None else rules.parse(row["position"])
        assert [perft(rules, start, depth) for depth in range(1, len(row["counts"]) + 1)] == row["counts"]


def reason_of(judge: Any, *arguments: Any) -> str:
    try:
        judge(*arguments)
    except Refusal as refusal:
        return refusal.reason.value
    return ""


@pytest.mark.parametrize("game", GAMES)
def test_invalid_input_is_refused(game: str) -> None:
    for row in POSITIONS[game]["refused_moves"]:
        rules = registry.game(row["variant"])
        assert reason_of(rules.play, rules.parse(row["position"]), row["move"]) == row["reason"], row
    for row in POSITIONS[game]["positions"]:
        rules = registry.game(row["variant"])
        assert reason_of(rules.parse, row["text"]) == row["reason"], row
        if not row["reason"]:
            check(rules, rules.parse(row["text"]), row)
    for row in POSITIONS[game]["variants"]:
        assert reason_of(registry.game, row["variant"]) == row["reason"], row
        assert row["reason"] or registry.game(row["variant"]).variant == row["canonical"]


def test_an_engine_that_does_not_agree_with_the_arbiter_is_reported() -> None:
    line = POSITIONS["pods"]["lines"][0]
    turn = turn_of(line["variant"], line["moves"][:3], line["plies"][2])
    with pytest.raises(arb.BotFailed, match="are the versions the same"):
        standing(turn)
