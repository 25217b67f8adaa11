"""What a web hook gets: the body of a delivery, and the headers that sign it.

The headers are those of Standard Webhooks 1.0.0 (github.com/standard-webhooks/standard-webhooks, its file
spec/standard-webhooks.md), with symmetric signatures, `v1`. The body is a JSON object with the fields `type`,
`timestamp` and `data`.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

import orjson

from arbiter.service.ports.journal import StoredRecord
from arbiter.service.ports.web_hooks import WebHook
from arbiter.tournaments import events as ev
from arbiter.tournaments.tournament import Tournament

SECRET: Final = "whsec_"  #: the text of a secret begins with it; the rest is its bytes in base 64

TYPES: Final[Mapping[type[ev.Event], str]] = {
    ev.Paired: "tournament.paired",
    ev.EndedGame: "tournament.game_ended",
    ev.Ruled: "tournament.ruled",
    ev.Corrected: "tournament.corrected",
    ev.Ended: "tournament.ended",
}
"""The events that are delivered, with the field `type` of the body."""


def new_secret(drawn: str) -> str:
    """Return the secret of a web hook, made from a text that nobody can guess."""
    return SECRET + base64.b64encode(sha256(drawn.encode()).digest()).decode()


def body_of(tournament: Tournament, record: StoredRecord, event: ev.Event, most: int) -> bytes:
    """Return the body for an event of a tournament: compact JSON in UTF-8.

    `data` has the record as it is in the log of the tournament, and for a game what it is about. most: bytes; a longer
    body has null in place of the record.
    """
    data: dict[str, Any] = {
        "tournament_id": tournament.id,
        "name": tournament.spec.name,
        "revision": record.revision,
        "record": orjson.loads(record.body),
    }
    if isinstance(event, ev.EndedGame | ev.Ruled):
        data["game"] = _game(tournament, event.game)
    body = {"type": TYPES[type(event)], "timestamp": _instant(event.at), "data": data}
    packed = orjson.dumps(body)
    if len(packed) > most:
        data["record"] = None
        packed = orjson.dumps(body)
    return packed


def headers_of(hook: WebHook, revision: int, body: bytes, now_ms: int) -> dict[str, str]:
    """Return the headers of an attempt. revision: of the record; an event has the same id in all attempts."""
    name, instant = f"{hook.hook_id}-{revision}", str(now_ms // 1_000)
    key = base64.b64decode(hook.secret.removeprefix(SECRET))
    signed = hmac.digest(key, f"{name}.{instant}.".encode() + body, "sha256")
    return {
        "content-type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": instant,
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }


def _game(tournament: Tournament, number: int) -> dict[str, Any]:
    """Return which game it is; a ladder has dropped the seats of old ones."""
    if not tournament.games.has(number - 1):
        return {"number": number}
    game = tournament.games[number - 1]
    round_ = tournament.meetings[game.meeting - 1].round
    return {"number": number, "round": round_, "game": game.game, "seat1": game.seat1, "seat2": game.seat2}


def _instant(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
