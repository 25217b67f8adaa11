"""Replicas and their Play streams in a database, whose clock counts."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, Engine, text

from arbiter.service.ports.replicas import Heartbeat, PlaySession
from arbiter.store.database import kind_of
from arbiter.store.reader import Reader
from arbiter.store.writer import Writer

_ENTER: Final = "INSERT INTO replica (replica, seen_ms, heir) VALUES (:replica, ({now}), '')"
_BEAT: Final = "UPDATE replica SET seen_ms = ({now}) WHERE replica = :replica AND heir = ''"
_INHERIT: Final = (
    "UPDATE replica SET heir = :replica WHERE replica <> :replica AND seen_ms < ({now}) - :silence_ms AND "
    "(heir = '' OR heir NOT IN (SELECT alive.replica FROM replica AS alive WHERE alive.replica = :replica "
    "OR alive.seen_ms >= ({now}) - :silence_ms))"
)
_OTHERS: Final = "SELECT count(*) FROM replica WHERE replica <> :replica"
_MINE: Final = "SELECT replica FROM replica WHERE heir = :replica ORDER BY replica"
_DOUBTFUL: Final = (
    "EXISTS (SELECT 1 FROM replica AS before "
    "WHERE before.replica = play_session.previous AND before.seen_ms <= play_session.taken_ms)"
)
_SESSIONS: Final = (
    f"SELECT player, replica, epoch, bot_version, most_matches, {_DOUBTFUL} FROM play_session "
    f"WHERE replica <> '' OR {_DOUBTFUL} ORDER BY player"
)
_FORGET: Final = (
    "DELETE FROM play_session WHERE replica = :replica OR (replica = '' AND previous = :replica)",
    "DELETE FROM replica WHERE replica = :replica",
)
# A player may have come to another replica before anybody noticed that the first one was gone.
_LOST: Final = (
    "SELECT player FROM play_session WHERE replica = :replica OR (previous = :replica AND taken_ms >= "
    "(SELECT seen_ms FROM replica WHERE replica = :replica)) ORDER BY player"
)
# As long as a replica is in doubt, it stays the previous one: the player may hurry on to a third.
_STAYS: Final = f"(play_session.replica IN (excluded.replica, '') OR {_DOUBTFUL})"
_TAKE: Final = (
    "INSERT INTO play_session (player, replica, epoch, bot_version, most_matches, taken_ms, previous) "
    "VALUES (:player, :replica, 1, :bot_version, :most_matches, ({now}), '') ON CONFLICT (player) DO UPDATE SET "
    "replica = excluded.replica, epoch = play_session.epoch + 1, bot_version = excluded.bot_version, "
    "most_matches = excluded.most_matches, "
    f"taken_ms = CASE WHEN {_STAYS} THEN play_session.taken_ms ELSE excluded.taken_ms END, "
    f"previous = CASE WHEN {_STAYS} THEN play_session.previous ELSE play_session.replica END "
    f"RETURNING epoch, {_DOUBTFUL}"
)
_MINE_OF_PLAYER: Final = "WHERE player = :player AND replica = :replica AND epoch = :epoch"
_GIVE_BACK: Final = (
    f"UPDATE play_session SET replica = '' {_MINE_OF_PLAYER} AND {_DOUBTFUL}",  # no stream is left
    f"DELETE FROM play_session {_MINE_OF_PLAYER}",
)


class SqlReplicas:
    """The rows of replicas; see `arbiter.service.ports.replicas` for the contract of each method.

    A heartbeat is one transaction, together with whatever else is written then.
    """

    def __init__(self, engine: Engine, writer: Writer, reader: Reader) -> None:
        now = kind_of(engine).NOW_MS
        self._enter, self._beat, self._inherit, self._take = (
            text(statement.format(now=now)) for statement in (_ENTER, _BEAT, _INHERIT, _TAKE)
        )
        self._writer = writer
        self._reader = reader

    async def enter(self, replica: str) -> None:
        """Add a replica."""
        await self._writer.write(lambda connection: connection.execute(self._enter, {"replica": replica}).rowcount)

    async def beat(self, replica: str, silence_ms: int) -> Heartbeat | None:
        """Say that a replica is alive."""
        me = {"replica": replica}

        def write(connection: Connection) -> Heartbeat | None:
            if not connection.execute(self._beat, me).rowcount:
                return None
            connection.execute(self._inherit, {**me, "silence_ms": silence_ms}).close()
            gone = connection.execute(text(_MINE), me).scalars()
            sessions = tuple(PlaySession(*row) for row in connection.execute(text(_SESSIONS)))
            return Heartbeat(tuple(gone), sessions, not connection.execute(text(_OTHERS), me).scalar_one())

        return await self._writer.write(write)

    async def forget(self, replica: str) -> None:
        """Remove a replica and its Play streams."""

        def write(connection: Connection) -> None:
            for statement in _FORGET:
                connection.execute(text(statement), {"replica": replica})

        await self._writer.write(write)

    async def lost_players(self, replica: str) -> list[str]:
        """Return the players whose Play stream was on a replica when it was alive for the last time."""
        return await self._reader.read(
            lambda connection: [
                str(player) for player in connection.execute(text(_LOST), {"replica": replica}).scalars()
            ]
        )

    async def take(self, player: str, replica: str, bot_version: str, most_matches: int) -> tuple[int, bool]:
        """Note that a player has opened a Play stream on a replica."""
        row = {"player": player, "replica": replica, "bot_version": bot_version, "most_matches": most_matches}

        def write(connection: Connection) -> tuple[int, bool]:
            epoch, doubtful = connection.execute(self._take, row).one()
            return int(epoch), bool(doubtful)

        return await self._writer.write(write)

    async def give_back(self, player: str, replica: str, epoch: int) -> bool:
        """Note that a Play stream is over; return whether it was still the player's."""
        row = {"player": player, "replica": replica, "epoch": epoch}

        def write(connection: Connection) -> bool:
            return any(connection.execute(text(statement), row).rowcount for statement in _GIVE_BACK)

        return await self._writer.write(write)
