"""The calls about players, tokens and challenges, for every API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter.config import Settings
from arbiter.errors import Reason, Refusal, argument_invalid
from arbiter.matches.match import Match
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.paging import Page, PageRequest, page_of, size_of
from arbiter.service.gate.rights import Action, Relation, check_relation
from arbiter.service.play.challenges import Challenges, Terms
from arbiter.service.play.sessions import Sessions
from arbiter.service.play.stream_ends import StreamEnd
from arbiter.service.players.accounts import NO_TOKEN, Accounts, Caller, Scope
from arbiter.service.ports.directory import Challenge, Player, Token
from arbiter.service.ports.environment import Clock
from arbiter.service.tournaments.departures import follow_suspension
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.tournaments.unpaired_reasons import Unpaired


class PlayerView(NamedTuple):
    """A player. online: whether its bot is present. scopes: those of the calling token, empty for other players.

    unpaired: why it has no game under way in its tournaments, if a single player was asked for.
    """

    player: Player
    online: bool
    scopes: frozenset[str] = frozenset()
    unpaired: Sequence[Unpaired] = ()


class BotConnection(NamedTuple):
    """How a bot is connected, and why its last Play streams ended.

    opened_ms, heard_ms: when its stream was opened, and when the last message arrived on it (UTC, ms); 0 without a
    stream. round_trip_ms: of the network, None before it is known. waiting: the number of items that the bot has not
    read yet. reader_delay_ms: the total time that the server has waited for the bot to read. ends: the newest first;
    only those that this server process remembers. elsewhere: its stream is on another server, which alone knows more of
    it than `bot_version` and `most_matches`.
    """

    opened_ms: int = 0
    heard_ms: int = 0
    bot_name: str = ""
    bot_version: str = ""
    games: Sequence[str] = ()
    most_matches: int = 0
    round_trip_ms: int | None = None
    waiting: int = 0
    reader_delay_ms: int = 0
    ends: Sequence[StreamEnd] = ()
    elsewhere: bool = False


class PlayerGate:
    """The calls about players. Each raises what `Admission.caller` raises, and what its own docstring says."""

    def __init__(
        self,
        admission: Admission,
        accounts: Accounts,
        challenges: Challenges,
        sessions: Sessions,
        tournaments: TournamentRegistry,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._tournaments = tournaments
        self._admission = admission
        self._clock = clock
        self._accounts = accounts
        self._challenges = challenges
        self._sessions = sessions
        self._limits = settings.limits
        self._time_control = settings.matches.time_control

    async def register(self, call: Call, name: str, about: str, invitation: str) -> tuple[PlayerView, str]:
        """Create a player; return it and the secret of its first token. Raises Refusal as `Accounts.register`."""
        caller = await self._admission.newcomer(call)
        player, secret = await self._accounts.register(name, about, invitation, caller)
        return PlayerView(player, online=False), secret

    async def invite(self, call: Call) -> str:
        """Create an invitation; return its secret. Raises Refusal RATE_LIMITED while too many are unused."""
        await self._admission.caller(call, Action.CREATE_INVITATION)
        return await self._accounts.invite()

    async def get(self, call: Call, name: str) -> PlayerView:
        """Return a player; for '' the caller, with the scopes of its token. Raises Refusal PLAYER_NOT_FOUND."""
        caller = await self._admission.caller(call, Action.GET_PLAYER)
        if not name and caller.token_id == NO_TOKEN:
            raise Refusal(Reason.TOKEN_INVALID, "a call without a token is nobody's: name the player")
        view = self._view(await self._accounts.player(name or caller.player))
        view = view._replace(unpaired=self._tournaments.unpaired(view.player.name))
        return view if name else view._replace(scopes=caller.scopes)

    async def connection(self, call: Call) -> BotConnection:
        """Return how the caller's own bot is connected. Raises Refusal TOKEN_INVALID for a call without a token."""
        name = (await self.get(call, "")).player.name
        ends, session = self._sessions.last_ends(name), self._sessions.of(name)
        if session is None:
            row = self._sessions.elsewhere(name)
            if row is None:
                return BotConnection(ends=ends)
            return BotConnection(bot_version=row.bot_version, most_matches=row.most_matches, ends=ends, elsewhere=True)
        hello = session.hello
        return BotConnection(
            session.opened_ms,
            session.last_act_ms,
            hello.bot_name,
            hello.bot_version,
            hello.games,
            hello.most_matches,
            session.round_trip_ms,
            session.waiting,
            session.reader_delay(self._clock.now_ms()),
            ends,
        )

    async def connected(self, call: Call, most: int) -> list[PlayerView]:
        """Return the players whose bots are connected, by name; at most `most` of them."""
        await self._admission.caller(call, Action.LIST_PLAYERS)
        connected = [each for each in self._sessions.connected() if self._accounts.names.is_listed(each)]
        return [self._view(await self._accounts.player(name)) for name in connected[:most]]

    async def list(self, call: Call, page: PageRequest) -> Page[PlayerView]:
        """Return a page of players by name; hidden ones for admins alone. Raises Refusal ARGUMENT_INVALID."""
        caller = await self._admission.caller(call, Action.LIST_PLAYERS)
        size = size_of(page, self._limits)
        async with self._admission.turn(caller):
            found = await self._accounts.players(page.token, size + 1)
            self._admission.charge(caller, len(found))
        whole = page_of(found, size, lambda player: player.name)
        seen = [each for each in whole.items if not (each.hidden or each.deleted) or caller.may(Scope.ADMIN)]
        return Page([self._view(player) for player in seen], whole.next_token)

    async def describe(self, call: Call, about: str) -> PlayerView:
        """Change the caller's description of itself. Raises Refusal ARGUMENT_INVALID."""
        caller = await self._admission.caller(call, Action.UPDATE_PROFILE)
        return self._view(await self._accounts.describe(caller, about))

    async def suspend(self, call: Call, name: str, suspended: bool) -> PlayerView:
        """Suspend a player, or end its suspension; its tournaments follow at once. Raises Refusal PLAYER_NOT_FOUND."""
        caller = await self._admission.caller(call, Action.SUSPEND_PLAYER)
        player = await self._accounts.suspend(name, suspended)
        await follow_suspension(self._tournaments, caller.player, player.name, suspended=suspended)
        return self._view(player)

    async def grant_badge(self, call: Call, name: str, bot_version: str) -> PlayerView:
        """Set the version of a player's bot that has passed the conformance kit, '' for none.

        Raises Refusal PLAYER_NOT_FOUND, ARGUMENT_INVALID.
        """
        await self._admission.caller(call, Action.GRANT_BADGE)
        return self._view(await self._accounts.grant_badge(name, bot_version))

    def _view(self, player: Player) -> PlayerView:
        return PlayerView(player, self._sessions.is_live(player.name))

    # -- tokens --------------------------------------------------------------------------------------------------

    async def create_token(self, call: Call, name: str, scopes: Sequence[Scope | int], note: str) -> tuple[Token, str]:
        """Create a token; return it and its secret. An unknown scope is a number.

        Raises Refusal ARGUMENT_INVALID, RATE_LIMITED, and SCOPE_MISSING for another player's token or for a scope that
        the caller lacks.
        """
        caller = await self._of_player(call, Action.CREATE_TOKEN, name)
        known = [scope for scope in scopes if isinstance(scope, Scope)]
        if len(known) < len(scopes):
            unknown = next(scope for scope in scopes if not isinstance(scope, Scope))
            raise argument_invalid(unknown, "scopes", "PLAY, ORGANISE, OBSERVE or ADMIN")
        return await self._accounts.create_token(caller, name, known, note)

    async def list_tokens(self, call: Call, name: str, page: PageRequest) -> Page[Token]:
        """Return a page of a player's tokens; '' for the caller's. Raises Refusal SCOPE_MISSING, ARGUMENT_INVALID."""
        caller = await self._of_player(call, Action.LIST_TOKENS, name)
        size = size_of(page, self._limits)
        async with self._admission.turn(caller):
            found = await self._accounts.tokens(caller, name, page.token, size + 1)
            self._admission.charge(caller, len(found))
        return page_of(found, size, lambda token: token.token_id)

    async def revoke_token(self, call: Call, token_id: str) -> None:
        """Revoke a token. Raises Refusal as `Accounts.revoke`."""
        await self._accounts.revoke(await self._admission.caller(call, Action.REVOKE_TOKEN), token_id)

    async def _of_player(self, call: Call, action: Action, name: str) -> Caller:
        """Return the caller, if it may act on the tokens of a player; '' for its own. Raises Refusal SCOPE_MISSING."""
        caller = await self._admission.caller(call, action)
        key = self._accounts.names.key(name)
        relation = Relation.OWN if key in ("", caller.player) else Relation.OTHERS
        check_relation(caller, action, relation, "a token of another player", "that player")
        return caller

    # -- challenges ----------------------------------------------------------------------------------------------

    terms: Final = Terms  #: of a challenge, from the values that an API has read

    async def challenge(self, call: Call, request_id: str, opponent: str, terms: Terms) -> Challenge:
        """Challenge a player. Time control '' is the server's default. Raises Refusal as `Challenges.challenge`."""
        caller = await self._admission.caller(call, Action.CREATE_CHALLENGE)
        return await self._challenges.challenge(caller, request_id, opponent, self._whole(terms))

    async def accept_challenge(self, call: Call, challenge_id: str) -> Match:
        """Accept a challenge or a seek; return the match. Raises Refusal as `Challenges.accept`."""
        caller = await self._admission.caller(call, Action.ACCEPT_CHALLENGE)
        return await self._challenges.accept(caller, challenge_id)

    async def decline_challenge(self, call: Call, challenge_id: str, reason: str) -> None:
        """Decline a challenge, or withdraw the caller's own. Raises Refusal as `Challenges.decline`."""
        caller = await self._admission.caller(call, Action.DECLINE_CHALLENGE)
        await self._challenges.decline(caller, challenge_id, reason)

    async def seek(self, call: Call, request_id: str, terms: Terms) -> Challenge:
        """Create a seek. Time control '' is the server's default. Raises Refusal as `Challenges.seek`."""
        caller = await self._admission.caller(call, Action.CREATE_SEEK)
        return await self._challenges.seek(caller, request_id, self._whole(terms))

    async def list_challenges(self, call: Call, page: PageRequest) -> Page[Challenge]:
        """Return a page of all open seeks, and the open challenges to and by the caller. Raises ARGUMENT_INVALID."""
        caller = await self._admission.caller(call, Action.LIST_CHALLENGES)
        size = size_of(page, self._limits)
        async with self._admission.turn(caller):
            found = await self._challenges.open(caller, page.token, size + 1)
            self._admission.charge(caller, len(found))
        return page_of(found, size, lambda challenge: challenge.challenge_id)

    def _whole(self, terms: Terms) -> Terms:
        return terms if terms.time_control else terms._replace(time_control=self._time_control)
