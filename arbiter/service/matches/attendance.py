"""What matches decide because players have come or gone, and because turns and stalls have kept players waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from arbiter.matches.commands import Arrive, Interrupt, Interruption, Leave
from arbiter.matches.match import Match
from arbiter.service.alone import OtherServers
from arbiter.service.matches.decisions import Decisions
from arbiter.service.matches.live import LiveMatches, seats_of
from arbiter.service.matches.live_match import Answer, AnswerCallback, LiveMatch
from arbiter.service.ports.log import Logger


class Attendance:
    """Lets matches decide that their players are there, or not, and interrupts them. others: servers of the store."""

    def __init__(self, decisions: Decisions, live: LiveMatches, others: OtherServers, log: Logger) -> None:
        self._decisions = decisions
        self._live = live
        self._presence = live.presence
        self._others = others
        self._log = log

    def player_present(self, player: str) -> None:
        """Let a player's matches decide that it has arrived."""
        for live in self._live.of_player(player):
            self._decisions.note_presence(live, player, Arrive)

    def player_absent(self, player: str) -> None:
        """Let a player's matches decide that it has left."""
        for live in self._live.of_player(player):
            self._decisions.note_presence(live, player, Leave)

    def note_present_players(self, live: LiveMatch) -> None:
        """Let a match decide that those of its players have arrived who are present now."""
        for player in live.newest.holders:
            if self._presence.is_present(player) and not live.failed and not self._has_arrived(live, player):
                self._decisions.note_presence(live, player, Arrive)

    def _has_arrived(self, live: LiveMatch, player: str) -> bool:
        """Return whether a match surely knows that a player is present, with the version that it has now."""
        match, version = live.newest, self._presence.version_of(player)
        if live.waiting is not None:
            return False  # other servers may have changed this
        return all(
            match.present[seat - 1] and version in ("", match.bots.arrived[seat - 1])
            for seat in seats_of(match, player)
        )

    def interrupt_all(
        self, reason: Interruption, which: Callable[[Match], bool] | None = None
    ) -> asyncio.Future[list[Answer]]:
        """Stop the clocks of all matches, or of those for which `which` returns True.

        The future is done once the store has accepted or refused every interruption.
        """
        live = [each for each in self._live if which is None or which(each.newest)]
        return asyncio.gather(*[self._decisions.decide(match, Interrupt(reason)) for match in live])

    def interrupt_for_stall(self) -> None:
        """Interrupt the matches that a stall of this server concerns, and resume those whose players are present."""
        for live in self._live:
            command = self._others.interruption(live.newest)
            if command is not None:
                self._decisions.decide(live, command)
        for player in self._live.players():
            if self._presence.is_present(player):
                self.player_present(player)

    def begin_again(self, match: Match, player: str, late_ms: int, then: AnswerCallback) -> None:
        """Interrupt a turn that its player could not get for long. It begins again once the player is here.

        So nobody is charged for what kept the turn from its player. If it is no longer that turn, nothing happens.
        `then` gets the answer, as with `submit`, unless the match is interrupted anyway.
        """
        live = self._live.find(match.id)
        if live is None or live.failed or self._live.draining:
            return
        self._log.warning("turn_late", match=match.id, ply=match.ply, late_ms=late_ms)
        self._decisions.submit(live, Interrupt(Interruption.RESTART, player, match.since), then)
        self.note_present_players(live)
