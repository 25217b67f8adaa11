"""What matches decide because players have come or gone, and because turns and stalls have kept players waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from arbiter.matches.commands import Arrive, Interrupt, Interruption, Leave
from arbiter.matches.match import Match, Phase, deadline
from arbiter.service.alone import OtherServers
from arbiter.service.matches.decisions import Decisions
from arbiter.service.matches.live import LiveMatches, seats_of
from arbiter.service.matches.live_match import Answer, AnswerCallback, LiveMatch
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.log import Logger

BEFORE_MS: Final = 100  #: that a player who prepares arrives, at the latest, before its match stops waiting for it


class Attendance:
    """Lets matches decide that their players are there, or not, and interrupts them. others: servers of the store.

    An arrival waits until the player's bot is ready. One that would resume a match also waits for the opponent's bot,
    if that is connected, to whichever server. It waits for at most the `ready_ms` of the match's policy.
    """

    def __init__(
        self, decisions: Decisions, live: LiveMatches, others: OtherServers, clock: Clock, log: Logger
    ) -> None:
        self._decisions = decisions
        self._live = live
        self._presence = live.presence
        self._others = others
        self._clock = clock
        self._log = log
        self._preparing: dict[tuple[str, str], asyncio.TimerHandle] = {}  # arrivals that wait, by match and player

    def player_present(self, player: str) -> None:
        """Let a player's matches decide that it has arrived. A match that is being created does so once stored."""
        for live in self._live.of_player(player):
            self._note_arrival(live, player)

    def player_absent(self, player: str) -> None:
        """Let a player's matches decide that it has left."""
        for live in self._live.of_player(player):
            self._waits_no_more(live, player)
            self._decisions.note_presence(live, player, Leave)
            self.note_present_players(live)  # the opponent need not wait for it any more

    def note_present_players(self, live: LiveMatch) -> None:
        """Let a match decide that its players who are present now have arrived."""
        for player in live.newest.holders:
            if self._presence.is_present(player) and not live.failed and not self._has_arrived(live, player):
                self._note_arrival(live, player)

    def _note_arrival(self, live: LiveMatch, player: str) -> None:
        """Let a match decide that a player has arrived, or let the arrival wait."""
        if live.durable is None:
            return  # it is not stored: its bot does not know that there is anything to get ready for
        match = live.newest
        in_ms = self._may_wait_ms(match) if self._is_premature(match, player) else 0
        if in_ms <= 0:
            self._waits_no_more(live, player)
            self._decisions.note_presence(live, player, Arrive)
        elif (match.id, player) not in self._preparing:
            timer = asyncio.get_running_loop().call_later(in_ms / 1000, self._waited, live, player)
            self._preparing[match.id, player] = timer

    def _may_wait_ms(self, match: Match) -> int:
        """Return how long an arrival may wait: never until the match stops waiting for its players."""
        left_ms = (deadline(match) or 0) - BEFORE_MS - self._clock.now_ms()
        return min(match.created.policy.ready_ms, left_ms)

    def _is_premature(self, match: Match, player: str) -> bool:
        """Return whether an arrival may start a clock before the connected bots are ready."""
        if match.phase not in (Phase.PENDING, Phase.PAUSED):
            return False
        if match.phase is Phase.PAUSED and match.players[match.turn - 1] == player:
            return any(self._is_awaited(match, each) for each in match.holders)
        return self._presence.is_preparing(player, match.id)

    def _is_awaited(self, match: Match, player: str) -> bool:
        """Return whether a player's bot is connected and not ready yet: on another server, has not arrived yet."""
        if self._presence.is_present(player):
            return self._presence.is_preparing(player, match.id)
        arrived = any(match.present[seat - 1] for seat in seats_of(match, player))
        return not arrived and self._others.elsewhere(player) is not None

    def _waited(self, live: LiveMatch, player: str) -> None:
        """Let a player arrive that has had its time to get ready."""
        self._waits_no_more(live, player)
        if self._live.find(live.newest.id) is live and self._presence.is_present(player) and not live.failed:
            self._decisions.note_presence(live, player, Arrive)

    def _waits_no_more(self, live: LiveMatch, player: str) -> None:
        timer = self._preparing.pop((live.newest.id, player), None)
        if timer is not None:
            timer.cancel()

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

        So nobody is charged for what kept the turn from its player. If it is no longer that turn, nothing happens. A
        new match waits for its players again, from now on; whoever has created it notes those who are present.
        `then` gets the answer, as with `submit`, unless the match is interrupted anyway.
        """
        live = self._live.find(match.id)
        if live is None or live.failed or self._live.draining:
            return
        self._log.warning("turn_late", match=match.id, ply=match.ply, late_ms=late_ms)
        if match.phase is Phase.PENDING:
            self._decisions.submit(live, Interrupt(Interruption.RESTART), then)
        else:
            self._decisions.submit(live, Interrupt(Interruption.RESTART, player, match.since), then)
            self.note_present_players(live)
