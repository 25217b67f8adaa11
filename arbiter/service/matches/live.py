"""Live matches: those that have not ended, or whose end is not durable yet, by their ids and by their players.

Each match has two states: `newest`, on which commands are decided, and `durable`, which all others see. Commands are
decided in `arbiter.service.matches.decisions`.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Final, Protocol

from arbiter.errors import Reason, Refusal, RulesAwaited, RulesFailed
from arbiter.games.contract import Seat
from arbiter.matches.events import Created
from arbiter.matches.match import Match, with_position
from arbiter.service.matches.live_match import Answer, LiveMatch
from arbiter.service.matches.timers import cancel
from arbiter.service.ports.journal import RecordTooNew, RecordUnreadable, RulesMissing
from arbiter.service.ports.log import Logger

SEATS: Final[tuple[Seat, Seat]] = (1, 2)

ENDED_KEPT: Final = 1_000  #: matches in the cache

DRAINING: Final = Refusal(Reason.DRAINING, "the server is stopping: connect again in a while", retry_after_ms=1_000)


class Presence(Protocol):
    """Which players have a stream open here. `arbiter.service.play.connected_players` implements it."""

    def is_present(self, player: str) -> bool:
        """Return whether a player has a stream here."""

    def is_preparing(self, player: str, match_id: str) -> bool:
        """Return whether a player's bot is connected here, and will say that it is ready for a match."""

    def is_waiting(self, player: str) -> bool:
        """Return whether a player waits here for a Play stream, or may soon ask again for one that it could not get."""

    def turn_away(self, player: str, match_id: str, refusal: Refusal) -> None:
        """End a player's Play stream here, and refuse new ones, because only other servers can serve a match of it."""

    def let_in(self, match_id: str) -> None:
        """Refuse no streams because of a match any more: it has ended."""

    def version_of(self, player: str) -> str:
        """Return the version of a player's connected bot; '' if none is connected, or it gave no version."""


class EndedMatches:
    """A cache of the last ended matches, for repeated requests and late readers; the journal has all of them."""

    def __init__(self) -> None:
        self._matches: OrderedDict[str, Match] = OrderedDict()

    def get(self, match_id: str) -> Match | None:
        """Return a match, or None if it is not in the cache."""
        return self._matches.get(match_id)

    def keep(self, match: Match) -> None:
        """Put a match into the cache. If the cache is full, the oldest match is removed."""
        self._matches[match.id] = match
        if len(self._matches) > ENDED_KEPT:
            self._matches.popitem(last=False)


class LiveMatches:
    """All live matches. Everything here runs on one event loop.

    secret: returns the key of a match's comments, from the first event of the match. ended: the cache that ended
    matches go to. draining: whether the server is stopping.
    """

    def __init__(
        self, secret: Callable[[Created], bytes], presence: Presence, ended: EndedMatches, log: Logger
    ) -> None:
        self.presence: Final = presence
        self.ended: Final = ended
        self.draining = False
        self._secret = secret
        self._live: dict[str, LiveMatch] = {}
        self._of_player: dict[str, dict[str, None]] = {}  # ids in order of creation
        self._too_new: set[str] = set()  # unfinished matches that only newer servers can serve
        self._log = log

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[LiveMatch]:
        return iter(list(self._live.values()))

    def find(self, match_id: str) -> LiveMatch | None:
        """Return a live match, or None."""
        return self._live.get(match_id)

    def of_player(self, player: str) -> Collection[LiveMatch]:
        """Return a player's live matches."""
        return [self._live[match_id] for match_id in self._of_player.get(player, ())]

    def players(self) -> list[str]:
        """Return the players of live matches, in the order of their first match."""
        return list(self._of_player)

    def seated(self, player: str, match_id: str) -> tuple[LiveMatch, Seat] | None:
        """Return a live match in which a player has a seat, and the seat; None if there is no such match."""
        live = self._live.get(match_id)
        seat = seat_of(live.newest, player) if live is not None else None
        return (live, seat) if live is not None and seat is not None else None

    def is_current(self, match: Match) -> bool:
        """Return whether a match is still at the same turn in its durable state."""
        live = self._live.get(match.created.match)
        now = live.durable if live is not None else None
        if now is match:
            return True
        return now is not None and now.phase is match.phase and now.since == match.since and now.ply == match.ply

    def enter(self, match: Match, durable: bool = True) -> LiveMatch:
        """Make a match live. durable: whether the journal has it already.

        The first command computes what only commands need: at a start most matches have to wait for others.
        """
        if match.comments:  # others read them too
            match = replace(match, secret=self._secret(match.created))
        live = self._live[match.id] = LiveMatch(match, match if durable else None)
        for player in match.holders:
            self._of_player.setdefault(player, {})[match.id] = None
        return live

    def complete(self, live: LiveMatch) -> None:
        """Give a match its position and the key of its comments. Raises RulesAwaited, RulesFailed."""
        whole = self._completed(live.newest)
        if live.durable is live.newest:
            live.durable = whole
        live.newest, live.complete = whole, True

    def renew(self, live: LiveMatch, match: Match, before: Match | None = None) -> None:
        """Set the newest state of a match to one that was read from its record, after `before` if that is known.

        It is complete, unless its rules run elsewhere and do not answer now.
        """
        try:
            live.newest, live.complete = self._completed(match, before), True
        except (RulesAwaited, RulesFailed):  # the next command meets this too, and waits or ends the match
            live.newest, live.complete = match, False

    def _completed(self, match: Match, before: Match | None = None) -> Match:
        """Return a match with its position and the key of its comments, which take as long as a dozen records.

        With an earlier state that has them, they take as long as the moves since then.
        """
        whole = with_position(match, before)
        return whole if whole.secret else replace(whole, secret=self._secret(match.created))

    def leave(self, live: LiveMatch) -> None:
        """Remove a match that has ended, that can't be read, or whose creation failed."""
        match = live.newest
        del self._live[match.id]
        cancel(live)
        for player in match.holders:
            matches = self._of_player[player]
            matches.pop(match.id, None)
            if not matches:
                del self._of_player[player]

    def cancel_timers(self) -> None:
        """Turn every timer off."""
        for live in self._live.values():
            cancel(live)

    def note_unreadable(self, match_id: str, damage: RecordUnreadable) -> None:
        """Log that a match is not served here. If newer servers have continued it, its players have to go there."""
        if not isinstance(damage, RecordTooNew):
            self._log.error("match_set_aside", match=match_id, error=damage.why)
            return
        event = "match_rules_missing" if isinstance(damage, RulesMissing) else "match_too_new"
        self._log.warning(event, match=match_id, error=damage.why)
        self._too_new.add(match_id)
        for player in damage.players:
            self.presence.turn_away(player, match_id, damage)

    def is_too_new(self, match_id: str) -> bool:
        """Return whether a match was continued by newer servers while this one ran, and has not ended yet."""
        return match_id in self._too_new

    def note_end_elsewhere(self, match_id: str) -> None:
        """Note that a match that is too new has ended: its players may come back."""
        self._too_new.discard(match_id)
        self.presence.let_in(match_id)


def seat_of(match: Match, player: str) -> Seat | None:
    """Return the seat of a player in a match, or None. A player against itself has the seat to move."""
    first, second = match.players
    if first == second == player:
        return match.turn
    return 1 if player == first else 2 if player == second else None


def seats_of(match: Match, player: str) -> tuple[Seat, ...]:
    """Return the seats of a player in a match: none, one, or both if it plays against itself."""
    return tuple(seat for seat, holder in zip(SEATS, match.players, strict=True) if holder == player)


def answered_now(answer: Answer) -> asyncio.Future[Answer]:
    """Return a future that already has this answer."""
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    future.set_result(answer)
    return future
