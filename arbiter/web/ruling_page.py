"""The page of the rulings on ratings: everybody sees them, and the operator makes them there."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from arbiter.errors import Refusal, argument_invalid
from arbiter.ratings.rulings import Command, Decision, Selection, selected
from arbiter.web.callers import call_of, status_of
from arbiter.web.forms import fields
from arbiter.web.rendering import Handlers

CHOICES: Final = (
    (Decision.UNRATED, "make games unrated"),
    (Decision.RATED, "make games rated again"),
    (Decision.TAKEN_BACK, "take a ruling back"),
)
MOST_SHOWN: Final = 200  #: rulings, the newest ones
FIELDS: Final = ("decision", "players", "label", "game", "since", "until", "matches", "ruling", "note")
ASKED: Final = {"player": "players", "match": "matches"}  #: the fields that the address can fill in


class RulingPages(Handlers):
    """The handlers of rulings on ratings."""

    async def rulings(self, request: Request) -> Response:
        """Show the rulings, and the form for a new one to whoever may make it."""
        given = request.query_params
        return await self._shown(request, {name: given[key] for key, name in ASKED.items() if key in given})

    async def rule(self, request: Request) -> Response:
        """Make a ruling, or show what it would change."""
        sent, preview = await fields(request), None
        try:
            wanted = partial(_command_of, sent)
            ruled = await self._gate.ratings.rule(call_of(request), wanted, preview=sent.get("act") != "rule")
            if ruled.number:
                return RedirectResponse("/rulings", 303)
            preview = ruled.matches
        except Refusal as refusal:
            return await self._shown(request, sent, refusal=refusal)
        return await self._shown(request, sent, preview)

    async def _shown(
        self,
        request: Request,
        sent: Mapping[str, str],
        preview: tuple[str, ...] | None = None,
        refusal: Refusal | None = None,
    ) -> Response:
        found = await self._gate.ratings.rulings(call_of(request))
        taken_back = {each.ruling: number for number, each in enumerate(found, 1) if each.ruling}
        numbered = list(enumerate(found, 1))[: -MOST_SHOWN - 1 : -1]
        return await self._page(
            request,
            "rulings.html",
            200 if refusal is None else status_of(refusal),
            rows=[(number, each, selected(each.selection)) for number, each in numbered],
            taken_back=taken_back,
            revision=len(found),
            more=max(0, len(found) - MOST_SHOWN),
            choices=CHOICES,
            sent={name: sent.get(name, "") for name in FIELDS},
            preview=preview,
            wrong="" if refusal is None else refusal.message,
            request_id=secrets.token_urlsafe(12),
        )


def _command_of(sent: Mapping[str, str], caller: str) -> Command:
    """Return the ruling that a form asks for. Raises Refusal ARGUMENT_INVALID."""
    decision = next((each for each, _ in CHOICES if each == sent.get("decision")), None)
    if decision is None:
        raise argument_invalid(sent.get("decision", ""), "decision", "unrated, rated or taken_back")
    selection = Selection(
        tuple(sent.get("players", "").split()),
        sent.get("label", "").strip(),
        sent.get("game", "").strip(),
        _instant(sent, "since"),
        _instant(sent, "until"),
        tuple(sent.get("matches", "").split()),
    )
    revision, ruling = _number(sent, "revision"), _number(sent, "ruling")
    return Command(caller, sent.get("request", ""), decision, selection, ruling, sent.get("note", "").strip(), revision)


def _number(sent: Mapping[str, str], name: str) -> int:
    text = sent.get(name, "").strip()
    if text and not (text.isascii() and text.isdigit() and len(text) < 16):
        raise argument_invalid(text, name, "a number")
    return int(text or 0)


def _instant(sent: Mapping[str, str], name: str) -> int:
    text = sent.get(name, "").strip()
    try:
        given = datetime.fromisoformat(text) if text else None
    except ValueError:
        raise argument_invalid(text, name, "a date and time, such as 2026-11-01 18:00 (UTC)") from None
    if given is None:
        return 0
    return round((given if given.tzinfo is not None else given.replace(tzinfo=UTC)).timestamp() * 1_000)
