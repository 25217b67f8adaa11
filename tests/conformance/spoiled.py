"""The random bot with one behaviour spoiled: `python spoiled.py FAULT`. `FAULTS` says what each has to fail.

Most faults are on the wire: what the client says goes through `up`, what it is told through `down`. The others put
another function in the place of one of the client's own.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, ClassVar

import grpc
from arbiter_client import bots, channel, cli, playing, runner, seeking, session, slots
from arbiter_client.bots.random import RandomBot
from arbiter_client.errors import ArbiterError, Reason, from_rpc
from arbiter_client.outbox import Outbox
from arbiter_protos.v1.play_pb2 import AnswerDrawAct, MoveAct, PlayAct, PlayItem, PlayRequest, PlayResponse, ResignAct
from arbiter_protos.v1.refusal_pb2 import RefusalReason
from google.protobuf.unknown_fields import UnknownFieldSet

FAULTS: dict[str, type[Fault]] = {}
"""The faults by name."""


class Fault:
    """A fault of a bot. fails: the clauses that it fails, each of them and no others."""

    fails: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        FAULTS[cls.__name__] = cls

    def __init__(self) -> None:
        self.call: Any = None  # the stream
        self.player = ""
        self.turns: dict[tuple[str, int], tuple[int, float]] = {}  # ply told last and when, by match and seat
        self.moved: set[tuple[str, int]] = set()  # match and ply
        self.matches: dict[str, Any] = {}  # as told last, by id
        self.ended: set[str] = set()

    def patch(self) -> None:
        """Change the client before it runs."""

    def opened(self) -> None:
        """Be told of a new stream."""

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        """Return what is said in the place of an act."""
        return [act]

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        """Return what is heard in the place of an item."""
        return [item]

    def heard(self, items: list[PlayItem]) -> list[PlayItem]:
        """Return what is heard in the place of a message."""
        return [out for item in items for out in self.down(item)]

    def say(self, act: PlayAct, after_s: float = 0.0) -> None:
        """Say something more, now or in a while."""

        async def write() -> None:
            await asyncio.sleep(after_s)
            await self.call.write(PlayRequest(acts=[act]))

        self.task = asyncio.get_running_loop().create_task(write())

    def thinking(self, match_id: str = "") -> bool:
        """Say whether there is a turn, of a match or at all, that has not been answered."""
        return any(
            match_id in ("", match) and (match, ply) not in self.moved and match not in self.ended
            for (match, _), (ply, _) in self.turns.items()
        )

    def remember_told(self, item: PlayItem) -> None:
        """Keep what a fault may want to know of an item, once it has been heard."""
        if item.HasField("hello"):
            self.player = item.hello.player
        elif item.HasField("match"):
            self.matches[item.match.match_id] = item.match
        elif item.HasField("turn"):
            self.turns[item.turn.match_id, item.turn.seat] = (item.turn.ply, time.monotonic())
        elif item.HasField("ended"):
            self.ended.add(item.ended.match_id)


class Call:
    """A Play stream with a fault."""

    def __init__(self, call: Any, fault: Fault) -> None:
        self._call = call
        self._fault = fault
        self._writing = asyncio.Lock()
        fault.call = self
        fault.opened()

    async def read(self) -> Any:
        """Return the next message."""
        message = await self._call.read()
        if not isinstance(message, PlayResponse):
            return message
        items = self._fault.heard(list(message.items))
        for item in message.items:
            self._fault.remember_told(item)
        return PlayResponse(items=items)

    async def write(self, request: PlayRequest) -> None:
        """Say something."""
        acts = [out for act in request.acts for out in self._fault.up(act)]
        self._fault.moved |= {(act.match_id, act.move.ply) for act in request.acts if act.HasField("move")}
        async with self._writing:
            await self._call.write(PlayRequest(acts=acts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)


def leave() -> None:
    """End the process, as one that has met what it does not know."""
    os._exit(3)


def unknown(item: Any, number: int) -> bool:
    """Say whether a message has a field of a number that nobody knows."""
    return any(field.field_number == number for field in UnknownFieldSet(item))


def reason(item: PlayItem) -> str:
    """Return why an answer is a refusal, or ''."""
    number = item.answer.refusal.reason if item.answer.HasField("refusal") else 0
    known = number in RefusalReason.values()
    return RefusalReason.Name(number).removeprefix("REFUSAL_REASON_") if known and number else str(number or "")


# ---- how a stream begins -------------------------------------------------------------------------------------------


class NamesNoSoftware(Fault):
    """Does not say what client it is."""

    fails = ("hello.first",)

    def up(self, act):
        if act.HasField("hello"):
            act.hello.software = ""
        return [act]


class AsksWithAnotherToken(Fault):
    """Asks for legal moves with a token of nobody's."""

    fails = ("hello.token",)

    def patch(self):
        async def ask_all(connection, method, request):
            async def attempt():
                metadata = (("authorization", "Bearer somebody"),)
                return [part async for part in method(request, metadata=metadata)]

            return await connection.persist(attempt)

        channel.Connection.ask_all = ask_all


class SpeaksTooSoon(Fault):
    """Sends unanswered requests again before the server's hello."""

    fails = ("hello.patience",)

    def patch(self):
        hold = Outbox.hold

        def hold_nothing(outbox, hello):
            hold(outbox, hello)
            outbox.release()

        Outbox.hold = hold_nothing


# ---- whole games ---------------------------------------------------------------------------------------------------


class DoesNotKnowHopIt(Fault):
    """Tries a move that is none at the start of a game of Hop It!."""

    fails = ("games.hop-it",)

    def up(self, act):
        match = self.matches.get(act.match_id)
        if act.HasField("move") and act.move.ply < 2 and match is not None and match.game == "hop-it":
            move = MoveAct(ply=act.move.ply, move="hop")
            return [PlayAct(request_id=f"{act.request_id}-try", match_id=act.match_id, move=move), act]
        return [act]


class HasASmallBoard(Fault):
    """Can't play on boards that are larger than usual."""

    fails = ("games.huge-position",)

    def down(self, item):
        return [] if item.turn.game == "pods(size=10)" else [item]


class HasAShortList(Fault):
    """Has no room for more than 1,500 legal moves."""

    fails = ("games.long-list", "games.elevation")

    def patch(self):
        choose = RandomBot.choose

        def choose_of_few(bot, turn):
            if len(bot.legal_moves(turn)) > 1_500:
                raise OverflowError("too many legal moves")
            return choose(bot, turn)

        RandomBot.choose = choose_of_few


class KnowsNoOpenings(Fault):
    """Takes no turn of Pods in a match that did not begin with the first move."""

    fails = ("games.opening", "parallel.independent")

    def down(self, item):
        match = self.matches.get(item.turn.match_id)
        return [] if match is not None and match.opening_plies and match.game == "pods" else [item]


# ---- turns ---------------------------------------------------------------------------------------------------------


class ChoosesTwice(Fault):
    """Moves once more, under another id, for a turn that it was told of three times on one stream."""

    fails = ("turns.doubled",)

    def __init__(self):
        super().__init__()
        self.told: list[tuple[str, int]] = []

    def opened(self):
        self.told = []

    def down(self, item):
        if item.HasField("turn"):
            self.told.append((item.turn.match_id, item.turn.ply))
        return [item]

    def up(self, act):
        if act.HasField("move") and self.told.count((act.match_id, act.move.ply)) > 2:
            return [act, PlayAct(request_id=f"{act.request_id}-again", match_id=act.match_id, move=act.move)]
        return [act]


class LooksBack(Fault):
    """Moves for a turn whose ply is behind that of the last one."""

    fails = ("turns.late",)

    def down(self, item):
        ply, _ = self.turns.get((item.turn.match_id, item.turn.seat), (-1, 0.0))
        if item.HasField("turn") and item.turn.ply < ply and item.turn.match_id not in self.ended:
            move = MoveAct(ply=item.turn.ply, move="pass")
            self.say(PlayAct(request_id=f"late-{time.monotonic_ns()}", match_id=item.turn.match_id, move=move))
        return [item]


class ThinksToTheEnd(Fault):
    """Does not take another turn in a match before it has moved for the last one."""

    fails = ("turns.overtaken",)

    def down(self, item):
        match, seat = item.turn.match_id, item.turn.seat
        ply, _ = self.turns.get((match, seat), (item.turn.ply, 0.0))
        return [] if item.turn.ply > ply and (match, ply) not in self.moved else [item]


class GivesUpAfterAnInterruption(Fault):
    """Resigns where a turn is told again because its clock was started anew."""

    fails = ("turns.interrupted",)

    def __init__(self):
        super().__init__()
        self.started: dict[tuple[str, int], int] = {}

    def down(self, item):
        if item.HasField("turn"):
            turn = item.turn
            if self.started.setdefault((turn.match_id, turn.ply), turn.started_ms) != turn.started_ms:
                self.say(PlayAct(request_id="enough", match_id=turn.match_id, resign=ResignAct()))
        return [item]


class MindsGaps(Fault):
    """Takes no turn that comes without last moves, but for the first one."""

    fails = ("turns.gap",)

    def down(self, item):
        return [] if item.turn.ply and not item.turn.last_moves else [item]


class WaitsForReceipts(Fault):
    """Takes no turn before the move before it has been answered."""

    fails = ("turns.before-receipt",)

    def __init__(self):
        super().__init__()
        self.answered: set[str] = set()
        self.asked: dict[tuple[str, int], str] = {}

    def up(self, act):
        if act.HasField("move"):
            self.asked[act.match_id, act.move.ply] = act.request_id
        return [act]

    def down(self, item):
        if item.HasField("answer"):
            self.answered.add(item.answer.request_id)
        asked = self.asked.get((item.turn.match_id, item.turn.ply - 2), "") if item.HasField("turn") else ""
        return [] if asked and asked not in self.answered else [item]


class TakesTwoTurns(Fault):
    """Takes two turns of a message that it is pinged with, and no more."""

    fails = ("turns.one-message",)

    def heard(self, items):
        turns = [item for item in items if item.HasField("turn")]
        pinged = any(item.HasField("ping") for item in items)
        return [item for item in items if not pinged or item not in turns[2:]]


# ---- connections ---------------------------------------------------------------------------------------------------


class ChangesWhatItRepeats(Fault):
    """Says more with a move as it sends it again on a new stream."""

    fails = ("reconnect.lost-move", "reconnect.lost-answer", "reconnect.order")

    def __init__(self):
        super().__init__()
        self.said: set[str] = set()
        self.before: set[str] = set()

    def opened(self):
        self.before = set(self.said)

    def up(self, act):
        if act.HasField("move"):
            self.said.add(act.request_id)
            if act.request_id in self.before:
                act.move.comment.evaluation = 500
        return [act]


class RepeatsBackwards(Fault):
    """Sends unanswered requests again with the last one first."""

    fails = ("reconnect.order",)

    def patch(self):
        release = Outbox.release

        def release_backwards(outbox):
            release(outbox)
            outbox._queue.reverse()

        Outbox.release = release_backwards


class Ends(Fault):
    """Ends for good with a session that ended for now."""

    reason: ClassVar[str] = ""

    def patch(self):
        passes = session.passes
        session.passes = lambda error: passes(error) and error.reason != self.reason


class EndsInSilence(Ends):
    """Ends for good with a session that ended in silence."""

    fails = ("reconnect.session-silent",)
    reason = Reason.SESSION_SILENT


class EndsWhenSlow(Ends):
    """Ends for good with a session that it read too slowly."""

    fails = ("reconnect.reader-too-slow",)
    reason = Reason.READER_TOO_SLOW


class EndsWhenLimited(Ends):
    """Ends for good with a session on which it said too much."""

    fails = ("reconnect.rate-limited",)
    reason = Reason.RATE_LIMITED


class EndsWithTheServer(Ends):
    """Ends for good with a server that is started again."""

    fails = ("reconnect.draining", "reconnect.restart")
    reason = Reason.DRAINING


async def asked_once(one, method, turn, *more):
    """Ask the bot for its choice once, whatever comes of it."""
    return await one._caller.call(method, turn, *more)


class ResignsForAnOutage(Fault):
    """Takes it for its own mistake that the server was away as it asked."""

    fails = ("reconnect.long-outage", "reconnect.calls-fail")

    def patch(self):
        runner.BotRunner._asked_of_bot = asked_once


class SeeksForEver(Fault):
    """Keeps its seeks open, however many matches it is to play."""

    fails = ("seeks.matches",)

    def patch(self):
        slots.MatchSlots.left = property(lambda one: None)
        slots.MatchSlots.full = property(lambda one: False)


class SeeksInVain(Fault):
    """Leaves terms alone that the server does not take."""

    fails = ("seeks.unknown-game", "seeks.malformed-time")

    def patch(self):
        make = seeking.Seeker._make

        async def leave_alone(one, place):
            await make(one, place)

        seeking.Seeker._make = leave_alone


class DoesNotWait(Fault):
    """Connects again at once, whatever the server asks for as it stops."""

    fails = ("reconnect.draining",)

    def patch(self):
        asked = ArbiterError.retry_after_s.fget

        def asked_s(error):
            return 0.0 if error.reason == Reason.DRAINING else asked(error)

        ArbiterError.retry_after_s = property(asked_s)


class Hammers(Fault):
    """Tries fifty times a second where the server is, while it has no stream."""

    fails = ("reconnect.backoff",)

    def patch(self):
        threading.Thread(target=self.hammer, daemon=True).start()

    def hammer(self):
        host, _, port = os.environ["ARBITER_SERVER"].rpartition(":")
        while True:
            time.sleep(0.02)
            if self.call is not None and self.call.done():
                with socket.socket() as one:
                    one.connect_ex((host, int(port)))


class BearsSilence(Fault):
    """Waits for ever for a server that says nothing more."""

    fails = ("reconnect.silence",)

    def down(self, item):
        if item.HasField("hello"):
            item.hello.silence_most_ms = 1_000_000_000
        return [item]


# ---- refusals ------------------------------------------------------------------------------------------------------


class Forgets(Fault):
    """Does not repeat what is refused for a reason."""

    reason: ClassVar[str] = ""

    def down(self, item):
        return [] if reason(item) == self.reason else [item]


class ForgetsWhatIsUnavailable(Forgets):
    """Does not repeat what was refused because the store is away."""

    fails = ("refusals.unavailable",)
    reason = "STORE_UNAVAILABLE"


class ForgetsWhatIsTooMuch(Forgets):
    """Does not repeat what was refused as too much."""

    fails = ("refusals.exhausted",)
    reason = "RATE_LIMITED"


class ForgetsTheUnknown(Forgets):
    """Does not repeat what was refused for a reason that it does not know."""

    fails = ("refusals.unknown-temporary",)
    reason = "9999"


class Resigns(Fault):
    """Resigns where a move is refused for a reason."""

    reason: ClassVar[str] = ""

    def down(self, item):
        if reason(item) == self.reason:
            self.say(PlayAct(request_id="late", match_id=item.answer.match_id, resign=ResignAct()))
        return [item]


class ResignsWhenLate(Resigns):
    """Resigns where a move came too late."""

    fails = ("refusals.ply-mismatch",)
    reason = "PLY_MISMATCH"


class ResignsOutOfTurn(Resigns):
    """Resigns where it was not its turn."""

    fails = ("refusals.not-your-turn",)
    reason = "NOT_YOUR_TURN"


class ResignsAfterTheEnd(Resigns):
    """Resigns where a match is not active."""

    fails = ("refusals.match-not-active",)
    reason = "MATCH_NOT_ACTIVE"


class InsistsOnIllegalMoves(Fault):
    """Sends a request again that was refused as illegal."""

    fails = ("refusals.illegal",)

    def __init__(self):
        super().__init__()
        self.asked: dict[str, PlayAct] = {}

    def up(self, act):
        self.asked[act.request_id] = act
        return [act]

    def down(self, item):
        if reason(item) == "MOVE_ILLEGAL":
            self.say(self.asked[item.answer.request_id])
            return []
        return [item]


class LeavesForARefusal(Fault):
    """Ends its stream where it is told that there is no such match."""

    fails = ("refusals.one-match",)

    def down(self, item):
        if reason(item) == "MATCH_NOT_FOUND":
            self.call.cancel()
        return [item]


class AsksOnce(Fault):
    """Does not ask again for moves that it was refused for a while, and takes that for its own mistake."""

    fails = ("refusals.call", "reconnect.long-outage", "reconnect.calls-fail")

    def patch(self):
        runner.BotRunner._asked_of_bot = asked_once

        async def ask_all(connection, method, request):
            async def attempt():
                try:
                    return [part async for part in method(request, metadata=connection.metadata)]
                except grpc.aio.AioRpcError as failure:
                    error = from_rpc(failure, connection.address)
                    if isinstance(error, ArbiterError):
                        raise error from None
                    raise

            return await connection.persist(attempt)

        channel.Connection.ask_all = ask_all


class CountsFromOneInEachMatch(Fault):
    """Has one request id for each ply, the same in all matches."""

    fails = ("requests.ids",)

    def __init__(self):
        super().__init__()
        self.own: dict[tuple[str, str], str] = {}

    def up(self, act):
        if act.HasField("move"):
            name = f"ply-{act.move.ply}"
            self.own[act.match_id, name] = act.request_id
            changed = PlayAct()
            changed.CopyFrom(act)
            changed.request_id = name
            return [changed]
        return [act]

    def down(self, item):
        if item.HasField("answer"):
            answer = item.answer
            answer.request_id = self.own.get((answer.match_id, answer.request_id), answer.request_id)
        return [item]


# ---- what is newer -------------------------------------------------------------------------------------------------


class StumblesOverFields(Fault):
    """Ends over a field that it does not know."""

    fails = ("newer.fields",)

    def down(self, item):
        if item.WhichOneof("item") and unknown(item, 4095):
            leave()
        return [item]


class StumblesOverItems(Fault):
    """Ends over an item that it does not know."""

    fails = ("newer.items",)

    def down(self, item):
        if unknown(item, 2015):
            leave()
        return [item]


class StumblesOverPhases(Fault):
    """Takes no turn in a match whose phase it does not know."""

    fails = ("newer.enums",)

    def down(self, item):
        match = self.matches.get(item.turn.match_id)
        return [] if match is not None and match.phase > 4 else [item]


class StumblesOverNotices(Fault):
    """Ends over a notice whose reason it does not know."""

    fails = ("newer.notice",)

    def down(self, item):
        if item.notice.reason == 9999:
            leave()
        return [item]


class StumblesOverSeeks(Fault):
    """Ends over a seek."""

    fails = ("newer.offers",)

    def down(self, item):
        if item.HasField("seek"):
            leave()
        return [item]


class StumblesOverVersions(Fault):
    """Ends over a server of another minor version."""

    fails = ("newer.hello",)

    def down(self, item):
        if item.HasField("hello") and item.hello.protocol_version != "1.0":
            leave()
        return [item]


# ---- several matches -----------------------------------------------------------------------------------------------


class ThinksOfOneMatch(Fault):
    """Thinks of one match at a time."""

    fails = ("parallel.independent",)

    def patch(self):
        semaphore = asyncio.Semaphore
        runner.asyncio = SimpleNamespace(**{**vars(asyncio), "Semaphore": lambda _: semaphore(1)})


class KeepsFourMatches(Fault):
    """Takes turns in no more than four matches at once."""

    fails = ("parallel.matches",)

    def down(self, item):
        live = [match for match in self.matches if match not in self.ended]
        return [] if item.turn.match_id in live[4:] else [item]


class PlaysOneSeatOfItself(Fault):
    """Takes no turn of the second seat in a match against itself."""

    fails = ("parallel.self-play",)

    def down(self, item):
        return [] if item.turn.seat == 2 and item.turn.opponent == self.player else [item]


class HearsNoChallenges(Fault):
    """Does not answer challenges."""

    fails = ("challenges.answered",)

    def down(self, item):
        return [] if item.HasField("challenge") else [item]


# ---- ends ----------------------------------------------------------------------------------------------------------


class AcknowledgesOnce(Fault):
    """Acknowledges a result once, however often it is told."""

    fails = ("results.told-again",)

    def __init__(self):
        super().__init__()
        self.cursors: set[str] = set()

    def up(self, act):
        if not act.HasField("acknowledge"):
            return [act]
        known = act.acknowledge.cursor in self.cursors
        self.cursors.add(act.acknowledge.cursor)
        return [] if known else [act]


class AcknowledgesItsOwn(Fault):
    """Acknowledges only results of matches that it has played in."""

    fails = ("results.unknown-match",)

    def down(self, item):
        return [] if item.HasField("ended") and item.ended.match_id not in self.matches else [item]


class PlaysOnAfterTheEnd(Fault):
    """Moves for a turn of a match that has ended."""

    fails = ("results.late-turn",)

    def down(self, item):
        if item.turn.match_id in self.ended:
            self.say(PlayAct(request_id="on", match_id=item.turn.match_id, move=MoveAct(ply=item.turn.ply, move="j2")))
        return [item]


class FinishesItsThought(Fault):
    """Acts after the end of a match at which it thought."""

    fails = ("results.no-more-moves",)

    def down(self, item):
        if item.HasField("ended") and self.thinking(item.ended.match_id):
            self.say(PlayAct(request_id="so", match_id=item.ended.match_id, resign=ResignAct()), after_s=0.9)
        return [item]


class AnswersEveryOffer(Fault):
    """Answers an offer as often as it is told of it."""

    fails = ("draws.once",)

    def __init__(self):
        super().__init__()
        self.offers = 0

    def down(self, item):
        if item.HasField("draw_offered"):
            self.offers += 1
            if self.offers > 1:
                answer = AnswerDrawAct(accept=False)
                name = f"offer-{time.monotonic_ns()}"
                self.say(PlayAct(request_id=name, match_id=item.draw_offered.match_id, answer_draw=answer), after_s=0.2)
        return [item]


class AnswersAnOfferAgain(Fault):
    """Answers an offer once more, under another id, as it is told of the match on a new stream."""

    fails = ("draws.reconnect",)

    def down(self, item):
        if item.match.match_id in self.matches and item.match.draw_offered_by:
            answer = AnswerDrawAct(accept=False)
            name = f"offer-{time.monotonic_ns()}"
            self.say(PlayAct(request_id=name, match_id=item.match.match_id, answer_draw=answer))
        return [item]


# ---- time ----------------------------------------------------------------------------------------------------------


class AnswersOnePing(Fault):
    """Answers one ping of a message."""

    fails = ("heartbeat.pongs",)

    def heard(self, items):
        pings = [item for item in items if item.HasField("ping")]
        return [item for item in items if item not in pings[1:]]


class HoldsItsBreath(Fault):
    """Answers no pings once it has thought for a tenth of a second."""

    fails = ("heartbeat.thinking",)

    def up(self, act):
        return [] if act.HasField("pong") and self.thinks_long() else [act]

    def thinks_long(self):
        return any(
            (match, ply) not in self.moved and match not in self.ended and time.monotonic() - at > 0.1
            for (match, _), (ply, at) in self.turns.items()
        )


class TakesItsTime(Fault):
    """Takes a second and a half for a move where it has 300 milliseconds."""

    fails = ("clocks.pressure",)

    def patch(self):
        choose = RandomBot.choose

        def choose_slowly(bot, turn):
            if "/move" in turn.match.time_control:
                time.sleep(1.5)
            return choose(bot, turn)

        RandomBot.choose = choose_slowly


# ---- sessions ------------------------------------------------------------------------------------------------------


class ComesBack(Fault):
    """Comes back after a newer session of its player took over."""

    fails = ("sessions.session-superseded",)

    def patch(self):
        passes = session.passes
        session.passes = lambda error: passes(error) or error.reason == Reason.SESSION_SUPERSEDED


class EndsAsIfAllWereWell(Fault):
    """Ends with exit status 0, whatever the reason."""

    fails = (
        "sessions.session-superseded",
        "sessions.player-suspended",
        "sessions.token-invalid",
        "sessions.scope-missing",
        "sessions.version-unsupported",
        "sessions.nobody-there",
    )

    def patch(self):
        main = cli.main

        def quiet(*arguments):
            try:
                main(*arguments)
            except SystemExit:
                sys.exit(0)

        cli.main = quiet


class WaitsForEver(Fault):
    """Tries for ever to reach a server that it never reached."""

    fails = ("sessions.nobody-there",)

    def patch(self):
        init = session.Session.__init__

        def patient(self, *arguments):
            init(self, *arguments[:4], 1_000_000.0, *arguments[5:])

        session.Session.__init__ = patient


class BreaksOff(Fault):
    """Breaks its stream off where it is told to end."""

    fails = ("shutdown.idle", "shutdown.playing")

    def patch(self):
        async def leave_at_once(*_):
            return None

        playing._farewell = leave_at_once


class SpeaksNoTls(Fault):
    """Speaks without TLS, whatever it was told."""

    fails = ("tls.plays",)

    def patch(self):
        os.environ.pop("ARBITER_ROOT_CERTIFICATE", None)


# ---- running it ----------------------------------------------------------------------------------------------------


def main() -> None:
    """Play with the fault that the command line names."""
    fault = FAULTS[sys.argv.pop(1)]()
    fault.patch()
    play = channel.Connection.play.func

    def spoiled(connection):
        stub = play(connection)
        return SimpleNamespace(Play=lambda **given: Call(stub.Play(**given), fault))

    channel.Connection.play = property(spoiled)
    cli.main(RandomBot, bots.__doc__)


if __name__ == "__main__":
    main()
