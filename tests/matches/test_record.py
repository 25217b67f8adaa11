"""The record of a match: its bytes, its hash chain, and which records are invalid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from arbiter.errors import Reason
from arbiter.event_json.canonical import MalformedRecordError, RecordError, decode, digest, encode
from arbiter.matches import check_chain, read, read_record, replay, seal, with_position
from arbiter.matches.commands import (
    AnswerDraw,
    ClaimDraw,
    Interrupt,
    Interruption,
    Leave,
    OfferDraw,
    Play,
    Resign,
    Tick,
)
from arbiter.matches.events import (
    FIRST_PREVIOUS,
    Cause,
    Ended,
    Event,
    EventKind,
    Left,
    Moved,
    Party,
    Refused,
    Started,
)
from arbiter.matches.evolution import ContradictionError
from arbiter.matches.match import Match
from arbiter.matches.record import BrokenChainError, Sealed
from tests.matches.heap import DriftingHeap, games
from tests.matches.logged_match import LoggedMatch, policy, started


def eventful() -> LoggedMatch:
    """Return a match in which every kind of event happened."""
    logged = started("heap(stones=9)", "1m+3x10s", policy(illegal_moves=3))
    logged.play("x" * 300)
    logged.do(OfferDraw(2, "peace?"))
    logged.do(Play(2, "too early", 3, "1", logged.now))
    logged.do(AnswerDraw(2, "to myself", True))
    logged.do(AnswerDraw(1, "no", False))
    logged.play("3", after_ms=70_000)
    logged.do(Leave(1))
    logged.do(Interrupt(Interruption.RESTART), after_ms=5)
    logged.do(Tick(), after_ms=30_000)
    logged.play("1", after_ms=1_000)
    logged.play("1", after_ms=200_000)
    assert {event.kind for event in logged.events} == set(EventKind)
    return logged


def test_the_bytes_of_an_event() -> None:
    logged = started("heap(stones=9)", "1m+1s")
    logged.play("2", after_ms=1_500, request="r1")
    previous = digest(logged.log[-2])
    assert logged.log[-1].decode() == (
        '{"at":1800000001500,"clocks":[{"remaining_ms":59500},{"remaining_ms":60000}],"kind":"moved",'
        '"ledger":{"arrived":1800000001500,"charged":1500,"credited":0,"left":58500,"started":1800000000000},'
        f'"match":"m1","move":"2","ply":0,"position":"7 2 0","previous":"{previous}","request":"r1","revision":5,'
        '"seat":1,"turn":2}'
    )


def test_the_bytes_of_the_first_event() -> None:
    assert LoggedMatch().log[0].decode() == (
        '{"at":1800000000000,"creator":"organiser","format":1,"game":"heap","kind":"created","match":"m1",'
        '"players":["alice","bob"],"policy":{"abandon_ms":60000,"credit":{"bank_ms":10000,"hand_over_most_ms":100,'
        '"network_most_ms":300,"refill_ms":250},"illegal_moves":4,"kept_refusals":100,"move_cap_ms":3600000,"no_show":"forfeit",'
        '"no_show_ms":60000,"resume_ms":30000,"start":"when_present"},'
        f'"previous":"{FIRST_PREVIOUS}","rated":false,"request":"create","revision":1,"time":"1m"}}'
    )


def test_every_kind_of_event_is_read_as_it_was_written() -> None:
    logged = eventful()
    for number, (data, event) in enumerate(zip(logged.log, logged.events, strict=True), 1):
        record = read_record(data)
        assert (record.match, record.revision, record.event) == ("m1", number, event)
        assert b"null" not in data
    logged.check()


def test_sealing_what_was_read_gives_the_same_bytes() -> None:
    logged = eventful()
    match = replay(logged.events[:1], games)
    assert seal(match, [read(data) for data in logged.log[1:]]) == [
        Sealed(number, data) for number, data in enumerate(logged.log[1:], 2)
    ]
    assert seal(match, [replace(event) for event in logged.events[1:]]) == [
        Sealed(number, data) for number, data in enumerate(logged.log[1:], 2)
    ]


def test_an_event_is_sealed_at_its_own_place() -> None:
    """The encoded form that is cached with an event is not used at another place or in another match."""
    logged, other = started(), started(time="2m")
    event = logged.play("1").events[0]
    data = seal(other.match, [event])[0].data
    assert read_record(data).previous == other.match.digest != read_record(logged.log[-1]).previous


def test_unknown_fields_are_ignored() -> None:
    logged = started()
    values = decode(logged.log[-1])
    assert read(encode(values | {"weather": "fine"})) == logged.events[-1]


@pytest.mark.parametrize("number", range(15))
def test_a_missing_or_wrong_field_is_named(number: int) -> None:
    logged = eventful()
    optional = {"label", "move_digest", "late", "seat", "request", "note", "by"}
    values = decode(logged.log[number])
    assert isinstance(values, dict)
    for name in values:
        for damaged in ({**values, name: [[]]}, {key: value for key, value in values.items() if key != name}):
            if name in optional and name not in damaged and values["kind"] in ("ended", "refused", "created"):
                continue
            with pytest.raises(MalformedRecordError, match=name):
                read(encode(damaged))


@pytest.mark.parametrize("data", [b"", b"[]", b"7", b"{}", b'{"kind":"moved"}', b'{"kind":"exploded","at":1}', b"\xff"])
def test_malformed_records(data: bytes) -> None:
    with pytest.raises(MalformedRecordError):
        read(data)


def test_a_newer_format_is_refused() -> None:
    values = decode(LoggedMatch().log[0])
    with pytest.raises(MalformedRecordError, match="format 2"):
        read(encode(values | {"format": 2}))


Damage = Callable[[list[bytes]], list[bytes]]


def changed(number: int, **values: Any) -> Damage:
    def damage(log: list[bytes]) -> list[bytes]:
        return [*log[:number], encode(decode(log[number]) | values), *log[number + 1 :]]

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda log: [], "no records"),
        (lambda log: log[1:], "record 1: has revision 2"),
        (lambda log: [*log[:4], *log[5:]], "record 5: has revision 6"),
        (lambda log: [*log[:4], log[4], *log[4:]], "record 6: has revision 5"),
        (lambda log: [*log[:4], log[5], log[4], *log[6:]], "record 5: has revision 6"),
        (lambda log: [*log[:4], b" " + log[4], *log[5:]], "record 5: the bytes are not in canonical form"),
        (lambda log: [*log[:4], log[4][:-1], *log[5:]], "record 5: not a record"),
        (lambda log: [*log[:4], b'{"at":0,' + log[4][1:], *log[5:]], "record 5: the bytes are not in canonical form"),
        (
            lambda log: [*log[:4], log[4].replace(b"xxx", b"\\ud800"), *log[5:]],
            "record 5: not a record",
        ),
        (changed(0, creator="eve"), "record 2: does not carry the hash"),
        (changed(4, reason="MOVE_ILLEGAL"), "record 6: does not carry the hash"),
        (changed(5, match="m2"), "record 6: of match m2"),
        (changed(3, at=1), "record 4: is earlier"),
    ],
)
def test_the_chain_names_the_first_wrong_record(damage: Damage, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        check_chain(damage(eventful().log))


def test_every_change_of_every_field_breaks_the_chain_or_the_match() -> None:
    """The last record has no successor with its hash: its changes are found by the rules and the clocks. These do not
    determine when it was decided, within bounds, nor its request id: only a signature covers those."""
    log = eventful().log
    for number, data in enumerate(log):
        for name, value in decode(data).items():
            if number == len(log) - 1 and name in ("at", "request"):
                continue
            other = value + 1 if isinstance(value, int) else value + "x" if isinstance(value, str) else []
            with pytest.raises(RecordError):
                replay(check_chain(changed(number, **{name: other})(log)), games)


def test_errors_of_records_have_a_common_class() -> None:
    assert issubclass(BrokenChainError, RecordError)
    assert issubclass(MalformedRecordError, RecordError)
    assert issubclass(ContradictionError, RecordError)


# A forger who computes the whole chain again still has to satisfy the rules and the clocks


def forged(events: list[Event], number: int, event: Event) -> list[Event]:
    return [replace(other) for other in (*events[:number], event, *events[number + 1 :])]


def position(logged: LoggedMatch, kind: type[Event]) -> int:
    return next(number for number, event in enumerate(logged.events) if isinstance(event, kind))


MOVES: list[dict[str, Any]] = [
    {"ply": 1}, {"seat": 2}, {"move": "2"}, {"move": "9"}, {"move": "zz"}, {"position": "6 1 0"}, {"turn": 1},
]  # fmt: skip


@pytest.mark.parametrize("values", MOVES)
def test_a_log_that_contradicts_the_rules(values: dict[str, Any]) -> None:
    logged = eventful()
    number = position(logged, Moved)
    moved = logged.events[number]
    assert isinstance(moved, Moved)
    moved = replace(moved, after=None, **values)
    with pytest.raises(ContradictionError, match=rf"revision {number + 1} \(moved\)"):
        replay(forged(logged.events, number, moved), games)


@pytest.mark.parametrize("name", ["started", "handed_over", "arrived", "credited", "charged", "left"])
def test_a_log_that_contradicts_the_clock(name: str) -> None:
    logged = eventful()
    number = position(logged, Moved)
    moved = logged.events[number]
    assert isinstance(moved, Moved)
    ledger = replace(moved.ledger, **{name: (getattr(moved.ledger, name) or moved.ledger.started) + 1})
    with pytest.raises(ContradictionError):
        replay(forged(logged.events, number, replace(moved, after=None, ledger=ledger)), games)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Started, {"position": "8 1 0"}),
        (Started, {"turn": 2}),
        (Started, {"at": 5}),
        (Refused, {"strikes": 3}),
        (Refused, {"seat": 2}),
        (Refused, {"ply": 5}),
        (Ended, {"winner": 1}),
        (Ended, {"winner": 0}),
        (Ended, {"reason": "resignation"}),
        (Ended, {"cause": Cause.RULES}),
        (Ended, {"cause": Cause.RULE_VIOLATION}),
        (Ended, {"cause": Cause.ABSENCE}),
        (Ended, {"cause": Cause.AGREEMENT}),
        (Ended, {"cause": Cause.ARBITER}),
        (Ended, {"cause": Cause.RESIGNATION, "seat": None}),
        (Ended, {"party": Party.ARBITER}),
        (Ended, {"seat": 2}),
        (Ended, {"late": None}),
    ],
)
def test_a_log_that_contradicts_itself(kind: type[Event], values: dict[str, Any]) -> None:
    logged = eventful()
    number = position(logged, kind)
    with pytest.raises(ContradictionError):
        replay(forged(logged.events, number, replace(logged.events[number], **values)), games)


def test_an_end_by_the_rules_can_not_be_invented() -> None:
    logged = started("heap(stones=4)")
    logged.do(ClaimDraw(1, "r"))
    for values in ({"reason": "odd"}, {"request": ""}, {"winner": 1}):
        with pytest.raises(ContradictionError):
            replay(forged(logged.events, 4, replace(logged.events[4], **values)), games)
    logged = started("heap(stones=1)")
    logged.play("1")
    end = logged.events[-1]
    assert isinstance(end, Ended)
    resigned = replace(end, cause=Cause.RESIGNATION, reason="resignation")
    with pytest.raises(ContradictionError, match="over by its rules"):
        replay(forged(logged.events, 5, resigned), games)


def test_events_can_not_be_reordered() -> None:
    logged = started()
    logged.do(Resign(1, "r"))
    with pytest.raises(ContradictionError, match="no left event in phase ended"):
        replay([*logged.events, Left(logged.now, 1)], games)
    with pytest.raises(ContradictionError, match="arrived is not the first event"):
        replay(logged.events[1:], games)
    with pytest.raises(RecordError, match="at least one"):
        replay([], games)


def test_a_log_of_other_rules_is_noticed() -> None:
    logged = eventful()
    with pytest.raises(ContradictionError, match="position is 6 2 0, expected 6 2 7"):
        replay((read(data) for data in logged.log), lambda variant: DriftingHeap(stones=9))


def test_a_position_is_the_same_by_all_moves_and_by_those_since_an_earlier_one() -> None:
    logged = started("heap(stones=9)")
    states = [logged.match]
    for move in ("1", "2", "1", "3"):
        logged.play(move)
        states.append(logged.match)
    trusted: Match = replay((read(data) for data in logged.log), games, trust=True)
    assert trusted.position is None
    assert all(with_position(trusted, earlier) == logged.match for earlier in (*states, None))
    without = replay((read(data) for data in logged.log[:-1]), games, trust=True)
    assert without.position is None
    assert with_position(trusted, without) == logged.match


def test_reading_on_trust_uses_the_rules_only_when_needed() -> None:
    logged = started("heap(stones=9)")
    for _ in range(3):
        logged.play("1")
    trusted: Match = replay((read(data) for data in logged.log), games, trust=True)
    assert trusted.position is None
    assert (trusted.text, trusted.turn, trusted.moves) == ("6 2 0", 2, ("1", "1", "1"))
    assert with_position(trusted) == logged.match
    logged.match = trusted
    logged.play("3")
    logged.play("9")
    assert logged.match.strikes == (1, 0)
    logged.play("3")
    assert logged.match.result is not None
    logged.check()


def test_reasons_of_strikes_are_among_the_known_ones() -> None:
    values = decode(eventful().log[3 + 1])
    assert values["reason"] == Reason.MOVE_MALFORMED
    with pytest.raises(MalformedRecordError, match="reason"):
        read(encode(values | {"reason": "MOVE_UGLY"}))


@pytest.mark.parametrize("number", ["1.5", "1e2", "9007199254740992", "-9007199254740992", "1" * 40])
def test_a_number_that_no_record_may_have_is_named_where_it_is_read_and_found_in_any_field(number: str) -> None:
    logged = started()
    logged.play("1")
    known = logged.log[-1].replace(b'"ply":0', f'"ply":{number}'.encode())
    unknown = logged.log[-1].replace(b'"turn":2}', f'"turn":2,"weather":{number}}}'.encode())
    with pytest.raises(MalformedRecordError, match=r"record\.ply: expected an integer"):
        read(known)
    assert read(unknown) == logged.events[-1]
    with pytest.raises(MalformedRecordError, match="canonical form"):
        check_chain([*logged.log[:-1], unknown])
