"""Tournaments and their events, described in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Final

import arbiter_client as arb
from arbiter_client.values.correction import Decision

from arbiter.cli.words import in_seat
from arbiter.tournaments import corrections
from arbiter.tournaments.game_ends import GameResult
from arbiter.tournaments.game_rulings import in_words


def happening(event: arb.TournamentEvent, games: Mapping[int, arb.PairedGame]) -> str:
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
            return _correction(what)
        case arb.TournamentEnded():
            return f"over: {what.end}{f' ({what.note})' if what.note else ''}"
    return _game_happening(event, games)


def _correction(what: arb.TournamentCorrected) -> str:
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
