"""Live matches written straight into a store, as a server would have written them, with their moves."""

from __future__ import annotations

import asyncio
from typing import Final

from arbiter.bench.scripts import GAME, SCRIPTS, scripts
from arbiter.bench.stores import NewStore
from arbiter.bootstrap.store import open_store
from arbiter.matches import creation, evolution, transitions
from arbiter.matches.commands import Arrive, Create, Play
from arbiter.matches.events import Created, Event
from arbiter.matches.record import seal, seal_first
from arbiter.runtime.ids import SystemIds
from arbiter.runtime.system_clock import SystemClock
from arbiter.service.ports.environment import Ids
from arbiter.service.ports.journal import Append, Journal, Record, Subject
from arbiter.service.record.match_log import summary_of

AT_ONCE: Final = 50  #: matches that are being stored at the same time


async def write_matches(store: NewStore, count: int, plies: int, pairs: int) -> list[str]:
    """Write matches with the first moves of the scripted games in turn; return their ids.

    pairs: number of pairs of players who share them evenly: `first-0` and `second-0`, `first-1` and so on.
    """
    games = scripts(GAME, SCRIPTS)
    ids, made = SystemIds(SystemClock()), list[str]()
    async with open_store(store.url, ring=store.folder / "arbiter.keys") as opened:
        for first in range(0, count, AT_ONCE):
            some = range(first, min(first + AT_ONCE, count))
            made += await asyncio.gather(
                *(_write(opened.journal, ids, n, n % pairs, games[n % len(games)][:plies]) for n in some)
            )
    return made


async def _write(journal: Journal, ids: Ids, number: int, pair: int, moves: list[str]) -> str:
    players = (f"first-{pair}", f"second-{pair}")
    command = Create(game=GAME, players=players, time="30m+1s", creator="bench", request=f"bench-{number}")
    match_id, now = ids.new("m"), SystemClock().now_ms()
    events = creation.create(match_id, command, now).events
    created = events[0]
    assert isinstance(created, Created)
    match = evolution.begin(created)
    records = [Record(match_id, item.revision, item.data, Subject.MATCH) for item in seal_first(match_id, events)]
    done: tuple[Event, ...]
    for ply in range(-2, len(moves)):
        seat = match.turn if ply >= 0 else (1 if ply == -2 else 2)
        act = Play(seat, str(ply), ply, moves[ply], now) if ply >= 0 else Arrive(seat)
        done = transitions.decide(match, act, now).events
        records += [Record(match_id, item.revision, item.data, Subject.MATCH) for item in seal(match, done)]
        for event in done:
            match = evolution.evolve(match, event)
    await journal.append(Append(tuple(records), summary_of(created)))
    return match_id
