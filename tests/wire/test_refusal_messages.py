from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import arbiter_protos
import pytest
from arbiter_protos.v1 import refusal_pb2 as pb
from google.rpc import status_pb2

from arbiter.errors import Reason, Refusal
from arbiter.wire.refusal_messages import CODES, refusal_message, refusal_status


def test_the_table_has_the_reasons_of_the_protocol() -> None:
    on_the_wire = {name.removeprefix("REFUSAL_REASON_") for name in pb.RefusalReason.DESCRIPTOR.values_by_name} - {
        "UNSPECIFIED"
    }
    assert {reason.value for reason in Reason} == on_the_wire == {reason.value for reason in CODES}


@pytest.mark.parametrize("reason", Reason)
def test_the_protocol_explains_a_reason_as_the_server_does(reason: Reason) -> None:
    root = Path(arbiter_protos.__file__).parents[3]
    lines = (root / "protos" / "arbiter" / "v1" / "refusal.proto").read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if f" REFUSAL_REASON_{reason.value} = " in line)
    comment = at
    while lines[comment - 1].strip().startswith("//"):
        comment -= 1
    assert " ".join(line.strip().removeprefix("// ") for line in lines[comment:at]) == reason.explained


def test_a_refusal_has_the_facts_of_its_reason() -> None:
    assert Refusal(Reason.NOT_YOUR_TURN, "wait", seat=1, turn=2).facts == {"seat": "1", "turn": "2"}
    for facts in ({"seat": 1}, {"seat": 1, "turn": 2, "ply": 3}, {"seat": "one", "turn": 2}):
        with pytest.raises(TypeError, match="NOT_YOUR_TURN"):
            Refusal(Reason.NOT_YOUR_TURN, "wait", **facts)
    assert Refusal.said(Reason.NOT_YOUR_TURN, "wait", {"of": "an older server"}).facts == {"of": "an older server"}


@pytest.mark.parametrize("reason", Reason)
def test_a_refusal_is_transmitted_completely(reason: Reason) -> None:
    refusal = Refusal.said(reason, "what was wrong, and what to do", {"limit": "7", "what": "x"})
    status = refusal_status(refusal)
    assert status.code is CODES[reason]
    trailer = dict(status.trailing_metadata or ())["grpc-status-details-bin"]
    details = status_pb2.Status.FromString(trailer).details[0]
    message = pb.Refusal()
    assert details.Unpack(message)
    assert message == refusal_message(refusal)
    assert pb.RefusalReason.Name(message.reason) == f"REFUSAL_REASON_{reason.value}"
    assert message.code == CODES[reason].value[0]
    assert dict(message.facts) == {"limit": "7", "what": "x"}


@pytest.mark.parametrize("letter", ["a", "é", "語"])
def test_a_long_refusal_fits_a_trailer(letter: str) -> None:
    refusal = Refusal(Reason.MOVE_ILLEGAL, letter * 20_000, move=letter * 20_000, position=letter * 20_000)
    status = refusal_status(refusal)
    assert len(quote(status.details)) <= 900
    assert sum(len(value) for _, value in status.trailing_metadata) < 6_000
