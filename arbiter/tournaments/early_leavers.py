"""Who has left a round robin early, so that its results do not count for the places of the others.

This is the usual rule of federations for over-the-board chess. If a player has completed less than half of its games,
they stay in the table, for ratings and the record, but the others have no points from them. If it has completed half or
more, the games that are left are lost, and all count. Otherwise the players whom it had met while it was there would be
compared with those who won without play. A player has completed a game if it has played it, or won it because the other
was not there; a ruling, or another player's disqualification, does not take that away. A player that does not come to
its games, and does not withdraw, has not left. Nor has a disqualified one: then the organiser says what becomes of the
results.

Points, tie-breaks and places follow this rule. Ratings and the counts of games have every game. The player itself comes
after all who have stayed or completed half of their games, in the order of what it has scored.
"""

from __future__ import annotations

from arbiter.tournaments import formats
from arbiter.tournaments.game_ends import LOSS
from arbiter.tournaments.tournament import Tournament


def early_leavers(tournament: Tournament) -> frozenset[str]:
    """Return the players who have withdrawn with less than half of their games completed, where that matters.

    It is empty in other formats, and if the specification keeps their results (`Options.keep_early_leavers`).
    """
    spec = tournament.spec
    if not formats.of(spec).drops_early_leavers or spec.options.keep_early_leavers:
        return frozenset()
    entrants = tournament.entrants
    gone = {each for each in tournament.seeds if entrants[each].withdrawn and not entrants[each].disqualified}
    games = (len(tournament.seeds) - 1) * spec.options.cycles * spec.games_a_meeting
    return frozenset(player for player in gone if 2 * _completed(tournament, player) < games)


def _completed(tournament: Tournament, player: str) -> int:
    games = (game for meeting in tournament.meetings_of[player] for game in meeting.games)
    ended = [game for game in games if game.number in tournament.results]
    return sum(
        any(
            each.played or each.half_points(1 if game.seat1 == player else 2) != LOSS
            for each in (tournament.as_played[game.number], tournament.results[game.number])
        )
        for game in ended
    )
