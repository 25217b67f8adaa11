"""Long messages become the same JSON as short ones, in many steps."""

from __future__ import annotations

import pytest
from arbiter_protos.v1 import match_pb2, tournament_pb2
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbiter.wire import json_messages
from arbiter.wire.json_messages import PART, json_of, json_parts
from tests.rpc.fuzzing import messages
from tests.rpc.methods import METHODS

ANSWERS = st.sampled_from(sorted(METHODS)).flatmap(lambda name: messages(METHODS[name].output_type, {"": ("ö", '"')}))
ROW = match_pb2.Match(match_id="m_0123456789", players=["alice", "bob"], game="hop-it", label="x" * 50)
ENTRANT = tournament_pb2.Entrant(player="alice", version="1.2.3", rating=1_500)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=ANSWERS, part=st.sampled_from((0, 20, 100)))
@pytest.mark.long
def test_the_json_is_the_same(monkeypatch: pytest.MonkeyPatch, message: Message, part: int) -> None:
    monkeypatch.setattr(json_messages, "PART", part)
    assert b"".join(json_parts(message)) == json_of(message)


@pytest.mark.parametrize(
    "message",
    [
        match_pb2.ListMatchesResponse(matches=[ROW] * 1_000, next_page_token="1"),
        tournament_pb2.GetTournamentResponse(tournament=tournament_pb2.Tournament(entrants=[ENTRANT] * 1_000)),
        match_pb2.ObserveResponse(items=[match_pb2.ObserveItem(token=str(number)) for number in range(2_000)]),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_step_makes_little_of_it(monkeypatch: pytest.MonkeyPatch, message: Message) -> None:
    steps, converted = [0], json_of

    def counted(part: Message) -> bytes:
        made = converted(part)
        steps[-1] += len(made)
        return made

    monkeypatch.setattr(json_messages, "json_of", counted)
    parts = json_parts(message)
    while next(parts, None) is not None:
        steps.append(0)
    assert len(steps) > 3
    assert max(steps) <= 3 * PART
