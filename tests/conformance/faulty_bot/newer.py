"""Faults with messages of a newer server, and with several matches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace

from arbiter_client import runner
from arbiter_protos.v1.play_pb2 import PlayItem

from tests.conformance.faulty_bot.fault import Fault, leave, replace, unknown


class ExitsOnUnknownFields(Fault):
    """Exits on a field that it does not know."""

    fails = ("newer.fields",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.WhichOneof("item") and unknown(item, 4095):
            leave()
        return [item]


class ExitsOnUnknownItems(Fault):
    """Exits on an item that it does not know."""

    fails = ("newer.items",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if unknown(item, 2015):
            leave()
        return [item]


class IgnoresUnknownPhases(Fault):
    """Takes no turn in a match whose phase it does not know."""

    fails = ("newer.enums",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        match = self.matches.get(item.turn.match_id)
        return [] if match is not None and match.phase > 4 else [item]


class ExitsOnUnknownNotices(Fault):
    """Exits on a notice whose reason it does not know."""

    fails = ("newer.notice",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.notice.reason == 9999:
            leave()
        return [item]


class ExitsOnSeeks(Fault):
    """Exits on a seek."""

    fails = ("newer.offers",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.HasField("seek"):
            leave()
        return [item]


class ExitsOnOtherVersions(Fault):
    """Exits on a server with another minor version."""

    fails = ("newer.hello",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        if item.HasField("hello") and item.hello.protocol_version != "1.0":
            leave()
        return [item]


class PlaysOneMatchAtATime(Fault):
    """Thinks about one match at a time."""

    fails = ("parallel.independent",)

    def patch(self) -> None:
        semaphore = asyncio.Semaphore
        replace(runner, "asyncio", SimpleNamespace(**{**vars(asyncio), "Semaphore": lambda _: semaphore(1)}))


class PlaysOnlyFourMatches(Fault):
    """Takes turns in at most four matches at once."""

    fails = ("parallel.matches",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        live = [match for match in self.matches if match not in self.ended]
        return [] if item.turn.match_id in live[4:] else [item]


class PlaysOneSeatOfItself(Fault):
    """Takes no turn of the second seat in a match against itself."""

    fails = ("parallel.self-play",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        return [] if item.turn.seat == 2 and item.turn.opponent == self.player else [item]


class IgnoresChallenges(Fault):
    """Does not answer challenges."""

    fails = ("challenges.answered",)

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        return [] if item.HasField("challenge") else [item]
