"""A match for tests: it keeps its log, and compares a replay of the log with the live match."""

from __future__ import annotations

from dataclasses import replace

from arbiter.errors import Refusal
from arbiter.games.contract import Seat
from arbiter.matches import (
    Decision,
    Match,
    check_chain,
    create,
    decide,
    evolve,
    read,
    replay,
    seal,
    seal_first,
    with_position,
)
from arbiter.matches.adjudication import AdjudicationRules
from arbiter.matches.commands import Arrive, Command, Create, Play
from arbiter.matches.events import Event
from arbiter.matches.policy import Policy
from arbiter.matches.requests import Receipt
from tests.matches.heap import games

NOON = 1_800_000_000_000


class LoggedMatch:
    """A match of `game` between alice and bob, or others; only the test changes `now`."""

    def __init__(
        self,
        game: str = "heap",
        time: str = "1m",
        policy: Policy | None = None,
        now: int = NOON,
        opening: tuple[str, ...] = (),
        players: tuple[str, str] = ("alice", "bob"),
        rules: AdjudicationRules | None = None,
        position: str = "",
    ) -> None:
        self.now = now
        policy = policy or Policy()
        command = Create(
            game, players, time, "organiser", "create", policy, opening=opening, adjudication=rules, position=position
        )
        decision = create("m1", command, now, games)
        self.log = [sealed.data for sealed in seal_first("m1", decision.events)]
        self.events: list[Event] = list(decision.events)
        self.match: Match = replay(decision.events, games)

    def do(self, command: Command, after_ms: int = 0) -> Decision:
        self.now += after_ms
        decision = decide(self.match, command, self.now)
        sealed = seal(self.match, decision.events)
        assert [item.revision for item in sealed] == [
            self.match.revision + n for n in range(1, len(decision.events) + 1)
        ]
        self.log += [item.data for item in sealed]
        self.events += decision.events
        for event in decision.events:
            self.match = evolve(self.match, event)
        return decision

    def kinds(self, command: Command, after_ms: int = 0) -> list[str]:
        return [event.kind.value for event in self.do(command, after_ms).events]

    def play(self, move: str, after_ms: int = 0, request: str = "", seat: Seat | None = None) -> Decision:
        """Play a move of the seat to move (or another) that arrives in `after_ms`, without a stream."""
        name = request or f"move {self.match.revision}"
        command = Play(seat or self.match.turn, name, self.match.ply, move, self.now + after_ms)
        return self.do(command, after_ms)

    def replayed(self) -> Match:
        return replay((read(data) for data in self.log), games)

    def check(self) -> None:
        """Assert that the log is complete and gives this match again, also when it is read on trust."""
        assert check_chain(self.log) == self.events
        assert self.replayed() == self.match
        trusted = replay((read(data) for data in self.log), games, trust=True)
        as_read = trusted.position
        assert with_position(trusted) == with_position(self.match)
        assert trusted.position is as_read, "with_position changed the match that it was given"


def started(
    game: str = "heap",
    time: str = "1m",
    policy: Policy | None = None,
    opening: tuple[str, ...] = (),
    players: tuple[str, str] = ("alice", "bob"),
    rules: AdjudicationRules | None = None,
    position: str = "",
) -> LoggedMatch:
    """Return a match with both players present and the first clock running."""
    logged = LoggedMatch(game, time, policy, opening=opening, players=players, rules=rules, position=position)
    logged.do(Arrive(1))
    logged.do(Arrive(2))
    return logged


def receipt(decision: Decision) -> Receipt:
    assert isinstance(decision.answer, Receipt)
    return decision.answer


def refusal(decision: Decision) -> Refusal:
    assert isinstance(decision.answer, Refusal)
    return decision.answer


def policy(**values: object) -> Policy:
    return replace(Policy(), **values)  # type: ignore[arg-type]
