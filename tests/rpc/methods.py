"""Every RPC of the protocol, from its descriptors."""

from __future__ import annotations

from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, player_pb2, rating_pb2, server_pb2, tournament_pb2
from google.protobuf.descriptor import MethodDescriptor

MODULES = (server_pb2, game_pb2, match_pb2, play_pb2, player_pb2, tournament_pb2, rating_pb2)
METHODS: dict[str, MethodDescriptor] = {
    f"{service.name}.{method.name}": method
    for module in MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
