"""Streams of events, as the wire has them."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from arbiter_protos.v1 import match_pb2 as pb

from arbiter.rpc.door import Context, Door, number_of_token
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.observing.feed import Reached, Stream
from arbiter.service.players.accounts import invalid
from arbiter.service.ports.journal import Subject
from arbiter.service.record.published import Published
from arbiter.wire.matches import event_message
from arbiter.wire.tournament_events import tournament_event_message


class Observations:
    """Turns the feed's batches into messages; an event is written as bytes once, whoever reads it."""

    def __init__(self, door: Door, matches: MatchRegistry) -> None:
        self._door = door
        self._matches = matches

    async def serve(self, request: pb.ObserveRequest, context: Context) -> None:
        """Serve one Observe call."""
        caller = await self._door.reader(context)
        with_tokens = request.WhichOneof("of") == "all"
        kind = with_tokens, request.with_record
        async with self._door.holding(caller, "events"), self._stream(request) as stream:
            async for batch in stream:
                if isinstance(batch, Reached):
                    await context.write(pb.ObserveResponse(items=[_bookmark(batch, with_tokens)]))
                    continue
                for event in batch:
                    if kind not in event.forms:
                        event.forms[kind] = await self._form(event, *kind)
                # Messages whose repeated fields are written one after the other are one message with all of them.
                await context.write(b"".join([event.forms[kind] for event in batch]))

    def _stream(self, request: pb.ObserveRequest) -> AbstractAsyncContextManager[Stream]:
        match request.WhichOneof("of"):
            case "match":
                return self._matches.feed.of_match(request.match.match_id, request.match.after_revision)
            case "all":
                token = request.all.after_token
                after = number_of_token(token, "after_token") if token else None
                return self._matches.feed.of_all(after, request.all.label)
            case _:
                raise invalid("nothing", "of", "a match or all")

    async def _form(self, published: Published, with_token: bool, with_record: bool) -> bytes:
        """Make the bytes of a response that holds an event alone, for all readers who want this form."""
        item = pb.ObserveItem(token=str(published.sequence) if with_token else "")
        event: pb.MatchEvent | pb.TournamentEvent
        if published.subject is Subject.TOURNAMENT:
            event = item.tournament_event
            event.CopyFrom(tournament_event_message(published))
        else:
            event = item.event
            event.CopyFrom(event_message(published, await self._matches.match(published.match_id)))
        if with_record:
            event.record = published.body
        return pb.ObserveResponse(items=[item]).SerializeToString()


def _bookmark(reached: Reached, with_token: bool) -> pb.ObserveItem:
    if with_token:
        return pb.ObserveItem(token=str(reached.place), bookmark=pb.Bookmark())
    return pb.ObserveItem(bookmark=pb.Bookmark(revision=reached.place))
