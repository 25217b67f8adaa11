"""Web hooks as messages."""

from __future__ import annotations

from arbiter_protos.v1 import tournament_pb2 as pb

from arbiter.service.ports.web_hooks import WebHook


def web_hook_message(hook: WebHook) -> pb.WebHook:
    """Return the message of a web hook, without its secret."""
    return pb.WebHook(
        web_hook_id=hook.hook_id,
        tournament_id=hook.tournament_id,
        url=hook.url,
        created_ms=hook.created_ms,
        delivered_revision=hook.revision,
        delivered_ms=hook.delivered_ms,
        tries=hook.tries,
        next_try_ms=0 if hook.stopped else hook.due_ms,
        error=hook.error,
        stopped=hook.stopped,
    )
