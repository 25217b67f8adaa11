"""The address at which clients reach the arbiter: one server, or any of several."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Protocol

from arbiter.matches.commands import Create, OrganiserRequest
from arbiter.testing.memory import MemoryJournal
from arbiter.testing.simulation.disk import Chance
from arbiter.testing.simulation.gate_calls import Answer
from arbiter.testing.simulation.observations import CreatedMatch, Request, RunObservations
from arbiter.testing.simulation.simulated_network import Link

ANOTHER: Sequence[bool] = (True, True, False)  #: how often a client that connects again takes another server
ASTRAY: Sequence[bool] = (True, False, False)  #: how often a unary call goes to another server than the stream


class Address(Protocol):
    """What clients call; see `arbiter.testing.simulation.simulated_server.Server`."""

    stored: MemoryJournal
    history: RunObservations
    chance: Chance

    @property
    def head(self) -> int:
        """The number of records that the journal holds."""

    def connect(self, player: str, link: Link) -> None:
        """Accept a Play stream."""

    def observe(self, match_id: str, label: str, after: int | None, link: Link) -> None:
        """Accept a stream of events."""

    def request(self, player: str, ask: Request) -> asyncio.Future[Answer]:
        """Handle a player's request by a unary call."""

    def create(self, command: Create) -> asyncio.Future[CreatedMatch]:
        """Create a match for the organiser."""

    def judge(self, match_id: str, command: OrganiserRequest) -> asyncio.Future[Answer]:
        """End a match for the organiser."""


class Addresses:
    """The addresses of several servers, as one client uses them: each connection may go to another one."""

    def __init__(self, servers: Sequence[Address], dice: Random) -> None:
        self._servers = servers
        self._dice = dice
        self._at = dice.randrange(len(servers))
        self.stored, self.history, self.chance = servers[0].stored, servers[0].history, servers[0].chance

    @property
    def head(self) -> int:
        """The number of records that the journal holds."""
        return self._servers[0].head

    def move_on(self) -> None:
        """Use another server from now on."""
        self._at = (self._at + self._dice.randint(1, len(self._servers) - 1)) % len(self._servers)

    def connect(self, player: str, link: Link) -> None:
        """Open a Play stream."""
        if self._dice.choice(ANOTHER):
            self.move_on()
        self._servers[self._at].connect(player, link)

    def observe(self, match_id: str, label: str, after: int | None, link: Link) -> None:
        """Open a stream of events."""
        if self._dice.choice(ANOTHER):
            self.move_on()
        self._servers[self._at].observe(match_id, label, after, link)

    def request(self, player: str, ask: Request) -> asyncio.Future[Answer]:
        """Make a player's request by a unary call."""
        return self._any().request(player, ask)

    def create(self, command: Create) -> asyncio.Future[CreatedMatch]:
        """Create a match."""
        return self._any().create(command)

    def judge(self, match_id: str, command: OrganiserRequest) -> asyncio.Future[Answer]:
        """End a match."""
        return self._any().judge(match_id, command)

    def _any(self) -> Address:
        astray = self._dice.choice(ASTRAY)
        return self._dice.choice(self._servers) if astray else self._servers[self._at]
