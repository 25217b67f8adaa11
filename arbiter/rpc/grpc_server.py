"""The gRPC server: services, health checks, reflection, and listening address."""

from __future__ import annotations

from typing import NamedTuple

import grpc
from arbiter_protos.v1 import (
    game_pb2,
    game_pb2_grpc,
    match_pb2,
    match_pb2_grpc,
    play_pb2,
    play_pb2_grpc,
    player_pb2,
    player_pb2_grpc,
    rating_pb2,
    rating_pb2_grpc,
    server_pb2,
    server_pb2_grpc,
    tournament_pb2,
    tournament_pb2_grpc,
)
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.rpc.health import Health
from arbiter.rpc.interceptor import RefusalInterceptor
from arbiter.rpc.unread import Unread
from arbiter.runtime.certificates import Pems, ServedCertificate
from arbiter.service.gate.addresses import host_and_port, is_loopback
from arbiter.service.gate.gate import Gate
from arbiter.service.ports.log import Logger
from arbiter.service.ports.meter import Meter

METADATA_BYTES = 16_384  #: bytes of the headers of a call; gRPC itself refuses a call with more
HANDSHAKE_MS = 20_000  #: time limit for the handshake of a new connection
WINDOW_BYTES = 262_144  #: bytes that a client may send on a stream before the server reads them
PENDING_CALLS = 10_000  #: calls that wait to be accepted; gRPC itself refuses more

SERVICE_DESCRIPTORS = tuple(
    module.DESCRIPTOR.services_by_name[name]
    for module, name in (
        (server_pb2, "ServerService"),
        (game_pb2, "GameService"),
        (match_pb2, "MatchService"),
        (play_pb2, "PlayService"),
        (player_pb2, "PlayerService"),
        (tournament_pb2, "TournamentService"),
        (rating_pb2, "RatingService"),
    )
)
"""The services, in the order of `Servicers`."""

SERVICES = tuple(service.full_name for service in SERVICE_DESCRIPTORS)


class Servicers(NamedTuple):
    """The services."""

    server: server_pb2_grpc.ServerServiceServicer
    game: game_pb2_grpc.GameServiceServicer
    match: match_pb2_grpc.MatchServiceServicer
    play: play_pb2_grpc.PlayServiceServicer
    player: player_pb2_grpc.PlayerServiceServicer
    tournament: tournament_pb2_grpc.TournamentServiceServicer
    rating: rating_pb2_grpc.RatingServiceServicer


class RpcServer:
    """A gRPC server that is bound to its address and not yet started."""

    def __init__(
        self,
        servicers: Servicers,
        settings: Settings,
        certificate: ServedCertificate | None,
        gate: Gate,
        unread: Unread,
        log: Logger,
        meter: Meter,
    ) -> None:
        """Bind to the address. Raises OperatorError if that fails, or if the address needs TLS and there is none.

        A server that shares its address binds at its start: from then on it gets a part of all connections.
        """
        self._settings = settings
        self._certificate = certificate
        self._server = grpc.aio.server(
            interceptors=[RefusalInterceptor(settings.limits, unread, gate.turns, log, meter)],
            options=_options(settings),
        )
        server_pb2_grpc.add_ServerServiceServicer_to_server(servicers.server, self._server)
        game_pb2_grpc.add_GameServiceServicer_to_server(servicers.game, self._server)
        match_pb2_grpc.add_MatchServiceServicer_to_server(servicers.match, self._server)
        play_pb2_grpc.add_PlayServiceServicer_to_server(servicers.play, self._server)
        player_pb2_grpc.add_PlayerServiceServicer_to_server(servicers.player, self._server)
        tournament_pb2_grpc.add_TournamentServiceServicer_to_server(servicers.tournament, self._server)
        rating_pb2_grpc.add_RatingServiceServicer_to_server(servicers.rating, self._server)
        health_pb2_grpc.add_HealthServicer_to_server(Health(SERVICES, gate.readiness), self._server)
        reflection.enable_server_reflection((*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server)
        self.port = 0 if settings.supervised else self._bind()

    def _bind(self) -> int:
        settings = self._settings
        host, _ = host_and_port(settings.listen, "to listen on", "127.0.0.1:7400")
        if self._certificate is None and not is_loopback(host) and not settings.insecure:
            raise OperatorError(
                f"listening on {settings.listen} without TLS would send tokens in the clear: "
                "give --tls-certificate and --tls-key, or say --insecure"
            )
        try:
            if self._certificate is not None:
                return self._server.add_secure_port(settings.listen, _credentials(self._certificate))
            return self._server.add_insecure_port(settings.listen)
        except RuntimeError:
            raise OperatorError(
                f"can't listen on {settings.listen}: the port is taken, or the address is not this machine's"
            ) from None

    async def start(self) -> None:
        """Accept calls. Raises OperatorError if the address can't be bound."""
        self.port = self.port or self._bind()
        await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Accept no new calls, and give the running ones some time."""
        await self._server.stop(grace_s)


def _options(settings: Settings) -> list[tuple[str, int]]:
    """Return the options of gRPC's own server: connections, message sizes and keepalive."""
    limits = settings.limits
    return [
        # The interceptor enforces the limit itself and explains its refusal; gRPC reads nothing beyond this size.
        ("grpc.max_receive_message_length", 4 * limits.message_bytes),
        ("grpc.max_send_message_length", -1),  # our own responses are sent in chunks; none needs a limit
        ("grpc.max_metadata_size", METADATA_BYTES),
        ("grpc.absolute_max_metadata_size", METADATA_BYTES),
        ("grpc.max_allowed_incoming_connections", limits.connections),
        ("grpc.max_concurrent_streams", limits.connection_streams),
        ("grpc.max_connection_idle_ms", limits.idle_connection_ms),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
        ("grpc.server.max_pending_requests", PENDING_CALLS),
        # Two servers must not share a port by accident; where they are to, their parent has checked that it is free.
        ("grpc.so_reuseport", int(settings.supervised)),
        # A client that only reads sends no application pings, so HTTP/2 keepalive detects dead connections.
        ("grpc.keepalive_time_ms", limits.silence_ms),
        ("grpc.keepalive_timeout_ms", limits.silence_ms),
        ("grpc.http2.ping_timeout_ms", limits.silence_ms),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
        # gRPC would ping busy connections to size their windows: at 500 moves a second these pings were a twentieth of
        # the server's processor time. A fixed window takes some long messages that a client sends before it reads.
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", WINDOW_BYTES),
    ]


def _credentials(certificate: ServedCertificate) -> grpc.ServerCredentials:
    """Return credentials that ask for the newest certificate in each new handshake."""
    taken = certificate.pems

    def newest() -> grpc.ServerCertificateConfiguration | None:  # called in gRPC's threads
        nonlocal taken
        if taken is certificate.pems:
            return None
        taken = certificate.pems
        return _configuration(taken)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(taken),
        newest,  # type: ignore[arg-type]  # None: the same as before
        require_client_authentication=taken.authority is not None,
    )


def _configuration(pems: Pems) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(pems.key, pems.certificate)], pems.authority)
