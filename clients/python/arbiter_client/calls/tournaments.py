"""The calls of TournamentService."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from arbiter_protos.v1 import tournament_pb2 as pb

from arbiter_client.calls.base import Calls, collect, new_request_id
from arbiter_client.values.correction import Decision, message_of
from arbiter_client.values.reading import read
from arbiter_client.values.ruling import CorrectedTournament, RuledOnGame, RulingDecision
from arbiter_client.values.series import Series
from arbiter_client.values.standings import Standings
from arbiter_client.values.tournament import (
    Entrant,
    Tournament,
    TournamentFormat,
    TournamentPhase,
    TournamentSpec,
    TournamentSummary,
)
from arbiter_client.values.web_hook import NewWebHook, WebHook
from arbiter_client.values.writing import write


class TournamentCalls(Calls):
    """Making tournaments, entering them, and their standings. Calls without a request id choose one.

    A token with scope admin may do everything that a tournament's creator may do. The label of a tournament's matches
    is its id: `list_matches` and `observe_all` select them by it.
    """

    async def create_tournament(self, spec: TournamentSpec, request_id: str = "") -> Tournament:
        """Make a tournament that players can enter. Needs scope organise. Its `cautions` are for the organiser.

        Refusals: PARAMETER_INVALID (facts name the field), GAME_UNKNOWN, ARGUMENT_INVALID, REQUEST_ID_REUSED,
        SCOPE_MISSING, RATE_LIMITED.
        """
        request = pb.CreateTournamentRequest(request_id=request_id or new_request_id())
        write(spec, request.spec)
        return read(
            Tournament, (await self.connection.ask(self.connection.tournaments.CreateTournament, request)).tournament
        )

    async def enter_tournament(
        self,
        tournament_id: str,
        player: str = "",
        *,
        byes: Iterable[int] = (),
        rating: int = 0,
        team: str = "",
        category: str = "",
        request_id: str = "",
    ) -> Entrant:
        """Enter the caller, or as the tournament's creator any player.

        rating: for seeding, by the creator only; 0: the player's own rating. byes: rounds of a Swiss in which it does
        not play. team: in a tournament of teams, where only the creator enters players. category: with standings of its
        own, by the creator only. Refusals: TOURNAMENT_NOT_FOUND, TOURNAMENT_CLOSED, PLAYER_NOT_FOUND, PLAYER_SUSPENDED,
        ARGUMENT_INVALID, REQUEST_ID_REUSED, SCOPE_MISSING.
        """
        request = pb.EnterTournamentRequest(
            request_id=request_id or new_request_id(),
            tournament_id=tournament_id,
            player=player,
            byes=byes,
            rating=rating,
            team=team,
            category=category,
        )
        answer = await self.connection.ask(self.connection.tournaments.EnterTournament, request)
        return read(Entrant, answer.entrant)

    async def withdraw_from_tournament(self, tournament_id: str, player: str = "", request_id: str = "") -> Entrant:
        """Withdraw the caller, or as the tournament's creator any player. Games that it has not begun are lost.

        Refusals: TOURNAMENT_NOT_FOUND, TOURNAMENT_CLOSED (it does not play), REQUEST_ID_REUSED, SCOPE_MISSING.
        """
        request = pb.WithdrawFromTournamentRequest(
            request_id=request_id or new_request_id(), tournament_id=tournament_id, player=player
        )
        return read(
            Entrant, (await self.connection.ask(self.connection.tournaments.WithdrawFromTournament, request)).entrant
        )

    async def change_entry(
        self,
        tournament_id: str,
        player: str = "",
        *,
        byes: Iterable[int] | None = None,
        rating: int | None = None,
        request_id: str = "",
    ) -> Entrant:
        """Change the entry of the caller, or as the tournament's creator that of any player; None: unchanged.

        byes: all rounds of a Swiss in which it does not play; those that are paired already must be as before. rating:
        for seeding, before the start, by the creator only; 0: the player's own rating. Refusals: TOURNAMENT_NOT_FOUND,
        TOURNAMENT_CLOSED, ARGUMENT_INVALID, REQUEST_ID_REUSED, SCOPE_MISSING.
        """
        request = pb.ChangeEntryRequest(
            request_id=request_id or new_request_id(),
            tournament_id=tournament_id,
            player=player,
            byes=None if byes is None else pb.Rounds(rounds=byes),
            rating=rating,
        )
        return read(Entrant, (await self.connection.ask(self.connection.tournaments.ChangeEntry, request)).entrant)

    async def start_tournament(self, tournament_id: str, request_id: str = "") -> Tournament:
        """Start a tournament, as its creator.

        Refusals: TOURNAMENT_NOT_FOUND, TOURNAMENT_CLOSED (started already, or too few players), REQUEST_ID_REUSED,
        SCOPE_MISSING.
        """
        request = pb.StartTournamentRequest(request_id=request_id or new_request_id(), tournament_id=tournament_id)
        return read(
            Tournament, (await self.connection.ask(self.connection.tournaments.StartTournament, request)).tournament
        )

    async def go_on_from_report(
        self, tournament_id: str, report: str, players: Mapping[str, str] | None = None, request_id: str = ""
    ) -> Tournament:
        """Start a Swiss with what was played elsewhere, as its creator: play goes on with the next round.

        report: a tournament report of FIDE (TRF16 or TRF26), as text. players: who its players are here, by name or
        number in the report; the others have the same names here. Refusals: as for start_tournament, TOURNAMENT_CLOSED
        (another format, other rounds), ARGUMENT_INVALID (what is wrong in which line), PLAYER_SUSPENDED.
        """
        request = pb.GoOnFromReportRequest(
            request_id=request_id or new_request_id(),
            tournament_id=tournament_id,
            report=report,
            players=players or {},
        )
        return read(
            Tournament, (await self.connection.ask(self.connection.tournaments.GoOnFromReport, request)).tournament
        )

    async def pause_tournament(self, tournament_id: str, request_id: str = "") -> Tournament:
        """Pause a tournament, as its creator: no further games begin. Refusals: as for start_tournament."""
        request = pb.PauseTournamentRequest(request_id=request_id or new_request_id(), tournament_id=tournament_id)
        return read(
            Tournament, (await self.connection.ask(self.connection.tournaments.PauseTournament, request)).tournament
        )

    async def resume_tournament(self, tournament_id: str, request_id: str = "") -> Tournament:
        """Resume a tournament after a pause, as its creator. Refusals: as for start_tournament."""
        request = pb.ResumeTournamentRequest(request_id=request_id or new_request_id(), tournament_id=tournament_id)
        return read(
            Tournament, (await self.connection.ask(self.connection.tournaments.ResumeTournament, request)).tournament
        )

    async def cancel_tournament(
        self, tournament_id: str, note: str = "", request_id: str = "", *, series_goes_on: bool = False
    ) -> Tournament:
        """End a tournament now, as its creator; its results so far stay. Refusals: as for start_tournament.

        series_goes_on: the next tournament of its series takes place all the same; ARGUMENT_INVALID if it has none.
        """
        request = pb.CancelTournamentRequest(
            request_id=request_id or new_request_id(),
            tournament_id=tournament_id,
            note=note,
            series_goes_on=series_goes_on,
        )
        return read(
            Tournament, (await self.connection.ask(self.connection.tournaments.CancelTournament, request)).tournament
        )

    async def rule_on_game(
        self,
        tournament_id: str,
        game: int,
        decision: RulingDecision,
        half_points: Sequence[int] = (),
        *,
        note: str = "",
        revision: int = 0,
        preview: bool = False,
        request_id: str = "",
    ) -> RuledOnGame:
        """Rule on a game that has a result, as the creator of its tournament; return which places change.

        half_points: of seat 1 and seat 2, with the decision POINTS. revision: of the tournament that you have seen;
        refused with TOURNAMENT_CHANGED if the result of the game has changed since. preview: only show what would
        change. Other refusals: as for start_tournament.
        """
        request = pb.RuleOnGameRequest(
            request_id=request_id or new_request_id(),
            tournament_id=tournament_id,
            game=game,
            decision=pb.RulingDecision.ValueType(decision),
            half_points=half_points,
            note=note,
            revision=revision,
            preview=preview,
        )
        answer = await self.connection.ask(self.connection.tournaments.RuleOnGame, request)
        return read(RuledOnGame, answer)

    async def correct_tournament(
        self,
        tournament_id: str,
        what: Decision,
        *,
        note: str = "",
        revision: int = 0,
        preview: bool = False,
        ratings_too: bool = False,
        request_id: str = "",
    ) -> CorrectedTournament:
        """Correct a tournament, as its creator; return what changes, and which pairings would be others.

        what: a Disqualification, Reinstatement, Replay, PointsAward or LotDraw, or of pairings a PairingByHand,
        ForbiddenPair, GivenBye, RoundPairing or PauseAfterRound. revision: of the tournament that you have seen;
        refused with TOURNAMENT_CHANGED if an organiser has decided something since, or the round of a pairing by hand
        has been paired. preview: only show what would change. ratings_too: with a Disqualification, the player's rated
        games of this tournament are made unrated too, and with a Reinstatement that is taken back; needs scope admin.
        Other refusals: as for start_tournament.
        """
        request = pb.CorrectTournamentRequest(
            request_id=request_id or new_request_id(),
            tournament_id=tournament_id,
            correction=message_of(what),
            note=note,
            revision=revision,
            preview=preview,
            ratings_too=ratings_too,
        )
        answer = await self.connection.ask(self.connection.tournaments.CorrectTournament, request)
        return read(CorrectedTournament, answer)

    async def get_tournament(self, tournament_id: str) -> Tournament:
        """Return the current state of a tournament. Refusals: TOURNAMENT_NOT_FOUND."""
        request = pb.GetTournamentRequest(tournament_id=tournament_id)
        return read(
            Tournament, (await self.connection.ask(self.connection.tournaments.GetTournament, request)).tournament
        )

    async def list_tournaments(
        self,
        *,
        format: TournamentFormat = TournamentFormat.UNSPECIFIED,
        creator: str = "",
        phase: TournamentPhase = TournamentPhase.UNSPECIFIED,
        most: int = 100,
    ) -> tuple[TournamentSummary, ...]:
        """Return the newest tournaments that pass the filters. ENTRY, RUNNING and PAUSED all mean "not ended"."""

        async def ask(size: int, token: str) -> pb.ListTournamentsResponse:
            request = pb.ListTournamentsRequest(
                page_size=size,
                page_token=token,
                format=pb.TournamentFormat.ValueType(format),
                creator=creator,
                phase=pb.TournamentPhase.ValueType(phase),
            )
            return await self.connection.ask(self.connection.tournaments.ListTournaments, request)

        return await collect(most, ask, lambda page: [read(TournamentSummary, each) for each in page.tournaments])

    async def get_standings(self, tournament_id: str, category: str = "") -> Standings:
        """Return the current standings of a tournament.

        category: only these players, or the bots of this author, with places among themselves. Refusals:
        TOURNAMENT_NOT_FOUND, ARGUMENT_INVALID (there is no such category).
        """
        request = pb.GetStandingsRequest(tournament_id=tournament_id, category=category)
        answer = await self.connection.ask(self.connection.tournaments.GetStandings, request)
        return read(Standings, answer)

    async def get_series(self, tournament_id: str) -> Series:
        """Return the table over a series after one of its tournaments. Refusals: TOURNAMENT_NOT_FOUND."""
        request = pb.GetSeriesRequest(tournament_id=tournament_id)
        answer = await self.connection.ask(self.connection.tournaments.GetSeries, request)
        return read(Series, answer)

    async def export_tournament(self, tournament_id: str) -> bytes:
        """Return the log of a tournament: one canonical JSON text a line.

        Once it has ended, the last two lines are its standings and the signature of the arbiter. Refusals:
        TOURNAMENT_NOT_FOUND, BUDGET_SPENT (the ratings take too long).
        """
        request = pb.ExportTournamentRequest(tournament_id=tournament_id)
        parts = await self.connection.ask_all(self.connection.tournaments.ExportTournament, request)
        return b"".join(part.lines for part in parts)

    async def create_web_hook(self, tournament_id: str, url: str, request_id: str = "") -> NewWebHook:
        """Have the events of a tournament delivered to an address from now on, as its creator.

        Refusals: TOURNAMENT_NOT_FOUND, ARGUMENT_INVALID, REQUEST_ID_REUSED, SCOPE_MISSING, RATE_LIMITED (too many).
        """
        request = pb.CreateWebHookRequest(
            request_id=request_id or new_request_id(), tournament_id=tournament_id, url=url
        )
        answer = await self.connection.ask(self.connection.tournaments.CreateWebHook, request)
        return read(NewWebHook, answer)

    async def list_web_hooks(self, tournament_id: str) -> tuple[WebHook, ...]:
        """Return the web hooks of a tournament, the oldest first, as its creator.

        Refusals: TOURNAMENT_NOT_FOUND, SCOPE_MISSING.
        """
        request = pb.ListWebHooksRequest(tournament_id=tournament_id)
        answer = await self.connection.ask(self.connection.tournaments.ListWebHooks, request)
        return tuple(read(WebHook, hook) for hook in answer.web_hooks)

    async def retry_web_hook(self, tournament_id: str, web_hook_id: str) -> WebHook:
        """Make the next attempt of a web hook now, also if it has stopped, as the tournament's creator.

        Refusals: TOURNAMENT_NOT_FOUND, ARGUMENT_INVALID (no such web hook), SCOPE_MISSING.
        """
        request = pb.RetryWebHookRequest(tournament_id=tournament_id, web_hook_id=web_hook_id)
        answer = await self.connection.ask(self.connection.tournaments.RetryWebHook, request)
        return read(WebHook, answer.web_hook)

    async def delete_web_hook(self, tournament_id: str, web_hook_id: str) -> WebHook:
        """Remove a web hook, as the tournament's creator; return it as it was. Refusals: as for retry_web_hook."""
        request = pb.DeleteWebHookRequest(tournament_id=tournament_id, web_hook_id=web_hook_id)
        answer = await self.connection.ask(self.connection.tournaments.DeleteWebHook, request, again=False)
        return read(WebHook, answer.web_hook)
