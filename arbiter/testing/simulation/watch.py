"""Watches several servers during a run: players with two streams, and servers that know different things."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NoReturn

from arbiter.matches.match import Match
from arbiter.testing.simulation.cluster import SharingServer
from arbiter.testing.simulation.observations import LostServer, RunObservations, TwoStreams

LOOK_S: Final = 0.25  #: between two looks
READS_S: Final = (
    10.0  #: in which a server that is fine reads what others have stored; three seconds of that are a fault
)
LETS_GO_S: Final = 4.0  #: in which a server that can't reach the store ends its streams, if others serve
CALM_BEFORE_S: Final = 2.5  #: more than a server may be silent
CALM_AFTER_S: Final = 4.5
LONGEST_CUT_S: Final = 15.0  #: no line to the store is cut for longer
COMPARED: Final = 20  #: looks between two comparisons of what servers know
STATE: Final = ("phase", "digest", "text", "moves", "turn", "clocks", "banks", "since", "strikes", "result")
"""What two servers that know a match at the same revision must agree on."""


class Watch:
    """Writes into the observations what it sees: only at servers that run and reach the store."""

    def __init__(self, servers: Sequence[SharingServer], history: RunObservations) -> None:
        self._servers = servers
        self._history = history
        self._since_s: dict[tuple[str, tuple[int, ...]], float] = {}  # a player, and the servers of its streams
        self._judged = 0  # of the lost servers: how many it has looked at

    async def keep_watching(self) -> NoReturn:
        """Look again and again, until cancelled."""
        looks = 0
        while True:
            await asyncio.sleep(LOOK_S)
            looks += 1
            self._look_at_streams()
            self._look_at_kills()
            self._history.held += self._held()
            if not looks % COMPARED:
                self._history.differences += differences(self._servers)
                self._history.differences += self._behind()

    def _behind(self) -> Iterator[str]:
        """Yield what servers have not read of the log, although nothing has kept them from it."""
        since_s = asyncio.get_running_loop().time() - READS_S
        stored = bisect_right(self._history.stored_s, since_s)
        for server in self._servers:
            place = server.arbiter.follower.place if server.fine_since(since_s) else stored
            if place < stored:
                yield f"server {server.number} has read up to {place}; {stored} was stored {READS_S:.0f} s ago"

    def _held(self) -> Iterator[str]:
        """Yield the servers that keep clients although the others must have taken them for gone."""
        now_s = asyncio.get_running_loop().time()
        for server in self._servers:
            since_s = max(server.line.cut_since_s, server.ill_until_s)
            if not (server.is_up and server.process.runs and server.line.is_cut) or now_s - since_s < LETS_GO_S:
                continue
            if any(other.fine_since(server.line.cut_since_s - LETS_GO_S) for other in self._servers):
                for client in server.clients_here():
                    yield f"server {server.number} can't reach the store since {since_s:.1f} s, and keeps {client}"

    def _look_at_streams(self) -> None:
        now_s = asyncio.get_running_loop().time()
        places: dict[str, list[int]] = {}
        for server in self._servers:
            if server.is_fine:
                for player in server.players_here():
                    places.setdefault(player, []).append(server.number)
        seen = {(player, tuple(numbers)) for player, numbers in places.items() if len(numbers) > 1}
        for key, since_s in list(self._since_s.items()):
            if key not in seen:
                del self._since_s[key]
                fine_s = max(self._servers[number].ill_until_s for number in key[1])
                self._history.two_streams.append(TwoStreams(*key, since_s, now_s - max(since_s, fine_s)))
        for key in sorted(seen):
            self._since_s.setdefault(key, now_s)

    def _look_at_kills(self) -> None:
        now_s = asyncio.get_running_loop().time()
        for lost in self._history.lost[self._judged :]:
            if now_s < lost.at_s + CALM_AFTER_S:
                break
            self._judged += 1
            if lost.how == "killed" and self._was_calm(lost):
                self._history.calm.append(lost)

    def _was_calm(self, lost: LostServer) -> bool:
        """Return whether the others have served, or been down, from shortly before a server was killed until now."""
        since_s = lost.at_s - CALM_BEFORE_S
        if any(other is not lost and other.at_s > since_s for other in self._history.lost):
            return False
        line = self._servers[lost.server].line  # it may have begun again
        if line.is_cut or (line.cut_since_s and line.cut_since_s > since_s - LONGEST_CUT_S):
            return False
        others = [server for server in self._servers if server.number != lost.server]
        return any(other.is_up for other in others) and not any(
            other.ill_until_s > since_s or other.line.is_cut or other.drains or (other.is_up and not other.is_fine)
            for other in others
        )


def differences(servers: Sequence[SharingServer]) -> Iterator[str]:
    """Yield the differences between the states that servers have of the same match at the same revision."""
    known: dict[tuple[str, int], tuple[int, Match]] = {}
    for server in servers:
        if not server.is_up:
            continue
        for live in server.arbiter.matches.live:
            match = live.durable
            if match is None:
                continue
            number, other = known.setdefault((match.id, match.revision), (server.number, match))
            wrong = next((name for name in STATE if getattr(match, name) != getattr(other, name)), "")
            if wrong:
                yield f"{wrong} of {match.id} at {match.revision} is another at server {server.number} than at {number}"


def differences_at_the_end(servers: Sequence[SharingServer]) -> Iterator[str]:
    """Yield what servers do not know when nothing has happened for a while."""
    for server in servers:
        if not server.is_fine:
            yield f"server {server.number} does not serve"
            continue
        for live in server.arbiter.matches.live:
            yield f"{live.newest.id} goes on at server {server.number}, at revision {live.newest.revision}"
    yield from differences(servers)
