"""Comments of bots on moves: encrypted during the match, public after its end, and never a reason to refuse a move."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.event_json.canonical import MalformedRecordError, digest
from arbiter.event_json.numbers import LARGEST_INTEGER
from arbiter.matches import comments as comments_module
from arbiter.matches import read, replay
from arbiter.matches.commands import Abort, ClaimDraw, Interrupt, Interruption, Play, Resign
from arbiter.matches.comments import KEPT, Comment, Searched, fitting, key_of, opened, seal, unseal
from arbiter.matches.events import Ended, Event, EventKind, Moved
from arbiter.matches.evolution import ContradictionError
from arbiter.matches.notation import read as read_text
from arbiter.matches.notation import write
from arbiter.matches.verification import Verification
from tests.matches.heap import games
from tests.matches.logged_match import LoggedMatch, policy, receipt, started

KEY = digest(b"key")
SECRET = bytes.fromhex(KEY)
SAID = Comment(612, ("2", "1", "3"))


def sealing(game: str = "heap", secret: bytes = SECRET) -> LoggedMatch:
    """Return a match in which comments can be encrypted."""
    logged = started(game, policy=policy(illegal_moves=2))
    logged.match = replace(logged.match, secret=secret)
    return logged


def say(logged: LoggedMatch, move: str, comment: Comment | None, request: str = "") -> Moved | Event:
    """Play a move with a comment; return its event."""
    match = logged.match
    name = request or f"r{match.revision}"
    decision = logged.do(Play(match.turn, name, match.ply, move, logged.now, comment=comment))
    return decision.events[-1] if len(decision.events) == 1 else decision.events[0]


def verified(events: list[Event]) -> None:
    """Verify events as an auditor does, without their bytes."""
    retracing = Verification(games)
    for event in events:
        retracing.step(replace(event), "")


def ended(logged: LoggedMatch) -> Ended:
    assert logged.match.result is not None
    return logged.match.result


words = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="[]{}"), min_size=1, max_size=9)
naturals = st.none() | st.integers(0, LARGEST_INTEGER)
integers = st.none() | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
searches = st.builds(Searched, integers, integers, naturals, naturals, naturals)
comments = st.builds(
    Comment, st.none() | st.integers(0, 1_000), st.lists(words, max_size=32).map(tuple), searches
).filter(lambda comment: comment != Comment())


@given(comments, st.binary(min_size=32, max_size=32), st.integers(0, 10_000))
def test_a_comment_is_decrypted_with_its_key_alone(comment: Comment, key: bytes, ply: int) -> None:
    sealed = seal(comment, key, ply)
    assert len(sealed) % 128 == 0
    comments_module._KNOWN.clear()  # as for whoever has only the record
    assert unseal(sealed, key, ply) == comment
    for other_key, other_ply in ((bytes(31) + b"\x01" if key == bytes(32) else bytes(32), ply), (key, ply + 1)):
        with pytest.raises(MalformedRecordError):
            unseal(sealed, other_key, other_ply)


def test_what_is_known_of_comments_is_bounded_and_the_others_are_decrypted() -> None:
    said = {ply: Comment(ply % 1_000) for ply in range(KEPT + 2)}
    sealed = [(ply, seal(comment, SECRET, ply)) for ply, comment in said.items()]
    assert 0 < len(comments_module._KNOWN) <= KEPT
    assert opened(sealed, SECRET) == said


@given(st.none() | st.integers(), st.lists(st.text()))
def test_a_comment_within_the_limits_is_kept_and_a_larger_one_left_out(evaluation: int | None, line: list[str]) -> None:
    kept = fitting(evaluation, line)
    if kept is not None:
        assert list(kept.line) == line[: len(kept.line)]
        assert unseal(seal(kept, SECRET, 0), SECRET, 0) == kept


@pytest.mark.parametrize(
    ("evaluation", "line", "kept"),
    [
        (None, [], None),
        (0, [], Comment(0)),
        (1_000, [], Comment(1_000)),
        (1_001, [], None),
        (-1, ["a1"], Comment(None, ("a1",))),
        (5, ["a1", "b2", "no move", "c3"], Comment(5, ("a1", "b2"))),
        (5, ["a1", "{"], Comment(5, ("a1",))),
        (5, [""], Comment(5)),
        (None, ["m"] * 40, Comment(None, ("m",) * 32)),
        (None, ["m" * 251] * 2, Comment(None, ("m" * 251,))),
        (None, ["é"], None),
    ],
)
def test_limits(evaluation: int | None, line: list[str], kept: Comment | None) -> None:
    assert fitting(evaluation, line) == kept


@pytest.mark.parametrize(
    ("search", "kept"),
    [
        (Searched(-35, None, 12, 4_532, 61), Searched(-35, None, 12, 4_532, 61)),
        (Searched(mate=-3, depth=-1, nodes=-1, time_ms=-1), Searched(mate=-3)),
        (Searched(2**53, -(2**53), 2**53, 1, 2**63), Searched(nodes=1)),
    ],
)
def test_numbers_of_a_search_are_kept_if_they_can_be_recorded(search: Searched, kept: Searched) -> None:
    assert fitting(None, (), search) == Comment(None, (), kept)
    assert fitting(None, (), Searched(depth=-1)) is None


def test_what_an_engine_says_of_its_search_is_in_the_text_of_a_match_and_read_back() -> None:
    logged = sealing()
    say(logged, "1", Comment(612, ("1",), Searched(-35, None, 12, 4_532_000_000, 61)))
    say(logged, "2", Comment(None, (), Searched(mate=-3)))
    logged.do(Resign(1, "enough"))
    text = write(logged.events)
    assert "[%centipawns -35] [%depth 12] [%nodes 4532000000] [%time_ms 61]" in text.replace("\n", " ")
    said = [move.comment for move in read_text(text, games).moves]
    assert said == [
        Comment(612, ("1",), Searched(-35, None, 12, 4_532_000_000, 61)),
        Comment(None, (), Searched(mate=-3)),
    ]
    verified(logged.events)


@pytest.mark.parametrize("sealed", ["", "0", "zz", "AB" * 64, "00" * 64])
def test_malformed_comments(sealed: str) -> None:
    with pytest.raises(MalformedRecordError):
        unseal(sealed, SECRET, 0)


@pytest.mark.parametrize("key", ["", "00", KEY.upper(), KEY + "00", "x" * 64])
def test_malformed_keys(key: str) -> None:
    with pytest.raises(MalformedRecordError):
        key_of(key)


def test_comments_are_secret_before_the_end_and_public_after_it() -> None:
    logged = sealing()
    say(logged, "1", SAID)
    say(logged, "2", None)
    say(logged, "3", Comment(None, ("3",)))
    for data in logged.log:
        assert b"evaluation" not in data
        assert KEY.encode() not in data
    assert "%eval" not in write(logged.events)
    logged.do(Resign(2, "enough"))
    assert ended(logged).key == KEY
    assert opened(logged.match.comments, key_of(KEY)) == {0: SAID, 2: Comment(None, ("3",))}
    assert "1. 1 {[%clk 0:01:00] [%emt 0:00:00] [%eval 612] [%pv 2 1 3]}" in write(logged.events)
    assert "[%pv 3]" in write(logged.events)
    assert replay((read(data) for data in logged.log), games).result == logged.match.result
    verified(logged.events)


@pytest.mark.parametrize("end", [Resign(1, "e"), Abort("boss", "e"), ClaimDraw(2, "e"), Play(2, "e", 1, "3", 0)])
def test_every_kind_of_end_discloses_the_key(end: Resign | Abort | ClaimDraw | Play) -> None:
    logged = sealing("heap(stones=7)" if isinstance(end, ClaimDraw) else "heap(stones=4)")
    say(logged, "1", SAID)
    answer = receipt(logged.do(end))
    assert ended(logged).key == KEY
    assert answer.result == ended(logged)
    assert receipt(logged.do(end)) == answer
    verified(logged.events)


def test_the_last_move_may_be_the_only_one_with_a_comment() -> None:
    logged = sealing("heap(stones=1)")
    say(logged, "1", SAID)
    assert ended(logged).key == KEY
    verified(logged.events)


def test_a_match_without_comments_discloses_nothing() -> None:
    logged = sealing()
    say(logged, "1", None)
    logged.do(Resign(1, "e"))
    assert ended(logged).key == ""


def test_a_comment_is_no_part_of_a_request() -> None:
    """A move that is sent again with another comment is the same request, and the first comment remains."""
    logged = sealing()
    say(logged, "1", SAID, "r")
    before = logged.match
    again = logged.do(Play(1, "r", 0, "1", logged.now, comment=Comment(1)))
    assert again.events == ()
    assert receipt(again).kind is EventKind.MOVED
    assert logged.match == before


def test_a_comment_on_a_move_that_is_not_played_is_not_kept() -> None:
    logged = sealing()
    say(logged, "9", SAID)
    say(logged, "1", None)
    logged.do(Resign(1, "e"))
    assert ended(logged).key == ""
    assert logged.match.comments == ()


def test_without_a_key_a_move_is_played_and_its_comment_is_dropped() -> None:
    logged = sealing(secret=b"")
    moved = say(logged, "1", SAID)
    assert isinstance(moved, Moved)
    assert moved.comment == ""


def test_a_lost_key_is_not_disclosed_and_its_comments_stay_encrypted() -> None:
    logged = sealing()
    say(logged, "1", SAID)
    logged.match = replace(logged.match, secret=b"\x07" * 32)
    logged.do(Interrupt(Interruption.RESTART))
    logged.do(Resign(1, "e"))
    assert ended(logged).key == ""
    verified(logged.events)


@pytest.mark.parametrize("key", ["07" * 32, KEY[:-1], "nonsense"])
def test_a_disclosed_key_that_decrypts_nothing_is_found(key: str) -> None:
    logged = sealing()
    say(logged, "1", SAID)
    logged.do(Resign(1, "e"))
    forged = [*logged.events[:-1], replace(ended(logged), key=key)]
    with pytest.raises(ContradictionError):
        verified(forged)
    with pytest.raises(ContradictionError):
        replay([replace(event) for event in forged], games)


def test_a_disclosed_key_without_comments_is_found() -> None:
    logged = sealing()
    logged.do(Resign(1, "e"))
    with pytest.raises(ContradictionError, match="no comments that it opens"):
        verified([*logged.events[:-1], replace(ended(logged), key=KEY)])
