"""TournamentService."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from arbiter_protos.v1 import tournament_pb2 as pb
from arbiter_protos.v1 import tournament_pb2_grpc

from arbiter.errors import Reason, Refusal
from arbiter.matches.answers import LONGEST_NOTE, check_words
from arbiter.matches.requests import check_request_id
from arbiter.rpc.door import Context, Door, number_of_token
from arbiter.service.players.accounts import Accounts, Caller, Scope, check_not_suspended, invalid
from arbiter.service.ports.journal import StoreFailed, TournamentFilter
from arbiter.service.ratings.ratings import Ratings
from arbiter.service.tournaments.registry import TournamentRegistry
from arbiter.service.tournaments.standings_cache import StandingsCache
from arbiter.tournaments import commands as do
from arbiter.tournaments.events import Entered
from arbiter.tournaments.tournament import Tournament
from arbiter.wire.tournaments import (
    entrant_message,
    format_of,
    spec_of,
    standings_message,
    summary_message,
    tournament_message,
)

LAST_ROUND: Final = 100  #: that a player may ask to sit out
HIGHEST_RATING: Final = 10_000
AVERAGE_SEED: Final = 1_500  #: what a player of rating 0 is seeded by: 0 itself stands for unrated


class TournamentServicer(tournament_pb2_grpc.TournamentServiceServicer):
    """Tournaments."""

    def __init__(self, door: Door, tournaments: TournamentRegistry, accounts: Accounts, ratings: Ratings) -> None:
        self._door = door
        self._tournaments = tournaments
        self._accounts = accounts
        self._ratings = ratings
        self._tables = StandingsCache()

    async def CreateTournament(  # noqa: N802
        self, request: pb.CreateTournamentRequest, context: Context
    ) -> pb.CreateTournamentResponse:
        """Make a tournament."""
        caller = await self._door.caller(context, Scope.ORGANISE)
        check_request_id(request.request_id)
        spec = await asyncio.to_thread(spec_of, request.spec)
        made = await self._tournaments.create(spec, caller.player, request.request_id)
        return pb.CreateTournamentResponse(tournament=tournament_message(made))

    # -- players -------------------------------------------------------------------------------------------------

    async def EnterTournament(  # noqa: N802
        self, request: pb.EnterTournamentRequest, context: Context
    ) -> pb.EnterTournamentResponse:
        """Enter a player."""
        caller = await self._player_or_organiser(context)
        tournament = await self._of(request)
        name = request.player or caller.player
        organises = self._check_may_move(caller, tournament, name)
        if any(not 1 <= bye <= LAST_ROUND for bye in request.byes):
            raise invalid(list(request.byes), "byes", f"rounds, 1 to {LAST_ROUND}")
        if not 0 <= request.rating <= (HIGHEST_RATING if organises else 0):
            raise invalid(request.rating, "rating", f"0, or from the organiser whole Elo points up to {HIGHEST_RATING}")
        byes = tuple(sorted(set(request.byes)))
        known = tournament.requests.get((caller.player, request.request_id))
        if isinstance(known, Entered) and known.player == name:  # repeated: as it was then
            version, seeding, badge = known.version, known.rating, True
        else:
            player = await self._accounts.player(name)
            check_not_suspended(player)
            version, badge = player.bot_version, player.badged
            seeding = await self._seeding(name, tournament.spec.games)
        command = do.Enter(name, caller.player, request.request_id, version, request.rating or seeding, byes, badge)
        entered = await self._tournaments.act(tournament.id, command)
        return pb.EnterTournamentResponse(entrant=entrant_message(entered.entrants[name]))

    async def _seeding(self, name: str, games: Sequence[str]) -> int:
        """Return what a player is seeded by where nobody says: its rating at the games, on a scale above 0."""
        try:
            strength = (await self._ratings.strengths(games)).get(name)
        except StoreFailed:
            raise
        except Refusal:  # it may enter all the same
            return 0
        return max(1, AVERAGE_SEED + round(strength.rating)) if strength is not None else 0

    async def WithdrawFromTournament(  # noqa: N802
        self, request: pb.WithdrawFromTournamentRequest, context: Context
    ) -> pb.WithdrawFromTournamentResponse:
        """Withdraw a player."""
        caller = await self._player_or_organiser(context)
        tournament = await self._of(request)
        name = request.player or caller.player
        self._check_may_move(caller, tournament, name)
        command = do.Withdraw(name, caller.player, request.request_id)
        left = await self._tournaments.act(tournament.id, command)
        return pb.WithdrawFromTournamentResponse(entrant=entrant_message(left.entrants[name]))

    async def _player_or_organiser(self, context: Context) -> Caller:
        caller = await self._door.caller(context)
        if not caller.may(Scope.ORGANISE):
            caller.require(Scope.PLAY)
        return caller

    def _check_may_move(self, caller: Caller, tournament: Tournament, player: str) -> bool:
        """Raise Refusal SCOPE_MISSING unless a caller may enter and withdraw a player; say if it organises here."""
        organises = _organises(caller, tournament)
        if not organises:
            if player != caller.player:
                raise _not_yours(caller, tournament)
            caller.require(Scope.PLAY)
        return organises

    # -- life ----------------------------------------------------------------------------------------------------

    async def StartTournament(  # noqa: N802
        self, request: pb.StartTournamentRequest, context: Context
    ) -> pb.StartTournamentResponse:
        """Start a tournament."""
        caller, tournament = await self._organiser(request, context)
        started = await self._tournaments.act(tournament.id, do.Start(caller.player, request.request_id))
        return pb.StartTournamentResponse(tournament=tournament_message(started))

    async def PauseTournament(  # noqa: N802
        self, request: pb.PauseTournamentRequest, context: Context
    ) -> pb.PauseTournamentResponse:
        """Pause a tournament."""
        caller, tournament = await self._organiser(request, context)
        paused = await self._tournaments.act(tournament.id, do.Pause(caller.player, request.request_id))
        return pb.PauseTournamentResponse(tournament=tournament_message(paused))

    async def ResumeTournament(  # noqa: N802
        self, request: pb.ResumeTournamentRequest, context: Context
    ) -> pb.ResumeTournamentResponse:
        """Resume a tournament."""
        caller, tournament = await self._organiser(request, context)
        resumed = await self._tournaments.act(tournament.id, do.Continue(caller.player, request.request_id))
        return pb.ResumeTournamentResponse(tournament=tournament_message(resumed))

    async def CancelTournament(  # noqa: N802
        self, request: pb.CancelTournamentRequest, context: Context
    ) -> pb.CancelTournamentResponse:
        """Cancel a tournament."""
        caller, tournament = await self._organiser(request, context)
        check_words("note", request.note, LONGEST_NOTE)
        command = do.Cancel(caller.player, request.request_id, request.note)
        cancelled = await self._tournaments.act(tournament.id, command)
        return pb.CancelTournamentResponse(tournament=tournament_message(cancelled))

    async def _organiser(self, request: _Change, context: Context) -> tuple[Caller, Tournament]:
        """Return who calls, and its tournament. Raises Refusal SCOPE_MISSING for somebody else's, and as `_of`."""
        caller = await self._door.caller(context, Scope.ORGANISE)
        tournament = await self._of(request)
        if not _organises(caller, tournament):
            raise _not_yours(caller, tournament)
        return caller, tournament

    async def _of(self, request: _Change) -> Tournament:
        """Return the tournament of a request that changes it. Raises Refusal TOURNAMENT_NOT_FOUND, ARGUMENT_INVALID."""
        check_request_id(request.request_id)
        return await self._tournaments.get(request.tournament_id)

    # -- looking -------------------------------------------------------------------------------------------------

    async def GetTournament(  # noqa: N802
        self, request: pb.GetTournamentRequest, context: Context
    ) -> pb.GetTournamentResponse:
        """Return a tournament as it stands."""
        await self._door.reader(context)
        return pb.GetTournamentResponse(
            tournament=tournament_message(await self._tournaments.get(request.tournament_id))
        )

    async def ListTournaments(  # noqa: N802
        self, request: pb.ListTournamentsRequest, context: Context
    ) -> pb.ListTournamentsResponse:
        """List tournaments, newest first."""
        await self._door.reader(context)
        size = self._door.page_size(request.page_size)
        format_, phase = format_of(request.format), request.phase
        if request.format and not format_:
            raise invalid(request.format, "format", "a format of this server's")
        ended = None if phase == pb.TOURNAMENT_PHASE_UNSPECIFIED else phase == pb.TOURNAMENT_PHASE_ENDED
        which = TournamentFilter(format_, request.creator, ended)
        before = number_of_token(request.page_token)
        rows = await self._tournaments.rows(which, before, size + 1)
        shown = rows[:size]
        return pb.ListTournamentsResponse(
            tournaments=[summary_message(row) for row in shown],
            next_page_token=str(shown[-1].sequence) if len(rows) > size else "",
        )

    async def GetStandings(  # noqa: N802
        self, request: pb.GetStandingsRequest, context: Context
    ) -> pb.GetStandingsResponse:
        """Return the standings."""
        await self._door.reader(context)
        tournament = await self._tournaments.get(request.tournament_id)
        return standings_message(tournament.id, await self._tables.of(tournament))


_Change = (
    pb.EnterTournamentRequest
    | pb.WithdrawFromTournamentRequest
    | pb.StartTournamentRequest
    | pb.PauseTournamentRequest
    | pb.ResumeTournamentRequest
    | pb.CancelTournamentRequest
)
"""A request that changes a tournament."""


def _organises(caller: Caller, tournament: Tournament) -> bool:
    """Say whether a caller runs a tournament: it has made it and may organise, or it may do everything."""
    made = caller.player == tournament.created.creator and caller.may(Scope.ORGANISE)
    return made or caller.may(Scope.ADMIN)


def _not_yours(caller: Caller, tournament: Tournament) -> Refusal:
    return Refusal(
        Reason.SCOPE_MISSING,
        f"{caller.player} has not made tournament {tournament.id}: that is for {tournament.created.creator}, "
        "or for a token with scope admin",
        scope=Scope.ADMIN.value,
    )
