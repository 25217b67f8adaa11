"""Tournaments as messages. A specification's fields have the same names on the wire, in a file and in the code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from arbiter_protos.v1 import match_pb2, rating_pb2
from arbiter_protos.v1 import tournament_pb2 as pb
from google.protobuf.message import Message

from arbiter.matches import time_control
from arbiter.matches.policy import ClockStart, NoShow
from arbiter.service.gate.entries import EntryCorrection
from arbiter.service.gate.tournament_calls import TournamentQuery
from arbiter.service.ports.journal import TournamentSummary
from arbiter.service.ports.web_hooks import WebHook
from arbiter.service.tournaments.series_tables import Series
from arbiter.tournaments.engine import too_few
from arbiter.tournaments.formats import Rating
from arbiter.tournaments.schedule import TooFew
from arbiter.tournaments.series_table import SeriesRow
from arbiter.tournaments.spec import Format, OpeningOrder, Spec, TieBreak
from arbiter.tournaments.spec_text import read_spec, write_spec
from arbiter.tournaments.standings import StandingsRow, Table
from arbiter.tournaments.team_standings import TeamTable
from arbiter.tournaments.tournament import Entrant, RunningGame, Tournament, TournamentPhase
from arbiter.wire.copied_fields import copied

_FORMATS: Final[Mapping[str, pb.TournamentFormat.ValueType]] = {
    format_.value: pb.TournamentFormat.Value(f"TOURNAMENT_FORMAT_{format_.name}") for format_ in Format
}
_TIE_BREAKS: Final[Mapping[str, pb.TieBreak.ValueType]] = {
    tie_break.value: pb.TieBreak.Value(f"TIE_BREAK_{tie_break.value.upper()}") for tie_break in TieBreak
}
_STARTS: Final[Mapping[str, int]] = {
    start.value: match_pb2.StartRule.Value(f"START_RULE_{start.name}") for start in ClockStart
}
_NO_SHOWS: Final[Mapping[str, int]] = {rule.value: pb.NoShowRule.Value(f"NO_SHOW_RULE_{rule.name}") for rule in NoShow}
_ORDERS: Final[Mapping[str, pb.OpeningOrder.ValueType]] = {
    order.value: pb.OpeningOrder.Value(f"OPENING_ORDER_{order.name}") for order in OpeningOrder
}
_TOO_FEW: Final[Mapping[str, pb.TooFewRule.ValueType]] = {
    rule.value: pb.TooFewRule.Value(f"TOO_FEW_RULE_{rule.name}") for rule in TooFew
}
_WORDS: Final[Mapping[str, Mapping[str, int]]] = {
    "format": _FORMATS,
    "tie_breaks": _TIE_BREAKS,
    "start": _STARTS,
    "no_show": _NO_SHOWS,
    "order": _ORDERS,
    "too_few": _TOO_FEW,
}
"""The words of a specification that are numbers on the wire, by field."""

_UNSAID: Final = ("start", "no_show", "order", "too_few")
"""Fields in which the number 0 means that the field is absent."""


# Specifications


def spec_of(message: pb.TournamentSpec) -> Spec:
    """Return the specification of a request. Raises as `read_spec`.

    It plays opening lines, so do not call it in the event loop.
    """
    return read_spec(_values(message), time_control.parse)


def _values(message: Message) -> dict[str, Any]:
    """Return a part of a specification in the form that `read_spec` takes: without absent fields."""
    values: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        absent = (field.has_presence and not message.HasField(field.name)) or (field.name in _UNSAID and not value)
        if not absent:
            values[field.name] = _value(field.name, value)
    return values


def _value(name: str, value: Any) -> Any:
    if name in _WORDS:
        words = {number: word for word, number in _WORDS[name].items()}
        if isinstance(value, int):
            return words.get(value, str(value))  # an unknown number is refused with a list of the known words
        return [words.get(number, str(number)) for number in value]
    if name == "lines":
        lines: dict[str, list[list[str]]] = {}
        for line in value:
            lines.setdefault(line.game, []).append(list(line.moves))
        return lines
    if name in _GROUPS:
        return {group.name: list(group.players) for group in value}
    if name == "forbidden":
        return [(pair.first, pair.second) for pair in value]
    if isinstance(value, Message):
        return _values(value)
    if isinstance(value, bool | int | str):
        return value
    return dict(value) if isinstance(value, Mapping) else list(value)


def spec_message(spec: Spec) -> pb.TournamentSpec:
    """Return a specification."""
    return pb.TournamentSpec(**_said(write_spec(spec)))


_PARTS: Final[Mapping[str, type[Message]]] = {
    "options": pb.TournamentOptions,
    "openings": pb.Openings,
    "entry": pb.EntryRules,
    "groups": pb.PlayerGroups,
    "schedule": pb.Schedule,
    "series": pb.SeriesRules,
    "league": pb.LeagueRules,
    "season": pb.LeagueSeason,
    "adjudication": pb.Adjudication,
    "policy": pb.TournamentPolicy,
}


_GROUPS: Final = ("categories", "authors", "places", "moves")


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a specification as the fields of its messages."""
    said = dict(values)
    for name, value in values.items():
        if name in _WORDS:
            words = _WORDS[name]
            said[name] = words[value] if isinstance(value, str) else [words[each] for each in value]
        elif name in _PARTS:
            said[name] = _PARTS[name](**_said(value))
    if "lines" in said:
        said["lines"] = [
            pb.OpeningLine(game=game, moves=line) for game, lines in said["lines"].items() for line in lines
        ]
    for name in _GROUPS:
        if name in said:
            said[name] = _group_messages(said[name])
    if "forbidden" in said:
        said["forbidden"] = [pb.PlayerPair(first=first, second=second) for first, second in said["forbidden"]]
    return said


def _group_messages(named: Mapping[str, Sequence[str]]) -> list[pb.PlayerGroup]:
    return [pb.PlayerGroup(name=name, players=players) for name, players in named.items()]


def format_message(format_: Format) -> pb.TournamentFormat.ValueType:
    """Return a format."""
    return _FORMATS[format_]


def wanted_of(request: pb.ListTournamentsRequest) -> TournamentQuery:
    """Return the filter of a request to list tournaments."""
    formats: dict[int, str] = {number: word for word, number in _FORMATS.items()}
    ended = request.phase == pb.TOURNAMENT_PHASE_ENDED if request.phase else None
    return TournamentQuery(formats.get(request.format) if request.format else "", request.creator, ended)


def correction_of(request: pb.ChangeEntryRequest) -> EntryCorrection:
    """Return the change of an entry that a request asks for."""
    rating = request.rating if request.HasField("rating") else None
    return EntryCorrection(request.player, rating, request.byes.rounds if request.HasField("byes") else None)


# Tournaments


def tournament_message(
    tournament: Tournament, cautions: Sequence[str] = ()
) -> tuple[pb.Tournament, Iterator[pb.Entrant]]:
    """Return a tournament's current state, with what its organiser is told at its creation, and apart its entrants.

    The messages of these are made when they are taken, since they may be thousands.
    """
    seeded = dict.fromkeys((*tournament.seeds, *tournament.entrants))  # a player that left before the start has no seed
    end = tournament.end
    message = pb.Tournament(
        tournament_id=tournament.id,
        spec=spec_message(tournament.spec),
        creator=tournament.created.creator,
        phase=phase_message(tournament.phase),
        revision=tournament.revision,
        rounds=tournament.rounds,
        games=len(tournament.games),
        games_ended=tournament.games_ended,
        running=[_game_message(tournament, number, game) for number, game in sorted(tournament.running.items())],
        created_ms=tournament.created.at,
        started_ms=tournament.started_at or 0,
        ends_ms=tournament.ends_at or 0,
        ended_ms=end.at if end is not None else 0,
        end=pb.TournamentEnd.Value(f"TOURNAMENT_END_{end.end.name if end is not None else 'UNSPECIFIED'}"),
        end_note=end.note if end is not None else "",
        cautions=cautions,
        start_note=too_few(tournament) if tournament.missed and not tournament.seeds and end is None else "",
    )
    return message, map(entrant_message, [tournament.entrants[player] for player in seeded])


def entrant_message(entrant: Entrant) -> pb.Entrant:
    """Return a player of a tournament."""
    return copied(pb.Entrant, entrant)


def _game_message(tournament: Tournament, number: int, running: RunningGame) -> pb.TournamentGame:
    game = tournament.games[number - 1]
    return pb.TournamentGame(
        number=number,
        round=tournament.meetings[game.meeting - 1].round,
        players=(game.seat1, game.seat2),
        game=game.game,
        match_id=running.match,
        attempt=running.attempt,
    )


def phase_message(phase: str) -> pb.TournamentPhase.ValueType:
    """Return a phase; its text is one of `TournamentPhase`."""
    return pb.TournamentPhase.Value(f"TOURNAMENT_PHASE_{TournamentPhase(phase).name}")


def summary_message(row: TournamentSummary) -> pb.TournamentSummary:
    """Return a tournament's list entry."""
    return copied(pb.TournamentSummary, row, format=_FORMATS[row.format], phase=phase_message(row.phase))


# Standings


def standings_message(tournament_id: str, table: Table, rows: Iterable[pb.StandingsRow]) -> pb.GetStandingsResponse:
    """Return the standings of a tournament. rows: the messages of the rows of its table."""
    return pb.GetStandingsResponse(
        tournament_id=tournament_id,
        revision=table.revision,
        tie_breaks=[_TIE_BREAKS[tie_break] for tie_break in table.tie_breaks],
        rows=rows,
        teams=None if table.teams is None else _teams_message(table.teams),
    )


def _teams_message(table: TeamTable) -> pb.TeamStandings:
    rows = [
        copied(pb.TeamRow, row, board_half_points=row.board_points, tie_break_quarters=row.values) for row in table.rows
    ]
    return pb.TeamStandings(tie_breaks=[_TIE_BREAKS[tie_break] for tie_break in table.tie_breaks], rows=rows)


def series_message(series: Series, rows: Iterable[pb.SeriesRow]) -> pb.GetSeriesResponse:
    """Return the table over a series. rows: the messages of its rows."""
    return pb.GetSeriesResponse(
        tournaments=map(summary_message, series.tournaments),
        rows=rows,
        next_tournament_id=series.next,
        rules=pb.SeriesRules(**asdict(series.rules)),
        divisions=[pb.LeagueDivision(**each._asdict()) for each in series.divisions],
        moves=_group_messages(series.moves),
    )


def series_row_message(series: Series, row: SeriesRow) -> pb.SeriesRow:
    """Return a player's row of the table over a series."""
    return pb.SeriesRow(
        place=row.place,
        player=row.player,
        half_points=row.points,
        results=[
            pb.SeriesResult(
                tournament_id=series.tournaments[each.tournament].tournament_id,
                place=each.place,
                half_points=each.points,
                counts=each.counts,
            )
            for each in row.results
        ],
    )


def standings_row_message(row: StandingsRow) -> pb.StandingsRow:
    """Return a row of standings."""
    return copied(
        pb.StandingsRow,
        row,
        half_points=row.points,
        tie_break_quarters=row.values,
        meeting_half_points=row.meeting_points,
        game_half_points=row.game_points,
        faults=pb.Faults(**row.faults._asdict()),
        rating=None if row.rating is None else _rating_message(row.rating),
        awarded_half_points=row.awarded,
    )


def _rating_message(rating: Rating) -> pb.StandingsRating:
    elo = rating_pb2.Estimate(value=rating.elo, low=rating.low, high=rating.high)
    return pb.StandingsRating(elo=elo, provisional=rating.provisional, group=rating.group)


def web_hook_message(hook: WebHook) -> pb.WebHook:
    """Return the message of a web hook, without its secret."""
    return copied(
        pb.WebHook,
        hook,
        web_hook_id=hook.hook_id,
        delivered_revision=hook.revision,
        next_try_ms=0 if hook.stopped else hook.due_ms,
    )
