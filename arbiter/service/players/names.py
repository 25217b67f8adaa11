"""Names of players: the rule for new ones, and which are shown. Existing names are not checked."""

from __future__ import annotations

from collections.abc import Iterable

from arbiter.errors import argument_invalid
from arbiter.plain_text import PLAYER_NAME, PLAYER_NAME_RULE
from arbiter.service.ports.directory import Player, Profile, is_unusual, profile_of


def check_new_name(name: str) -> str:
    """Return the name of a new player. Raises Refusal ARGUMENT_INVALID for one that is not allowed."""
    if not PLAYER_NAME.fullmatch(name):
        raise argument_invalid(name, "name", PLAYER_NAME_RULE)
    return name


class Names:
    """How the players are shown, in memory: pages show thousands of names. Only what is unusual is kept.

    The name in records is the one under which a player registered. A renamed player is shown under its current name,
    and all its names lead to it. A deleted player is shown under a neutral name, which alone leads to it.
    """

    def __init__(self) -> None:
        self._profiles: dict[str, Profile] = {}
        self._keys: dict[str, str] = {}  # the player of each further name

    def put(self, profiles: Iterable[Profile]) -> None:
        """Take the newest profiles of some players."""
        for profile in profiles:
            before = self._profiles.pop(profile.name, None)
            for name in (*before.others, before.shown) if before is not None else ():
                self._keys.pop(name, None)
            if is_unusual(profile):
                self._profiles[profile.name] = profile
                self._keys |= dict.fromkeys((*profile.others, profile.shown), profile.name)

    def changed(self, player: Player) -> None:
        """Take the newest state of a player, whose names have not changed."""
        before = self._profiles.get(player.name)
        self.put([profile_of(player, before.others if before is not None else ())])

    def key(self, name: str) -> str:
        """Return the name in records of the player that a name leads to; a name of nobody is returned as it is."""
        return self._keys.get(name, name)

    def shown(self, key: str) -> str:
        """Return the name under which a player is shown, by its name in records."""
        profile = self._profiles.get(key)
        return profile.shown if profile is not None else key

    def is_listed(self, key: str) -> bool:
        """Return whether a player is in lists of players, by its name in records."""
        profile = self._profiles.get(key)
        return profile is None or profile.listed

    def is_ranked(self, key: str) -> bool:
        """Return whether a player is in leaderboards, by its name in records."""
        profile = self._profiles.get(key)
        return profile is None or profile.ranked
