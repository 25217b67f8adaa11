"""What becomes of a player: it is renamed, retires, is hidden, or is deleted.

A player is known in all records by the name under which it registered. These are signed and chained, so that name stays
in them. What changes is what this server shows and stores beside the records.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from arbiter.errors import Reason, Refusal, limit_reached, shortened
from arbiter.service.lookup import findable
from arbiter.service.players.names import Names, check_new_name
from arbiter.service.ports.directory import AlreadyThere, Directory, Player
from arbiter.service.ports.environment import Ids
from arbiter.service.ports.notices import SHOWN, Notice, NoticeKind
from arbiter.service.shielding import Shielded

MOST_NAMES: Final = 10  #: further names of a player: each of them is taken for good
NEUTRAL: Final = "deleted-"  #: the neutral name of a deleted player begins with it


class Profiles:
    """How players are shown. forget: is called with (player, '') when no call of a player counts any more."""

    def __init__(self, directory: Directory, ids: Ids, forget: Callable[[str, str], None]) -> None:
        self.names: Final = Names()
        self._directory = directory
        self._ids = ids
        self._forget = forget
        self._shielded = Shielded()

    async def begin(self) -> None:
        """Read how players are shown, at the start. Raises StoreFailed."""
        self.names.put(await self._directory.profiles())

    async def hear(self, notice: Notice) -> None:
        """Take a change that another server has stored. Raises StoreFailed."""
        if notice.kind is NoticeKind.SHUT_OUT and notice.subject in ("", SHOWN):
            self.names.put(await self._directory.profiles(notice.receiver))

    async def show(self, name: str, retired: bool | None, hidden: bool | None) -> Player:
        """Store whether a player has retired, and whether it is hidden; None changes nothing.

        Raises Refusal PLAYER_NOT_FOUND.
        """
        player = await self._player(name)
        wanted = {"retired": retired, "hidden": hidden}
        changes = {field: value for field, value in wanted.items() if value is not None}
        return await self._shielded.run(self._shown(self._directory.change_player(player.name, **changes)))

    async def rename(self, name: str, new: str) -> Player:
        """Show a player under a new name. All its names lead to it.

        Raises Refusal PLAYER_NOT_FOUND, PLAYER_EXISTS, ARGUMENT_INVALID, RATE_LIMITED (it has had too many names).
        """
        player = await self._player(name)
        if new != player.name:  # which may be older than the rule
            check_new_name(new)
        return await self._shielded.run(self._shown(self._rename(player, new)))

    async def _rename(self, player: Player, new: str) -> Player:
        try:
            renamed = await self._directory.rename_player(player.name, new, MOST_NAMES)
        except AlreadyThere as there:
            raise exists(new, str(there)) from None
        if renamed is None:
            raise limit_reached(f"{player.shown} has had {MOST_NAMES} further names, the maximum", MOST_NAMES)
        return renamed

    async def delete(self, name: str) -> Player:
        """Remove all that is stored of a player beside the records, at once. Raises Refusal PLAYER_NOT_FOUND."""
        player = await self._player(name)
        return await self._shielded.run(self._delete(player.name))

    async def _delete(self, key: str) -> Player:
        neutral = f"{NEUTRAL}{self._ids.lot(10**12):012d}"
        deleted = await self._shown(self._directory.delete_player(key, neutral))
        self._forget(key, "")
        return deleted

    async def _player(self, name: str) -> Player:
        """Return a player that has not been deleted. Raises Refusal PLAYER_NOT_FOUND."""
        key = self.names.key(name)
        player = await self._directory.player(key) if findable(key) else None
        if player is None or player.deleted:
            raise no_player(name)
        return player

    async def _shown(self, change: Awaitable[Player | None]) -> Player:
        player = await change
        assert player is not None
        self.names.put(await self._directory.profiles(player.name))
        return player


def no_player(name: str) -> Refusal:
    """Return the refusal for a name that leads to nobody."""
    return Refusal(Reason.PLAYER_NOT_FOUND, f"there is no player {shortened(name)!r} here", id=shortened(name))


def exists(name: str, there: str) -> Refusal:
    """Return the refusal for a new name that another player has, or that looks like its name."""
    like = "" if name == there else f", which {name} looks like"
    return Refusal(
        Reason.PLAYER_EXISTS,
        f"there is a player {there} already{like}: choose another name, or use its token",
        id=there,
    )
