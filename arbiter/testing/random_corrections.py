"""Random decisions of an organiser on a tournament: corrections of every kind, and rulings on games.

Most are allowed by the tournament's phase and format. The others have to be refused.
"""

from __future__ import annotations

import random

from arbiter.tournaments import correction_rules, corrections
from arbiter.tournaments.events import Decision
from arbiter.tournaments.game_rulings import RESULTS
from arbiter.tournaments.tournament import Tournament, TournamentPhase

OF_PAIRINGS = 0.6  #: the share of corrections that are about pairings
LIKELY = 0.9  #: the share that is drawn from those that the phase and the format allow


def drawn_correction(tournament: Tournament, lots: random.Random) -> corrections.Correction:
    """Return a random correction of a tournament."""
    players = sorted(tournament.entrants) or ["nobody"]
    player, out = lots.choice(players), sorted(tournament.disqualified)
    start = lots.random() < 0.7
    results = lots.choice(list(corrections.Results)) if start else corrections.Results.STAND
    choices: list[corrections.Correction] = [
        corrections.Disqualify(player, start, results, lots.random() < 0.5),
        corrections.Reinstate(lots.choice(out) if out else player),
        corrections.Replay(lots.choice(sorted(tournament.results) or [1])),
        corrections.Replay(lots.choice(sorted(tournament.results) or [1])),
        corrections.Award(player, lots.choice((-2, -1, 1, 3))),
        corrections.DrawLots(tuple(lots.sample(players, min(3, len(players)))), str(lots.random())),
    ]
    if lots.random() < OF_PAIRINGS:
        choices = _of_pairings(tournament, lots, players)
    allowed = correction_rules.allowed(tournament)
    likely = [what for what in choices if correction_rules.row_of(what) in allowed]
    return lots.choice(likely if likely and lots.random() < LIKELY else choices)


def _of_pairings(tournament: Tournament, lots: random.Random, players: list[str]) -> list[corrections.Correction]:
    two = lots.sample([*players, "nobody"], 2)
    round_ = tournament.rounds + lots.choice((-1, 0, 0, 1, 1, 1, 2))
    pairs = [(meeting.second, meeting.first) for meeting in tournament.of_round(round_)]
    if len(pairs) > 1:
        (a, b), (c, d) = lots.sample(pairs, 2)
        pairs = lots.choice(([(a, b)], [(a, c), (d, b)]))
    some = lots.sample(players, len(players) // 4 * 2)
    return [
        corrections.PairByHand(round_, tuple(pairs)),
        corrections.PairByHand(round_, tuple(zip(some[::2], some[1::2], strict=True))),
        corrections.GiveBye(lots.choice(players), round_, lots.choice((1, 2))),
        corrections.PairRound(tournament.rounds + 1, afresh=True),
        corrections.PairRound(tournament.rounds + (tournament.phase is TournamentPhase.PAUSED), lots.random() < 0.5),
        corrections.Hold(lots.random() < 0.2),
        corrections.Forbid(two[0], two[1], lots.random() < 0.3),
    ]


def drawn_ruling(tournament: Tournament, lots: random.Random) -> tuple[int, Decision, tuple[int, ...]]:
    """Return a random ruling on a game that has a result, game 1 if none has: the game, the decision, its points."""
    decision, points = lots.choice(list(RESULTS.values()))
    return lots.choice(sorted(tournament.results) or [1]), decision, points
