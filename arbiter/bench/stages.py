"""A profile of one move by stage: each stage of the server's path is timed.

Each stage is a function of the server, wrapped by a stopwatch that reads the processor time of its thread. If a stage
calls another stage, the time of the inner one counts only there. The rest of the event loop's thread is the gRPC
library's and the loop's own. The stopwatches take time themselves: their known cost is subtracted, and rates are
measured without them. The modules must be the interpreted ones, because compiled code calls its own functions directly.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from arbiter.games import registry
from arbiter.matches import evolution, transitions
from arbiter.rpc import play_messages
from arbiter.service.matches import decisions
from arbiter.service.play import acts, delivery
from arbiter.store import writer


class Stage(NamedTuple):
    """A stage: its name in the report, and the functions (object and attribute) that implement it."""

    name: str
    places: tuple[tuple[Any, str], ...]


def _rules() -> tuple[tuple[Any, str], ...]:
    games = {type(registry.game(name)) for name in registry.BUNDLED}
    return tuple((game, name) for game in games for name in ("play", "text"))


STAGES: Final = (
    Stage("message in: session, seat, ledger's instants", ((play_messages.PlayMessages, "act"),)),
    Stage("decide: request, clock, ledger", ((transitions, "decide"),)),
    Stage("rules: play the move, write the position", _rules()),
    Stage("seal: canonical JSON, hash", ((decisions, "seal"),)),
    Stage("evolve: the next state", ((evolution, "evolve"),)),
    Stage("hand over to the journal, set the timer", ((decisions.Decisions, "append"),)),
    Stage("durable: new state, feed, answer", ((decisions.Decisions, "_stored"),)),
    Stage(
        "publish: turn and answer into the outbox",
        ((delivery.Delivery, "match_changed"), (acts.PlayActs, "_answer")),
    ),
    Stage("make the messages", ((play_messages.PlayMessages, "message"),)),
    Stage("commit thread: SQL", ((writer.Writer, "_commit"),)),
)
REST: Final = "gRPC, event loop: read, parse, serialise, write"
WARM_UP: Final = 2_000


class Stopwatch:
    """Counts the processor time of stages; `read` returns it and resets it."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        self._calls: dict[str, int] = {}
        self._nested = threading.local()
        self._cost = 0.0
        self._overall = 0.0

    def install(self) -> None:
        """Wrap every stage, for the rest of the process. Call it before the server is created."""
        wrapped: dict[int, Callable[..., Any]] = {}
        for stage in STAGES:
            for owner, name in stage.places:
                original = getattr(owner, name)
                wrapped.setdefault(id(original), self._timed(stage.name, original))
                setattr(owner, name, wrapped[id(original)])
        probe = self._timed("", lambda: None)
        for _ in range(WARM_UP):
            probe()
        began = time.thread_time()
        for _ in range(WARM_UP):
            probe()
        self._cost = (time.thread_time() - began) / WARM_UP
        self.read()

    def read(self) -> dict[str, float]:
        """Return the seconds of each stage since the last call. Call it in the event loop's thread."""
        spent, self._spent = self._spent, {}
        calls, self._calls = self._calls, {}
        overall = time.thread_time()
        in_loop = overall - self._overall - self._cost * sum(calls.values())
        self._overall = overall
        found = {stage.name: spent.get(stage.name, 0.0) for stage in STAGES}
        return found | {REST: in_loop - sum(found.values()) + found[STAGES[-1].name]}

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        nested, clock = self._nested, time.thread_time

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            outer = getattr(nested, "inner", 0.0)
            nested.inner = 0.0
            began = clock()
            try:
                return function(*args, **kwargs)
            finally:
                took = clock() - began
                self._spent[name] = self._spent.get(name, 0.0) + took - nested.inner
                self._calls[name] = self._calls.get(name, 0) + 1
                nested.inner = outer + took + self._cost

        return timed
