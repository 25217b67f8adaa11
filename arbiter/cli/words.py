"""Matches, tournaments and their events, described in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Final

import arbiter_client as arb
from arbiter_client.values.correction import Decision

from arbiter.games import registry
from arbiter.tournaments import corrections
from arbiter.tournaments.game_ends import GameResult
from arbiter.tournaments.game_rulings import in_words

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


def tournament_happening(event: arb.TournamentEvent, games: Mapping[int, arb.PairedGame]) -> str:
    """Describe a tournament event in one line; `games` are those paired so far, by number."""
    what = event.what
    match what:
        case arb.TournamentCreated():
            return f"{what.name}: {' and '.join(what.games)}, {what.time_control}, made by {what.creator}"
        case arb.EntrantEvent():
            version = f", version {what.version}" if what.version else ""
            return f"{what.player} {'has entered' if event.kind == 'entered' else 'has withdrawn'}{version}"
        case arb.EntryChanged():
            sits_out = ", ".join(map(str, what.byes)) or "no round"
            return f"the entry of {what.player} is changed: rating {what.rating or 'none'}, sits out {sits_out}"
        case arb.StartMissed():
            return f"the start waits for players: {what.needed} are needed, {what.players} there"
        case arb.PlayedElsewhere():
            return f"{what.caller} has it go on from a report of {len(what.players)} players"
        case arb.TournamentStarted():
            rules = f", paired by {what.rules}" if what.rules else ""
            return f"started: {', '.join(what.seeds) or 'without players yet'}{rules}"
        case arb.OrganiserEvent():
            return f"{event.kind} by {what.caller}"
        case arb.GamesPaired():
            pairs = [" against ".join(game.players) for game in what.games]
            byes = [f"{player} sits out" for player in what.byes]
            return f"round {what.round}: {', '.join(pairs + byes)}"
        case arb.TournamentCorrected():
            return correction(what)
        case arb.TournamentEnded():
            return f"over: {what.end}{f' ({what.note})' if what.note else ''}"
    return _game_happening(event, games)


def correction(what: arb.TournamentCorrected) -> str:
    """Describe a correction: `eve is disqualified from now on: …, decided by org: why`."""
    decided, why = what.correction.what, f": {what.note}" if what.note else ""
    said = "a decision that is newer than this program"
    if decided is not None:
        said = corrections.in_words(_decision(decided))
    return f"{said}; decided by {what.caller}{why}"


_CORRECTIONS: Final[Mapping[type[Decision], Callable[..., corrections.Correction]]] = {
    arb.Reinstatement: corrections.Reinstate,
    arb.Replay: corrections.Replay,
    arb.PointsAward: corrections.Award,
    arb.LotDraw: corrections.DrawLots,
    arb.ForbiddenPair: corrections.Forbid,
    arb.GivenBye: corrections.GiveBye,
    arb.RoundPairing: corrections.PairRound,
    arb.PauseAfterRound: corrections.Hold,
}
"""The corrections whose fields are those of the client's value, in the same order."""


def _decision(decided: Decision) -> corrections.Correction:
    match decided:
        case arb.Disqualification():
            results = corrections.Results[decided.results.name] if decided.results else corrections.Results.STAND
            return corrections.Disqualify(decided.player, decided.from_start, results, not decided.games_go_on)
        case arb.PairingByHand():
            return corrections.PairByHand(decided.round, tuple((pair.first, pair.second) for pair in decided.pairs))
    return _CORRECTIONS[type(decided)](*(getattr(decided, field.name) for field in fields(decided)))


def _game_happening(event: arb.TournamentEvent, games: Mapping[int, arb.PairedGame]) -> str:
    what = event.what
    if not isinstance(what, arb.GameBegun | arb.GameEnded | arb.GameVoided | arb.GameRuled):
        return event.kind
    players, variant = (games[what.number].players, games[what.number].game) if what.number in games else ((), "")
    game = ", ".join([f"game {what.number}", *([" against ".join(players)] if players else [])])
    if isinstance(what, arb.GameBegun):
        return f"{game} begins: match {what.match_id}"
    if isinstance(what, arb.GameRuled):
        why = f": {what.note}" if what.note else ""
        return f"{game}: {what.caller} rules {in_words(what.decision, what.half_points)}{why}"
    reason = what.reason.replace("_", " ")
    if isinstance(what, arb.GameVoided):
        return f"{game} is void ({reason}): attempt {what.attempt}"
    if what.winner:
        return f"{game}: {in_seat(players, what.winner, variant)} wins ({reason})"
    lost = GameResult(0, what.match_id, what.reason, what.cause).lost_by_both
    return f"{game}: {'lost by both' if lost else 'a draw'} ({reason})"


def seconds(milliseconds: int) -> str:
    """Return a duration: `250 ms`, `1.3 s`."""
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
