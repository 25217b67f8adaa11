"""Values: every field and number of the protocol is read, and newer ones do no harm."""

from __future__ import annotations

from dataclasses import fields
from enum import IntEnum
from typing import Any

import arbiter_client as arb
import pytest
from arbiter_client.values.match import read_event
from arbiter_client.values.reading import read
from arbiter_client.values.tournament_event import read_tournament_event
from arbiter_client.values.writing import write
from arbiter_protos.v1 import (
    game_pb2,
    match_pb2,
    play_pb2,
    player_pb2,
    rating_pb2,
    refusal_pb2,
    server_pb2,
    tournament_pb2,
)
from google.protobuf.message import Message

PAIRS = [
    (arb.Game, game_pb2.GetGameResponse),
    (arb.GameSummary, game_pb2.GameSummary),
    (arb.Parameter, game_pb2.Parameter),
    (arb.EndReason, game_pb2.EndReason),
    (arb.Ruling, game_pb2.Ruling),
    (arb.Board, game_pb2.Board),
    (arb.Cell, game_pb2.Cell),
    (arb.CellLine, game_pb2.CellLine),
    (arb.CellContent, game_pb2.CellContent),
    (arb.Line, game_pb2.LineOfPlay),
    (arb.MatchPly, game_pb2.MatchPly),
    (arb.LegalMove, game_pb2.LegalMove),
    (arb.Step, game_pb2.Step),
    (arb.PlayedLine, game_pb2.PlayMovesResponse),
    (arb.PlayedPosition, game_pb2.PlayedPosition),
    (arb.GameOutcome, game_pb2.GameOutcome),
    (arb.WebHook, tournament_pb2.WebHook),
    (arb.NewWebHook, tournament_pb2.CreateWebHookResponse),
    (arb.Match, match_pb2.Match),
    (arb.Clock, match_pb2.Clock),
    (arb.Policy, match_pb2.Policy),
    (arb.Result, match_pb2.Result),
    (arb.Receipt, match_pb2.Receipt),
    (arb.Ledger, match_pb2.Ledger),
    (arb.MatchCreated, match_pb2.MatchCreated),
    (arb.TurnStarted, match_pb2.TurnStarted),
    (arb.MovePlayed, match_pb2.MovePlayed),
    (arb.StrikeCounted, match_pb2.StrikeCounted),
    (arb.SeatEvent, match_pb2.SeatEvent),
    (arb.Interrupted, match_pb2.Interrupted),
    (arb.Player, player_pb2.Player),
    (arb.Unpaired, player_pb2.Unpaired),
    (arb.Registered, player_pb2.RegisterPlayerResponse),
    (arb.Myself, player_pb2.GetPlayerResponse),
    (arb.Token, player_pb2.Token),
    (arb.NewToken, player_pb2.CreateTokenResponse),
    (arb.Terms, player_pb2.Terms),
    (arb.ChallengeClosed, play_pb2.ChallengeClosed),
    (arb.RecentMove, play_pb2.RecentMove),
    (arb.ServerInfo, server_pb2.GetServerInfoResponse),
    (arb.PublicKey, server_pb2.PublicKey),
    (arb.Tournament, tournament_pb2.Tournament),
    (arb.TournamentSpec, tournament_pb2.TournamentSpec),
    (arb.TournamentOptions, tournament_pb2.TournamentOptions),
    (arb.Openings, tournament_pb2.Openings),
    (arb.OpeningLine, tournament_pb2.OpeningLine),
    (arb.EntryRules, tournament_pb2.EntryRules),
    (arb.PlayerPair, tournament_pb2.PlayerPair),
    (arb.Schedule, tournament_pb2.Schedule),
    (arb.Adjudication, tournament_pb2.Adjudication),
    (arb.TournamentPolicy, tournament_pb2.TournamentPolicy),
    (arb.Entrant, tournament_pb2.Entrant),
    (arb.TournamentGame, tournament_pb2.TournamentGame),
    (arb.TournamentSummary, tournament_pb2.TournamentSummary),
    (arb.Standings, tournament_pb2.GetStandingsResponse),
    (arb.StandingsRow, tournament_pb2.StandingsRow),
    (arb.TeamStandings, tournament_pb2.TeamStandings),
    (arb.TeamRow, tournament_pb2.TeamRow),
    (arb.PlaceChange, tournament_pb2.PlaceChange),
    (arb.RuledOnGame, tournament_pb2.RuleOnGameResponse),
    (arb.CorrectedTournament, tournament_pb2.CorrectTournamentResponse),
    (arb.LaterPairings, tournament_pb2.LaterPairings),
    (arb.Correction, match_pb2.Correction),
    (arb.Disqualification, match_pb2.Disqualification),
    (arb.Reinstatement, match_pb2.Reinstatement),
    (arb.Replay, match_pb2.Replay),
    (arb.PointsAward, match_pb2.PointsAward),
    (arb.LotDraw, match_pb2.LotDraw),
    (arb.PairingByHand, match_pb2.PairingByHand),
    (arb.ForbiddenPair, match_pb2.ForbiddenPair),
    (arb.GivenBye, match_pb2.GivenBye),
    (arb.RoundPairing, match_pb2.RoundPairing),
    (arb.PauseAfterRound, match_pb2.PauseAfterRound),
    (arb.RoundPairs, tournament_pb2.RoundPairs),
    (arb.TournamentCorrected, match_pb2.TournamentCorrected),
    (arb.PlayedElsewhere, match_pb2.PlayedElsewhere),
    (arb.Faults, tournament_pb2.Faults),
    (arb.TournamentCreated, match_pb2.TournamentCreated),
    (arb.EntrantEvent, match_pb2.EntrantEvent),
    (arb.TournamentStarted, match_pb2.TournamentStarted),
    (arb.OrganiserEvent, match_pb2.OrganiserEvent),
    (arb.GamesPaired, match_pb2.GamesPaired),
    (arb.PairedGame, match_pb2.PairedGame),
    (arb.GameBegun, match_pb2.GameBegun),
    (arb.GameEnded, match_pb2.GameEnded),
    (arb.GameVoided, match_pb2.GameVoided),
    (arb.GameRuled, match_pb2.GameRuled),
    (arb.TournamentEnded, match_pb2.TournamentEnded),
    (arb.Anchor, rating_pb2.Anchor),
    (arb.Comparison, rating_pb2.ComparePlayersResponse),
    (arb.ConfidenceSequence, rating_pb2.ConfidenceSequence),
    (arb.Encounters, rating_pb2.Encounters),
    (arb.Estimate, rating_pb2.Estimate),
    (arb.Forfeits, rating_pb2.Forfeits),
    (arb.LeaderboardRow, rating_pb2.LeaderboardRow),
    (arb.PairedGames, rating_pb2.PairedGames),
    (arb.RatedDifference, rating_pb2.RatedDifference),
    (arb.Rating, rating_pb2.GetRatingResponse),
    (arb.RatingHistory, rating_pb2.RatingHistory),
    (arb.RatingMark, rating_pb2.RatingMark),
    (arb.GameSelection, rating_pb2.GameSelection),
    (arb.RatingRuling, rating_pb2.RuleOnRatingsResponse),
    (arb.SequentialTest, rating_pb2.SequentialTest),
]

ENUMS = [
    (arb.Basis, game_pb2.Basis),
    (arb.Tile, game_pb2.Tile),
    (arb.Phase, match_pb2.Phase),
    (arb.ResultKind, match_pb2.ResultKind),
    (arb.Cause, match_pb2.Cause),
    (arb.Party, match_pb2.Party),
    (arb.StartRule, match_pb2.StartRule),
    (arb.Scope, player_pb2.Scope),
    (arb.TournamentFormat, tournament_pb2.TournamentFormat),
    (arb.TournamentPhase, tournament_pb2.TournamentPhase),
    (arb.TournamentEnd, tournament_pb2.TournamentEnd),
    (arb.TieBreak, tournament_pb2.TieBreak),
    (arb.NoShowRule, tournament_pb2.NoShowRule),
    (arb.Verdict, rating_pb2.Verdict),
    (arb.RatingDecision, rating_pb2.RatingDecision),
    (arb.DisqualifiedResults, match_pb2.DisqualifiedResults),
]


@pytest.mark.parametrize(("value", "message"), PAIRS, ids=lambda each: each.__name__)
def test_a_value_has_the_fields_of_its_message(value: type[Any], message: type[Message]) -> None:
    assert {field.name for field in fields(value)} == {field.name for field in message.DESCRIPTOR.fields}
    read(value, message())


@pytest.mark.parametrize(
    ("value", "message", "apart"),
    [
        (arb.Turn, play_pb2.Turn, {"match_id"}),
        (arb.FinishedMatch, play_pb2.MatchEnded, {"cursor"}),
        (arb.Challenge, player_pb2.Challenge, set()),
        (arb.Leaderboard, rating_pb2.GetLeaderboardResponse, {"next_page_token"}),
    ],
)
def test_the_items_of_a_bot_have_the_fields_of_their_messages(
    value: type[Any], message: type[Message], apart: set[str]
) -> None:
    own = {field.name for field in fields(value) if not field.metadata.get("elsewhere")}
    assert own == {field.name for field in message.DESCRIPTOR.fields} - apart


@pytest.mark.parametrize(("value", "enum"), ENUMS, ids=lambda each: getattr(each, "__name__", ""))
def test_an_enumeration_has_the_protocols_numbers(value: type[IntEnum], enum: Any) -> None:
    prefix = next(name for name, number in enum.items() if number == 0).removesuffix("UNSPECIFIED")
    assert {member.name: member.value for member in value} == {
        name.removeprefix(prefix): number for name, number in enum.items()
    }
    assert value(999) is value["UNSPECIFIED"]


def test_the_reasons_are_those_of_the_protocol() -> None:
    names = {name.removeprefix("REFUSAL_REASON_") for name, _ in refusal_pb2.RefusalReason.items()}
    assert {reason.value for reason in arb.Reason} == names - {"UNSPECIFIED"} | {"UNKNOWN"}


def test_absent_fields_are_none() -> None:
    assert read(arb.CellContent, game_pb2.CellContent()).facing is None
    assert read(arb.CellContent, game_pb2.CellContent(facing=0)).facing == 0
    assert read(arb.Match, match_pb2.Match()).result is None


def test_every_kind_of_event_is_read() -> None:
    arms = match_pb2.MatchEvent.DESCRIPTOR.oneofs_by_name["event"].fields
    for arm in arms:
        message = match_pb2.MatchEvent(match_id="m1", revision=3)
        getattr(message, arm.name).SetInParent()
        event = read_event(message, "t")
        assert event.what is not None, arm.name
        assert (event.revision, event.token) == (3, "t")
    assert read_event(match_pb2.MatchEvent(kind="brand_new"), "").what is None


def test_every_kind_of_tournament_event_is_read() -> None:
    for arm in match_pb2.TournamentEvent.DESCRIPTOR.oneofs_by_name["event"].fields:
        message = match_pb2.TournamentEvent(tournament_id="t1", revision=3)
        getattr(message, arm.name).SetInParent()
        event = read_tournament_event(message, "t")
        assert event.what is not None, arm.name
        assert (event.tournament_id, event.revision, event.token) == ("t1", 3, "t")
    assert read_tournament_event(match_pb2.TournamentEvent(kind="brand_new"), "").what is None


def test_a_strike_has_its_reason() -> None:
    strike = match_pb2.StrikeCounted(seat=1, reason=refusal_pb2.REFUSAL_REASON_MOVE_ILLEGAL)
    event = read_event(match_pb2.MatchEvent(strike=strike), "")
    assert isinstance(event.what, arb.StrikeCounted)
    assert event.what.reason is arb.Reason.MOVE_ILLEGAL


def test_a_rejected_request_has_its_content_and_reason() -> None:
    refusal = refusal_pb2.Refusal(reason=refusal_pb2.REFUSAL_REASON_PLY_MISMATCH, message="too early")
    rejected = match_pb2.RequestRejected(seat=2, command="Play", ply=7, move="a1", refusal=refusal)
    what = read_event(match_pb2.MatchEvent(rejected=rejected), "").what
    assert isinstance(what, arb.RequestRejected)
    assert (what.command, what.ply, what.move) == ("Play", 7, "a1")
    assert (what.reason, what.words) == (arb.Reason.PLY_MISMATCH, "too early")


@pytest.mark.parametrize(
    ("kind", "winner", "scores"),
    [
        (arb.ResultKind.WIN, 2, (0.0, 1.0)),
        (arb.ResultKind.DRAW, 0, (0.5, 0.5)),
        (arb.ResultKind.VOID, 0, (None, None)),
        (arb.ResultKind.UNSPECIFIED, 0, (None, None)),
    ],
)
def test_scores(kind: arb.ResultKind, winner: int, scores: tuple[float | None, float | None]) -> None:
    result = arb.Result(kind, winner, "", arb.Cause.RULES, arb.Party.PLAYER, 0, "")
    assert (result.score(1), result.score(2)) == scores


def test_a_specification_is_written_completely_and_read_back() -> None:
    spec = arb.TournamentSpec(
        name="Cup",
        format=arb.TournamentFormat.SWISS,
        games=("pods", "hop-it"),
        time="1m",
        options=arb.TournamentOptions(rounds=3, validation=False),
        openings=arb.Openings(lines=(arb.OpeningLine("pods", ("a", "b")), arb.OpeningLine("pods", ("c",)))),
        entry=arb.EntryRules(invited=("ann",), forbidden=(arb.PlayerPair("ann", "ben"),)),
        tie_breaks=(arb.TieBreak.WINS,),
        policy=arb.TournamentPolicy(no_show_ms=0, no_show=arb.NoShowRule.VOID),
        time_odds={"ann": "30s"},
    )
    message = write(spec, tournament_pb2.TournamentSpec())
    assert not message.policy.HasField("abandon_ms")
    assert message.policy.HasField("no_show_ms")
    assert message.HasField("schedule")
    assert read(arb.TournamentSpec, message) == spec
