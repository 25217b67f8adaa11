"""The environment of a benchmark: its own server and database, with the players and matches that it needs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
from arbiter_protos.v1 import match_pb2, match_pb2_grpc, player_pb2, player_pb2_grpc

from arbiter.bench.processes import BenchError, BenchProcess
from arbiter.bench.stores import NewStore, new_store

SERVER = "arbiter.bench.measured_server"
ANY_PORT = "127.0.0.1:0"
CALL_S = 240.0  #: timeout of a call: only a server that hangs takes this long, however busy the machine
PAGE = 500  #: matches in a page of a list
AT_ONCE = 20  #: the organiser's concurrent calls


class ServerProcess:
    """A server process, its address, that of its page ('' for none), and the organiser's requests to it."""

    def __init__(self, server: BenchProcess, port: int, admin_token: str, page: str, channel: grpc.Channel) -> None:
        self.server = server
        self.page = page
        self.address = f"127.0.0.1:{port}"
        self.metadata = (("authorization", f"Bearer {admin_token}"),)
        self._matches = match_pb2_grpc.MatchServiceStub(channel)
        self._players = player_pb2_grpc.PlayerServiceStub(channel)
        self._requests = itertools.count()

    def tokens(self, players: Sequence[str], scope: Any = player_pb2.SCOPE_PLAY) -> list[str]:
        """Create players, and a token for each."""
        requests = (player_pb2.CreateTokenRequest(player=player, scopes=[scope]) for player in players)
        return [made.secret for made in self._call(self._players.CreateToken, requests)]

    def matches(self, game: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
        """Create a match for each pair, with ample time; return their ids."""
        requests = (
            match_pb2.CreateMatchRequest(
                game=game, players=pair, time_control="30m+1s", request_id=f"bench-{next(self._requests)}"
            )
            for pair in pairs
        )
        return [made.match.match_id for made in self._call(self._matches.CreateMatch, requests)]

    def await_match(self, match_id: str) -> None:
        """Wait until it sends a match. Raises BenchError if it gives no answer."""
        request = match_pb2.GetMatchRequest(match_id=match_id)
        try:
            self._matches.GetMatch(request, metadata=self.metadata, timeout=CALL_S, wait_for_ready=True)
        except grpc.RpcError as error:
            raise BenchError(f"the server gave no answer: {error}") from None

    def live(self) -> int:
        """Return how many live matches it lists. Raises BenchError if it gives no answer."""
        return live_matches(self._matches, self.metadata)

    def _call(self, method: Any, requests: Iterable[Any]) -> Iterator[Any]:
        waiting: list[Any] = []
        for request in requests:
            waiting.append(method.future(request, metadata=self.metadata, timeout=CALL_S))
            if len(waiting) == AT_ONCE:
                yield from (call.result() for call in waiting)
                waiting = []
        yield from (call.result() for call in waiting)


def live_matches(stub: match_pb2_grpc.MatchServiceStub, metadata: tuple[tuple[str, str], ...]) -> int:
    """Return how many live matches a server lists, once it serves. Raises BenchError if it gives no answer."""
    found, page = 0, ""
    while True:
        request = match_pb2.ListMatchesRequest(phase=match_pb2.PHASE_ACTIVE, page_size=PAGE, page_token=page)
        try:
            listed = stub.ListMatches(request, metadata=metadata, timeout=CALL_S, wait_for_ready=True)
        except grpc.RpcError as error:
            raise BenchError(f"the server gave no answer: {error}") from None
        found, page = found + len(listed.matches), listed.next_page_token
        if not page:
            return found


@contextmanager
def opened(
    folder: Path | None = None,
    profile: bool = False,
    limits: Mapping[str, int] | None = None,
    metrics: bool = False,
    web: bool = False,
    store: str = "",
    traces: str = "",
    web_process: bool = False,
    steps: bool = False,
) -> Iterator[ServerProcess]:
    """Start a server with a new database. For `folder` and `store` see `arbiter.bench.stores.new_store`.

    For the others see `started`.
    """
    with (
        new_store(folder, store) as place,
        started(place, profile, limits, metrics, web, traces, web_process, steps) as server_process,
    ):
        yield server_process


@contextmanager
def started(
    place: NewStore,
    profile: bool = False,
    limits: Mapping[str, int] | None = None,
    metrics: bool = False,
    web: bool = False,
    traces: str = "",
    web_process: bool = False,
    steps: bool = False,
) -> Iterator[ServerProcess]:
    """Start a server on a store.

    `limits`: those that differ from the defaults. `metrics`: whether it shows metrics. `web`: with its page. `traces`:
    the URL of a collector that gets its traces. `web_process`: another process has the page; the store must be one that
    they can share. `steps`: the steps of its event loop are timed. Raises BenchError.
    """
    if web_process and place.url.startswith("sqlite"):
        raise BenchError("--web-process needs --store: two processes can't share an SQLite file")
    plan = {"store": place.url, "keys": place.keys, "profile": profile, "limits": limits or {}, "traces": traces}
    plan |= {"metrics": metrics, "shared": web_process, "steps": steps}
    with ExitStack() as stack:
        page = ANY_PORT if web else ""
        server = stack.enter_context(BenchProcess(SERVER, **plan, web="" if web_process else page))
        serves = server.next_answer()
        if web_process:
            beside = stack.enter_context(BenchProcess(SERVER, **plan, listen="", web=ANY_PORT))
            serves["page"] = beside.next_answer()["page"]
        channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{serves['port']}"))
        yield ServerProcess(server, serves["port"], serves["token"], serves["page"], channel)
