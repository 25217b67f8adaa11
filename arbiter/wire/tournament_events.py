"""Events of tournaments as messages. Each message follows from one record, not from the tournament's state."""

from __future__ import annotations

from functools import singledispatch
from typing import cast

from arbiter_protos.v1 import match_pb2 as pb

from arbiter.service.record.published import Published
from arbiter.tournaments import events as ev
from arbiter.wire.correction_messages import correction_message


def tournament_event_message(published: Published) -> pb.TournamentEvent:
    """Return an event of a tournament."""
    event = cast("ev.Event", published.event)
    message = pb.TournamentEvent(
        tournament_id=published.match_id, revision=published.revision, at_ms=event.at, kind=event.kind.value
    )
    _fill(event, message)
    return message


@singledispatch
def _fill(event: object, message: pb.TournamentEvent) -> None:
    raise TypeError(f"{type(event).__name__} has no message")  # a test covers all kinds


@_fill.register
def _created(event: ev.Created, message: pb.TournamentEvent) -> None:
    spec = event.spec
    message.created.CopyFrom(
        pb.TournamentCreated(
            name=spec.name, games=spec.games, time_control=spec.time, rated=spec.rated, creator=event.creator
        )
    )


@_fill.register
def _entered(event: ev.Entered, message: pb.TournamentEvent) -> None:
    message.entrant.CopyFrom(
        pb.EntrantEvent(
            player=event.player,
            version=event.version,
            rating=event.rating,
            caller=event.caller,
            team=event.team,
            category=event.category,
        )
    )


@_fill.register
def _withdrawn(event: ev.Withdrawn, message: pb.TournamentEvent) -> None:
    message.entrant.CopyFrom(pb.EntrantEvent(player=event.player, caller=event.caller))


@_fill.register
def _entry_changed(event: ev.EntryChanged, message: pb.TournamentEvent) -> None:
    message.entry_changed.CopyFrom(
        pb.EntryChanged(
            player=event.player, rating=event.rating, byes=event.byes, caller=event.caller, version=event.version
        )
    )


@_fill.register
def _start_missed(event: ev.StartMissed, message: pb.TournamentEvent) -> None:
    message.start_missed.CopyFrom(pb.StartMissed(players=event.players, needed=event.needed))


@_fill.register
def _started(event: ev.Started, message: pb.TournamentEvent) -> None:
    message.started.CopyFrom(pb.TournamentStarted(seeds=event.seeds, caller=event.caller, rules=event.rules))


@_fill.register
def _played_elsewhere(event: ev.PlayedElsewhere, message: pb.TournamentEvent) -> None:
    message.played_elsewhere.CopyFrom(
        pb.PlayedElsewhere(report=event.report, players=event.players, caller=event.caller)
    )


@_fill.register(ev.Paused)
@_fill.register(ev.Continued)
def _organiser(event: ev.Paused | ev.Continued, message: pb.TournamentEvent) -> None:
    message.organiser.CopyFrom(pb.OrganiserEvent(caller=event.caller))


@_fill.register
def _paired(event: ev.Paired, message: pb.TournamentEvent) -> None:
    games = [
        pb.PairedGame(number=game.number, players=(game.seat1, game.seat2), game=game.game)
        for meeting in event.meetings
        for game in meeting.games
    ]
    message.paired.CopyFrom(pb.GamesPaired(round=event.round, games=games, byes=event.byes))


@_fill.register
def _begun(event: ev.Begun, message: pb.TournamentEvent) -> None:
    message.begun.CopyFrom(
        pb.GameBegun(
            number=event.game,
            match_id=event.match,
            attempt=event.attempt,
            opening=event.opening,
            position=event.position,
            entry=event.entry,
        )
    )


@_fill.register
def _ended_game(event: ev.EndedGame, message: pb.TournamentEvent) -> None:
    message.game_ended.CopyFrom(
        pb.GameEnded(
            number=event.game,
            match_id=event.match,
            winner=event.winner,
            reason=event.reason,
            cause=event.cause,
            versions=event.versions,
            moves=event.moves,
        )
    )


@_fill.register
def _voided(event: ev.Voided, message: pb.TournamentEvent) -> None:
    message.voided.CopyFrom(
        pb.GameVoided(number=event.game, match_id=event.match, attempt=event.attempt, reason=event.reason)
    )


@_fill.register
def _ruled(event: ev.Ruled, message: pb.TournamentEvent) -> None:
    message.ruled.CopyFrom(
        pb.GameRuled(
            number=event.game,
            decision=event.decision.value,
            half_points=event.points,
            note=event.note,
            caller=event.caller,
        )
    )


@_fill.register
def _corrected(event: ev.Corrected, message: pb.TournamentEvent) -> None:
    message.corrected.CopyFrom(
        pb.TournamentCorrected(correction=correction_message(event.what), note=event.note, caller=event.caller)
    )


@_fill.register
def _ended(event: ev.Ended, message: pb.TournamentEvent) -> None:
    message.ended.CopyFrom(pb.TournamentEnded(end=event.end.value, note=event.note, caller=event.caller))
