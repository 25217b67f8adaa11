"""Players, tokens and scopes: the identity of a caller, and what it may do."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, argument_invalid, limit_reached
from arbiter.plain_text import check_plain
from arbiter.service.lookup import findable
from arbiter.service.players.browser_sessions import Browsers
from arbiter.service.players.names import check_new_name
from arbiter.service.players.profiles import Profiles, exists, no_player
from arbiter.service.ports.directory import AlreadyThere, Directory, Player, Token
from arbiter.service.ports.environment import Clock, Ids
from arbiter.service.ports.notices import SHOWN, Notice, NoticeKind
from arbiter.service.shielding import Shielded

LONGEST_ABOUT = 500
LONGEST_NOTE = 100
LONGEST_BOT = 100  #: characters of a bot's name, and of its version
CALLERS_KEPT = 100_000  #: size of the cache of callers
ADMIN = "admin"  #: the player that the first start of a server creates


class Scope(StrEnum):
    """What a token allows. `admin` allows everything."""

    PLAY = "play"
    ORGANISE = "organise"
    OBSERVE = "observe"
    ADMIN = "admin"


PLAYER_SCOPES = (Scope.PLAY, Scope.OBSERVE)  #: the scopes of a player's first token


_TOKEN_ID: Final = re.compile(r"t[0-9a-z-]{1,24}", re.ASCII)  #: as `Ids.new` makes them; a secret is longer
NO_TOKEN: Final = ""  #: in place of a token's id


class Caller(NamedTuple):
    """A caller, and its token. NO_TOKEN: the call had none, and `player` is a name for its address.

    counted: whether its calls are parts of a request that has been counted as a whole. session: whether a person has
    signed in with a browser: such a token makes no others.
    """

    player: str
    token_id: str
    scopes: frozenset[str]
    counted: bool = False
    session: bool = False

    def may(self, scope: Scope) -> bool:
        """Return whether the token has a scope, or scope admin."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def require(self, scope: Scope) -> None:
        """Raise Refusal SCOPE_MISSING unless the token has a scope, or scope admin."""
        if not self.may(scope):
            raise Refusal(
                Reason.SCOPE_MISSING,
                f"this token of {self.player} lacks the scope {scope}: use one that has it",
                scope=scope.value,
            )


ShutOutListener = Callable[[str, str], None]


class Accounts:
    """Registration, tokens and suspension. A token is 256 random bits, shown once; its SHA-256 is stored.

    listeners: called in order with (player, token id) when a token is revoked, and with (player, '') when a player is
    suspended.
    """

    def __init__(
        self,
        directory: Directory,
        ids: Ids,
        clock: Clock,
        registration: str,
        limits: Limits,
        listeners: Sequence[ShutOutListener] = (),
    ) -> None:
        self._directory = directory
        self._ids = ids
        self._clock = clock
        self.registration = registration
        self._limits = limits
        self._callers: OrderedDict[str, Caller] = OrderedDict()  # by digest, the latest callers last
        self._admitted: set[str] = set()  # the token ids of these
        self.browsers: Final = Browsers(directory, clock, limits, self._token, self._end)
        self.profiles: Final = Profiles(directory, ids, self._forget)
        self.names: Final = self.profiles.names
        self._forgotten = 0
        self._listeners = listeners
        self._shielded = Shielded()

    async def authenticate(self, secret: str | None) -> Caller:
        """Return the caller with a token. Raises Refusal TOKEN_INVALID, PLAYER_SUSPENDED."""
        if not secret:
            raise Refusal(Reason.TOKEN_INVALID, "this call needs a token: send metadata 'authorization: Bearer TOKEN'")
        digest = digest_of(secret)
        caller = self._callers.get(digest)
        if caller is not None:
            self._callers.move_to_end(digest)
            if caller.session:
                await self.browsers.use(caller.token_id)
            return caller
        while caller is None:
            forgotten = self._forgotten
            caller = await self._look_up(digest)
            if forgotten != self._forgotten:  # a token was revoked meanwhile, perhaps this one
                caller = None
        self._callers[digest] = caller
        self._admitted.add(caller.token_id)
        if len(self._callers) > CALLERS_KEPT:
            _, left = self._callers.popitem(last=False)
            self._admitted.discard(left.token_id)
            self.browsers.forget(left.token_id)
        return caller

    def known(self, secret: str | None) -> Caller | None:
        """Return the caller with a token, if it has called since the server began; without a look at the store."""
        return self._callers.get(digest_of(secret)) if secret else None

    def check(self, caller: Caller) -> None:
        """Raise Refusal TOKEN_INVALID if, since `authenticate`, the token was revoked or its player suspended."""
        if caller.token_id != NO_TOKEN and caller.token_id not in self._admitted:
            raise Refusal(Reason.TOKEN_INVALID, "this token has been revoked, or its player suspended")

    async def _look_up(self, digest: str) -> Caller:
        token = await self._directory.token_of_digest(digest)
        if token is None or token.revoked:
            raise Refusal(Reason.TOKEN_INVALID, "this token is unknown here or revoked: ask for a new one")
        check_not_suspended(await self.player(token.player))
        if token.session:
            await self.browsers.found(token)
        return Caller(token.player, token.token_id, frozenset(token.scopes), session=token.session)

    async def register(self, name: str, about: str, invitation: str, caller: Caller | None) -> tuple[Player, str]:
        """Create a player and its first token; return both.

        Raises Refusal PLAYER_EXISTS, REGISTRATION_CLOSED, ARGUMENT_INVALID.
        """
        privileged = caller is not None and caller.may(Scope.ADMIN)
        if not privileged and self.registration == "closed":
            raise Refusal(
                Reason.REGISTRATION_CLOSED, "this server does not register players: ask its operator", mode="closed"
            )
        invited = not privileged and self.registration == "invitation"
        if invited and not invitation:
            raise _uninvited("this server registers players by invitation only: give an invitation")
        player = Player(check_new_name(name), self._clock.now_ms(), about=check_plain(about, "about", LONGEST_ABOUT))
        token, secret = self._token(player.name, PLAYER_SCOPES, "first token")
        try:
            if not await self._directory.add_player(player, token, digest_of(invitation) if invited else ""):
                raise _uninvited("this invitation is unknown or used: ask for a new one")
        except AlreadyThere as there:
            raise exists(name, str(there)) from None
        return player, secret

    async def first_admin(self) -> str | None:
        """Create the first player, with all scopes, on a server without players; return its token, or None."""
        if await self._directory.players("", 1):
            return None
        token, secret = self._token(ADMIN, (Scope.ADMIN,), "made at the first start")
        try:
            await self._directory.add_player(Player(ADMIN, self._clock.now_ms()), token)
        except AlreadyThere:  # another server on the same store has created it first
            return None
        return secret

    async def invite(self) -> str:
        """Create an invitation to register once. Raises Refusal RATE_LIMITED while too many are unused."""
        secret, most = self._ids.secret(), self._limits.open_invitations
        if not await self._directory.add_invitation(digest_of(secret), most):
            raise limit_reached(f"{most} invitations are unused, the maximum: wait until some are used", most)
        return secret

    async def player(self, name: str) -> Player:
        """Return a player. Raises Refusal PLAYER_NOT_FOUND."""
        key = self.names.key(name)
        player = await self._directory.player(key) if findable(key) else None
        if player is None or (player.deleted and name != player.shown):
            raise no_player(name)
        return player

    async def players(self, after: str, most: int) -> list[Player]:
        """Return players by name. Raises Refusal ARGUMENT_INVALID if `after` cannot be the end of a page."""
        return await self._directory.players(place(after), most)

    async def describe(self, caller: Caller, about: str) -> Player:
        """Change the caller's description of itself. Raises Refusal ARGUMENT_INVALID."""
        return await self._change(caller.player, about=check_plain(about, "about", LONGEST_ABOUT))

    async def introduce(
        self, name: str, bot_name: str, bot_version: str, games: Sequence[str], most_matches: int
    ) -> Player:
        """Store what a bot's hello says about it. Raises Refusal ARGUMENT_INVALID, PLAYER_NOT_FOUND."""
        return await self._change(
            name,
            bot_name=check_plain(bot_name, "bot_name", LONGEST_BOT),
            bot_version=check_plain(bot_version, "bot_version", LONGEST_BOT),
            games=tuple(games),
            most_matches=most_matches,
        )

    async def _change(self, name: str, **changes: Any) -> Player:
        key = self.names.key(name)
        player = await self._directory.change_player(key, **changes) if findable(key) else None
        if player is None:
            raise no_player(name)
        return player

    async def suspend(self, name: str, suspended: bool) -> Player:
        """Suspend a player, or end its suspension. From now on the calls of a suspended player are refused."""
        return await self._shielded.run(self._suspend(name, suspended))

    async def _suspend(self, name: str, suspended: bool) -> Player:
        player = await self._change(name, suspended=suspended)
        self.names.changed(player)
        if suspended:
            self._forget(player.name, "")
        return player

    async def grant_badge(self, name: str, bot_version: str) -> Player:
        """Store the version of a player's bot that has passed the conformance kit, or '' to withdraw the badge.

        Raises Refusal PLAYER_NOT_FOUND, ARGUMENT_INVALID.
        """
        version = check_plain(bot_version, "bot_version", LONGEST_BOT)
        return await self._change(name, badge_version=version, badge_ms=self._clock.now_ms() if version else 0)

    async def create_token(self, caller: Caller, name: str, scopes: Sequence[Scope], note: str) -> tuple[Token, str]:
        """Create a token; return it and its secret.

        A caller with scope admin may create tokens for every player, and a missing player is created. Any other caller
        may create tokens for itself alone, with scopes that it has. A browser's session may not create any.

        Raises Refusal SCOPE_MISSING, ARGUMENT_INVALID, RATE_LIMITED (the player has too many tokens), PLAYER_EXISTS (a
        new player's name looks like another's).
        """
        wanted = tuple(dict.fromkeys(scopes)) or PLAYER_SCOPES
        name = self.names.key(name or caller.player)
        if caller.session:
            message = "a browser's session makes no tokens: give the token with which you signed in, or another one"
            raise Refusal(Reason.SCOPE_MISSING, message, scope=wanted[0].value)
        if not caller.may(Scope.ADMIN):
            if name != caller.player:
                caller.require(Scope.ADMIN)
            for scope in wanted:
                caller.require(scope)
        token, secret = self._token(name, wanted, check_plain(note, "note", LONGEST_NOTE))
        if name != caller.player:
            await self._make_sure_of(name)
        most = self._limits.tokens_of_player
        if not await self._directory.add_token(token, most):
            raise limit_reached(f"{name} has {most} tokens, the maximum: revoke some first", most)
        return token, secret

    async def _make_sure_of(self, name: str) -> None:
        """Create a player if it does not exist. Raises Refusal ARGUMENT_INVALID, PLAYER_EXISTS, PLAYER_NOT_FOUND."""
        there = await self._directory.player(name) if findable(name) else None
        if there is not None and there.deleted:
            raise no_player(name)
        if there is not None:
            return
        try:
            await self._directory.add_player(Player(check_new_name(name), self._clock.now_ms()), None)
        except AlreadyThere as there:
            if str(there) != name:  # if equal, another call has just created it
                raise exists(name, str(there)) from None

    async def tokens(self, caller: Caller, name: str, after: str, most: int) -> list[Token]:
        """Return tokens of the caller, or, with scope admin, of another player. Raises Refusal SCOPE_MISSING."""
        name = self.names.key(name)
        if name and name != caller.player:
            caller.require(Scope.ADMIN)
        return await self._directory.tokens(name or caller.player, place(after), most) if findable(name) else []

    async def revoke(self, caller: Caller, token_id: str) -> None:
        """Revoke a token. Raises Refusal TOKEN_NOT_FOUND, SCOPE_MISSING.

        A token may revoke itself. With scope play or organise, it may also revoke the player's other tokens whose
        scopes it has. With scope admin, it may revoke every token.
        """
        token = await self._directory.token(token_id) if findable(token_id) else None
        if token is None or (token.player != caller.player and not caller.may(Scope.ADMIN)):
            raise _no_token(token_id)
        if token.token_id != caller.token_id:
            if not caller.may(Scope.ORGANISE):
                caller.require(Scope.PLAY)
            for scope in token.scopes:
                caller.require(Scope(scope))
        await self._end(token)

    async def _end(self, token: Token) -> None:
        await self._shielded.run(self._revoke(token))

    async def _revoke(self, token: Token) -> None:
        await self._directory.revoke_token(token.token_id)
        self._forget(token.player, token.token_id)

    async def hear(self, notice: Notice) -> None:
        """Take a suspension, a revoked token or a change of names that another server has stored."""
        await self.profiles.hear(notice)
        if notice.kind is NoticeKind.SHUT_OUT and notice.subject != SHOWN:
            self._forget(notice.receiver, notice.subject)

    def _token(self, player: str, scopes: Sequence[str], note: str) -> tuple[Token, str]:
        secret = self._ids.secret()
        names = tuple(map(str, scopes))
        return Token(self._ids.new("t"), player, digest_of(secret), names, note, self._clock.now_ms()), secret

    def _forget(self, player: str, token_id: str) -> None:
        self._forgotten += 1
        self._callers = OrderedDict(
            (digest, caller)
            for digest, caller in self._callers.items()
            if caller.player != player or (token_id and caller.token_id != token_id)
        )
        self._admitted = {caller.token_id for caller in self._callers.values()}
        self.browsers.forget_others(self._admitted)
        for listener in self._listeners:
            listener(player, token_id)


def digest_of(secret: str) -> str:
    """Return the SHA-256 of a secret, in hex. A slower hash is not needed, since a secret has 256 random bits."""
    return sha256(secret.encode()).hexdigest()


def check_not_suspended(player: Player) -> None:
    """Raise Refusal PLAYER_SUSPENDED if a player is suspended."""
    if player.suspended:
        raise Refusal(Reason.PLAYER_SUSPENDED, f"player {player.name} is suspended", id=player.name)


def check_plays(player: Player) -> None:
    """Raise Refusal PLAYER_SUSPENDED for a suspended player, ARGUMENT_INVALID for one that has retired."""
    check_not_suspended(player)
    if player.retired:
        raise argument_invalid(player.shown, "player", "a player that has not retired")


def shut_out(player: str, token_id: str) -> Refusal:
    """Return the refusal that ends a stream: token `token_id` is revoked, or, if '', the player is suspended."""
    if token_id:
        return Refusal(Reason.TOKEN_INVALID, "the token of this stream has been revoked")
    return Refusal(Reason.PLAYER_SUSPENDED, f"player {player} is suspended", id=player)


def place(token: str) -> str:
    """Return the key that a page ended with. Raises Refusal ARGUMENT_INVALID if the token can't be one."""
    if not findable(token):
        raise argument_invalid(token, "page_token", "a token that this server gave, or nothing")
    return token


def _no_token(token_id: str) -> Refusal:
    """Return the refusal for an unknown token. It repeats the id only if that can't be a secret, given by mistake."""
    shown = token_id if _TOKEN_ID.fullmatch(token_id) else ""
    what = f"no token {shown!r}" if shown else "no such token: give its id, which begins with 't', and not its secret"
    return Refusal(Reason.TOKEN_NOT_FOUND, f"you have {what}", id=shown)


def _uninvited(sentence: str) -> Refusal:
    return Refusal(Reason.REGISTRATION_CLOSED, sentence, mode="invitation")
