"""A server whose every text is hostile: it answers each call with a message that is filled with `HOSTILE`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tests.rpc.methods import METHODS
from tests.test_plain_text import HOSTILE


def _filled(kind: Descriptor, depth: int = 5, chosen: int = 0) -> Message:
    """Return a message whose every text is hostile. chosen: which alternative of each oneof it has."""
    made: Message = GetMessageClass(kind)()
    taken = {oneof.fields[chosen % len(oneof.fields)].name for oneof in kind.oneofs}
    for field in kind.fields:
        if depth and (field.containing_oneof is None or field.name in taken):
            _fill(made, field, depth, chosen)
    return made


def _fill(made: Message, field: FieldDescriptor, depth: int, chosen: int) -> None:
    held = field.message_type
    if held is not None and held.GetOptions().map_entry:
        if held.fields_by_name["value"].type == FieldDescriptor.TYPE_STRING:
            getattr(made, field.name)[HOSTILE] = HOSTILE
        return
    value: Any = 1
    if held is not None:
        value = _filled(held, depth - 1, chosen)
    elif field.type == FieldDescriptor.TYPE_STRING:
        value = "" if field.name == "next_page_token" else HOSTILE
    elif field.type == FieldDescriptor.TYPE_BYTES:
        value = HOSTILE.encode()
    elif field.type == FieldDescriptor.TYPE_BOOL:
        value = False
    elif field.type in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
        value = 0.5
    if field.is_repeated:
        getattr(made, field.name).extend([value] * (2 if held is not None or isinstance(value, str) else 5))
    elif held is not None:
        getattr(made, field.name).CopyFrom(value)
    else:
        setattr(made, field.name, value)


class _HostileServices(grpc.GenericRpcHandler):
    def service(self, handler_call_details: Any) -> Any:
        name = handler_call_details.method.rpartition("/")[2]
        service = handler_call_details.method.split("/")[1].rpartition(".")[2]
        method = METHODS.get(f"{service}.{name}")
        if method is None:
            return None
        reader = GetMessageClass(method.input_type).FromString

        def answer(request: Any, context: Any) -> bytes:
            return _filled(method.output_type).SerializeToString()

        def answers(request: Any, context: Any) -> Iterator[bytes]:
            for chosen in range(12):
                yield _filled(method.output_type, chosen=chosen).SerializeToString()
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, HOSTILE.encode("ascii", "backslashreplace").decode())

        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(answers, request_deserializer=reader)
        return grpc.unary_unary_rpc_method_handler(answer, request_deserializer=reader)


@pytest.fixture(scope="module")
def hostile_server() -> Iterator[str]:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((_HostileServices(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()
