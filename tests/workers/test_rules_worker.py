"""The answers of a rules worker, in this process: its cache of lines does not change them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.wire.encoding_worker import jobs
from arbiter.workers import rules_worker
from arbiter.workers.process import HEAD, Jobs, answer, frame, serve
from arbiter.workers.rules_worker import played_line
from tests.refusals import refusing

GAME = "circle-of-life"


def decoded(data: bytes) -> list[tuple[bool, Any]]:
    """Return the frames of an answer, each with whether it is marked as the last."""
    stream, frames = io.BytesIO(data), []
    while head := stream.read(HEAD.size):
        last, length = HEAD.unpack(head)
        frames.append((last, pickle.loads(stream.read(length))))
    return frames


def result(kind: str, *arguments: Any, among: Jobs | None = None) -> list[Any]:
    """Return an answer with refusals as plain values, so that answers can be compared."""
    frames = decoded(b"".join(answer(among or jobs(), kind, arguments)))
    assert [last for last, _ in frames] == [False] * (len(frames) - 1) + [True]
    said, value = frames[-1][1]
    shown = (value.reason, value.message, value.facts) if isinstance(value, Refusal) else value
    return [*(chunk for _, chunk in frames[:-1]), (said, shown)]


@st.composite
def questions(draw: st.DrawFn) -> list[tuple[str, tuple[Any, ...]]]:
    """Draw requests about one line and its beginnings, some with a wrong move, some longer than allowed."""
    game = registry.game(GAME)
    position, line = game.initial(), list[str]()
    for _ in range(draw(st.integers(0, 9))):
        legal = game.moves(position)
        line.append(legal[draw(st.integers(0, len(legal) - 1))])
        position = game.play(position, line[-1])
    asked: list[tuple[str, tuple[Any, ...]]] = []
    for _ in range(draw(st.integers(1, 5))):
        moves = line[: draw(st.integers(0, len(line)))]
        if draw(st.booleans()):
            moves.insert(draw(st.integers(0, len(moves))), draw(st.sampled_from(["zz", "", "a1", "c3", *line])))
        start = draw(st.sampled_from(["", game.text(game.initial())]))
        most = draw(st.sampled_from([3, 8, 5_000]))
        if draw(st.booleans()):
            asked.append(("legal_moves", (GAME, start, tuple(moves), False, most, 1_000, 20)))
        else:
            from_ply = draw(st.integers(0, len(moves) + 1))
            asked.append(("encoded_line", (False, GAME, start, tuple(moves), from_ply, draw(st.booleans()), most)))
    return asked


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(questions())
def test_the_cache_changes_no_answer(asked: list[tuple[str, tuple[Any, ...]]]) -> None:
    rules_worker._ends.clear()
    kept = [result(kind, *arguments) for kind, arguments in asked]
    again = [result(kind, *arguments) for kind, arguments in asked]
    fresh = []
    for kind, arguments in asked:
        rules_worker._ends.clear()
        fresh.append(result(kind, *arguments))
    assert kept == fresh
    assert again == fresh


def test_a_cached_line_does_not_make_a_longer_one_allowed() -> None:
    rules_worker._ends.clear()
    game = registry.game(GAME)
    first = game.moves(game.initial())[0]
    second = game.moves(game.play(game.initial(), first))[0]
    assert list(played_line(GAME, "", [first], 0, board=False, most_line=1).positions)
    with refusing(Reason.ARGUMENT_INVALID):
        played_line(GAME, "", [first, second], 2, board=False, most_line=1)


def test_the_cache_has_a_maximal_number_of_lines() -> None:
    rules_worker._ends.clear()
    game = registry.game(GAME)
    for first in game.moves(game.initial()):
        for second in game.moves(game.play(game.initial(), first))[:6]:
            played_line(GAME, "", [first, second], 0, board=False, most_line=9)
    assert len(rules_worker._ends) == rules_worker._KEPT


def test_a_worker_says_when_it_is_ready_and_answers_until_its_input_ends() -> None:
    asked = [("encoded_line", (False, GAME, "", (), 0, False, 9)), ("legal_moves", ("ludo", "", (), False, 9, 9, 9))]
    out = io.BytesIO()
    serve(jobs(), io.BytesIO(b"".join(frame(job, last=True) for job in asked)), out)
    frames = decoded(out.getvalue())
    assert [last for last, _ in frames] == [True, False, True, True]
    assert [value[0] for last, value in frames if last] == ["done", "done", "refused"]


def test_an_error_is_answered_with_its_traceback() -> None:
    ((said, text),) = result("encoded_line", False, GAME, 7, ("a",), 0, False, 9)
    assert said == "failed"
    assert text.startswith("Traceback")
    assert "TypeError" in text


def test_an_interpreter_without_memory_reports_that() -> None:
    """If its own C code finds no memory, CPython may raise a SystemError in place of a MemoryError."""

    def starved(*_: object) -> Iterator[object]:
        yield []
        raise SystemError("error return without exception set")

    said, (reason, _, facts) = result("legal_moves", among={"legal_moves": starved})[-1]
    assert (said, reason) == ("refused", Reason.BUDGET_SPENT)
    assert "memory" in facts["limit"]


def test_the_games_can_all_be_loaded_beforehand() -> None:
    jobs()
    assert set(registry.BUNDLED) <= set(registry.classes())
