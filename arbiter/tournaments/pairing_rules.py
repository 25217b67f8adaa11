"""What keeps an organiser from a correction of pairings that have not been played: what each one needs besides."""

from __future__ import annotations

from typing import Final

from arbiter.tournaments.by_hand import NOTHING
from arbiter.tournaments.corrections import Forbid, GiveBye, Hold, OfPairing, PairByHand, PairRound
from arbiter.tournaments.game_ends import DRAW, ELSEWHERE, WIN
from arbiter.tournaments.spec import REARRANGED
from arbiter.tournaments.tournament import Tournament, TournamentPhase

MOST_PAIRS: Final = 500  #: pairs by hand at once


def invalid(what: OfPairing) -> tuple[object, str, str] | None:
    """Return what is wrong with a correction in itself: a value, its field, and what is allowed; None if nothing is."""
    match what:
        case PairByHand(_, pairs):
            players = [player for pair in pairs for player in pair]
            if not 1 <= len(pairs) <= MOST_PAIRS or len(set(players)) != len(players):
                return " ".join(players), "pairs", f"1 to {MOST_PAIRS} pairs of different players"
        case GiveBye(_, _, points) if points not in (DRAW, WIN):
            return points, "half_points", "1 or 2"
        case Forbid(first, second) if first == second:
            return first, "second", "another player than the first"
    return None


def why_not(tournament: Tournament, what: OfPairing) -> str:
    """Return why a tournament does not allow a correction that its phase and format do, as a clause; '' if it does."""
    match what:
        case PairByHand(round_, pairs):
            return _why_no_pairs(tournament, round_, pairs)
        case GiveBye(player, round_):
            return _has_begun(tournament, round_) or _does_not_play(tournament, player, round_)
        case PairRound():
            return _why_no_pairing(tournament, what)
        case Forbid(first, second, lifted):
            strange = [player for player in (first, second) if player not in tournament.entrants]
            if strange:
                return f"{strange[0]} has not entered it"
            known = frozenset((first, second)) in tournament.forbidden
            if known is lifted:
                return ""
            return f"{first} and {second} are kept apart already" if known else f"{first} and {second} may meet already"
        case Hold(off):
            return "nobody has asked for a pause after the round" if off and not tournament.held_by else ""


def changed_at(tournament: Tournament, what: OfPairing) -> int:
    """Return the revision with which the round of a correction was paired; 0 if it is not paired."""
    return tournament.paired_at if getattr(what, "round", 0) == tournament.rounds else 0


def _has_begun(tournament: Tournament, round_: int) -> str:
    """Return why a round can't be paired otherwise; '' if it has not begun."""
    rounds = tournament.spec.options.rounds
    if not 1 <= round_ <= rounds:
        return f"it has {rounds} rounds, and no round {round_}"
    if round_ < tournament.rounds:
        return f"round {round_} is over"
    games = [game.number for meeting in tournament.of_round(round_) for game in meeting.games]
    if any(tournament.results[n].reason == ELSEWHERE for n in games if n in tournament.results):
        return f"round {round_} was played elsewhere"
    begun = next((n for n in games if tournament.attempts.get(n, 0) > tournament.tries.get(n, 0)), 0)
    return f"round {round_} has begun, with game {begun}" if begun else ""


def _does_not_play(tournament: Tournament, player: str, round_: int) -> str:
    entrant = tournament.entrants.get(player)
    if entrant is None or entrant.withdrawn:
        return f"{player} does not play in it"
    return f"{player} sits out round {round_}: change the byes of its entry first" if round_ in entrant.byes else ""


def _why_no_pairs(tournament: Tournament, round_: int, pairs: tuple[tuple[str, str], ...]) -> str:
    if tournament.spec.format in REARRANGED:
        return _why_not_rearranged(tournament, round_, pairs)
    wrong = _has_begun(tournament, round_)
    for pair in pairs:
        for player in pair:
            wrong = wrong or _does_not_play(tournament, player, round_)
    return wrong


def _why_not_rearranged(tournament: Tournament, round_: int, pairs: tuple[tuple[str, str], ...]) -> str:
    named = [player for pair in pairs for player in pair]
    paired = tournament.of_round(round_)
    if not paired:
        return f"it has no round {round_} that is paired"
    gone = [player for player in named if player not in tournament.players]
    if gone:
        return f"{gone[0]} does not play in it"
    old = [meeting for meeting in paired if meeting.first in named or meeting.second in named]
    begun = [game.number for meeting in old for game in meeting.games if _is_settled(tournament, game.number)]
    if begun:
        return f"game {begun[0]} of round {round_} has begun, or has a result"
    if len(old) != len(pairs):
        left = next((player for meeting in old for player in meeting.players if player not in named), named[0])
        return f"{left} would have no opponent in round {round_}: name pairs of all whose opponents change"
    return ""


def _is_settled(tournament: Tournament, game: int) -> bool:
    begun = tournament.attempts.get(game, 0) > tournament.tries.get(game, 0)
    return begun or game in tournament.results


def _why_no_pairing(tournament: Tournament, what: PairRound) -> str:
    round_, begun = what.round, _has_begun(tournament, what.round)
    asked = tournament.by_hand.get(round_, NOTHING) != NOTHING
    if begun or round_ == tournament.rounds or (what.afresh and asked):
        return begun
    if what.afresh:
        return f"nothing is asked by hand for round {round_}"
    if round_ > tournament.rounds + 1 or not tournament.all_decided():
        return f"the round before round {round_} goes on"
    waits = tournament.phase is TournamentPhase.PAUSED
    return "" if waits else f"round {round_} is paired at once; to look at it before it begins, pause after the round"
