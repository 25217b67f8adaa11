"""Watching matches and tournaments: streams of events that continue after a lost connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator

import grpc
from arbiter_protos.v1 import match_pb2

from arbiter_client.calls.base import Calls
from arbiter_client.errors import ArbiterError, Reason, from_rpc
from arbiter_client.values.match import MatchEvent, read_event
from arbiter_client.values.tournament_event import TournamentEvent, read_tournament_event

logger = logging.getLogger("arbiter_client")


class ObserveCalls(Calls):
    """Watching one match, a tournament, or every match. After a lost connection a stream continues without a gap."""

    async def observe(
        self, match_id: str, after_revision: int = 0, with_record: bool = False
    ) -> AsyncGenerator[MatchEvent, None]:
        """Yield the events of a match after a revision, without a gap, up to its last. Refusals: MATCH_NOT_FOUND."""
        of_match = match_pb2.ObserveMatch(match_id=match_id, after_revision=after_revision)
        request = match_pb2.ObserveRequest(match=of_match, with_record=with_record)
        async for item in self._follow(request):
            if item.HasField("event") and item.event.revision > of_match.after_revision:
                of_match.after_revision = item.event.revision
                request.match.CopyFrom(of_match)
                yield read_event(item.event, item.token)

    async def observe_all(
        self, after_token: str = "", label: str = "", with_record: bool = False, without_moves: bool = False
    ) -> AsyncGenerator[MatchEvent, None]:
        """Yield the events of every match, or of those with a label, after a token, for as long as the caller reads.

        An empty token starts now, "0" at the beginning of the record. Without moves, the stream has the beginnings and
        ends of matches, and all else but moves. Refusals: ARGUMENT_INVALID (token).
        """
        async for item in self._everything(after_token, label, with_record, without_moves):
            if item.HasField("event"):
                yield read_event(item.event, item.token)

    async def observe_tournament(
        self, tournament_id: str, after_token: str = "", with_record: bool = False, without_moves: bool = False
    ) -> AsyncGenerator[TournamentEvent | MatchEvent, None]:
        """Yield the events of a tournament and of its matches after a token, for as long as the caller reads.

        An empty token starts now, "0" at the beginning of the record; `without_moves` is as for `observe_all`.
        Refusals: ARGUMENT_INVALID (token).
        """
        async for item in self._everything(after_token, tournament_id, with_record, without_moves):
            if item.HasField("event"):
                yield read_event(item.event, item.token)
            elif item.HasField("tournament_event"):
                yield read_tournament_event(item.tournament_event, item.token)

    async def _everything(
        self, after_token: str, label: str, with_record: bool, without_moves: bool
    ) -> AsyncIterator[match_pb2.ObserveItem]:
        of_all = match_pb2.ObserveAll(after_token=after_token, label=label, without_moves=without_moves)
        request = match_pb2.ObserveRequest(all=of_all, with_record=with_record)
        async for item in self._follow(request):
            request.all.after_token = item.token or request.all.after_token
            yield item

    async def _follow(self, request: match_pb2.ObserveRequest) -> AsyncIterator[match_pb2.ObserveItem]:
        """Yield the items of a stream; after a lost connection, ask again for those after the last one.

        `request` is updated by the caller. The first connection is tried for `patience_s`; a lost one is tried again at
        all addresses until it is back.
        """
        connection = self.connection
        tries = connection.tries()
        clock = asyncio.get_running_loop().time
        give_up_s = clock() + connection.patience_s
        while True:
            address, greetings = connection.address, connection.greetings
            try:
                call = connection.matches.Observe(request, metadata=connection.metadata)
                async for response in call:
                    give_up_s = float("inf")
                    tries.reset()
                    for item in response.items:
                        yield item
                return
            except grpc.aio.AioRpcError as failure:
                error = from_rpc(failure, address)
            if isinstance(error, ArbiterError) and not (error.temporary or error.reason == Reason.READER_TOO_SLOW):
                raise error
            pause_s = tries.failed(address, error)
            if pause_s and clock() + pause_s > give_up_s:
                raise tries.all_failed(error)
            logger.warning("watching stopped, trying again: %s", error)
            await connection.rest(pause_s, greetings, error)
