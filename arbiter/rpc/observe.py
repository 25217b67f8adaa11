"""Streams of events, as the wire has them."""

from __future__ import annotations

from collections.abc import AsyncIterator

from arbiter_protos.v1 import match_pb2 as pb

from arbiter.rpc.door import Context, Door, number_of_token
from arbiter.service.accounts import invalid
from arbiter.service.feed import Published, Reached
from arbiter.service.hall import Hall
from arbiter.wire.matches import event_message


class Observations:
    """Turns the feed's batches into messages; an event's message is made once, whoever reads it."""

    def __init__(self, door: Door, hall: Hall) -> None:
        self._door = door
        self._hall = hall

    async def stream(self, request: pb.ObserveRequest, context: Context) -> AsyncIterator[pb.ObserveResponse]:
        """Yield the messages of one Observe call."""
        await self._door.reader(context)
        match request.WhichOneof("of"):
            case "match":
                asked = request.match
                if asked.after_revision < 0:
                    raise invalid(asked.after_revision, "after_revision", "0 or more")
                await self._hall.match(asked.match_id)
                batches = self._hall.feed.of_match(asked.match_id, asked.after_revision)
            case "all":
                token = request.all.after_token
                after = number_of_token(token, "after_token") if token else None
                batches = self._hall.feed.of_all(after, request.all.label)
            case _:
                raise invalid("nothing", "of", "a match or all")
        with_tokens = request.WhichOneof("of") == "all"
        async for batch in batches:
            if isinstance(batch, Reached):
                yield pb.ObserveResponse(items=[_bookmark(batch, with_tokens)])
            else:
                yield pb.ObserveResponse(
                    items=[await self._item(event, with_tokens, request.with_record) for event in batch]
                )

    async def _item(self, published: Published, with_token: bool, with_record: bool) -> pb.ObserveItem:
        if published.rendered is None:
            match = await self._hall.match(published.match_id)
            published.rendered = event_message(published, match.control, match.created.policy)
        message = published.rendered
        assert isinstance(message, pb.MatchEvent)
        item = pb.ObserveItem(event=message, token=str(published.sequence) if with_token else "")
        if with_record:
            item.event.record = published.body
        return item


def _bookmark(reached: Reached, with_token: bool) -> pb.ObserveItem:
    if with_token:
        return pb.ObserveItem(token=str(reached.place), bookmark=pb.Bookmark())
    return pb.ObserveItem(bookmark=pb.Bookmark(revision=reached.place))
