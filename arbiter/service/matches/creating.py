"""Creates matches. The limits on open matches count here, and those of other servers in the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arbiter.errors import Reason, Refusal, argument_invalid, limit_reached
from arbiter.games import registry
from arbiter.matches import creation, evolution, time_control
from arbiter.matches.commands import Create
from arbiter.matches.events import Created
from arbiter.matches.match import Match
from arbiter.matches.record import seal_first
from arbiter.service.alone import OtherServers
from arbiter.service.lookup import findable
from arbiter.service.matches.attendance import Attendance
from arbiter.service.matches.decisions import Decisions
from arbiter.service.matches.live import DRAINING
from arbiter.service.matches.reading import MatchReader
from arbiter.service.matches.recovery import Recovery
from arbiter.service.ports.environment import Environment
from arbiter.service.ports.journal import Journal, JournalConflict, OpenLimits, StoreFailed, TooManyOpen
from arbiter.service.record.match_log import summary_of
from arbiter.service.record.tournament_log import maker
from arbiter.service.shielding import Shielded


class Creation:
    """Creates matches. others: of the store, who create matches too."""

    def __init__(
        self,
        journal: Journal,
        reader: MatchReader,
        decisions: Decisions,
        attendance: Attendance,
        recovery: Recovery,
        others: OtherServers,
        environment: Environment,
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._decisions = decisions
        self._attendance = attendance
        self._recovery = recovery
        self._others = others
        self._clock, self._ids, self._limits, _ = environment
        self._live = decisions.live
        self._shielded = Shielded()

    async def create(self, command: Create, accepted: Mapping[str, int] | None = None) -> Match:
        """Create a match, or return the one that the same request has created before.

        accepted: how many open matches players accept; the limit of the settings holds in any case. A server that is
        alone on its store leaves it to the caller to count these.

        Raises Refusal REQUEST_ID_REUSED, RATE_LIMITED, DRAINING, STORE_UNAVAILABLE, and for invalid values in the
        command.
        """
        return await self._shielded.run(self._create(command, accepted or {}))

    async def made(self, command: Create) -> Match | None:
        """Return the match that the same request has created before, or None.

        Raises Refusal REQUEST_ID_REUSED.
        """
        row = await self._journal.summary_of_request(command.creator, command.request)
        if row is None:
            return None
        match = await self._reader.match(row.match_id)
        if not _is_of(match.created, command):
            raise Refusal(
                Reason.REQUEST_ID_REUSED,
                f"request id {command.request!r} has created another match: choose a new one",
                request_id=command.request,
            )
        return match

    async def _create(self, command: Create, accepted: Mapping[str, int]) -> Match:
        known = await self.made(command)
        if known is not None:
            return known
        await self._reader.revival.revive_of(*command.players)  # they count
        await self._check_label(command)
        self._check_limits(command.players)
        if self._live.draining:  # perhaps only since the reads above: this match would be interrupted by nobody
            raise DRAINING
        match_id = self._ids.new("m")
        events = creation.create(
            match_id, command, self._clock.now_ms(), code=registry.code(command.game.partition("(")[0])
        ).events
        first, *others = events
        assert isinstance(first, Created)
        match = evolution.begin(first)
        for event in others:
            match = evolution.evolve(match, event)
        live = self._live.enter(match, durable=False)
        try:
            sealed = seal_first(match_id, events)
            counted = self._others.counted(self._open_limits(command.players, accepted))
            appended = self._decisions.append(live, events, sealed, summary_of(first), counted)
            error = await appended.done()
            if error is not None:
                raise error
        except TooManyOpen as full:  # other servers have created matches of these players meanwhile
            self._live.leave(live)
            raise _crowded(f"matches of {full.player}", full.most) from None
        except JournalConflict:  # the same request came twice, and the other one was stored first
            self._live.leave(live)
            known = await self.made(command)
            assert known is not None
            return known
        except StoreFailed:
            self._live.leave(live)
            self._recovery.creation_failed(match_id)
            raise
        self._attendance.note_present_players(live)
        return live.durable or match

    async def _check_label(self, command: Create) -> None:
        """Raise Refusal ARGUMENT_INVALID if a label is a tournament's id, unless that tournament creates the match."""
        label = command.label
        if not label or not findable(label) or command.creator == maker(label):
            return
        if await self._journal.tournament_summary(label):
            raise argument_invalid(
                label, "label", "not a tournament's id: such a label is for the matches of that tournament"
            )

    def _check_limits(self, players: Iterable[str]) -> None:
        limits = self._limits
        for player in players:
            if len(self._live.of_player(player)) >= limits.open_matches_of_player:
                raise _crowded(f"matches of {player}", limits.open_matches_of_player)
        if len(self._live) + len(self._reader.revival) >= limits.open_matches:
            raise _crowded("matches", limits.open_matches)

    def _open_limits(self, players: Iterable[str], accepted: Mapping[str, int]) -> OpenLimits:
        """Return what the store counts where others create matches too."""
        most = self._limits.open_matches_of_player
        return OpenLimits(tuple((player, min(most, accepted.get(player, most))) for player in dict.fromkeys(players)))


def _is_of(made: Created, command: Create) -> bool:
    """Return whether a match has the values of a command."""
    game = registry.game(command.game)
    values = (made.game, made.players, made.time, made.rated, made.label, made.position, made.opening)
    return (*values, made.adjudication) == (
        game.variant,
        command.players,
        time_control.pair_text(time_control.parse_pair(command.time)),
        command.rated,
        command.label,
        creation.start_text(game, command.position),
        tuple(map(game.canonical, command.opening)),
        command.adjudication or None,
    ) and all(getattr(made.policy, name) == getattr(command.policy, name) for name in command.chosen)


def _crowded(what: str, most: int) -> Refusal:
    return limit_reached(f"{most} {what} are open, the maximum: end some first", most)
