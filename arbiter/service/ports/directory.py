"""The directory as a port: players, tokens, invitations and challenges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from arbiter.service.ports.notices import Notice
from arbiter.service.ports.web_hooks import WebHooks


@dataclass(frozen=True, slots=True)
class Player:
    """A player. acknowledged: the `ended_sequence` of the last result that its bot has seen.

    badge_version: the version of its bot that has passed the conformance kit, '' if none has. badge_ms: since when.
    name: in all records, for good. current_name: the one under which it is shown; '' if it never had another.
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
    current_name: str = ""
    retired: bool = False
    hidden: bool = False
    deleted: bool = False

    @property
    def shown(self) -> str:
        """The name under which it is shown."""
        return self.current_name or self.name

    @property
    def listed(self) -> bool:
        """Whether it is in lists of players."""
        return not (self.retired or self.hidden or self.deleted)

    @property
    def badged(self) -> bool:
        """Whether the bot's current version is the one that has passed the conformance kit."""
        return self.badge_ms > 0 and self.badge_version == self.bot_version


class Profile(NamedTuple):
    """How a player is shown. name: in records. shown: on pages. others: the further names that lead to it.

    listed: in lists of players. ranked: in leaderboards, which also leave out whoever is suspended.
    """

    name: str
    shown: str
    listed: bool
    ranked: bool
    deleted: bool
    others: tuple[str, ...] = ()


SHOWING: Final = frozenset({"retired", "hidden", "suspended"})  #: the fields of a player that decide where it is listed


def is_unusual(profile: Profile) -> bool:
    """Return whether a player is not simply listed and ranked under the name that is in the records."""
    return profile.shown != profile.name or not profile.ranked or bool(profile.others)


def erased(neutral: str) -> dict[str, Any]:
    """Return the fields of a player that tell that it has been deleted. All others that a person has set are empty."""
    return {"current_name": neutral, "suspended": True, "hidden": True, "deleted": True}


def profile_of(player: Player, others: Iterable[str]) -> Profile:
    """Return the profile of a player."""
    ranked = player.listed and not player.suspended
    return Profile(player.name, player.shown, player.listed, ranked, player.deleted, tuple(others))


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret: `digest` is the SHA-256 of the secret, in hex.

    session: it is that of a person who has signed in with a browser. used_ms: about when it was last used, of a session
    alone.
    """

    token_id: str
    player: str
    digest: str
    scopes: tuple[str, ...]
    note: str
    created_ms: int
    revoked: bool = False
    session: bool = False
    used_ms: int = 0


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge, or a seek if `opponent` is ''. seat: 0 means drawn by lot. position: '' is the game's initial one.

    abandon_ms: how long a player may be absent in the match; None is the server's own.
    state: open; accepting, while the match with the player `reason` is created; accepted, with `match_id`; or declined.
    Stores of earlier versions have accepted ones without `match_id`.
    """

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
    position: str = ""
    abandon_ms: int | None = None


class AlreadyThere(Exception):
    """The directory has an entry with that name, or with a name that looks like it.

    The message is the existing name.
    """


_MARKS: Final = re.compile(r"[_.-]+", re.ASCII)
_ALIKE: Final = (("0", "o"), ("1", "l"), ("m", "rn"))


def likeness(name: str) -> str:
    """Return what a name looks like. Two names with the same likeness are easily confused.

    All sequences of marks between letters look alike, and marks at the ends are ignored. Letters and digits look alike
    as in the confusables of Unicode Technical Standard 39: 0 and o, 1 and l, rn and m. Its other entries are not
    needed, since a name has only a-z and 0-9.
    """
    found = _MARKS.sub("-", name).strip("-")
    for one, other in _ALIKE:
        found = found.replace(one, other)
    return found


class Directory(Protocol):
    """Players, tokens, invitations and challenges. Every write is durable when its call returns.

    If servers share the store, a suspension, a change of how a player is shown, a revoked token, and a new or changed
    challenge also store a notice, in the same transaction. Entries that have a limit are then counted under a lock.
    """

    @property
    def web_hooks(self) -> WebHooks:
        """The web hooks that players have made."""

    async def add_player(self, player: Player, token: Token | None, invitation: str = "") -> bool:
        """Store a player with its first token. If an invitation is given (its digest), use it up.

        Returns False and stores nothing if the invitation is not open. Raises AlreadyThere, also for a name that looks
        like an existing one (`likeness`).
        """

    async def player(self, name: str) -> Player | None:
        """Return a player, or None if it does not exist."""

    async def players(self, after: str, most: int) -> list[Player]:
        """Return players whose name sorts after `after`, by name."""

    async def change_player(self, name: str, **changes: Any) -> Player | None:
        """Store new values of some fields of a player; return the changed player, or None if there is no such player.

        Other fields keep their values, even if they are changed at the same time. Not for `acknowledged`.
        """

    async def rename_player(self, name: str, new: str, most: int) -> Player | None:
        """Store the name under which a player is shown from now on; the ones before still lead to it.

        Returns None and stores nothing if it already has `most` names beside the first one. Raises AlreadyThere if
        another player has the name, had it, or has one that looks like it.
        """

    async def delete_player(self, name: str, neutral: str) -> Player | None:
        """Remove all that is stored of a player beside the records; show it under a neutral name, and suspend it.

        Removed are its description, what its bot has said of itself, its tokens, its challenges, its web hooks and its
        further names.
        Returns None if there is no such player.
        """

    async def profiles(self, name: str = "") -> list[Profile]:
        """Return the profiles of all players who are not shown under their first name, not listed, or have others.

        With a name: the profile of that player, in any case.
        """

    async def acknowledge(self, name: str, sequence: int) -> None:
        """Move a player's `acknowledged` forward to a sequence number. It never moves back."""

    async def add_token(self, token: Token, most: int) -> bool:
        """Store a token or a session.

        Returns False and stores nothing if its player has `most` of this kind that are not revoked.
        """

    async def token(self, token_id: str) -> Token | None:
        """Return a token, or None if it does not exist."""

    async def token_of_digest(self, digest: str) -> Token | None:
        """Return the token with a secret's digest, even if it is revoked; None if it does not exist."""

    async def tokens(self, player: str, after: str, most: int) -> list[Token]:
        """Return a player's tokens that are no sessions and whose id sorts after `after`, by id."""

    async def sessions(self, player: str) -> list[Token]:
        """Return a player's sessions that are not revoked, the longest unused first."""

    async def use_session(self, token_id: str, used_ms: int) -> None:
        """Store when a session was used."""

    async def revoke_token(self, token_id: str) -> None:
        """Mark a token as revoked."""

    async def add_invitation(self, digest: str, most: int) -> bool:
        """Store an open invitation. Returns False and stores nothing if `most` are open."""

    async def add_challenge(self, challenge: Challenge, most: int) -> Challenge | None:
        """Store a challenge. If the challenger has already used its request id, return that earlier challenge instead.

        Returns None and stores nothing if the challenger has `most` that are open or being accepted.
        """

    async def challenge(self, challenge_id: str) -> Challenge | None:
        """Return a challenge, even if it is closed; None if it does not exist."""

    async def challenges(self, player: str, after: str, most: int) -> list[Challenge]:
        """Return the open challenges to and by a player, and all open seeks, whose id sorts after `after`, by id."""

    async def challenges_being_accepted(self) -> list[Challenge]:
        """Return the challenges whose match is being created, on any server."""

    async def change_challenge(self, challenge: Challenge, was: Sequence[str], tell: str = "") -> bool:
        """Store a challenge's new state, `match_id` and `reason`, if its state is one of `was`; return whether it was.

        tell: the player for whom a notice is stored with it; '' for nobody.
        """

    async def forget(self, tokens_before_ms: int, challenges_before_ms: int, sessions_before_ms: int) -> int:
        """Remove revoked tokens and closed challenges that were made before an instant, and sessions last used before.

        Return how many.

        Instants are UTC epoch milliseconds. It takes no notice: nobody can use what is removed.
        """

    async def notices(self, after: int, most: int) -> list[Notice]:
        """Return the notices after a number, in order. Only the last thousands are kept."""

    async def last_notice(self) -> int:
        """Return the number of the last notice, 0 if there is none."""
