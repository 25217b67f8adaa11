"""Players, tokens and challenges: the values of PlayerService. Instants are UTC in milliseconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass, field

from arbiter_client.values.reading import ELSEWHERE, OpenEnum


class Scope(OpenEnum):
    """A right of a token."""

    UNSPECIFIED = 0
    PLAY = 1
    ORGANISE = 2  #: to make and judge matches
    OBSERVE = 3
    ADMIN = 4  #: everything, for all players


@dataclass(frozen=True, slots=True)
class Unpaired:
    """Why a player has no game under way in one of its tournaments: a word (`why`), and a clause for people."""

    tournament_id: str
    tournament: str
    why: str
    text: str


@dataclass(frozen=True, slots=True)
class Player:
    """A player; its name is its id. The description of its bot is from the bot's last connection.

    badge_version: the version that has passed the conformance kit, '' if there is none; badge_ms: when that was
    recorded. unpaired: why it has no game in its tournaments, if a single player was asked for. current_name: under
    which it is shown, if it was renamed; `name` is that of the records.
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
    unpaired: tuple[Unpaired, ...] = ()
    current_name: str = ""
    retired: bool = False
    hidden: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Registered:
    """A new player and its token, which is shown only now."""

    player: Player
    token: str


@dataclass(frozen=True, slots=True)
class Myself:
    """The caller, and the rights of its token."""

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
    """The terms of a challenge. `seat`: the challenger's, 0 for a random one. '' is the server's time control.

    `position`: that the match starts from, '' for the game's initial one; such a match is not rated. `abandon_ms`: how
    long a player may be absent before it has lost, 0: as long as its clock allows; None: the server's value.
    """

    game: str
    time_control: str = ""
    rated: bool = False
    seat: int = 0
    position: str = ""
    abandon_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge; a seek is a challenge whose `opponent` is ''.

    rating: of the challenger's newest version in the game; None if it has none, or the bot has no limits for it.
    """

    challenge_id: str
    challenger: str
    opponent: str
    terms: Terms
    created_ms: int
    rating: float | None = field(default=None, metadata=ELSEWHERE)


@dataclass(frozen=True, slots=True)
class ChallengeClosed:
    """A challenge or seek is no longer open: the match that it led to, or the reason why there is none."""

    challenge_id: str
    match_id: str
    reason: str
