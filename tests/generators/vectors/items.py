"""The server's messages on a Play stream, as bytes, and what a client must read in them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, refusal_pb2
from arbiter_protos.v1.play_pb2 import PlayItem, PlayResponse
from google.protobuf.message import Message

from tests.generators.vectors import sayings
from tests.generators.vectors.fields import number_field, with_newer_fields


def vectors() -> list[dict[str, Any]]:
    """Return the content of items.json."""
    cases: list[tuple[str, bytes]] = []
    for name, item in [*_every_kind(), *_bare_kinds(), *_corners()]:
        cases.append((name, _bytes(PlayResponse(items=[item]))))
    together = [item for _, item in _every_kind()]
    cases += [
        ("no bytes at all", b""),
        ("every kind together", _bytes(PlayResponse(items=together))),
        ("the same turn twice", _bytes(PlayResponse(items=[PlayItem(turn=sayings.TURN)] * 2))),
        ("an item without anything in it", _bytes(PlayResponse(items=[PlayItem()]))),
        ("an unknown kind of item", _bytes(PlayResponse(items=[_newer_item()]))),
        ("an unknown kind between known ones", _bytes(PlayResponse(items=[together[0], _newer_item(), together[2]]))),
        ("a response with unknown fields", _bytes(with_newer_fields(PlayResponse(items=[together[8]])))),
        ("a hundred pings", _bytes(PlayResponse(items=[_ping(number) for number in range(100)]))),
    ]
    return [
        {"name": name, "response": base64.b64encode(data).decode(), "expected": _read(data)} for name, data in cases
    ]


def _every_kind() -> Iterator[tuple[str, PlayItem]]:
    """Yield one item of every kind, with every field set."""
    yield "hello", PlayItem(hello=sayings.HELLO)
    yield "match", PlayItem(match=sayings.MATCH)
    yield "turn", PlayItem(turn=sayings.TURN)
    yield "answer", PlayItem(answer=sayings.ANSWER)
    yield "ended", PlayItem(ended=sayings.ENDED)
    yield "draw_offered", PlayItem(draw_offered=play_pb2.DrawOffered(match_id="m-1", ply=3))
    yield "challenge", PlayItem(challenge=sayings.CHALLENGE)
    yield "challenge_closed", PlayItem(challenge_closed=sayings.CLOSED)
    yield "ping", _ping(7)
    yield "notice", PlayItem(notice=sayings.REFUSAL)
    yield "seek", PlayItem(seek=sayings.SEEK)
    yield "tournament", PlayItem(tournament=sayings.CALL)


def _bare_kinds() -> Iterator[tuple[str, PlayItem]]:
    """Yield one item of every kind, with no field set."""
    for field in PlayItem.DESCRIPTOR.oneofs_by_name["item"].fields:
        item = PlayItem()
        getattr(item, field.name).SetInParent()
        yield f"{field.name}, with nothing set", item


def _corners() -> Iterator[tuple[str, PlayItem]]:
    """Yield items that are easily misread."""
    answer = match_pb2.MoveAnswer(request_id="r-1", match_id="m-1")
    answer.refusal.CopyFrom(
        refusal_pb2.Refusal(
            reason=refusal_pb2.REFUSAL_REASON_MOVE_ILLEGAL, code=9, message="no", facts={"move": "e5", "ply": "3"}
        )
    )
    yield "an answer that refuses", PlayItem(answer=answer)
    ended = match_pb2.Receipt(request_id="r-1", match_id="m-1", revision=9, ply=4, result=sayings.WON)
    yield (
        "an answer to a move that came too late",
        PlayItem(answer=match_pb2.MoveAnswer(request_id="r-1", match_id="m-1", receipt=ended)),
    )
    yield "a turn without a clock", PlayItem(turn=play_pb2.Turn(match_id="m-1", game="pods", seat=1, position="…"))
    turn = play_pb2.Turn()
    turn.CopyFrom(sayings.TURN)
    turn.legal_move_count = 0
    turn.board.extend(
        [
            game_pb2.CellContent(cell="a1", owner=1, piece="D", facing=0, height=2),
            game_pb2.CellContent(cell="a2", mark="lily"),
        ]
    )
    step = game_pb2.Step(action="move", source="a1", target="a2", piece="D", facing=3)
    turn.legal_moves.extend([game_pb2.LegalMove(text="a1-a2", steps=[step]), game_pb2.LegalMove(text="pass")])
    yield "a turn with all extras", PlayItem(turn=turn)
    yield "instants and numbers beyond 32 bits", PlayItem(turn=play_pb2.Turn(started_ms=2**53 - 1, revision=2**40))
    yield "the greatest ping", _ping(2**53 - 1)
    ended_match = play_pb2.MatchEnded(match_id="m-1", result=sayings.WON, cursor="18")
    ended_match.result.MergeFromString(number_field(1, 90) + number_field(4, 91) + number_field(5, 92))
    yield "a result of an unknown kind, cause and party", PlayItem(ended=ended_match)
    match = match_pb2.Match(match_id="m-1", players=["alice", "bob"])
    match.MergeFromString(number_field(7, 93))
    yield "a match in an unknown phase", PlayItem(match=match)
    call = play_pb2.TournamentCall(tournament_id="t-1")
    call.MergeFromString(number_field(3, 94) + number_field(7, 95))
    yield "a tournament of an unknown format, in an unknown phase", PlayItem(tournament=call)
    notice = refusal_pb2.Refusal(code=10, message="of a reason to come")
    notice.MergeFromString(number_field(1, 9_999))
    yield "a notice of an unknown reason", PlayItem(notice=notice)
    for name, item in _every_kind():
        with_newer_fields(getattr(item, name))
        yield f"{name}, with unknown fields in it", item
    turn = play_pb2.Turn()
    turn.CopyFrom(sayings.TURN)
    with_newer_fields(turn.last_moves[0])
    with_newer_fields(turn.clocks[0])
    yield "a turn with unknown fields deep in it", PlayItem(turn=turn)


def _ping(number: int) -> PlayItem:
    return PlayItem(ping=play_pb2.Ping(number=number))


def _newer_item() -> PlayItem:
    """Return an item of a kind that no client knows."""
    return with_newer_fields(PlayItem())


def _read(data: bytes) -> list[dict[str, Any]]:
    """Return what a client reads in a response: the items that it knows, each with its kind and all its fields."""
    items = PlayResponse.FromString(data).items
    kinds = [(item, item.WhichOneof("item")) for item in items]
    return [{"kind": kind, **_plain(getattr(item, kind))} for item, kind in kinds if kind is not None]


def _plain(message: Message) -> dict[str, Any]:
    """Return a message as plain JSON values, by field name.

    Numbers are numbers, enumerations are the names of their values without prefix (UNSPECIFIED for an unknown number),
    maps are objects. Messages, members of a oneof and optional fields that are not set are null.
    """
    return {field.name: _plain_field(message, field) for field in message.DESCRIPTOR.fields}


def _plain_field(message: Message, field: Any) -> Any:
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict(value)
    if field.is_repeated:
        return [_plain_value(one, field) for one in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _plain_value(value, field)


def _plain_value(value: Any, field: Any) -> Any:
    if field.message_type is not None:
        return _plain(value)
    if field.enum_type is not None:
        values = field.enum_type.values_by_number
        prefix = values[0].name.removesuffix("UNSPECIFIED")
        return values[value if value in values else 0].name.removeprefix(prefix)
    return value


def _bytes(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)
