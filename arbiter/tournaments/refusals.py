"""The refusals of a tournament, for all that it is asked to do."""

from __future__ import annotations

from typing import Final

from arbiter.errors import Reason, Refusal
from arbiter.tournaments import events as ev
from arbiter.tournaments.tournament import Tournament, TournamentPhase


def changed(tournament: Tournament, since: int, why: str) -> Refusal:
    """Return the refusal for a command that was decided on an older revision; `why` is a clause for people."""
    return Refusal(
        Reason.TOURNAMENT_CHANGED,
        f"tournament {tournament.spec.name!r} has changed since revision {since}: {why}; read it again, then decide",
        revision=tournament.revision,
        why=why,
    )


def closed(tournament: Tournament, why: str) -> Refusal:
    """Return the refusal for a command that a tournament does not allow; `why` is a clause for people."""
    return Refusal(
        Reason.TOURNAMENT_CLOSED,
        f"tournament {tournament.spec.name!r} does not take this: {why}",
        phase=tournament.phase.value,
        why=why,
    )


_ENDS: Final = {
    ev.End.COMPLETE: "all its games have been played",
    ev.End.TIME: "its time has run out",
    ev.End.DECIDED: "its test has decided",
    ev.End.CANCELLED: "it has been cancelled",
}


def how_ended(tournament: Tournament) -> str:
    """Return why a tournament that has ended takes no more commands, as a clause."""
    assert tournament.end is not None
    return f"it is over: {_ENDS[tournament.end.end]}"


def where_it_is(tournament: Tournament) -> str:
    """Return the phase of a tournament as a clause."""
    if tournament.phase is TournamentPhase.ENDED:
        return how_ended(tournament)
    return {
        TournamentPhase.ENTRY: "it has not started yet",
        TournamentPhase.RUNNING: "it is running",
        TournamentPhase.PAUSED: "it is paused",
    }[tournament.phase]
