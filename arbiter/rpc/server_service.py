"""ServerService."""

from __future__ import annotations

from arbiter_protos.v1 import server_pb2 as pb
from arbiter_protos.v1 import server_pb2_grpc

from arbiter import __version__
from arbiter.rpc.servicing import Context
from arbiter.service.gate.server_calls import ServerGate
from arbiter.wire.version import CAPABILITIES, PROTOCOL_VERSION, SOFTWARE


class ServerServicer(server_pb2_grpc.ServerServiceServicer):
    """Information about this server."""

    def __init__(self, server: ServerGate) -> None:
        self._server = server

    async def GetServerInfo(self, request: pb.GetServerInfoRequest, context: Context) -> pb.GetServerInfoResponse:
        facts = self._server.facts()
        return pb.GetServerInfoResponse(
            protocol_version=PROTOCOL_VERSION,
            software=SOFTWARE,
            software_version=__version__,
            capabilities=CAPABILITIES,
            limits=facts.limits,
            public_keys=[pb.PublicKey(**key._asdict()) for key in facts.public_keys],
            registration=facts.registration,
            now_ms=facts.now_ms,
        )
