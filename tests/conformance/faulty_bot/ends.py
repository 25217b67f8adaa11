"""Faults at the end of a match or stream, and in keeping time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from arbiter_client import cli, playing, session
from arbiter_client.bot import Choice
from arbiter_client.bots.random import RandomBot
from arbiter_client.errors import Reason
from arbiter_client.values.play import Turn
from arbiter_protos.v1.play_pb2 import AnswerDrawAct, MoveAct, PlayAct, PlayItem, ResignAct

from tests.conformance.faulty_bot.fault import Fault, replace


class AcknowledgesOnce(Fault):
    """Acknowledges a result once, however often it receives it."""

    fails = ("results.sent-again",)

    def __init__(self) -> None:
        super().__init__()
        self.cursors: set[str] = set()

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        if not act.HasField("acknowledge"):
            return [act]
        known = act.acknowledge.cursor in self.cursors
        self.cursors.add(act.acknowledge.cursor)
        return [] if known else [act]


class AcknowledgesOnlyItsMatches(Fault):
    """Acknowledges only results of matches that it has played in."""

    fails = ("results.unknown-match",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        return [] if item.HasField("ended") and item.ended.match_id not in self.matches else [item]


class PlaysOnAfterTheEnd(Fault):
    """Moves for a turn of a match that has ended."""

    fails = ("results.late-turn",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.turn.match_id in self.ended:
            self.say(PlayAct(request_id="on", match_id=item.turn.match_id, move=MoveAct(ply=item.turn.ply, move="j2")))
        return [item]


class ActsAfterTheEnd(Fault):
    """Acts after the end of a match in which it was thinking."""

    fails = ("results.no-more-moves",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.HasField("ended") and self.thinking(item.ended.match_id):
            self.say(PlayAct(request_id="so", match_id=item.ended.match_id, resign=ResignAct()), after_s=0.9)
        return [item]


class AnswersEveryOffer(Fault):
    """Answers an offer each time that it receives it."""

    fails = ("draws.once",)

    def __init__(self) -> None:
        super().__init__()
        self.offers = 0

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.HasField("draw_offered"):
            self.offers += 1
            if self.offers > 1:
                answer = AnswerDrawAct(accept=False)
                name = f"offer-{time.monotonic_ns()}"
                self.say(PlayAct(request_id=name, match_id=item.draw_offered.match_id, answer_draw=answer), after_s=0.2)
        return [item]


class AnswersAnOfferAgain(Fault):
    """Answers an offer again, with another request id, when a new stream shows the match."""

    fails = ("draws.reconnect",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.match.match_id in self.matches and item.match.draw_offered_by:
            answer = AnswerDrawAct(accept=False)
            name = f"offer-{time.monotonic_ns()}"
            self.say(PlayAct(request_id=name, match_id=item.match.match_id, answer_draw=answer))
        return [item]


class AnswersOnePing(Fault):
    """Answers only one ping of a message."""

    fails = ("heartbeat.pongs",)

    def heard(self, items: list[PlayItem]) -> list[PlayItem]:
        pings = [item for item in items if item.HasField("ping")]
        return [item for item in items if item not in pings[1:]]


class AnswersNoPingsWhileThinking(Fault):
    """Answers no pings after it has thought for a tenth of a second."""

    fails = ("heartbeat.thinking",)

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        return [] if act.HasField("pong") and self.thinks_long() else [act]

    def thinks_long(self) -> bool:
        return any(
            (match, ply) not in self.moved and match not in self.ended and time.monotonic() - at > 0.1
            for (match, _), (ply, at) in self.turns.items()
        )


class MovesTooSlowly(Fault):
    """Takes 1.5 s for a move where it has 300 ms."""

    fails = ("clocks.pressure",)

    def patch(self) -> None:
        choose = RandomBot.choose

        def choose_slowly(bot: RandomBot, turn: Turn) -> Choice:
            if "/move" in turn.match.time_control:
                time.sleep(1.5)
            return choose(bot, turn)

        replace(RandomBot, "choose", choose_slowly)


class ReconnectsWhenSuperseded(Fault):
    """Reconnects after a newer stream of its player took over."""

    fails = ("sessions.session-superseded",)

    def patch(self) -> None:
        passes = session.passes
        replace(session, "passes", lambda error: passes(error) or error.reason == Reason.SESSION_SUPERSEDED)


class ExitsWithStatus0(Fault):
    """Exits with status 0, whatever the reason."""

    fails = (
        "sessions.session-superseded",
        "sessions.player-suspended",
        "sessions.token-invalid",
        "sessions.scope-missing",
        "sessions.version-unsupported",
        "sessions.nobody-there",
    )

    def patch(self) -> None:
        main = cli.main

        def quiet(*arguments: Any) -> None:
            try:
                main(*arguments)
            except SystemExit:
                sys.exit(0)

        replace(cli, "main", quiet)


class MissesARefusal(Fault):
    """Opens one more stream after the first that is refused: on a busy machine a bot had taken that for silent."""

    def patch(self) -> None:
        passes = session.passes
        missed: list[Exception] = []

        def missing(error: Any) -> bool:
            if not missed and not passes(error):
                missed.append(error)
                return True
            return passes(error)

        replace(session, "passes", missing)


class NeverGivesUp(Fault):
    """Tries for ever to reach a server that it has never reached."""

    fails = ("sessions.nobody-there",)

    def patch(self) -> None:
        init: Callable[..., None] = session.Session.__init__

        def patient(one: session.Session, *arguments: Any) -> None:
            init(one, *arguments[:4], 1_000_000.0, *arguments[5:])

        replace(session.Session, "__init__", patient)


class CutsItsStream(Fault):
    """Cuts its stream where it should end it."""

    fails = ("shutdown.idle", "shutdown.playing")

    def patch(self) -> None:
        async def leave_at_once(*_: Any) -> None:
            return None

        replace(playing, "_farewell", leave_at_once)


class UsesNoTls(Fault):
    """Does not use TLS, whatever its options say."""

    fails = ("tls.plays",)

    def patch(self) -> None:
        os.environ.pop("ARBITER_ROOT_CERTIFICATE", None)
