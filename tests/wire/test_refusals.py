from __future__ import annotations

import ast
from pathlib import Path
from urllib.parse import quote

import arbiter_protos
import pytest
from arbiter_protos.v1 import refusal_pb2 as pb
from google.rpc import status_pb2

import arbiter
from arbiter.errors import Reason, Refusal
from arbiter.wire.refusals import CODES, refusal_message, refusal_status


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


def test_every_refusal_in_the_code_has_the_facts_of_its_reason() -> None:
    """Also where no test comes: the names of all facts that are written out are compared with the reason's."""
    seen = 0
    for path in Path(arbiter.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Refusal":
                named = {keyword.arg for keyword in call.keywords}
                if isinstance(call.args[0], ast.Attribute) and None not in named:
                    reason = Reason[call.args[0].attr]
                    more = {name for each in reason.sometimes.values() for name in each}
                    assert reason.always.keys() <= named <= reason.always.keys() | more, (path, call.lineno)
                    seen += 1
    assert seen > 30


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
