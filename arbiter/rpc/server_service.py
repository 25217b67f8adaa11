"""ServerService."""

from __future__ import annotations

from arbiter_protos.v1 import server_pb2 as pb
from arbiter_protos.v1 import server_pb2_grpc

from arbiter import __version__
from arbiter.config import Settings
from arbiter.rpc.door import Context
from arbiter.service.matches.transcripts import Transcripts
from arbiter.service.ports.environment import Clock
from arbiter.wire.version import CAPABILITIES, PROTOCOL_VERSION, SOFTWARE


class ServerServicer(server_pb2_grpc.ServerServiceServicer):
    """What this server is."""

    def __init__(self, settings: Settings, clock: Clock, transcripts: Transcripts) -> None:
        self._settings = settings
        self._clock = clock
        self._transcripts = transcripts

    async def GetServerInfo(  # noqa: N802
        self, request: pb.GetServerInfoRequest, context: Context
    ) -> pb.GetServerInfoResponse:
        """Return protocol and server version, capabilities, limits and public keys."""
        settings = self._settings
        limits = settings.limits.model_dump() | settings.credit.model_dump()
        limits |= {name: value for name, value in settings.matches.model_dump().items() if isinstance(value, int)}
        return pb.GetServerInfoResponse(
            protocol_version=PROTOCOL_VERSION,
            software=SOFTWARE,
            software_version=__version__,
            capabilities=CAPABILITIES,
            limits=limits,
            public_keys=[pb.PublicKey(**key._asdict()) for key in self._transcripts.public_keys()],
            registration=settings.registration,
            now_ms=self._clock.now_ms(),
        )
