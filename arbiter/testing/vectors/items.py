"""What the server says on a Play stream, as bytes, and what a client reads in them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, player_pb2, refusal_pb2, tournament_pb2
from arbiter_protos.v1.play_pb2 import PlayItem, PlayResponse
from google.protobuf.message import Message

from arbiter.testing.vectors.fields import number_field, with_newer_fields

NOW: Final = 1_800_000_000_000  #: an instant, UTC epoch milliseconds

CLOCK: Final = match_pb2.Clock(remaining_ms=59_000, available_ms=60_000, periods_left=3, moves_left=6)
WON: Final = match_pb2.Result(
    kind=match_pb2.RESULT_KIND_WIN,
    winner=2,
    reason="territory",
    cause=match_pb2.CAUSE_RULES,
    party=match_pb2.PARTY_PLAYERS,
)
TURN: Final = play_pb2.Turn(
    match_id="m-1",
    game="pods(size=3)",
    seat=2,
    ply=1,
    position=".../..../..P../..../... 2 1",
    last_moves=[play_pb2.RecentMove(ply=0, seat=1, move="c3")],
    clocks=[CLOCK, match_pb2.Clock(remaining_ms=0, available_ms=1_000)],
    started_ms=NOW,
    now_ms=NOW + 12,
    draw_claim="repetition",
    draw_offered=True,
    opponent="zoë",
    available_ms=1_000,
    revision=4,
)
TERMS: Final = player_pb2.Terms(game="pods(size=3)", time_control="1m+1s", rated=True, seat=2)


def vectors() -> list[dict[str, Any]]:
    """Return what items.json holds."""
    cases: list[tuple[str, bytes]] = []
    for name, item in [*_every_kind(), *_bare_kinds(), *_corners()]:
        cases.append((name, _bytes(PlayResponse(items=[item]))))
    together = [item for _, item in _every_kind()]
    cases += [
        ("no bytes at all", b""),
        ("every kind together", _bytes(PlayResponse(items=together))),
        ("the same turn twice", _bytes(PlayResponse(items=[PlayItem(turn=TURN)] * 2))),
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
    """Yield one item of every kind, with everything in it set."""
    hello = play_pb2.ServerHello(
        protocol_version="1.0",
        software="arbiter",
        software_version="1.2.3",
        capabilities=["one", "two"],
        player="alice",
        now_ms=NOW,
        silence_most_ms=45_000,
    )
    match = match_pb2.Match(
        match_id="m-1",
        game="pods(size=3)",
        players=["alice", "zoë"],
        time_control="1m+1s",
        rated=True,
        label="Spring cup – round 1",
        phase=match_pb2.PHASE_ACTIVE,
        revision=4,
        ply=1,
        turn=2,
        position=TURN.position,
        moves=["c3"],
        clocks=TURN.clocks,
        turn_started_ms=NOW,
        draw_offered_by=1,
        created_ms=NOW - 1_000,
        policy=match_pb2.Policy(
            illegal_moves=4, no_show_ms=60_000, abandon_ms=0, move_cap_ms=3_600_000, kept_refusals=16
        ),
        opening_plies=1,
    )
    ledger = match_pb2.Ledger(
        started_ms=NOW,
        handed_over_ms=NOW + 3,
        arrived_ms=NOW + 90,
        credited_ms=5,
        charged_ms=85,
        left_ms=59_915,
        round_trip_ms=2,
    )
    receipt = match_pb2.Receipt(request_id="r-1", match_id="m-1", revision=5, ply=2, ledger=ledger)
    answer = match_pb2.MoveAnswer(request_id="r-1", match_id="m-1", receipt=receipt)
    challenge = player_pb2.Challenge(
        challenge_id="c-1", challenger="zoë", opponent="alice", terms=TERMS, created_ms=NOW
    )
    seek = player_pb2.Challenge(challenge_id="c-2", challenger="zoë", terms=TERMS, created_ms=NOW)
    refusal = refusal_pb2.Refusal(
        reason=refusal_pb2.REFUSAL_REASON_DRAINING, code=14, message="back soon", facts={"retry_after_ms": "1000"}
    )
    call = play_pb2.TournamentCall(
        tournament_id="t-1",
        name="Spring cup",
        format=tournament_pb2.TOURNAMENT_FORMAT_SWISS,
        games=["pods", "hop-it"],
        time_control="3m+2s",
        rated=True,
        phase=tournament_pb2.TOURNAMENT_PHASE_ENTRY,
        entered=True,
        creator="olga",
        start_ms=NOW + 60_000,
        entry_closes_ms=NOW + 50_000,
    )
    ended = play_pb2.MatchEnded(
        match_id="m-1",
        game="pods(size=3)",
        seat=2,
        opponent="zoë",
        result=WON,
        position=TURN.position,
        cursor="17",
    )
    closed = play_pb2.ChallengeClosed(challenge_id="c-1", match_id="m-2")
    yield "hello", PlayItem(hello=hello)
    yield "match", PlayItem(match=match)
    yield "turn", PlayItem(turn=TURN)
    yield "answer", PlayItem(answer=answer)
    yield "ended", PlayItem(ended=ended)
    yield "draw_offered", PlayItem(draw_offered=play_pb2.DrawOffered(match_id="m-1", ply=3))
    yield "challenge", PlayItem(challenge=challenge)
    yield "challenge_closed", PlayItem(challenge_closed=closed)
    yield "ping", _ping(7)
    yield "notice", PlayItem(notice=refusal)
    yield "seek", PlayItem(seek=seek)
    yield "tournament", PlayItem(tournament=call)


def _bare_kinds() -> Iterator[tuple[str, PlayItem]]:
    """Yield one item of every kind, with nothing in it set."""
    for field in PlayItem.DESCRIPTOR.oneofs_by_name["item"].fields:
        item = PlayItem()
        getattr(item, field.name).SetInParent()
        yield f"{field.name}, with nothing set", item


def _corners() -> Iterator[tuple[str, PlayItem]]:
    """Yield items that are easily read wrong."""
    answer = match_pb2.MoveAnswer(request_id="r-1", match_id="m-1")
    answer.refusal.CopyFrom(
        refusal_pb2.Refusal(
            reason=refusal_pb2.REFUSAL_REASON_MOVE_ILLEGAL, code=9, message="no", facts={"move": "e5", "ply": "3"}
        )
    )
    yield "an answer that refuses", PlayItem(answer=answer)
    ended = match_pb2.Receipt(request_id="r-1", match_id="m-1", revision=9, ply=4, result=WON)
    yield (
        "an answer to a move that came too late",
        PlayItem(answer=match_pb2.MoveAnswer(request_id="r-1", match_id="m-1", receipt=ended)),
    )
    yield "a turn without a clock", PlayItem(turn=play_pb2.Turn(match_id="m-1", game="pods", seat=1, position="…"))
    turn = play_pb2.Turn()
    turn.CopyFrom(TURN)
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
    ended_match = play_pb2.MatchEnded(match_id="m-1", result=WON, cursor="18")
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
    turn.CopyFrom(TURN)
    with_newer_fields(turn.last_moves[0])
    with_newer_fields(turn.clocks[0])
    yield "a turn with unknown fields deep in it", PlayItem(turn=turn)


def _ping(number: int) -> PlayItem:
    return PlayItem(ping=play_pb2.Ping(number=number))


def _newer_item() -> PlayItem:
    """Return an item of a kind that no client knows."""
    return with_newer_fields(PlayItem())


def _read(data: bytes) -> list[dict[str, Any]]:
    """Return what a client finds in a response: the items that it knows, each with its kind and all its fields."""
    items = PlayResponse.FromString(data).items
    kinds = [(item, item.WhichOneof("item")) for item in items]
    return [{"kind": kind, **plain(getattr(item, kind))} for item, kind in kinds if kind is not None]


def plain(message: Message) -> dict[str, Any]:
    """Return a message as plain JSON values, by the names of its fields.

    Numbers are numbers, enumerations the names of their values without prefix (UNSPECIFIED for a number that has none),
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
        return plain(value)
    if field.enum_type is not None:
        values = field.enum_type.values_by_number
        prefix = values[0].name.removesuffix("UNSPECIFIED")
        return values[value if value in values else 0].name.removeprefix(prefix)
    return value


def _bytes(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)
