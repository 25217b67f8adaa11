"""Event streams as messages."""

from __future__ import annotations

from arbiter_protos.v1 import match_pb2 as pb

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches.match import Match
from arbiter.rpc.live_events import LiveEvents
from arbiter.rpc.servicing import Context, MessageWriter, call_of
from arbiter.rpc.unread import Unread
from arbiter.rpc.writes import unread
from arbiter.service.gate.match_calls import MatchGate, OfAll, OfMatch, Watched, is_enough
from arbiter.service.observing.feed import Reached, Stream
from arbiter.service.ports.journal import Subject
from arbiter.service.record.published import Published
from arbiter.wire.match_messages import event_message
from arbiter.wire.tournament_events import tournament_event_message


class Observations:
    """Turns batches of events into messages. Each event is serialized once for all readers."""

    def __init__(self, matches: MatchGate, unread: Unread, limits: Limits) -> None:
        self._matches = matches
        self._unread = unread
        self._limits = limits

    async def serve(self, request: pb.ObserveRequest, context: Context) -> None:
        """Serve one Observe call."""
        with_tokens = request.WhichOneof("of") == "all"
        writer = MessageWriter(context, self._unread, self._limits)
        async with self._matches.observe(call_of(context), _watched(request), request.attending) as stream:
            try:
                await self._write(stream, writer, with_tokens, request.with_record)
            except Refusal as refusal:
                if refusal.reason is Reason.READER_TOO_SLOW and not refusal.facts["resume_from"]:
                    raise unread(self._limits, stream.place) from None
                raise

    async def _write(self, stream: Stream, writer: MessageWriter, with_tokens: bool, with_record: bool) -> None:
        """Write all events of a stream."""
        writes, form = await writer.begun(), (with_tokens, with_record)
        stream.relay_to(LiveEvents(writes, form, self._make).write)
        try:
            async for batch in stream:
                if isinstance(batch, Reached):
                    await writer.write(pb.ObserveResponse(items=[_bookmark(batch, with_tokens)]).SerializeToString())
                    continue
                for event in batch:
                    if form not in event.forms and self._make(event, form) is None:
                        event.forms[form] = _form(event, await self._matches.of_event(event), *form)
                await writer.write(b"".join([event.forms[form] for event in batch]))  # one message with all items
        finally:
            writes.cancel()

    def _make(self, published: Published, form: tuple[bool, bool]) -> bytes | None:
        """Return an event in a form, for all readers who want it; None if its match has to be read for that."""
        match = None
        if published.subject is Subject.MATCH:
            match = self._matches.known(published.match_id)
            if match is None or not is_enough(match, published):
                return None
        made = published.forms[form] = _form(published, match, *form)
        return made


def _form(published: Published, match: Match | None, with_token: bool, with_record: bool) -> bytes:
    """Serialize a response that holds one event. match: its match, None for an event of a tournament."""
    item = pb.ObserveItem(token=str(published.sequence) if with_token else "")
    event: pb.MatchEvent | pb.TournamentEvent
    if match is None:
        event = item.tournament_event
        event.CopyFrom(tournament_event_message(published))
    else:
        event = item.event
        event.CopyFrom(event_message(published, match))
    if with_record:
        event.record = published.body
    return pb.ObserveResponse(items=[item]).SerializeToString()


def _watched(request: pb.ObserveRequest) -> Watched | None:
    """Return what a request asks to observe, None if it names nothing."""
    match request.WhichOneof("of"):
        case "match":
            return OfMatch(request.match.match_id, request.match.after_revision)
        case "all":
            return OfAll(request.all.after_token, request.all.label, request.all.without_moves)
        case _:
            return None


def _bookmark(reached: Reached, with_token: bool) -> pb.ObserveItem:
    if with_token:
        return pb.ObserveItem(token=str(reached.place), bookmark=pb.Bookmark())
    return pb.ObserveItem(bookmark=pb.Bookmark(revision=reached.place))
