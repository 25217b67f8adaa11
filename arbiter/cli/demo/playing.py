"""Playing a run: makes its matches, follows them, plays void ones again, and fetches the records."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import arbiter_client as arb

from arbiter.cli.demo.folder import Folder
from arbiter.cli.demo.plan import PLAYERS, Fixture
from arbiter.cli.demo.progress import Played, Progress
from arbiter.cli.failure import Failure
from arbiter.matches.public_keys import PublicKey, write_keys

WARM_UP_TIME: Final = "20s"
MOST_ATTEMPTS: Final = 5  #: at one fixture; an arbiter that fails more often is broken


class View(Protocol):
    """Who shows the run to a person."""

    def note(self, text: str) -> None:
        """Show a line that matters."""

    def ended(self, played: Played, progress: Progress) -> None:
        """Show that a match has ended."""


class Player:
    """Plays the fixtures of a run through a client, at most `concurrency` at once.

    What has been played before is found again by its request id, so that nothing is played twice.
    """

    def __init__(self, client: arb.Client, folder: Folder, progress: Progress, view: View, concurrency: int) -> None:
        self._client = client
        self._folder = folder
        self._progress = progress
        self._view = view
        self._places = asyncio.Semaphore(concurrency)
        self._results: dict[str, asyncio.Future[arb.Result]] = {}

    async def play(self) -> None:
        """Play everything that has not been played; return when all has ended and all records are on disk.

        Raises ClientError and Failure.
        """
        following = asyncio.create_task(self._follow())
        fixtures = asyncio.create_task(self._play_all(self._progress.fixtures))
        try:
            await asyncio.wait({following, fixtures}, return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                following.result()
            await fixtures
        finally:
            for task in (following, fixtures):
                task.cancel()
            await asyncio.wait({following, fixtures})

    async def _play_all(self, fixtures: Sequence[Fixture]) -> None:
        async with asyncio.TaskGroup() as group:
            for fixture in fixtures:  # a semaphore lets in who came first
                group.create_task(self._play(fixture))

    async def _play(self, fixture: Fixture) -> None:
        async with self._places:
            for attempt in range(1, MOST_ATTEMPTS + 1):
                match = await self._client.create_match(
                    fixture.game,
                    (fixture.seat1, fixture.seat2),
                    time_control=fixture.time,
                    rated=True,
                    label=label(self._folder),
                    request_id=fixture.request_id(attempt),
                )
                self._progress.begin(fixture, match.match_id)
                result = await self._result(match.match_id)
                played = self._progress.end(fixture, match.match_id, result)
                if played is not None:
                    await self._keep_record(played)
                    self._view.ended(played, self._progress)
                    return
                again = f"{fixture.game}, {fixture.seat1} against {fixture.seat2}: void ({result.reason})"
                self._view.note(f"{again}, and played again")
        raise Failure(f"{again}, {MOST_ATTEMPTS} times: something is wrong with the arbiter")

    def _result(self, match_id: str) -> asyncio.Future[arb.Result]:
        if match_id not in self._results:
            self._results[match_id] = asyncio.get_running_loop().create_future()
        return self._results[match_id]

    async def _follow(self) -> None:
        """Follow all matches of the run from the first event on record, which a run that goes on has missed."""
        async for event in self._client.observe_all(after_token="0", label=label(self._folder)):
            if isinstance(event.what, arb.MovePlayed):
                self._progress.moved(event.match_id, event.what.ply + 1, event.at_ms)
            elif isinstance(event.what, arb.Result):
                result = self._result(event.match_id)
                if not result.done():
                    result.set_result(event.what)

    async def _keep_record(self, played: Played) -> None:
        file = self._folder.transcript(played.fixture)
        if not file.exists():
            _write(file, await self._client.transcript(played.match_id))


async def warm_up(client: arb.Client, folder: Folder, games: Sequence[str]) -> None:
    """Let every bot make a first move in every game, in matches that count for nothing.

    Engines and worker processes load what they need when they first need it. With the short clocks of a demo that
    would decide matches. Raises ClientError.
    """

    async def first_moves(game: str, players: Sequence[str]) -> None:
        match = await client.create_match(
            game, players, time_control=WARM_UP_TIME, label=f"{label(folder)}, warming up"
        )
        async for event in client.observe(match.match_id):
            if isinstance(event.what, arb.MovePlayed) and event.what.ply == len(players) - 1:
                await client.abort_match(match.match_id, "warmed up")
                return

    async with asyncio.TaskGroup() as group:
        for game in games:
            for players in zip(PLAYERS[::2], PLAYERS[1::2], strict=True):
                group.create_task(first_moves(game, players))


def keep_keys(folder: Folder, server: arb.ServerInfo) -> None:
    """Keep the public keys that verify the transcripts. Raises Failure."""
    keys = (
        PublicKey(key.key_id, key.key, key.valid_from_ms, key.valid_until_ms, key.algorithm)
        for key in server.public_keys
    )
    _write(folder.keys, write_keys(keys).encode())


def label(folder: Folder) -> str:
    """Return the label of a run's matches."""
    return f"demo {folder.name}"


def now_ms() -> int:
    """Return the time, in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def _write(file: Path, record: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(".draft")
        draft.write_bytes(record)
        draft.replace(file)
    except OSError as error:
        raise Failure(f"can't write {file}: {error.strerror or error}") from None
