"""The duties of a server that shares its store: heartbeats, and cleaning up after servers that are gone.

Twice a second each replica writes its row and reads those of all Play streams. A replica that has written nothing for
two seconds (`limits.server_silence_ms`) is gone; if its process was killed, the store knows it, and the replica is gone
as soon as a heartbeat is missing. A heartbeat says that the server serves its players. So it comes from the event loop,
which serves them: a thread of its own would go on while the loop stands still and the players wait.

The first replica that notices cleans up after the one that is gone. It interrupts the matches in which a player of that
replica is to move, so that this player's interrupted thinking time is not charged. In the other matches of such players
it records that they have left, unless they have connected again.

A player who connects again before anybody has noticed is `doubtful`. Its answer to a turn that began before waits until
it is known whether the other replica is gone (see `arbiter.service.sharing.shared_server`). A player has left a replica
when the next one has opened its stream. Until then its turns are those of the replica that may be gone: if the opening
fails, the player is nowhere, and nobody could tell it of a turn.

A replica that can't use the store for that time ends its streams, so that its players connect to another one. The
only replica for players keeps its streams, because these have no other server. A replica that the others have
taken for gone ends its streams too. Each accepts new streams as soon as it has a new row. Its old row is that of a
replica that is gone, also if all replicas were cut off, and there was nobody to notice it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NoReturn

from arbiter.matches import transitions
from arbiter.matches.commands import Interrupt, Interruption
from arbiter.matches.events import EventKind
from arbiter.matches.requests import Receipt
from arbiter.service.cut_off import NO_ANSWER
from arbiter.service.matches.live_match import LiveMatch, is_settled
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.play.delivery import Delivery
from arbiter.service.play.sessions import Sessions, superseded
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.journal import StoredRecord, StoreFailed
from arbiter.service.ports.log import Logger
from arbiter.service.ports.notices import NoticeListener
from arbiter.service.ports.replicas import NOT_YET, LostPlayer, PlaySession
from arbiter.service.sharing.membership import TAKEN_FOR_GONE
from arbiter.service.sharing.shared_server import Sharing

BEAT_S: Final = 0.5  #: time between two heartbeats
HURRY_S: Final = 0.02  #: least time between two heartbeats
HEAR_S: Final = 0.25  #: time between two reads of notices
MOST_LOOKS: Final = 50  #: at the log, for turns of the players of a server that is gone; each takes a commit at least
FAR_MORE: Final = 3  #: players beyond a server's share, from which on it asks some to go; or a quarter of the share
NOTICES: Final = 500  #: notices in one read


class Replica:
    """The heartbeat of this server, and its view of the others. `listeners` are called with each notice.

    sharing: what it tells the use cases of the others. news: the bus, or None. It brings a heartbeat and notices
    forward; a stream that a player has replaced on another server ends with the next heartbeat.
    """

    def __init__(
        self,
        sharing: Sharing,
        sessions: Sessions,
        delivery: Delivery,
        matches: MatchRegistry,
        directory: Directory,
        listeners: Sequence[NoticeListener],
        log: Logger,
    ) -> None:
        self._sharing = sharing
        self._membership = sharing.membership
        self._whereabouts = sharing.whereabouts
        self.follower: Final = sharing.follower
        self.news: Final = sharing.membership.news
        self._sessions = sessions
        self._delivery = delivery
        self._matches = matches
        self._directory = directory
        self._listeners = listeners
        self._noticed = 0  # the number of the last notice that was read
        self._hearing = asyncio.Lock()
        self._log = log
        self._spreading = False
        self.failovers = 0  #: replicas that were gone, after which this one has cleaned up
        self.taken_for_gone = 0  #: how often the others took this one for gone, or may have
        self._cleaning: set[str] = set()  # the replicas that it cleans up after now
        self._heard = 0.0  # when the last heartbeat was sent that the store took, by the event loop's time

    async def start(self) -> None:
        """Become a replica and follow the log. Raises StoreFailed.

        Call it before the unfinished matches are read.
        """
        await self._membership.enter()
        await self.follower.begin()
        self._noticed = await self._directory.last_notice()
        self._heard = asyncio.get_running_loop().time()

    async def run(self) -> NoReturn:
        """Write heartbeats and read notices, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._say(group))
            group.create_task(self._hear_always())
            group.create_task(self._expire_in_time())
        raise AssertionError("none of them ends")

    async def _say(self, group: asyncio.TaskGroup) -> NoReturn:
        while True:
            try:
                for gone in await self._beat():
                    if gone not in self._cleaning:  # this may take longer than a server may be silent
                        self._cleaning.add(gone)
                        group.create_task(self._clean_up(gone))
            except StoreFailed as failure:
                self._log.warning("heartbeat_failed", error=failure.message)
                self.expire(failure)
            except Exception:  # our code has an error: this server is alive, so heartbeats go on
                self._log.exception("heartbeat_failed")
            if self.news is None:
                await asyncio.sleep(BEAT_S)
            else:
                await asyncio.sleep(HURRY_S)
                await self.news.stream_opened(BEAT_S - HURRY_S)

    def expire(self, reason: StoreFailed) -> None:
        """End all streams if the others may have taken this replica for gone, because it has been silent for this long.

        Call it before anything is sent to players: a turn that a replica hands over while it counts as gone would
        be charged if this process is killed then.
        """
        silent_s = asyncio.get_running_loop().time() - self._heard
        if self._membership.last or self._membership.cut_off or silent_s <= self._membership.silence_ms / 1_000:
            return
        self._log.warning("taken_for_gone", replica=self._membership.replica, silent_s=round(silent_s, 1))
        self.taken_for_gone += 1
        self._membership.cut_off.begin(reason)

    async def _expire_in_time(self) -> NoReturn:
        """Call `expire` again and again, also while every call to the store hangs."""
        while True:
            await asyncio.sleep(BEAT_S)
            self.expire(StoreFailed(NO_ANSWER))

    def log_grown(self, _found: Sequence[StoredRecord]) -> None:
        """Hand over no turn of new records if this replica may be taken for gone. It is the first listener."""
        self.expire(StoreFailed(TAKEN_FOR_GONE))

    async def _clean_up(self, gone: str) -> None:
        try:
            await self._inherit(gone)
        except StoreFailed as failure:
            self._log.warning("clean_up_failed", replica=gone, error=failure.message)
        except Exception:  # our code has an error
            self._log.exception("clean_up_failed", replica=gone)
        finally:
            self._cleaning.discard(gone)

    async def stop(self) -> None:
        """Stop being a replica, so that no other replica has to clean up. Raises StoreFailed.

        Call it once no match is served here.
        """
        await self._membership.leave()

    async def is_last(self) -> bool:
        """Return whether no other server has players of the store now; not if the store can't be asked.

        A server that has the page alone is not the last one: those with players have stopped the clocks, or will when
        they start again.
        """
        try:
            await self.beat()
        except StoreFailed:
            return False
        return self._membership.last and not self._membership.page

    async def beat(self) -> None:
        """Write a heartbeat, act on its answer, and clean up after replicas that are gone. Raises StoreFailed."""
        for gone in await self._beat():
            await self._inherit(gone)

    async def _beat(self) -> Sequence[str]:
        """Write a heartbeat, and act on its answer; return the replicas to clean up after. Raises StoreFailed."""
        open_before = self._sessions.all()
        if self._membership.cut_off:  # the turns that it had handed over were cut, as those of a server that is gone
            await self._membership.enter()
        began = asyncio.get_running_loop().time()
        heartbeat = await self._membership.beat(self._delivery.hand_overs)
        self._heard = began  # the others may count from then on
        self._membership.cut_off.end()
        if heartbeat is None:
            self._log.warning("taken_for_gone", replica=self._membership.replica)
            self.taken_for_gone += 1
            self._sessions.end_all(StoreFailed(TAKEN_FOR_GONE))
            await self._membership.enter()
            return ()
        self._delivery.take_over(heartbeat.hand_overs)
        rows = {row.player: row for row in heartbeat.sessions if row.replica}
        for session in open_before:
            row = rows.get(session.player)
            if row is None or (row.replica, row.epoch) != session.row:
                session.end(superseded(session.player) if row is not None else StoreFailed(TAKEN_FOR_GONE))
        self._resolve_doubts({row.player: row for row in heartbeat.sessions})
        await self._drop_old([row for row in heartbeat.sessions if row.replica == self._membership.replica])
        self._whereabouts.known = True
        self._whereabouts.elsewhere = {
            player: row for player, row in rows.items() if row.replica != self._membership.replica
        }
        self._whereabouts.nowhere = {
            row.player: row.left_ms for row in heartbeat.sessions if not row.replica and row.left_ms is not None
        }
        self._spread(len(rows), 1 + heartbeat.servers)
        return heartbeat.gone

    def _spread(self, players: int, servers: int) -> None:
        """Ask an idle bot to go elsewhere while this server has far more than its share of all players.

        After servers were restarted one by one, most players are at those that were restarted first. Once it has begun,
        this goes on until the server has hardly more than its share.
        """
        share = -(-players // servers)
        more = 1 if self._spreading else max(FAR_MORE, share // 4)
        self._spreading = self._sessions.count >= share + more
        if self._spreading and self._sessions.send_one_on():
            self._log.info("player_sent_on", here=self._sessions.count, share=share)

    async def _hear_always(self) -> NoReturn:
        while True:
            with suppress(StoreFailed):  # the rest is read later
                await self.hear()
            if self.news is None:
                await asyncio.sleep(HEAR_S)
                continue
            while not await self.news.noticed(HEAR_S):
                pass

    async def hear(self) -> None:
        """Read the notices since the last time, and call the listeners. Raises StoreFailed."""
        async with self._hearing:
            while notices := await self._directory.notices(self._noticed, NOTICES):
                for notice in notices:
                    for listener in self._listeners:
                        await listener(notice)
                    self._noticed = notice.number
        if self.news is not None:
            self.news.read_notices(self._noticed)

    def _resolve_doubts(self, rows: Mapping[str, PlaySession]) -> None:
        """Trust a player if each replica that it came from is known to be alive, or has been cleaned up after."""
        for player in self._whereabouts.in_doubt():
            session, row = self._sessions.of(player), rows.get(player)
            if self._membership.is_opening(player):
                continue  # the row may be newer than `rows`
            if row is None or session is None:
                self._whereabouts.doubt(player, row.left_ms if row is not None else None)
            elif (row.replica, row.epoch) == session.row and row.left_ms == NOT_YET:
                self._sharing.note_arrival(session)  # this was not stored in time, or has failed
            elif row.epoch >= session.row[1]:
                self._whereabouts.doubt(player, row.left_ms)

    async def _drop_old(self, mine: list[PlaySession]) -> None:
        """Remove the rows of ended streams, where this failed when they ended."""
        for row in mine:
            session = self._sessions.of(row.player)
            if self._membership.is_opening(row.player) or (session is not None and session.row[1] >= row.epoch):
                continue
            if await self._membership.drop(row):
                self._sessions.left(row.player)

    async def _inherit(self, gone: str) -> None:
        """Clean up after a replica that is gone. Raises StoreFailed: then the next heartbeat does it again."""
        lost: Sequence[LostPlayer] = ()
        interrupted = 0
        for _ in range(MOST_LOOKS):
            lost = await self._membership.lost_players(gone)  # some have gone on elsewhere meanwhile
            await self.follower.look()  # first its last commits, then what was stored while turns were interrupted
            turns = [
                self._interrupt_turn(live, player, left_ms)
                for player, left_ms in lost
                for live in self._matches.live.of_player(player)
                if _may_have_turn(live, player, left_ms)
            ]
            if not turns:
                break
            interrupted += sum(await asyncio.gather(*turns))  # in one commit
        for player, _ in lost:  # no earlier: as long as their server is not known to be gone, no flag of them falls
            self._note_absence(player, gone)
        await self._membership.forget(gone)
        self.failovers += 1
        self._log.warning("replica_gone", replica=gone, players=len(lost), interrupted=interrupted)

    def _note_absence(self, player: str, gone: str) -> None:
        row = self._whereabouts.elsewhere.get(player)
        if row is not None and row.replica == gone:
            del self._whereabouts.elsewhere[player]
        self._sessions.left(player)

    async def _interrupt_turn(self, live: LiveMatch, player: str, left_ms: int | None) -> bool:
        """Interrupt a match if it is the turn of a player who has lost it; return whether it was."""
        answer = await self._matches.decisions.decide(live, Interrupt(Interruption.RESTART, player, left_ms))
        if isinstance(answer, StoreFailed):
            raise answer
        interrupted = isinstance(answer, Receipt) and answer.kind is EventKind.INTERRUPTED
        if interrupted:
            self._matches.attendance.note_present_players(live)
        return interrupted


def _may_have_turn(live: LiveMatch, player: str, left_ms: int | None) -> bool:
    """Return whether a player may have a turn; with `left_ms`, one that began by that instant.

    The turn may be unknown here, while an append of this server is under way.
    """
    if transitions.is_turn(live.newest, player, left_ms):
        return True
    began = live.durable.turn_started if live.durable is not None else None
    return not is_settled(live) and (left_ms is None or began is None or began <= left_ms)
