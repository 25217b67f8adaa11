"""The directory as a port: players, tokens, invitations and challenges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Protocol

from arbiter.service.ports.notices import Notice, NoticeKind


@dataclass(frozen=True, slots=True)
class Player:
    """A player. `acknowledged` is the `ended_sequence` of the last result that its bot has seen.

    badge_version: the version of its bot that has passed the conformance kit, '' if none has; badge_ms: since when.
    """

    name: str
    created_ms: int
    about: str = ""
    bot_name: str = ""
    bot_version: str = ""
    games: tuple[str, ...] = ()
    most_matches: int = 0
    suspended: bool = False
    acknowledged: int = 0
    badge_version: str = ""
    badge_ms: int = 0

    @property
    def badged(self) -> bool:
        """Whether the bot has the version that has passed the conformance kit."""
        return self.badge_ms > 0 and self.badge_version == self.bot_version


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret: `digest` is the SHA-256 of the secret, in hex."""

    token_id: str
    player: str
    digest: str
    scopes: tuple[str, ...]
    note: str
    created_ms: int
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge, or a seek if `opponent` is ''. `state` is open, accepted or declined; `seat` 0 means drawn."""

    challenge_id: str
    challenger: str
    opponent: str
    game: str
    time_control: str
    rated: bool
    seat: int
    request_id: str
    created_ms: int
    state: str = "open"
    match_id: str = ""
    reason: str = ""


class AlreadyThere(Exception):
    """The directory has an entry of that name already, or of a name that looks like it; `str` of it is that entry's."""


_MARKS: Final = re.compile(r"[_.-]+", re.ASCII)
_ALIKE: Final = (("0", "o"), ("1", "l"), ("m", "rn"))


def likeness(name: str) -> str:
    """Return what a name looks like: two names with the same likeness may be taken for one another.

    Marks between letters are alike, however many there are, and at the ends they do not count. Letters and digits are
    alike as the confusables of Unicode Technical Standard 39 have it (0 and o, 1 and l, rn and m); what it says beyond
    a-z and 0-9 is not needed: a name has no other letters.
    """
    found = _MARKS.sub("-", name).strip("-")
    for one, other in _ALIKE:
        found = found.replace(one, other)
    return found


class Directory(Protocol):
    """Players, tokens, invitations and challenges. Every write is durable when its call returns.

    Where servers share the store, whoever is suspended, each token that is revoked and each new challenge is a notice
    too, in the same write; and what is counted before it is written is counted under a lock.
    """

    async def add_player(self, player: Player, token: Token | None, invitation: str = "") -> bool:
        """Store a player with its first token, using up an invitation (its digest) if one is given.

        Returns False, storing nothing, if the invitation is not open. Raises AlreadyThere, also for a name that looks
        like one that is there (`likeness`).
        """

    async def player(self, name: str) -> Player | None:
        """Return a player."""

    async def players(self, after: str, most: int) -> list[Player]:
        """Return players whose name sorts after `after`, by name."""

    async def change_player(self, name: str, **changes: Any) -> Player | None:
        """Store new values of some fields of a player; return it as it is then, or None if there is no such player.

        Fields that are not named keep what others may be storing at the same time. Not for `acknowledged`.
        """

    async def acknowledge(self, name: str, sequence: int) -> None:
        """Move a player's `acknowledged` forward to a sequence; never back."""

    async def add_token(self, token: Token, most: int) -> bool:
        """Store a token; return False, storing nothing, if its player has `most` that are not revoked."""

    async def token(self, token_id: str) -> Token | None:
        """Return a token."""

    async def token_of_digest(self, digest: str) -> Token | None:
        """Return the token of a secret's digest, revoked ones too."""

    async def tokens(self, player: str, after: str, most: int) -> list[Token]:
        """Return a player's tokens whose id sorts after `after`, by id."""

    async def revoke_token(self, token_id: str) -> None:
        """Mark a token as revoked."""

    async def add_invitation(self, digest: str, most: int) -> bool:
        """Store an open invitation; return False, storing nothing, if there are `most`."""

    async def add_challenge(self, challenge: Challenge, most: int) -> Challenge | None:
        """Store a challenge; if the challenger's request id is there already, return that challenge instead.

        Returns None, storing nothing, if the challenger has `most` open ones.
        """

    async def challenge(self, challenge_id: str) -> Challenge | None:
        """Return a challenge, closed ones too."""

    async def challenges(self, player: str, after: str, most: int) -> list[Challenge]:
        """Return open challenges to and by a player, and all open seeks, by id after `after`."""

    async def close_challenge(self, challenge: Challenge) -> bool:
        """Store a challenge's new state if it is still open; return whether it was."""

    async def tell(self, kind: NoticeKind, subject: str, receiver: str, detail: str) -> None:
        """Store a notice for all servers that share the store."""

    async def notices(self, after: int, most: int) -> list[Notice]:
        """Return the notices after a number, in order. Only the last thousands are kept."""

    async def last_notice(self) -> int:
        """Return the number of the last notice, 0 if there is none."""
