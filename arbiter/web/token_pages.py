"""Tokens and invitations: listed, made and revoked. A secret is shown once, in the answer to its form."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from arbiter.errors import Refusal, argument_invalid
from arbiter.service.gate.paging import PageRequest
from arbiter.service.players.accounts import Scope
from arbiter.web.callers import call_of, session_of, set_cookie, status_of
from arbiter.web.forms import fields
from arbiter.web.rendering import Handlers

SCOPES: Final = {
    Scope.PLAY: "play matches, answer challenges, enter tournaments",
    Scope.OBSERVE: "read matches, tournaments and ratings",
    Scope.ORGANISE: "make and run matches and tournaments",
    Scope.ADMIN: "everything, for all players",
}
"""The rights of each scope, in words."""


class TokenPages(Handlers):
    """The handlers of tokens and invitations."""

    async def tokens(self, request: Request) -> Response:
        """List the tokens of the person, or of the player in the address, and show the form for a new one."""
        return await self._list(request)

    async def create(self, request: Request) -> Response:
        """Make a token with the one in the form, and show its secret, which is not shown again.

        A session makes none; see `BrowserGate`.
        """
        sent = await fields(request)
        wanted = [scope for scope in Scope if f"scope:{scope}" in sent]
        player, note = sent.get("player", "").strip(), sent.get("note", "").strip()
        given = sent.get("token", "").strip()
        call = call_of(request)._replace(secret=given, counted=False)
        try:
            if not given:
                raise argument_invalid("", "your token", "the token with which you signed in, or another of yours")
            token, secret = await self._gate.players.create_token(call, player, wanted, note)
        except Refusal as refusal:
            return await self._list(request, refusal)
        return await self._templates.secret(
            request, "token", secret, "/tokens", player=token.player, scopes=", ".join(token.scopes)
        )

    async def revoke(self, request: Request) -> Response:
        """Revoke a token: its holder is signed out, and its streams end."""
        sent = await fields(request)
        player = sent.get("player", "")
        try:
            await self._gate.players.revoke_token(call_of(request), request.path_params["token"])
        except Refusal as refusal:
            return await self._list(request, refusal)
        return RedirectResponse(
            f"/tokens?player={player}" if player.isascii() and player.isprintable() else "/tokens", 303
        )

    async def invite(self, request: Request) -> Response:
        """Make an invitation, and show it; it is not shown again."""
        await fields(request)
        try:
            secret = await self._gate.players.invite(call_of(request))
        except Refusal as refusal:
            return await self._list(request, refusal)
        return await self._templates.secret(request, "invitation", secret, "/tokens")

    async def _list(self, request: Request, refusal: Refusal | None = None) -> Response:
        viewer = await self._templates.viewer(request)
        if not viewer.player:
            answer = RedirectResponse("/sign-in?onward=/tokens", 303)
            if session_of(request):  # the browser has revoked its own token
                set_cookie(request, answer, "session", "", 0)
            return answer
        player, after = request.query_params.get("player", ""), request.query_params.get("page", "")
        page = await self._gate.players.list_tokens(call_of(request), player, PageRequest(0, after))
        return await self._page(
            request,
            "tokens.html",
            status_of(refusal) if refusal is not None else 200,
            viewer=viewer,
            named=player,
            page=page,
            sessions=await self._gate.browsers.sessions(call_of(request), player),
            scopes=SCOPES,
            wrong=refusal.message if refusal is not None else "",
        )
