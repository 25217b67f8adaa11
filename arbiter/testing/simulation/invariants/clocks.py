"""Clocks: every ledger is computed a second time, from the published policy and the time control.

Outages too: a match that was going on when the server stopped is interrupted before anything else happens to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from arbiter.testing.simulation.invariants.run_evidence import RecordedEvent, RunEvidence, Violation
from arbiter.testing.simulation.plan import Fault

FAIR = "Fair clocks"
LOSING = {Fault.REFUSED, Fault.LIED}  #: with these faults, a stop may fail to be recorded
UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


def _ms(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)", text).groups()  # type: ignore[union-attr]
    return int(number) * UNITS[unit]


@dataclass
class Control:
    """A time control: `main` for all moves, `extra` per move of a `kind`; `count` of periods or moves in a session."""

    kind: str
    main: int = 0
    extra: int = 0
    count: int = 0

    @classmethod
    def of(cls, text: str) -> Control:
        """Parse the notation of a time control."""
        if text == "none":
            return cls("none")
        if "/move" in text:
            move, _, bank = text.partition("/move")
            return cls("move", _ms(bank[1:]) if bank else 0, _ms(move))
        if "/" in text:
            moves, _, session = text.partition("/")
            return cls("session", _ms(session), 0, int(moves))
        main, _, rest = text.partition("+")
        if "x" in rest:
            count, _, period = rest.partition("x")
            return cls("periods", _ms(main), _ms(period), int(count))
        if rest.endswith(("b", "d")):
            return cls("delay" if rest[-1] == "d" else "back", _ms(main), _ms(rest[:-1]))
        return cls("increment", _ms(main), _ms(rest) if rest else 0)

    def start(self) -> list[int]:
        """Return a fresh clock: milliseconds, periods, moves to go."""
        return [
            self.main,
            self.count if self.kind == "periods" else 0,
            self.count if self.kind == "session" else 0,
        ]

    def available(self, clock: list[int]) -> float:
        """Return the time that the next move may take."""
        if self.kind == "none":
            return float("inf")
        if self.kind in ("delay", "move"):
            return clock[0] + self.extra
        return clock[0] + clock[1] * self.extra

    def after(self, clock: list[int], charged: int) -> list[int]:
        """Return the clock after a move that was in time."""
        ms, periods, moves = clock
        match self.kind:
            case "none":
                return clock
            case "increment":
                return [ms - charged + self.extra, 0, 0]
            case "delay" | "back" | "move":
                return [ms - max(0, charged - self.extra), 0, 0]
            case "periods":
                return [max(0, ms - charged), periods - max(0, charged - ms) // self.extra, 0]
            case _:
                more = [ms - charged, 0, moves - 1]
                return more if moves > 1 else [more[0] + self.main, 0, self.count]


@dataclass
class _Board:
    """The clocks of one match. `since`: when the running clock started; None while none runs."""

    controls: list[Control]
    policy: dict[str, Any]
    clocks: list[list[int]] = field(default_factory=list)
    banks: list[int] = field(default_factory=list)
    since: int | None = None
    turn: int = 0
    at: int = 0


def clocks_are_reckoned(case: RunEvidence) -> Iterator[Violation]:
    """Check that every ledger and every clock follows from the times on record and from the policy."""
    for match_id, entries in case.matches.items():
        created = entries[0].event
        first, _, second = created["time"].partition(":")
        controls, bank = [Control.of(first), Control.of(second or first)], created["policy"]["credit"]["bank_ms"]
        board = _Board(controls, created["policy"], [control.start() for control in controls], [bank, bank])
        for entry in entries:
            wrong = _step(board, entry)
            if wrong:
                yield Violation(FAIR, f"{match_id} revision {entry.revision}: {wrong} in {entry.event}")
                break


def _step(board: _Board, entry: RecordedEvent) -> str:
    """Apply an event; return what is wrong with it, or ''."""
    event = entry.event
    if event["at"] < board.at:
        return f"time runs back from {board.at}"
    board.at = event["at"]
    match entry.kind:
        case "started" | "resumed":
            board.since, board.turn = event["at"], event["turn"]
            return "" if _clocks(event) == board.clocks else f"clocks are not {board.clocks}"
        case "interrupted":
            board.since = None
        case "moved":
            return _moved(board, event)
        case "ended" if "late" in event:
            left = _ledger(board, event["late"]["ledger"])
            return left if isinstance(left, str) else "the late move was in time" if left > 0 else ""
        case "ended" if event["cause"] == "time":
            return "" if _is_over(board, event["at"]) else "the flag had not fallen"
    return ""


def _clocks(event: dict[str, Any]) -> list[list[int]]:
    return [[clock["remaining_ms"], clock.get("periods", 0), clock.get("moves_left", 0)] for clock in event["clocks"]]


def _moved(board: _Board, event: dict[str, Any]) -> str:
    seat, ledger = event["seat"] - 1, event["ledger"]
    if event["seat"] != board.turn:
        return f"seat {board.turn} was to move"
    left = _ledger(board, ledger)
    if isinstance(left, str):
        return left
    if left <= 0:
        return "the flag had fallen"
    board.clocks[seat] = board.controls[seat].after(board.clocks[seat], ledger["charged"])
    board.since, board.turn = event["at"], event["turn"]
    return "" if _clocks(event) == board.clocks else f"clocks are not {board.clocks}"


def _ledger(board: _Board, ledger: dict[str, Any]) -> str | float:
    """Compute a ledger; return the remaining time, or what is wrong."""
    rules, seat = board.policy["credit"], board.turn - 1
    if board.since is None:
        return "no clock ran"
    passed = max(0, ledger["arrived"] - board.since)
    handed, network = ledger.get("handed_over"), 0
    waited = 0 if handed is None else min(max(0, handed - board.since), passed)
    if handed is not None and ledger.get("round_trip") is not None and passed > 0:
        network = min(ledger["round_trip"], rules["network_most_ms"], board.banks[seat], passed - waited)
    credited = min(waited, rules["hand_over_most_ms"]) + network
    board.banks[seat] = min(board.banks[seat] - network + rules["refill_ms"], rules["bank_ms"])
    charged = passed - credited
    available: float = min(board.controls[seat].available(board.clocks[seat]), board.policy["move_cap_ms"])
    reckoned = {"started": board.since, "credited": credited, "charged": charged, "left": max(0, available - charged)}
    for name, value in reckoned.items():
        if ledger[name] != value:
            return f"{name} is {ledger[name]}, reckoned {value}"
    left: float = available - charged
    return left


def _is_over(board: _Board, at: int) -> bool:
    """Return whether the flag has fallen at a time, whatever a move under way might be credited."""
    rules, seat = board.policy["credit"], board.turn - 1
    available = min(board.controls[seat].available(board.clocks[seat]), board.policy["move_cap_ms"])
    most = rules["hand_over_most_ms"] + min(rules["network_most_ms"], board.banks[seat])
    return board.since is not None and at >= board.since + available + most


def ledgers_say_what_was_seen(case: RunEvidence) -> Iterator[Violation]:
    """Check that a move's ledger says when the move reached the server and when its turn was sent, and not earlier."""
    arrivals: dict[tuple[str, str, str], list[tuple[int, bool]]] = {}
    for asked in case.history.asked:
        key = asked.player, asked.ask.match_id, asked.ask.request
        arrivals.setdefault(key, []).append((asked.at_ms, asked.streamed))
    firsts: dict[tuple[str, int, int], dict[int, int]] = {}  # by match, ply and beginning: the first in each process
    for handed in case.history.handed:
        turn = handed.match_id, handed.ply, handed.since
        firsts.setdefault(turn, {}).setdefault(handed.process, handed.at_ms)
    for match_id, entries in case.matches.items():
        for entry in entries:
            if entry.kind != "moved":
                continue
            event, ledger = entry.event, entry.event["ledger"]
            seen = arrivals.get((case.player(match_id, event["seat"]), match_id, event["request"]), [])
            fitting = [streamed for at, streamed in seen if at == ledger["arrived"]]
            handings = firsts.get((match_id, event["ply"], ledger["started"]), {})
            if not fitting:
                yield Violation(FAIR, f"{match_id} ply {event['ply']}: arrived at {ledger['arrived']}, seen {seen}")
            claimed = ledger.get("handed_over")
            if claimed is not None and (not any(fitting) or max(handings.values(), default=0) < claimed):
                yield Violation(FAIR, f"{match_id} ply {event['ply']}: handed over at {claimed}, seen {handings}")


def outages_are_charged_to_nobody(case: RunEvidence) -> Iterator[Violation]:
    """Check that a match under way when the server stopped is interrupted before anything else happens to it."""
    for outage in case.history.outages:
        for match_id, entries in case.matches.items():
            before = [entry for entry in entries if entry.sequence <= outage.head]
            if not before:
                continue
            if (
                outage.graceful
                and before[-1].kind not in ("interrupted", "ended")
                and not case.plan.faults.keys() & LOSING
            ):
                yield Violation("A stop stops the clocks", f"{match_id}: the server stopped after {before[-1].event}")
            after = [entry for entry in entries if entry.sequence > outage.head]
            if after and after[0].kind != "interrupted":
                yield Violation(
                    "The outage is charged to nobody",
                    f"{match_id}: after the outage at place {outage.head} came {after[0].event}",
                )


CHECKS = (clocks_are_reckoned, ledgers_say_what_was_seen, outages_are_charged_to_nobody)
