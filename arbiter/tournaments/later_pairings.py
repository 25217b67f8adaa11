"""Which existing pairings would be others after a decision of the organiser that changes results.

They stay, since a correction changes no round that was made; the organiser is told which they are. A round of a Swiss
is paired once more by the rules, with the players who were there, by the results before and after the decision. Only
where the results before it lead to the existing pairs, a difference comes from the decision. Of a bracket, the ties
that would have other players are named. Other formats do not pair by results, or pair whoever is free.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, NamedTuple

from arbiter.tournaments import formats
from arbiter.tournaments.corrections import Correction, Forbid, Hold, OfPairing, Replay
from arbiter.tournaments.game_ends import GameResult, Winner
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.old_games import Numbered
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.tournament import Tournament


class LaterPairings(NamedTuple):
    """Pairs that exist, and those instead of them. round: 0 for a bracket; result: of a game to be played again."""

    result: str
    round: int
    pairs: tuple[Pair, ...]
    instead: tuple[Pair, ...]


class RoundPairs(NamedTuple):
    """Who meets in a round, seat 1 first, and who has a bye with a point."""

    round: int
    pairs: tuple[Pair, ...]
    byes: tuple[str, ...]


OUTCOMES: Final[dict[str, tuple[Winner, int]]] = {"1-0": (1, 2), "1/2-1/2": (0, 1), "0-1": (2, 0)}
"""The results that a game can have: winner, and half points of seat 1."""


def later_pairings(before: Tournament, after: Tournament, what: Correction | None = None) -> list[LaterPairings]:
    """Return the pairings that would be others: of the first such round of a Swiss, or in a bracket.

    what: the correction; for a game that is played again, each result that it may have is tried. It may take seconds.
    """
    if not (formats.of(before.spec).has_bracket or formats.of(before.spec).in_rounds):
        return []
    if not isinstance(what, Replay):
        return _compare(before, after, "")
    found: list[LaterPairings] = []
    for name, (winner, points) in OUTCOMES.items():
        if before.results[what.game].half_points(1) != points:
            twin = copied(after)
            twin.results[what.game] = GameResult(winner, "again", "", "")
            found += _compare(before, twin, name)
    return found


def next_pairs(tournament: Tournament, what: OfPairing) -> RoundPairs | None:
    """Return the round of a decision on pairings as it is paired, or will be; None if results of games are missing."""
    round_ = tournament.rounds + 1 if isinstance(what, Forbid | Hold) else what.round
    if round_ <= tournament.rounds:
        made = tuple(Pair(each.first, each.second) for each in tournament.of_round(round_))
        return RoundPairs(round_, made, tournament.byes.get(round_, ()))
    pairer = formats.of(tournament.spec)
    if not pairer.in_rounds or not tournament.seeds or round_ != tournament.rounds + 1:
        return None
    proposed = pairer.propose(tournament, formats.FreePlayers())
    return RoundPairs(round_, proposed.pairs, proposed.byes) if proposed is not None else None


def _compare(before: Tournament, after: Tournament, result: str) -> list[LaterPairings]:
    pairer = formats.of(before.spec)
    if pairer.has_bracket:
        return _bracket(before, after, result)
    changed = [n for n, old in before.results.items() if after.results.get(n, old) != old]
    first = min((before.meetings[before.games[n - 1].meeting - 1].round for n in changed), default=before.rounds)
    for round_ in range(first + 1, before.rounds + 1):
        made = [Pair(m.first, m.second) for m in before.meetings if m.round == round_]
        was, now = (_paired_again(each, round_) for each in (before, after))
        if was is None or now is None or set(was) != set(made):
            continue  # it was not paired by these rules and results alone: by hand, or with other entries
        if set(was) != set(now):
            pairs = tuple(each for each in made if each not in now)
            return [LaterPairings(result, round_, pairs, tuple(each for each in now if each not in made))]
    return []


def _paired_again(tournament: Tournament, round_: int) -> list[Pair] | None:
    """Return how the rules pair a round by the results before it, as they count now; None if they can't."""
    twin = copied(tournament)
    twin.meetings = Numbered(each for each in tournament.meetings if each.round < round_)
    twin.meetings_of = defaultdict(list)
    for meeting in twin.meetings:
        for player in meeting.players:
            twin.meetings_of[player].append(meeting)
    twin.byes = {n: byes for n, byes in tournament.byes.items() if n < round_}
    there = {player for each in tournament.meetings if each.round == round_ for player in each.players}
    there |= set(tournament.byes.get(round_, ()))
    twin.entrants = {name: each._replace(withdrawn=name not in there) for name, each in tournament.entrants.items()}
    twin.seeds = [player for player in tournament.seeds if tournament.entrants[player].joined <= round_]
    twin.rounds = round_ - 1
    if any(game.number not in twin.results for meeting in twin.meetings for game in meeting.games):
        return None
    return formats.of(twin.spec).paired_again(twin)


def _bracket(before: Tournament, after: Tournament, result: str) -> list[LaterPairings]:
    """Return the ties that exist and would have other players if the bracket followed the results as they count now."""
    twin = copied(after)
    twin.bracket_results = {}
    made, now = (formats.of(before.spec).ties(each) for each in (before, twin))
    other = {place for place, pair in now.items() if place in made and set(pair.players) != set(made[place].players)}
    if not other:
        return []
    return [LaterPairings(result, 0, *(tuple(each[place] for place in sorted(other)) for each in (made, now)))]
