"""What a server says of itself by `grpc.health.v1.Health`: whether it is for clients, and whether its process lives.

A server that drains, or that is cut off from a store that it shares, is not for clients: NOT_SERVING. Its process has
to go on all the same: LIVENESS is SERVING then too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from arbiter.service.gate.readiness import Readiness

LIVENESS: Final = "liveness"
"""The name of a service that is SERVING as long as the process answers: for whoever restarts a process that hangs."""

Asked = health_pb2.HealthCheckRequest
Answer = health_pb2.HealthCheckResponse


class Health(health_pb2_grpc.HealthServicer):
    """The health of a server's services, and of the server as a whole, whose name is ''.

    A caller of Watch that does not read delays neither the server nor other callers.
    """

    def __init__(self, services: Iterable[str], readiness: Readiness) -> None:
        self._services = frozenset(("", *services))
        self._readiness = readiness

    def _status(self, service: str) -> int:
        if service == LIVENESS:
            return Answer.SERVING
        if service not in self._services:
            return Answer.SERVICE_UNKNOWN
        return Answer.SERVING if self._readiness else Answer.NOT_SERVING

    async def Check(self, request: Asked, context: grpc.aio.ServicerContext[Asked, Answer]) -> Answer:
        status = self._status(request.service)
        if status == Answer.SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND)
        return Answer(status=status)

    async def Watch(self, request: Asked, context: grpc.aio.ServicerContext[Asked, Answer]) -> None:
        told: int | None = None
        while True:
            changed, status = self._readiness.changed, self._status(request.service)
            if status != told:
                await context.write(Answer(status=status))
                told = status
            await changed.wait()
