"""The rights of callers: one table of all calls.

A call is about an object: a match, a tournament, a player, a token. For each relation that the caller can have to the
object, the table says which scopes allow the call. Scope admin allows everything that any scope allows. If a row has
only one relation, either the call does not depend on the object's owner, or only the owner can make it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, auto
from typing import Final, TypeAlias

from arbiter.errors import Reason, Refusal
from arbiter.service.players.accounts import Caller, Scope


class Action(StrEnum):
    """An action of a caller: one member for each call of the protocol."""

    GET_SERVER_INFO = auto()
    LIST_GAMES = auto()
    GET_GAME = auto()
    LEGAL_MOVES = auto()
    PLAY_MOVES = auto()
    CREATE_MATCH = auto()
    GET_MATCH = auto()
    LIST_MATCHES = auto()
    SUBMIT_MOVE = auto()
    SUBMIT_MOVES = auto()
    OFFER_DRAW = auto()
    ANSWER_DRAW = auto()
    CLAIM_DRAW = auto()
    RESIGN = auto()
    ABORT_MATCH = auto()
    ADJUDICATE_MATCH = auto()
    OBSERVE = auto()
    GET_TRANSCRIPT = auto()
    PLAY = auto()
    REGISTER_PLAYER = auto()
    CREATE_INVITATION = auto()
    GET_PLAYER = auto()
    LIST_PLAYERS = auto()
    UPDATE_PROFILE = auto()
    CHANGE_PLAYER = auto()
    DELETE_PLAYER = auto()
    SUSPEND_PLAYER = auto()
    GRANT_BADGE = auto()
    CREATE_TOKEN = auto()
    LIST_TOKENS = auto()
    REVOKE_TOKEN = auto()
    CREATE_CHALLENGE = auto()
    ACCEPT_CHALLENGE = auto()
    DECLINE_CHALLENGE = auto()
    CREATE_SEEK = auto()
    LIST_CHALLENGES = auto()
    CREATE_TOURNAMENT = auto()
    ENTER_TOURNAMENT = auto()
    WITHDRAW_FROM_TOURNAMENT = auto()
    CHANGE_ENTRY = auto()
    START_TOURNAMENT = auto()
    GO_ON_FROM_REPORT = auto()
    PAUSE_TOURNAMENT = auto()
    RESUME_TOURNAMENT = auto()
    CANCEL_TOURNAMENT = auto()
    RULE_ON_GAME = auto()
    CORRECT_TOURNAMENT = auto()
    GET_TOURNAMENT = auto()
    LIST_TOURNAMENTS = auto()
    GET_STANDINGS = auto()
    GET_SERIES = auto()
    EXPORT_TOURNAMENT = auto()
    CREATE_WEB_HOOK = auto()
    LIST_WEB_HOOKS = auto()
    RETRY_WEB_HOOK = auto()
    DELETE_WEB_HOOK = auto()
    GET_LEADERBOARD = auto()
    GET_RATING = auto()
    COMPARE_PLAYERS = auto()
    RULE_ON_RATINGS = auto()
    EXPORT_RATING_RULINGS = auto()


class Relation(StrEnum):
    """The relation of a caller to the object of its call."""

    ANY = auto()  #: the owner does not matter, or there is none
    OWN = auto()  #: its own player, token, seat or challenge; a match or a tournament that it has created
    THIS_TOKEN = auto()  #: the token that it calls with
    OWN_TOURNAMENT = auto()  #: a match or a player's entry of a tournament that it has created
    OTHERS = auto()  #: another caller's


Grant: TypeAlias = tuple[Scope, ...]
"""Scopes, any one of which is enough. A refusal names the first one."""

EVERYBODY: Final[Grant] = tuple(Scope)  #: also a caller without a token
NOBODY: Final[Grant] = ()  #: not even scope admin
READERS: Final[Grant] = (Scope.OBSERVE, Scope.PLAY, Scope.ORGANISE)
PLAYERS: Final[Grant] = (Scope.PLAY,)
ORGANISERS: Final[Grant] = (Scope.ORGANISE,)
ADMINS: Final[Grant] = (Scope.ADMIN,)

Row: TypeAlias = Mapping[Relation, Grant]

_OPEN: Row = {Relation.ANY: EVERYBODY}
_READ: Row = {Relation.ANY: READERS}
_SEAT: Row = {Relation.OWN: PLAYERS, Relation.OTHERS: NOBODY}  # refused as SEAT_NOT_YOURS
_OFFERED: Row = {Relation.OWN: PLAYERS, Relation.OTHERS: NOBODY}  # refused as CHALLENGE_NOT_FOUND
_END: Row = {Relation.OWN: ORGANISERS, Relation.OWN_TOURNAMENT: ORGANISERS, Relation.OTHERS: ADMINS}
_ENTRY: Row = {Relation.OWN: PLAYERS, Relation.OWN_TOURNAMENT: ORGANISERS, Relation.OTHERS: ADMINS}
_ACCOUNT: Row = {Relation.OWN: PLAYERS, Relation.OTHERS: ADMINS}
_RUN: Row = {Relation.OWN: ORGANISERS, Relation.OTHERS: ADMINS}

RIGHTS: Final[Mapping[Action, Row]] = {
    Action.GET_SERVER_INFO: _OPEN,
    Action.LIST_GAMES: _OPEN,
    Action.GET_GAME: _OPEN,
    Action.LEGAL_MOVES: _OPEN,
    Action.PLAY_MOVES: _OPEN,
    Action.CREATE_MATCH: {Relation.ANY: ORGANISERS},
    Action.GET_MATCH: _READ,
    Action.LIST_MATCHES: _READ,
    Action.SUBMIT_MOVE: _SEAT,
    Action.SUBMIT_MOVES: _SEAT,
    Action.OFFER_DRAW: _SEAT,
    Action.ANSWER_DRAW: _SEAT,
    Action.CLAIM_DRAW: _SEAT,
    Action.RESIGN: _SEAT,
    Action.ABORT_MATCH: _END,
    Action.ADJUDICATE_MATCH: _END,
    Action.OBSERVE: _READ,
    Action.GET_TRANSCRIPT: _READ,
    Action.PLAY: {Relation.OWN: PLAYERS},
    Action.REGISTER_PLAYER: _OPEN,  # a setting says who may register
    Action.CREATE_INVITATION: {Relation.ANY: ADMINS},
    Action.GET_PLAYER: _READ,
    Action.LIST_PLAYERS: _READ,
    Action.UPDATE_PROFILE: {Relation.OWN: PLAYERS},
    Action.CHANGE_PLAYER: _ACCOUNT,
    Action.DELETE_PLAYER: _ACCOUNT,
    Action.SUSPEND_PLAYER: {Relation.ANY: ADMINS},
    Action.GRANT_BADGE: {Relation.ANY: ADMINS},  # a badge counts in all tournaments
    Action.CREATE_TOKEN: {Relation.OWN: READERS, Relation.OTHERS: ADMINS},  # with scopes of the caller only
    Action.LIST_TOKENS: {Relation.OWN: READERS, Relation.OTHERS: ADMINS},
    Action.REVOKE_TOKEN: {
        Relation.THIS_TOKEN: READERS,
        Relation.OWN: (Scope.PLAY, Scope.ORGANISE),  # not a token with more scopes than the caller's
        Relation.OTHERS: ADMINS,  # refused as TOKEN_NOT_FOUND
    },
    Action.CREATE_CHALLENGE: {Relation.OWN: PLAYERS},
    Action.ACCEPT_CHALLENGE: _OFFERED,
    Action.DECLINE_CHALLENGE: _OFFERED,
    Action.CREATE_SEEK: {Relation.OWN: PLAYERS},
    Action.LIST_CHALLENGES: {Relation.OWN: PLAYERS},
    Action.CREATE_TOURNAMENT: {Relation.ANY: ORGANISERS},
    Action.ENTER_TOURNAMENT: _ENTRY,
    Action.WITHDRAW_FROM_TOURNAMENT: _ENTRY,
    Action.CHANGE_ENTRY: _ENTRY,
    Action.START_TOURNAMENT: _RUN,
    Action.GO_ON_FROM_REPORT: _RUN,
    Action.PAUSE_TOURNAMENT: _RUN,
    Action.RESUME_TOURNAMENT: _RUN,
    Action.CANCEL_TOURNAMENT: _RUN,
    Action.RULE_ON_GAME: _RUN,
    Action.CORRECT_TOURNAMENT: _RUN,
    Action.GET_TOURNAMENT: _READ,
    Action.LIST_TOURNAMENTS: _READ,
    Action.GET_STANDINGS: _READ,
    Action.GET_SERIES: _READ,
    Action.EXPORT_TOURNAMENT: _READ,
    Action.CREATE_WEB_HOOK: _RUN,
    Action.LIST_WEB_HOOKS: _RUN,  # an address may be a secret itself
    Action.RETRY_WEB_HOOK: _RUN,
    Action.DELETE_WEB_HOOK: _RUN,
    Action.GET_LEADERBOARD: _READ,
    Action.GET_RATING: _READ,
    Action.COMPARE_PLAYERS: _READ,
    Action.RULE_ON_RATINGS: {Relation.ANY: ADMINS},  # a rating counts everywhere, also for others
    Action.EXPORT_RATING_RULINGS: _READ,
}


def allowed(caller: Caller, action: Action, relation: Relation) -> bool:
    """Return whether a caller may do something to an object that it has this relation to."""
    return any(caller.may(scope) for scope in RIGHTS[action].get(relation, NOBODY))


def within(scopes: frozenset[str], action: Action) -> bool:
    """Return whether a token with these scopes may do something to any object at all: pages offer what it may do."""
    caller = Caller("", "", scopes)
    return any(allowed(caller, action, relation) for relation in RIGHTS[action])


def open_to_all(action: Action) -> bool:
    """Return whether a call needs no token."""
    return RIGHTS[action].get(Relation.ANY) is EVERYBODY


def only_reads(action: Action) -> bool:
    """Return whether a call only reads: it needs no token if the operator makes reading public."""
    return RIGHTS[action] is _READ


def check_scope(caller: Caller, action: Action) -> None:
    """Raise Refusal SCOPE_MISSING unless a caller may do something to any object at all."""
    if not within(caller.scopes, action):
        caller.require(next(iter(RIGHTS[action].values()))[0])


def check_relation(caller: Caller, action: Action, relation: Relation, what: str, whose: str) -> None:
    """Raise Refusal SCOPE_MISSING unless a caller may do something to an object that it has this relation to.

    `what` and `whose` name the object and its owner in the message; '' for an object without an owner.
    """
    if allowed(caller, action, relation):
        return
    if relation is Relation.OTHERS:
        admin = f"a token with scope {Scope.ADMIN}"
        who = f"{whose} or {admin}" if whose else admin
        raise Refusal(
            Reason.SCOPE_MISSING,
            f"{what} is not {caller.player}'s: only {who} may do this",
            scope=Scope.ADMIN.value,
        )
    caller.require(RIGHTS[action][relation][0])
