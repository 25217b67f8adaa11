"""Commands that wait for rules in a process of their own: an answer of a plug-in that is late, or starts again.

Meanwhile nothing happens to the match for which it needs its rules: commands are decided in the order in which they
came, its clocks are read at their arrival, and no flag falls. Resignations and what organisers decide need no rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from arbiter.errors import RulesAwaited
from arbiter.matches.answers import not_active
from arbiter.matches.commands import ClaimDraw, Command, Play, Tick
from arbiter.matches.match import Phase
from arbiter.service.matches.live import DRAINING, LiveMatches
from arbiter.service.matches.live_match import AnswerCallback, LiveMatch
from arbiter.service.ports.journal import StoreFailed

NEED_RULES: Final = (Play, ClaimDraw, Tick)
"""The commands that wait in a match in which one waits already."""


class AwaitedRules:
    """The commands of all matches that wait for rules. submit: decides a command that has waited.

    resumed: called with a match when none of its commands waits any more.
    """

    def __init__(
        self,
        live: LiveMatches,
        submit: Callable[[LiveMatch, Command, AnswerCallback], None],
        resumed: Callable[[LiveMatch], None],
    ) -> None:
        self._live = live
        self._submit = submit
        self._resumed = resumed

    def hold(self, live: LiveMatch, command: Command, then: AnswerCallback, awaited: RulesAwaited) -> None:
        """Have a command wait until its rules have answered; then it is decided again."""
        live.held.append((command, then))
        loop = asyncio.get_running_loop()
        awaited.then(lambda: _soon(loop, self._release, live))

    def holds_too(self, live: LiveMatch, command: Command, then: AnswerCallback) -> bool:
        """Return whether a command waits, because an earlier one of its match does."""
        if not isinstance(command, NEED_RULES):
            return False
        live.held.append((command, then))
        return True

    def _release(self, live: LiveMatch) -> None:
        held, live.held = live.held, []
        there = self._live.find(live.newest.id) is live
        for command, then in held:
            if self._live.draining:
                then(DRAINING)
            elif not there:  # it has ended meanwhile, or was set aside
                then(not_active(live.newest) if live.newest.phase is Phase.ENDED else StoreFailed())
            else:
                self._submit(live, command, then)
        if there and not live.held:
            self._resumed(live)


def _soon(loop: asyncio.AbstractEventLoop, function: Callable[[LiveMatch], None], live: LiveMatch) -> None:
    """Call a function in a loop, from any thread, unless the loop is closed."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(function, live)
