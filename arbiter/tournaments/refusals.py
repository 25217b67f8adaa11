"""The refusals of a tournament, for all that it is asked to do."""

from __future__ import annotations

from arbiter.errors import Reason, Refusal
from arbiter.tournaments.tournament import Tournament


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
