"""Replicas and their Play streams in a database, whose clock counts.

A replica that is killed is gone before it has been silent for long, because the database ends the session that holds
the store for it (`arbiter.store.dialects.postgres`). Two conditions keep this from being said of a replica that lives.
A session may be cut while its server lives: the server then writes a heartbeat with a new one within ENDED_MS. And when
the database itself has restarted, all sessions are gone: so a replica believes this only of one that has written a
heartbeat since its own session began.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Engine, TextClause, text

from arbiter.service.ports.replicas import (
    NOT_YET,
    HandOver,
    HandOvers,
    Heartbeat,
    LostPlayer,
    PlaySession,
    Taken,
    is_page,
    no_hand_overs,
)
from arbiter.store.dialects import postgresql
from arbiter.store.reader import Reader
from arbiter.store.writer import Writer

SAME_TIME_MS: Final = 250  #: between two transactions of which neither sees the other; less than between heartbeats
ENDED_MS: Final = 750  #: silence after which a replica without a session is gone: one heartbeat is missing
_ENTER: Final = "INSERT INTO replica (replica, seen_ms, heir, session) VALUES (:replica, ({now}), '', :session)"
_BEAT: Final = "UPDATE replica SET seen_ms = ({now}), session = :session WHERE replica = :replica AND heir = ''"
_IS_DEAD: Final = (
    "(seen_ms < ({now}) - :silence_ms OR (session <> 0 AND seen_ms > :since_ms AND seen_ms < ({now}) - :ended_ms "
    "AND session NOT IN ({serving})))"
)
_INHERIT: Final = (
    f"UPDATE replica SET heir = :replica WHERE replica <> :replica AND {_IS_DEAD} AND "
    "(heir = '' OR heir NOT IN (SELECT alive.replica FROM replica AS alive WHERE alive.replica = :replica "
    f"OR NOT {_IS_DEAD}))"
)
_OTHERS: Final = text("SELECT replica FROM replica WHERE replica <> :replica AND heir = '' ORDER BY replica")
_MINE: Final = text("SELECT replica FROM replica WHERE heir = :replica ORDER BY replica")

# A heartbeat removes the rows of its own replica (_ALIVE). But a server of the version before knows no such rows, and
# removes none as it leaves either: so they only count beside the row of a replica that has been silent since. A
# heartbeat that was written at the same time as the row may not have seen it, and has not told of hand-overs: it is no
# sign of life yet.
_IN_DOUBT: Final = (
    "left_replica JOIN replica AS silent ON silent.replica = left_replica.replica "
    f"AND silent.seen_ms <= left_replica.taken_ms + {SAME_TIME_MS}"
)
_ALIVE: Final = text("DELETE FROM left_replica WHERE replica = :replica RETURNING player")
_SESSIONS: Final = text(
    "SELECT player, replica, epoch, bot_version, most_matches, doubt.left_ms FROM play_session LEFT JOIN "
    f"(SELECT player, max(left_ms) AS left_ms FROM {_IN_DOUBT} GROUP BY player) AS doubt USING (player) ORDER BY player"
)
_NOWHERE: Final = text("DELETE FROM play_session WHERE player = :player AND replica = ''")
_FORGET: Final = (
    # The replica goes first: a stream that it takes meanwhile has to wait for this row, and is refused.
    text("DELETE FROM replica WHERE replica = :replica"),
    text("UPDATE play_session SET replica = '' WHERE replica = :replica"),
    text("DELETE FROM left_replica WHERE replica NOT IN (SELECT replica FROM replica)"),
    text(
        "DELETE FROM play_session WHERE replica = '' "
        f"AND NOT EXISTS (SELECT 1 FROM {_IN_DOUBT} WHERE left_replica.player = play_session.player)"
    ),
)
# Of a player who has come to a server of the version before, only the columns `previous` and `taken_ms` know it.
_LOST: Final = text(
    "SELECT player, NULL AS left_ms FROM play_session WHERE replica = :replica "
    f"UNION SELECT player, NULLIF(left_ms, {NOT_YET}) FROM {_IN_DOUBT} WHERE left_replica.replica = :replica "
    "UNION SELECT player, taken_ms FROM play_session JOIN replica AS silent ON silent.replica = previous "
    "AND silent.seen_ms < taken_ms WHERE previous = :replica AND play_session.replica <> :replica AND NOT EXISTS "
    "(SELECT 1 FROM left_replica AS known WHERE known.player = play_session.player AND known.replica = previous) "
    "ORDER BY player"
)
_HAND_OVER: Final = text(
    "INSERT INTO hand_over (player, match_id, ply, started_ms, at_ms) "
    "VALUES (:player, :match_id, :ply, :started_ms, :at_ms) ON CONFLICT (player, match_id) DO UPDATE SET "
    "ply = excluded.ply, started_ms = excluded.started_ms, at_ms = excluded.at_ms"
)
_HANDED_OVER: Final = "player, match_id, ply, started_ms, at_ms"
_TAKE_OVER: Final = text(f"DELETE FROM hand_over WHERE player = :player RETURNING {_HANDED_OVER}")
_TAKE_ALL_OVER: Final = text(
    "DELETE FROM hand_over WHERE player IN (SELECT player FROM play_session WHERE replica = :replica) "
    f"RETURNING {_HANDED_OVER}"
)
_LONG_AGO_MS: Final = 86_400_000
_FORGOTTEN: Final = f"DELETE FROM hand_over WHERE at_ms < ({{now}}) - {_LONG_AGO_MS}"  # whose players never came back
_IS_REPLICA: Final = text("SELECT 1 FROM replica WHERE replica = :replica AND heir = '' FOR SHARE")
_HOLD: Final = text("SELECT 1 FROM play_session WHERE player = :player FOR UPDATE")
_LEAVE: Final = (
    "INSERT INTO left_replica (player, replica, left_ms, taken_ms) "
    f"SELECT player, replica, {NOT_YET}, ({{now}}) FROM play_session "
    "WHERE player = :player AND replica NOT IN (:replica, '') ON CONFLICT (player, replica) "
    "DO UPDATE SET left_ms = excluded.left_ms, taken_ms = excluded.taken_ms"
)
_ARRIVE: Final = text(
    f"UPDATE left_replica SET left_ms = :opened_ms WHERE player = :player AND left_ms = {NOT_YET} AND EXISTS "
    "(SELECT 1 FROM play_session AS mine WHERE mine.player = :player AND mine.replica = :replica "
    "AND mine.epoch = :epoch)"
)
_CAME_BACK: Final = text("DELETE FROM left_replica WHERE player = :player AND replica = :replica")
_SAME: Final = "play_session.replica = excluded.replica"
_TAKE: Final = (
    "INSERT INTO play_session (player, replica, epoch, bot_version, most_matches, taken_ms, previous) "
    "VALUES (:player, :replica, 1, :bot_version, :most_matches, ({now}), '') ON CONFLICT (player) DO UPDATE SET "
    "replica = excluded.replica, epoch = play_session.epoch + 1, bot_version = excluded.bot_version, "
    "most_matches = excluded.most_matches, "
    f"taken_ms = CASE WHEN {_SAME} THEN play_session.taken_ms ELSE excluded.taken_ms END, "
    f"previous = CASE WHEN {_SAME} THEN play_session.previous ELSE play_session.replica END "
    "RETURNING epoch"
)
_LEFT_MS: Final = text(f"SELECT max(left_ms) FROM {_IN_DOUBT} WHERE player = :player")
_MINE_OF_PLAYER: Final = "WHERE player = :player AND replica = :replica AND epoch = :epoch"
_OVER: Final = text(f"UPDATE play_session SET replica = '' {_MINE_OF_PLAYER}")
_REMOVE: Final = text(f"DELETE FROM play_session {_MINE_OF_PLAYER}")


class SqlReplicas:
    """The rows of replicas; see `arbiter.service.ports.replicas` for the contract of each method.

    A heartbeat is one transaction, together with whatever else is written then.
    """

    def __init__(self, engine: Engine, writer: Writer, reader: Reader) -> None:
        dialect = postgresql()
        self._enter, self._beat, self._inherit, self._leave, self._take, self._forgotten = (
            text(statement.format(now=dialect.now_ms, serving=dialect.serving))
            for statement in (_ENTER, _BEAT, _INHERIT, _LEAVE, _TAKE, _FORGOTTEN)
        )
        self._session_of = partial(dialect.serving_session, engine)
        self._writer = writer
        self._reader = reader

    async def enter(self, replica: str) -> None:
        """Add a replica."""

        def write(connection: Connection) -> None:
            session, _ = self._session_of(renewed=True)
            connection.execute(self._enter, {"replica": replica, "session": session}).close()
            connection.execute(self._forgotten).close()

        await self._writer.write(write)

    async def beat(self, replica: str, silence_ms: int, hand_overs: HandOvers = no_hand_overs) -> Heartbeat | None:
        """Say that a replica is alive."""
        me = {"replica": replica}

        def write(connection: Connection) -> Heartbeat | None:
            session, since_ms = self._session_of()
            if not connection.execute(self._beat, {**me, "session": session}).rowcount:
                return None
            _hand_over(
                connection, [each for left in connection.execute(_ALIVE, me).scalars() for each in hand_overs(left)]
            )
            silences = {"silence_ms": silence_ms, "ended_ms": ENDED_MS, "since_ms": since_ms}
            if not is_page(replica):
                connection.execute(self._inherit, {**me, **silences}).close()
            gone = connection.execute(_MINE, me).scalars()
            sessions = _sessions(connection)
            others = tuple(connection.execute(_OTHERS, me).scalars())
            return Heartbeat(tuple(gone), sessions, others, _taken_over(connection, _TAKE_ALL_OVER, me))

        return await self._writer.write(write)

    async def forget(self, replica: str) -> None:
        def write(connection: Connection) -> None:
            for statement in _FORGET:
                connection.execute(statement, {"replica": replica}).close()

        await self._writer.write(write)

    async def lost_players(self, replica: str) -> list[LostPlayer]:
        return await self._reader.read(
            lambda connection: [LostPlayer(*row) for row in connection.execute(_LOST, {"replica": replica})]
        )

    async def take(self, player: str, replica: str, bot_version: str, most_matches: int) -> Taken | None:
        row = {"player": player, "replica": replica}
        values = {**row, "bot_version": bot_version, "most_matches": most_matches}

        def write(connection: Connection) -> Taken | None:
            if connection.execute(_IS_REPLICA, row).first() is None:
                return None
            connection.execute(_HOLD, row).close()  # the player may come to two replicas at once
            connection.execute(self._leave, row).close()
            connection.execute(_CAME_BACK, row).close()
            epoch = int(connection.execute(self._take, values).scalar_one())
            return Taken(epoch, _left_ms(connection, row), _taken_over(connection, _TAKE_OVER, row))

        return await self._writer.write(write)

    async def arrive(self, player: str, replica: str, epoch: int, opened_ms: int) -> None:
        """Note when a Play stream was opened."""
        row = {"player": player, "replica": replica, "epoch": epoch, "opened_ms": opened_ms}
        await self._writer.write(lambda connection: connection.execute(_ARRIVE, row).close())

    async def give_back(
        self,
        player: str,
        replica: str,
        epoch: int,
        hand_overs: Sequence[HandOver] = (),
        opened_ms: int = NOT_YET,
    ) -> bool:
        row = {"player": player, "replica": replica, "epoch": epoch, "opened_ms": opened_ms}

        def write(connection: Connection) -> bool:
            connection.execute(_ARRIVE, row).close()
            ended = _REMOVE if _left_ms(connection, row) is None else _OVER
            if not connection.execute(ended, row).rowcount:
                return False
            _hand_over(connection, hand_overs)
            return True

        return await self._writer.write(write)


def _sessions(connection: Connection) -> tuple[PlaySession, ...]:
    """Return all Play streams. The rows of players who are on no replica, none of them in doubt, are removed."""
    rows = [PlaySession(*row) for row in connection.execute(_SESSIONS)]
    for row in rows:
        if not row.replica and row.left_ms is None:
            connection.execute(_NOWHERE, {"player": row.player}).close()
    return tuple(row for row in rows if row.replica or row.left_ms is not None)


def _hand_over(connection: Connection, hand_overs: Sequence[HandOver]) -> None:
    if hand_overs:
        connection.execute(_HAND_OVER, [each._asdict() for each in hand_overs]).close()


def _taken_over(connection: Connection, taking: TextClause, row: dict[str, Any]) -> tuple[HandOver, ...]:
    return tuple(HandOver(*each) for each in connection.execute(taking, row))


def _left_ms(connection: Connection, row: dict[str, Any]) -> int | None:
    found: int | None = connection.execute(_LEFT_MS, row).scalar()
    return found
