"""A contest: a server, pairs of scripted players, and rounds of play."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

from arbiter.bench.processes import BenchProcess
from arbiter.bench.scripts import GAME, SCRIPTS, scripts
from arbiter.bench.server_process import opened
from arbiter.bench.stores import new_store

PLAYERS: Final = "arbiter.bench.players"
BARE: Final = "arbiter.bench.bare"


@dataclass(frozen=True, slots=True)
class RoundResult:
    """The results of one round: moves a second, processor time per move of both sides, latencies, commits, sizes.

    lags, unanswered: of a round of offered moves, see `arbiter.bench.players`. durable: match, revision and time of the
    commit (by the monotonic clock) of each event; of a bare path there are none.
    """

    rate: float
    server_us: float
    players_us: float
    latencies: list[float]
    commits: list[float]
    group: float
    request_bytes: float
    response_bytes: float
    moves_a_message: float
    stages: dict[str, float]
    lags: list[float]
    unanswered: int
    durable: list[Any]


@dataclass(frozen=True, slots=True)
class PlayingServer:
    """A server and the players of both sides, connected to it. matches_bytes: the memory of its matches."""

    server: BenchProcess
    players: tuple[BenchProcess, ...]
    matches_bytes: int = 0

    def round(self, seconds: float, **offered: Any) -> RoundResult:
        """Let all players play for a while. With `offered` and `seed`: as many moves a second, drawn with the seed."""
        parts = (self.server, *self.players)
        self.server.ask()
        before = [part.cpu_s() for part in parts]
        for side in reversed(self.players):  # the side that answers first moves is started first
            side.send(seconds=seconds, **offered)
        answers = [side.next_answer() for side in self.players]
        spent = [part.cpu_s() - used for part, used in zip(parts, before, strict=True)]
        served = self.server.ask()
        moves = sum(side["moves"] for side in answers) or 1
        sent, received = ([sum(pair) for pair in zip(*(side[way] for side in answers), strict=True)] for way in _WAYS)
        return RoundResult(
            rate=sum(side["in_time"] for side in answers) / answers[0]["seconds"],
            server_us=spent[0] / moves * 1e6,
            players_us=sum(spent[1:]) / moves * 1e6,
            latencies=[ms for side in answers for ms in side["latencies"]],
            commits=[seconds * 1_000 for _, seconds in served["commits"]],
            group=sum(writes for writes, _ in served["commits"]) / max(1, len(served["commits"])),
            request_bytes=sent[1] / max(1, sent[0]),
            response_bytes=received[1] / max(1, received[0]),
            moves_a_message=moves / max(1, sent[0]),
            stages={stage: seconds / moves * 1e6 for stage, seconds in served["stages"].items()},
            lags=[ms for side in answers for ms in side.get("lags", ())],
            unanswered=sum(side.get("unanswered", 0) for side in answers),
            durable=served.get("durable", []),
        )


_WAYS: Final = ("sent", "received")


@contextmanager
def playing(
    pairs: int,
    at_once: int,
    moves: float,
    think_ms: float,
    folder: Path | None,
    profile: bool = False,
    metrics: bool = False,
    store: str = "",
    together: bool = False,
    traces: str = "",
) -> Iterator[PlayingServer]:
    """Start an arbiter with pairs of players. Each pair plays `at_once` matches at a time and thinks for `think_ms`.

    It creates enough matches for `moves` moves in all, and at least one for each pair. For `folder`, `profile`,
    `metrics`, `store` and `traces` see `arbiter.bench.server_process.opened`. together: both sides' players are in one
    process.
    """
    games = scripts(GAME, SCRIPTS)
    with opened(folder, profile, metrics=metrics, store=store, traces=traces) as server_process:
        names = [(f"first-{n}", f"second-{n}") for n in range(pairs)]
        tokens = [server_process.tokens([pair[side] for pair in names]) for side in (0, 1)]
        before = server_process.server.resident_bytes()
        made = server_process.matches(GAME, names * (at_once * matches_for(games, moves / pairs / at_once)))
        with connected([server_process.address], _joined(tokens, together), games, made, at_once, think_ms) as players:
            yield PlayingServer(server_process.server, players, server_process.server.resident_bytes() - before)


@contextmanager
def bare(
    pairs: int,
    moves: float,
    think_ms: float,
    folder: Path | None,
    store: str = "",
    together: bool = False,
    compiled: bool = False,
) -> Iterator[PlayingServer]:
    """Start the baseline server with pairs of players, who play one match at a time; otherwise like `playing`.

    compiled: its own lines, too, are compiled where those of the server are.
    """
    games = scripts(GAME, SCRIPTS)
    tokens = [[f"{pair}-{seat}" for pair in range(pairs)] for seat in (1, 2)]
    matches = [[f"{pair}-{n}" for n in range(matches_for(games, moves / pairs))] for pair in range(pairs)]
    with (
        new_store(folder, store) as place,
        BenchProcess(
            BARE,
            store=place.url,
            game=GAME,
            seats={token: (pair, seat) for seat in (1, 2) for pair, token in enumerate(tokens[seat - 1])},
            matches=matches,
            compiled=compiled,
        ) as server,
    ):
        address = f"127.0.0.1:{server.next_answer()['port']}"
        known = [match for of_pair in matches for match in of_pair]
        with connected([address], _joined(tokens, together), games, known, 1, think_ms) as players:
            yield PlayingServer(server, players)


def _joined(tokens: Sequence[Sequence[str]], together: bool) -> Sequence[Sequence[str]]:
    return [[token for of_side in tokens for token in of_side]] if together else tokens


def matches_for(games: Sequence[Sequence[str]], moves: float) -> int:
    """Return how many matches in a row are enough for a number of moves."""
    return 1 + ceil(moves / min(map(len, games)))


@contextmanager
def connected(
    addresses: Sequence[str],
    tokens: Sequence[Sequence[str]],
    games: Sequence[Sequence[str]],
    matches: Sequence[str],
    at_once: int,
    think_ms: float,
) -> Iterator[tuple[BenchProcess, ...]]:
    """Connect the players, a process for each group of tokens; they know all matches.

    addresses: the first player of a group is at the first one, the second one at the second, and so on in turn.
    """
    plan = {
        "addresses": addresses,
        "scripts": games,
        "matches": {match: number % len(games) for number, match in enumerate(matches)},
        "at_once": at_once,
        "think_ms": think_ms,
    }
    with ExitStack() as stack:
        players = tuple([stack.enter_context(BenchProcess(PLAYERS, tokens=group, **plan)) for group in tokens])
        for process in players:
            process.next_answer()
        yield players
