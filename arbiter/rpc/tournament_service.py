"""TournamentService."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from arbiter_protos.v1 import tournament_pb2 as pb
from arbiter_protos.v1 import tournament_pb2_grpc

from arbiter.config import Limits
from arbiter.rpc.servicing import Context, MessageWriter, call_of, in_portions
from arbiter.rpc.unread import Unread
from arbiter.service.gate.entries import EntryRequest
from arbiter.service.gate.paging import PageRequest
from arbiter.service.gate.reports import ReportGate
from arbiter.service.gate.series_calls import SeriesGate
from arbiter.service.gate.tournament_calls import Change, TournamentGate
from arbiter.service.gate.web_hook_calls import WebHookGate
from arbiter.wire.correction_messages import correct_of, later_message, place_change_message, round_message, ruling_of
from arbiter.wire.tournament_messages import (
    correction_of,
    entrant_message,
    series_message,
    series_row_message,
    spec_of,
    standings_message,
    standings_row_message,
    summary_message,
    tournament_message,
    wanted_of,
    web_hook_message,
)


class TournamentServicer(tournament_pb2_grpc.TournamentServiceServicer):
    """Tournaments."""

    def __init__(
        self,
        tournaments: TournamentGate,
        series: SeriesGate,
        reports: ReportGate,
        hooks: WebHookGate,
        unread: Unread,
        limits: Limits,
    ) -> None:
        self._tournaments = tournaments
        self._series = series
        self._reports = reports
        self._hooks = hooks
        self._unread = unread
        self._limits = limits

    async def CreateTournament(
        self, request: pb.CreateTournamentRequest, context: Context
    ) -> pb.CreateTournamentResponse:
        read = partial(spec_of, request.spec)
        made = await self._tournaments.create(call_of(context), request.request_id, read)
        return pb.CreateTournamentResponse(tournament=await _whole(tournament_message(made.tournament, made.cautions)))

    # -- players -------------------------------------------------------------------------------------------------

    async def EnterTournament(self, request: pb.EnterTournamentRequest, context: Context) -> pb.EnterTournamentResponse:
        entry = EntryRequest(request.player, request.rating, request.byes, request.team, request.category)
        entrant = await self._tournaments.enter(call_of(context), _change(request), entry)
        return pb.EnterTournamentResponse(entrant=entrant_message(entrant))

    async def WithdrawFromTournament(
        self, request: pb.WithdrawFromTournamentRequest, context: Context
    ) -> pb.WithdrawFromTournamentResponse:
        entrant = await self._tournaments.withdraw(call_of(context), _change(request), request.player)
        return pb.WithdrawFromTournamentResponse(entrant=entrant_message(entrant))

    async def ChangeEntry(self, request: pb.ChangeEntryRequest, context: Context) -> pb.ChangeEntryResponse:
        entrant = await self._tournaments.change_entry(call_of(context), _change(request), correction_of(request))
        return pb.ChangeEntryResponse(entrant=entrant_message(entrant))

    # -- life ----------------------------------------------------------------------------------------------------

    async def StartTournament(self, request: pb.StartTournamentRequest, context: Context) -> pb.StartTournamentResponse:
        started = await self._tournaments.start(call_of(context), _change(request))
        return pb.StartTournamentResponse(
            tournament=await _whole(tournament_message(started.tournament, started.cautions))
        )

    async def GoOnFromReport(self, request: pb.GoOnFromReportRequest, context: Context) -> pb.GoOnFromReportResponse:
        gone_on = await self._reports.go_on(call_of(context), _change(request), request.report, request.players)
        return pb.GoOnFromReportResponse(tournament=await _whole(tournament_message(gone_on)))

    async def PauseTournament(self, request: pb.PauseTournamentRequest, context: Context) -> pb.PauseTournamentResponse:
        paused = await self._tournaments.pause(call_of(context), _change(request))
        return pb.PauseTournamentResponse(tournament=await _whole(tournament_message(paused)))

    async def ResumeTournament(
        self, request: pb.ResumeTournamentRequest, context: Context
    ) -> pb.ResumeTournamentResponse:
        resumed = await self._tournaments.resume(call_of(context), _change(request))
        return pb.ResumeTournamentResponse(tournament=await _whole(tournament_message(resumed)))

    async def CancelTournament(
        self, request: pb.CancelTournamentRequest, context: Context
    ) -> pb.CancelTournamentResponse:
        cancelled = await self._tournaments.cancel(
            call_of(context), _change(request), request.note, series_goes_on=request.series_goes_on
        )
        return pb.CancelTournamentResponse(tournament=await _whole(tournament_message(cancelled)))

    async def RuleOnGame(self, request: pb.RuleOnGameRequest, context: Context) -> pb.RuleOnGameResponse:
        ruled = await self._tournaments.rule(
            call_of(context), _change(request), partial(ruling_of, request), request.preview
        )
        return pb.RuleOnGameResponse(
            tournament=await _whole(tournament_message(ruled.tournament)),
            changes=map(place_change_message, ruled.changes),
            later=map(later_message, ruled.later),
        )

    async def CorrectTournament(
        self, request: pb.CorrectTournamentRequest, context: Context
    ) -> pb.CorrectTournamentResponse:
        made = await self._tournaments.correct(
            call_of(context), _change(request), partial(correct_of, request), request.preview, request.ratings_too
        )
        return pb.CorrectTournamentResponse(
            tournament=await _whole(tournament_message(made.tournament)),
            changes=map(place_change_message, made.changes),
            later=map(later_message, made.later),
            paired=round_message(made.paired),
            breaks=made.breaks,
            ratings_changed=made.ratings_changed,
        )

    # -- looking -------------------------------------------------------------------------------------------------

    async def GetTournament(self, request: pb.GetTournamentRequest, context: Context) -> pb.GetTournamentResponse:
        found = await self._tournaments.get(call_of(context), request.tournament_id)
        return pb.GetTournamentResponse(tournament=await _whole(tournament_message(found)))

    async def ListTournaments(self, request: pb.ListTournamentsRequest, context: Context) -> pb.ListTournamentsResponse:
        page = PageRequest(request.page_size, request.page_token)
        found = await self._tournaments.list(call_of(context), wanted_of(request), page)
        tournaments = await in_portions(map(summary_message, found.items))
        return pb.ListTournamentsResponse(tournaments=tournaments, next_page_token=found.next_token)

    async def GetStandings(self, request: pb.GetStandingsRequest, context: Context) -> pb.GetStandingsResponse:
        found, table = await self._tournaments.standings(call_of(context), request.tournament_id, request.category)
        rows = await in_portions(map(standings_row_message, table.rows))
        return standings_message(found, table, rows)

    async def GetSeries(self, request: pb.GetSeriesRequest, context: Context) -> pb.GetSeriesResponse:
        series = await self._series.get(call_of(context), request.tournament_id)
        return series_message(series, await in_portions(map(partial(series_row_message, series), series.rows)))

    async def ExportTournament(  # type: ignore[override]  # writes on its context
        self, request: pb.ExportTournamentRequest, context: Context
    ) -> None:
        writer = MessageWriter(context, self._unread, self._limits)
        async with self._tournaments.file(call_of(context), request.tournament_id) as parts:
            async for lines in parts:
                await writer.write(pb.ExportTournamentResponse(lines=lines))

    # -- web hooks -----------------------------------------------------------------------------------------------

    async def CreateWebHook(self, request: pb.CreateWebHookRequest, context: Context) -> pb.CreateWebHookResponse:
        made = await self._hooks.create(call_of(context), request.tournament_id, request.url, request.request_id)
        return pb.CreateWebHookResponse(web_hook=web_hook_message(made), secret=made.secret)

    async def ListWebHooks(self, request: pb.ListWebHooksRequest, context: Context) -> pb.ListWebHooksResponse:
        found = await self._hooks.list(call_of(context), request.tournament_id)
        return pb.ListWebHooksResponse(web_hooks=map(web_hook_message, found))

    async def RetryWebHook(self, request: pb.RetryWebHookRequest, context: Context) -> pb.RetryWebHookResponse:
        hook = await self._hooks.retry(call_of(context), request.tournament_id, request.web_hook_id)
        return pb.RetryWebHookResponse(web_hook=web_hook_message(hook))

    async def DeleteWebHook(self, request: pb.DeleteWebHookRequest, context: Context) -> pb.DeleteWebHookResponse:
        hook = await self._hooks.delete(call_of(context), request.tournament_id, request.web_hook_id)
        return pb.DeleteWebHookResponse(web_hook=web_hook_message(hook))


_Changing = (
    pb.EnterTournamentRequest
    | pb.WithdrawFromTournamentRequest
    | pb.ChangeEntryRequest
    | pb.StartTournamentRequest
    | pb.GoOnFromReportRequest
    | pb.PauseTournamentRequest
    | pb.ResumeTournamentRequest
    | pb.CancelTournamentRequest
    | pb.RuleOnGameRequest
    | pb.CorrectTournamentRequest
)
"""A request that changes a tournament."""


def _change(request: _Changing) -> Change:
    return Change(request.tournament_id, request.request_id)


async def _whole(parts: tuple[pb.Tournament, Iterable[pb.Entrant]]) -> pb.Tournament:
    """Return a tournament with its entrants. Other tasks run while their messages are made."""
    tournament, entrants = parts
    tournament.entrants.extend(await in_portions(entrants))
    return tournament
