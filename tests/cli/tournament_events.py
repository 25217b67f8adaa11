"""Events of a tournament's stream, for tests of how they are shown."""

from __future__ import annotations

import arbiter_client as arb

from arbiter.cli.tournament_run.progress import Progress

BEGAN_MS = 10_000

Event = arb.TournamentEvent | arb.MatchEvent


def of_match(match_id: str, what: arb.Happening, at_ms: int = BEGAN_MS, plies: int = 0) -> arb.MatchEvent:
    return arb.MatchEvent(match_id, 1, at_ms, "", b"", what, plies=plies)


def of_tournament(what: arb.TournamentHappening, at_ms: int = BEGAN_MS) -> arb.TournamentEvent:
    return arb.TournamentEvent("t1", 1, at_ms, "", b"", what)


def created(
    match_id: str, seat1: str, seat2: str, at_ms: int = BEGAN_MS, opening: tuple[str, ...] = ()
) -> arb.MatchEvent:
    return of_match(match_id, arb.MatchCreated("hop-it", (seat1, seat2), "1m", True, "t1", opening), at_ms)


def ended(
    match_id: str,
    winner: int,
    cause: arb.Cause = arb.Cause.RULES,
    kind: arb.ResultKind | None = None,
    at_ms: int = BEGAN_MS,
    reason: str = "extinction",
    plies: int = 0,
) -> arb.MatchEvent:
    kind = kind or (arb.ResultKind.WIN if winner else arb.ResultKind.DRAW)
    return of_match(match_id, arb.Result(kind, winner, reason, cause, arb.Party.PLAYERS, 0, ""), at_ms, plies)


def progress_of(*events: Event) -> Progress:
    """Return how far a tournament is after some events."""
    progress = Progress(BEGAN_MS)
    for event in events:
        progress.take(event)
    return progress
