"""Matches and their events, described in words."""

from __future__ import annotations

from collections.abc import Sequence

import arbiter_client as arb

from arbiter.games import registry

PHASES = {
    arb.Phase.PENDING: "waiting for players",
    arb.Phase.ACTIVE: "under way",
    arb.Phase.PAUSED: "paused",
    arb.Phase.ENDED: "over",
}

_SEAT_EVENTS = {
    "arrived": "{} is here",
    "left": "{} has gone",
    "draw_offered": "{} offers a draw",
    "draw_declined": "{} declines the draw",
}


def phase(match: arb.Match) -> str:
    """Return the state of a match: `under way`, or how it ended, and by which ruling it does not count for ratings."""
    if match.result is not None:
        unrated = f", unrated by ruling {match.unrated_by}" if match.unrated_by else ""
        return result(match.result, match.players, match.game) + unrated
    return PHASES.get(match.phase, match.phase.name.lower())


def result(ended: arb.Result, players: Sequence[str], game: str = "") -> str:
    """Return how a match ended: `alice (White) wins: checkmate`, `a draw: repetition`, `void: aborted (a note)`."""
    reason = ended.reason.replace("_", " ") or "no reason given"
    note = f" ({ended.note})" if ended.note else ""
    if ended.kind is arb.ResultKind.WIN:
        return f"{in_seat(players, ended.winner, game)} wins: {reason}{note}"
    return f"{'a draw' if ended.kind is arb.ResultKind.DRAW else 'void'}: {reason}{note}"


def named(players: Sequence[str], seat: int, game: str = "") -> str:
    """Return the player of a seat: `alice`, or `alice (Black)` if it plays against itself, `alice (seat 2)`.

    game: the variant, whose rules name the seats.
    """
    if not 0 < seat <= len(players):
        return f"seat {seat}"
    name = players[seat - 1]
    return name if players.count(name) == 1 else f"{name} ({seat_name(game, seat)})"


def in_seat(players: Sequence[str], seat: int, game: str) -> str:
    """Return a player with the name of its seat: `alice (White)`, or `alice` if the rules only number the seats."""
    name = seat_name(game, seat)
    if name == f"seat {seat}" or not 0 < seat <= len(players):
        return named(players, seat)
    return f"{players[seat - 1]} ({name})"


def seat_name(game: str, seat: int) -> str:
    """Return the name of a seat by the rules of a variant: `White`, or `seat 1` if it has none or is not known here."""
    name = registry.seats(game)[seat - 1] if seat in (1, 2) else str(seat)
    return f"seat {seat}" if name == str(seat) else name


def happening(event: arb.MatchEvent, players: Sequence[str], game: str = "", move: str = "") -> str:
    """Describe an event in one line; an unknown kind is shown by its name.

    game: the variant, whose rules name the seats. move: a move that was played as people read it, with its number, if
    that is known.
    """
    what = event.what
    if isinstance(what, arb.MatchCreated):
        label = f", {what.label}" if what.label else ""
        rated = ", rated" if what.rated else ""
        begun = (what.position, " ".join(what.opening))
        opening = f", from {', '.join(filter(None, begun))}" if any(begun) else ""
        return f"{what.game}: {' against '.join(what.players)}, {what.time_control}{rated}{label}{opening}"
    if isinstance(what, arb.TurnStarted):
        return f"the clock of {named(players, what.turn, game)} starts"
    if isinstance(what, arb.MovePlayed):
        spent = f" in {seconds(what.ledger.charged_ms)}" if what.ledger else ""
        return f"{move or f'{what.ply + 1}. {what.move}'} by {named(players, what.seat, game)}{spent}"
    if isinstance(what, arb.StrikeCounted):
        return f"{what.move!r} of {named(players, what.seat, game)} is refused: {what.reason}, strike {what.strikes}"
    if isinstance(what, arb.RequestRejected):
        return f"{what.command} of {named(players, what.seat, game)} is refused: {what.words}"
    if isinstance(what, arb.Interrupted):
        return f"interrupted: {what.reason}; no clock runs"
    if isinstance(what, arb.Result):
        return result(what, players, game)
    if isinstance(what, arb.SeatEvent):
        version = f", version {what.version}" if what.version else ""
        return _SEAT_EVENTS.get(event.kind, "{}: " + event.kind).format(named(players, what.seat, game)) + version
    return event.kind


def seconds(milliseconds: int) -> str:
    """Return a duration: `250 ms`, `1.3 s`."""
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
