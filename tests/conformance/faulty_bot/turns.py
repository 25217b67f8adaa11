"""Faults at turns."""

from __future__ import annotations

import time
from collections.abc import Iterable

from arbiter_protos.v1.play_pb2 import MoveAct, PlayAct, PlayItem, ResignAct

from tests.conformance.faulty_bot.fault import Fault


class MovesAgain(Fault):
    """Moves again, with another request id, for a turn that it received three times on one stream."""

    fails = ("turns.doubled",)

    def __init__(self) -> None:
        super().__init__()
        self.received: list[tuple[str, int]] = []

    def opened(self) -> None:
        self.received = []

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.HasField("turn"):
            self.received.append((item.turn.match_id, item.turn.ply))
        return [item]

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        if act.HasField("move") and self.received.count((act.match_id, act.move.ply)) > 2:
            return [act, PlayAct(request_id=f"{act.request_id}-again", match_id=act.match_id, move=act.move)]
        return [act]


class MovesForEarlierPlies(Fault):
    """Moves for a turn whose ply is below that of the last one."""

    fails = ("turns.late",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        ply, _ = self.turns.get((item.turn.match_id, item.turn.seat), (-1, 0.0))
        if item.HasField("turn") and item.turn.ply < ply and item.turn.match_id not in self.ended:
            move = MoveAct(ply=item.turn.ply, move="pass")
            self.say(PlayAct(request_id=f"late-{time.monotonic_ns()}", match_id=item.turn.match_id, move=move))
        return [item]


class TakesNoTurnWhileThinking(Fault):
    """Does not take another turn in a match before it has moved for the last one."""

    fails = ("turns.overtaken",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        match, seat = item.turn.match_id, item.turn.seat
        ply, _ = self.turns.get((match, seat), (item.turn.ply, 0.0))
        return [] if item.turn.ply > ply and (match, ply) not in self.moved else [item]


class ResignsAfterAnInterruption(Fault):
    """Resigns when a turn arrives again because its clock was restarted."""

    fails = ("turns.interrupted",)

    def __init__(self) -> None:
        super().__init__()
        self.started: dict[tuple[str, int], int] = {}

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.HasField("turn"):
            turn = item.turn
            if self.started.setdefault((turn.match_id, turn.ply), turn.started_ms) != turn.started_ms:
                self.say(PlayAct(request_id="enough", match_id=turn.match_id, resign=ResignAct()))
        return [item]


class NeverReady(Fault):
    """Promises to say when it is ready for a match, and never does."""

    fails = ("turns.ready",)

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        return [] if act.HasField("ready") else [act]


class ReadyOnce(Fault):
    """Says only on its first stream that it is ready for a match."""

    fails = ("turns.ready",)

    def __init__(self) -> None:
        super().__init__()
        self.said: set[str] = set()

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        if act.HasField("ready") and act.match_id in self.said:
            return []
        self.said |= {act.match_id} if act.HasField("ready") else set()
        return [act]


class NeedsLastMoves(Fault):
    """Takes no turn without last moves, except the first one."""

    fails = ("turns.gap",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        return [] if item.turn.ply and not item.turn.last_moves else [item]


class WaitsForReceipts(Fault):
    """Takes no turn before its last move has been answered."""

    fails = ("turns.before-receipt",)

    def __init__(self) -> None:
        super().__init__()
        self.answered: set[str] = set()
        self.asked: dict[tuple[str, int], str] = {}

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        if act.HasField("move"):
            self.asked[act.match_id, act.move.ply] = act.request_id
        return [act]

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.HasField("answer"):
            self.answered.add(item.answer.request_id)
        asked = self.asked.get((item.turn.match_id, item.turn.ply - 2), "") if item.HasField("turn") else ""
        return [] if asked and asked not in self.answered else [item]


class TakesTwoTurns(Fault):
    """Takes only two turns of a message that has a ping."""

    fails = ("turns.one-message",)

    def heard(self, items: list[PlayItem]) -> list[PlayItem]:
        turns = [item for item in items if item.HasField("turn")]
        pinged = any(item.HasField("ping") for item in items)
        return [item for item in items if not pinged or item not in turns[2:]]
