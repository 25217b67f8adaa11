"""A benchmark process: players on real Play streams who know their moves in advance, so that they cost very little.

Each has its own connection, as bots on separate machines have.

Plan: `addresses` (the stream of each token is at the next one, in turn), `tokens` (one per stream), `scripts` (lists of
moves), `matches` (match: number of its script, for all matches that these players may play), `at_once` (how many of
them each stream plays at a time), `think_ms` (varied by up to a tenth: players with exactly equal thinking times would
synchronise, which real bots do not). It sends an answer once every stream is open. An order `seconds` starts a round:
turns are answered for this time; turns that came earlier are answered at its start. The answer is sent when no more
messages are under way: `moves` acknowledged, `in_time` (how many of them within the round), `seconds`, `latencies`
(milliseconds, from sending a move to its receipt), `sent` and `received` (messages, bytes), `refused`.

An order `turns` waits until this many turns have come outside of rounds, and is answered by their number.

An order with `offered` (moves a second) and `seed` starts a round in which moves fall due at drawn times
(`arbiter.bench.arrivals`), and a latency counts from the time when its move was due. The round ends when every move is
acknowledged, at most LATE_S later: one that is not yet counts with the time that has passed, and in `unanswered`. The
answer also has `lags` (ms, how late this process noticed that a move was due).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from contextlib import suppress
from random import Random
from typing import Any

from arbiter_protos.v1 import play_pb2 as pb

from arbiter.bench.arrivals import OfferedLoad, arrivals
from arbiter.bench.h2 import RawCall
from arbiter.bench.processes import OPENING, STREAM_ENDED, answer, give_way, order, run_part
from arbiter.bench.scripts import SEED

PLAY = "/arbiter.v1.PlayService/Play"
VARIES = 0.1  #: variation of a thinking time, as a share of it
QUIET_S = 0.3  #: after a round, for messages still under way
LATE_S = 5.0  #: after a round of offered moves, for those that are not acknowledged yet


class RoundCounts:
    """The events of one round, counted over all streams of this process."""

    def __init__(self) -> None:
        self.playing = True
        self.latencies: list[float] = []
        self.moves = self.refused = 0
        self.sent = self.sent_bytes = self.received = self.received_bytes = 0

    def report(self, seconds: float) -> dict[str, Any]:
        """Return the counts as an answer."""
        return {
            "moves": self.moves,
            "in_time": self.moves,
            "seconds": seconds,
            "latencies": [round(ms, 3) for ms in self.latencies],
            "sent": (self.sent, self.sent_bytes),
            "received": (self.received, self.received_bytes),
            "refused": self.refused,
        }


class SharedData:
    """The data that the players of a process share: the known games, the current round, how they play."""

    def __init__(self, scripts: list[list[str]], matches: dict[str, int], at_once: int, think_ms: float) -> None:
        self.scripts = {match: scripts[number] for match, number in matches.items()}
        self.at_once = at_once
        self.think_s = think_ms / 1000
        self.random = Random(SEED).random
        self.round = RoundCounts()
        self.round.playing = False
        self.load: OfferedLoad | None = None
        self._turns = 0
        self._enough: tuple[int, asyncio.Event] = (0, asyncio.Event())

    def turn_came(self) -> None:
        """Count a turn that came outside of rounds."""
        self._turns += 1
        wanted, come = self._enough
        if self._turns >= wanted:
            come.set()

    async def turns(self, wanted: int) -> int:
        """Wait until this many turns have come outside of rounds; return their number."""
        if self._turns < wanted:
            self._enough = (wanted, asyncio.Event())
            await self._enough[1].wait()
        return self._turns

    def thought(self) -> float:
        """Return how long a player thinks this time, in seconds."""
        return self.think_s * (1 + VARIES * (2 * self.random() - 1))


class BenchBot:
    """One player on one stream."""

    def __init__(self, table: SharedData) -> None:
        self._table = table
        self._matches: set[str] = set()  # begun and not ended
        self._held: deque[pb.Turn] = deque()  # turns of matches under way come first
        self._acts: list[pb.PlayAct] = []
        self._sent_at: dict[tuple[str, str], float] = {}  # of each request without an answer, by its match and id
        self._call: RawCall | None = None
        self._greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def go_on(self) -> None:
        """Answer the waiting turns, because a round has begun."""
        waiting, self._held = self._held, deque()
        for turn in waiting:
            if self._table.load is not None:
                self.turn(turn)
                continue
            # Thinking times that begin together end at different times, as those of real bots do.
            asyncio.get_running_loop().call_later(self._table.think_s * self._table.random(), self.turn, turn)

    def late(self) -> list[float]:
        """Return since when its moves that are not acknowledged have been due."""
        return list(self._sent_at.values())

    async def connect(self, address: str, token: str) -> None:
        """Open the stream; return once the server has said hello."""
        call = RawCall(PLAY, [("authorization", f"Bearer {token}")], self._received, self._ended)
        await call.connect(address)
        self._call = call
        self._say(pb.PlayAct(hello=pb.ClientHello(protocol_version="1.0", software="bench")))
        await self._greeted

    def turn(self, turn: pb.Turn) -> None:
        """Answer a turn now, after some thinking time, or in a later round."""
        table, match_id = self._table, turn.match_id
        under_way = match_id in self._matches
        if not table.round.playing or not (under_way or len(self._matches) < table.at_once):
            if under_way:
                self._held.appendleft(turn)
            else:
                self._held.append(turn)
            return
        self._matches.add(match_id)
        if table.load is not None:
            table.load.wait((self, turn))
        elif table.think_s:
            asyncio.get_running_loop().call_later(table.thought(), self.move, turn)
        else:
            self.move(turn)

    def _over(self, match_id: str) -> None:
        self._matches.discard(match_id)
        if self._held and self._table.round.playing:
            self.turn(self._held.popleft())

    def move(self, turn: pb.Turn, since: float | None = None) -> None:
        """Answer a turn; its latency counts from a time by `time.perf_counter` (default: now)."""
        match_id, ply, request_id = turn.match_id, turn.ply, str(turn.ply)
        move = pb.MoveAct(ply=ply, move=self._table.scripts[match_id][ply])
        self._sent_at.setdefault((match_id, request_id), time.perf_counter() if since is None else since)
        self._say(pb.PlayAct(request_id=request_id, match_id=match_id, move=move))

    def _say(self, act: pb.PlayAct) -> None:
        """Send an act at the end of this event loop iteration, in one message with the iteration's other acts."""
        if not self._acts:
            asyncio.get_running_loop().call_soon(self._flush)
        self._acts.append(act)

    def _flush(self) -> None:
        assert self._call is not None
        acts, self._acts = self._acts, []
        data = pb.PlayRequest(acts=acts).SerializeToString()
        round_ = self._table.round
        round_.sent += 1
        round_.sent_bytes += len(data)
        self._call.send(data)

    def _received(self, data: bytes) -> None:
        round_ = self._table.round
        round_.received += 1
        round_.received_bytes += len(data)
        for item in pb.PlayResponse.FromString(data).items:
            self._take(item, round_)

    def _take(self, item: pb.PlayItem, round_: RoundCounts) -> None:
        match item.WhichOneof("item"):
            case "turn":
                if not round_.playing:
                    self._table.turn_came()
                self.turn(item.turn)
            case "answer":
                sent_at = self._sent_at.pop((item.answer.match_id, item.answer.request_id), None)
                if sent_at is None:
                    return  # the answer to a request that was repeated, since its turn had begun again
                round_.latencies.append((time.perf_counter() - sent_at) * 1000)
                round_.moves += 1
                round_.refused += item.answer.HasField("refusal")
                if self._table.load is not None:
                    self._table.load.answered()
            case "ended":
                self._over(item.ended.match_id)
            case "ping":
                self._say(pb.PlayAct(pong=pb.Pong(number=item.ping.number)))
            case "hello":
                self._greeted.set_result(None)

    def _ended(self) -> None:
        os._exit(STREAM_ENDED)  # the results of such a run are not valid


async def run(
    addresses: list[str],
    tokens: list[str],
    scripts: list[list[str]],
    matches: dict[str, int],
    at_once: int,
    think_ms: float,
) -> None:
    """Open the streams, then play rounds until there are no more orders."""
    table = SharedData(scripts, matches, at_once, think_ms)
    players = [BenchBot(table) for _ in tokens]
    places = [addresses[number % len(addresses)] for number in range(len(tokens))]
    for first in range(0, len(players), OPENING):
        some = list(zip(players, places, tokens, strict=True))[first : first + OPENING]
        await asyncio.gather(*(player.connect(address, token) for player, address, token in some))
    answer(streams=len(players))
    while (ordered := await asyncio.to_thread(order)) is not None:
        if "turns" in ordered:
            answer(turns=await table.turns(ordered["turns"]))
            continue
        table.round = RoundCounts()
        if "offered" in ordered:
            answer(**await _offer(table, players, **ordered))
            continue
        started = time.perf_counter()
        for player in players:
            player.go_on()
        await asyncio.sleep(ordered["seconds"])
        table.round.playing = False
        report = table.round.report(time.perf_counter() - started)
        await asyncio.sleep(QUIET_S)
        answer(**report)


async def _offer(
    table: SharedData, players: list[BenchBot], seconds: float, offered: float, seed: str
) -> dict[str, Any]:
    """Play a round of offered moves; return its answer."""
    round_, started = table.round, time.perf_counter()
    load = table.load = OfferedLoad(arrivals(offered, seconds, seed), lambda work, since: work[0].move(work[1], since))
    for player in players:
        player.go_on()
    await asyncio.sleep(started + seconds - time.perf_counter())
    in_time = round_.moves
    with suppress(TimeoutError):
        await asyncio.wait_for(load.all_answered.wait(), LATE_S)
    round_.playing, table.load = False, None
    load.close()
    for player, turn in load.waiting:
        player.turn(turn)  # keeps it for a later round
    now, late = time.perf_counter(), [*load.due, *(since for player in players for since in player.late())]
    report = round_.report(seconds)
    report["latencies"] += [round((now - since) * 1000, 3) for since in late]
    await asyncio.sleep(QUIET_S)
    lags = [round(ms, 3) for ms in load.lags]
    return report | {"in_time": in_time, "lags": lags, "unanswered": len(late)}


if __name__ == "__main__":
    run_part(run, priority=give_way)
