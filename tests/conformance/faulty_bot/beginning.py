"""Faults at the beginning of a stream, and in whole games."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from arbiter_client import channel
from arbiter_client.bot import Choice
from arbiter_client.bots.random import RandomBot
from arbiter_client.outbox import Outbox
from arbiter_client.values.play import Turn
from arbiter_protos.v1.play_pb2 import ClientHello, MoveAct, PlayAct, PlayItem

from tests.conformance.faulty_bot.fault import Fault, replace


class NamesNoSoftware(Fault):
    """Does not name its client software."""

    fails = ("hello.first",)

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        if act.HasField("hello"):
            act.hello.software = ""
        return [act]


class AsksWithAnotherToken(Fault):
    """Asks for legal moves with an invalid token."""

    fails = ("hello.token",)

    def patch(self) -> None:
        async def ask_all(connection: channel.Connection, method: Callable[..., Any], request: Any) -> list[Any]:
            async def attempt() -> list[Any]:
                metadata = (("authorization", "Bearer somebody"),)
                return [part async for part in method(request, metadata=metadata)]

            return await connection.persist(attempt)

        replace(channel.Connection, "ask_all", ask_all)


class SendsBeforeTheHello(Fault):
    """Sends unanswered requests again before it receives the server's hello."""

    fails = ("hello.patience",)

    def patch(self) -> None:
        hold = Outbox.hold

        def hold_nothing(outbox: Outbox, hello: ClientHello) -> None:
            hold(outbox, hello)
            outbox.release()

        replace(Outbox, "hold", hold_nothing)


class SendsAMalformedMove(Fault):
    """Sends a malformed move at the start of a game of Hop It!."""

    fails = ("games.hop-it",)

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        match = self.matches.get(act.match_id)
        if act.HasField("move") and act.move.ply < 2 and match is not None and match.game == "hop-it":
            move = MoveAct(ply=act.move.ply, move="hop")
            return [PlayAct(request_id=f"{act.request_id}-try", match_id=act.match_id, move=move), act]
        return [act]


class NeedsSmallBoards(Fault):
    """Can't play on boards that are larger than the default."""

    fails = ("games.huge-position",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        return [] if item.turn.game == "pods(size=10)" else [item]


class NeedsShortLists(Fault):
    """Can handle at most 1,500 legal moves."""

    fails = ("games.long-list", "games.elevation")

    def patch(self) -> None:
        choose = RandomBot.choose

        def choose_of_few(bot: RandomBot, turn: Turn) -> Choice:
            if len(bot.legal_moves(turn)) > 1_500:
                raise OverflowError("too many legal moves")
            return choose(bot, turn)

        replace(RandomBot, "choose", choose_of_few)


class IgnoresMatchesWithOpenings(Fault):
    """Takes no turn of Pods in a match that began with an opening."""

    fails = ("games.opening", "parallel.independent")

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        match = self.matches.get(item.turn.match_id)
        return [] if match is not None and match.opening_plies and match.game == "pods" else [item]
