"""Signing in with a token, registering, and signing out.

A session is a token of a kind of its own, which only the browser holds, and which is good for the pages alone. So it
survives a restart of the server, and signing out revokes it. `BrowserGate` says when it ends and what it may do.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from arbiter.errors import Refusal
from arbiter.service.gate.admission import Call
from arbiter.web.callers import call_of, session_of, set_cookie, status_of
from arbiter.web.forms import fields, keep_visit, local, visitor_token
from arbiter.web.rendering import Handlers


class AccountPages(Handlers):
    """The handlers for signing in and out, and for registration."""

    async def sign_in(self, request: Request) -> Response:
        """Show the form for a token, or sign in with it and return to the page that asked for it."""
        if request.method != "POST":
            return await self._form(request, "sign_in.html", onward=request.query_params.get("onward", "/"))
        sent = await fields(request)
        onward = local(sent.get("onward", ""))
        try:
            secret = await self._gate.browsers.sign_in(_call(request, sent.get("token", "").strip()))
        except Refusal as refusal:
            return await self._form(request, "sign_in.html", refusal, onward=onward)
        return self._signed_in(request, RedirectResponse(onward, 303), secret)

    async def register(self, request: Request) -> Response:
        """Show the form for a new player, or create it, sign in as it, and show its token, only this once."""
        mode = self._gate.server.facts().registration
        if request.method != "POST":
            return await self._form(request, "register.html", mode=mode, name="")
        sent = await fields(request)
        name = sent.get("name", "").strip()
        try:
            call = _call(request, "")
            view, token = await self._gate.players.register(call, name, "", sent.get("invitation", "").strip())
            secret = await self._gate.browsers.sign_in(_call(request, token))
        except Refusal as refusal:
            return await self._form(request, "register.html", refusal, mode=mode, name=name)
        page = await self._page(request, "registered.html", name=view.player.name, token=token)
        page.headers["cache-control"] = "no-store"
        return self._signed_in(request, page, secret)

    async def sign_out(self, request: Request) -> Response:
        """Revoke the session's token, and delete the cookie."""
        await fields(request)
        if session_of(request):
            try:
                await self._gate.browsers.sign_out(call_of(request))
            except Refusal as refusal:
                if status_of(refusal) not in (401, 403):  # the token was revoked before
                    raise
        answer = RedirectResponse("/", 303)
        set_cookie(request, answer, "session", "", 0)
        return answer

    async def sign_out_everywhere(self, request: Request) -> Response:
        """End all sessions of the person, or of the player in the form; a person's own cookie is deleted too."""
        player = (await fields(request)).get("player", "")
        await self._gate.browsers.sign_out_everywhere(call_of(request), player)
        if player:
            return RedirectResponse(f"/tokens?{urlencode({'player': player})}", 303)
        answer = RedirectResponse("/sign-in", 303)
        set_cookie(request, answer, "session", "", 0)
        return answer

    def _signed_in(self, request: Request, answer: Response, secret: str) -> Response:
        set_cookie(request, answer, "session", secret, self._gate.browsers.longest_ms // 1_000)
        set_cookie(request, answer, "visit", "", 0)
        return answer

    async def _form(self, request: Request, template: str, refusal: Refusal | None = None, **values: Any) -> Response:
        token, visit = visitor_token(request)
        status, wrong = (status_of(refusal), refusal.message) if refusal is not None else (200, "")
        answer = await self._page(
            request, template, status, token=token, wrong=wrong, registration=self._registration(), **values
        )
        answer.headers["cache-control"] = "no-store"
        keep_visit(request, answer, visit)
        return answer

    def _registration(self) -> str:
        return self._gate.server.facts().registration


def _call(request: Request, token: str) -> Call:
    """Return a call with the token in a form, from the browser's address."""
    return Call(token or None, call_of(request).address)
