"""Players, tokens and challenges: what PlayerService says. Instants are UTC in milliseconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass

from arbiter_client.values.reading import OpenEnum


class Scope(OpenEnum):
    """What a token allows."""

    UNSPECIFIED = 0
    PLAY = 1
    ORGANISE = 2  #: to make and judge matches
    OBSERVE = 3
    ADMIN = 4  #: everything, for everybody


@dataclass(frozen=True, slots=True)
class Player:
    """A player; its name is its id. What it says of its bot is what the bot said last.

    badge_version: the version that has passed the conformance kit, '' if none has; badge_ms: when that was said.
    """

    name: str
    about: str
    bot_name: str
    bot_version: str
    games: tuple[str, ...]
    most_matches: int
    online: bool
    suspended: bool
    created_ms: int
    badge_version: str = ""
    badge_ms: int = 0


@dataclass(frozen=True, slots=True)
class Registered:
    """A new player and its token, which is shown only now."""

    player: Player
    token: str


@dataclass(frozen=True, slots=True)
class Myself:
    """The caller, and what its token allows."""

    player: Player
    scopes: tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret part."""

    token_id: str
    player: str
    scopes: tuple[Scope, ...]
    note: str
    created_ms: int
    revoked: bool


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token and its secret part, which is shown only now."""

    token: Token
    secret: str


@dataclass(frozen=True, slots=True)
class Terms:
    """What a challenge proposes. `seat` is the challenger's, or 0 to have it drawn; '' is the server's time control."""

    game: str
    time_control: str = ""
    rated: bool = False
    seat: int = 0


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge; a seek is a challenge whose `opponent` is ''."""

    challenge_id: str
    challenger: str
    opponent: str
    terms: Terms
    created_ms: int


@dataclass(frozen=True, slots=True)
class ChallengeClosed:
    """A challenge or seek is no longer open: the match that came of it, or why none did."""

    challenge_id: str
    match_id: str
    reason: str
