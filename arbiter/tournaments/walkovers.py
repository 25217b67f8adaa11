"""Walkovers: how the games of players who have withdrawn, or are disqualified, end. No other module decides it.

| the other player of the game | the game |
| --- | --- |
| has withdrawn too | is lost by both |
| came to its last match of the tournament, and stayed | is won by it |
| did not come to it, or left it, and has other games to play | waits until it has come to one of these |
| did not come to it, or left it, and this is its last game | is lost by both |
| has had no match yet, and has other games to play | waits for the first of these |
| has had no match yet, and this is its only game | is won by it |

So a player that misses its own games wins nothing by the withdrawal of others, and one that plays them gets what it was
due. A match that was void says nothing. In a bracket, a player that does not come to a game of a tie loses its other
games (`arbiter.tournaments.game_reports`).
"""

from __future__ import annotations

from typing import Final

from arbiter.tournaments import events as ev
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.game_ends import ABSENCE, WALKOVER, without
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.tournament import Tournament

_LEAVING: Final = (ev.Withdrawn, ev.Corrected)


def due(tournament: Tournament, at: int) -> list[ev.EndedGame]:
    """Return the walkovers that the state of a tournament leads to, in the order of the games."""
    found: list[ev.EndedGame] = []
    for game in tournament.stranded():
        gone = (_gone(tournament, game.seat1), _gone(tournament, game.seat2))
        if not all(gone):
            other = game.seat2 if gone[0] else game.seat1
            came = tournament.attended.get(other)
            if not came and tournament.has_games_to_play(other):
                continue
            if came is False:
                gone = (True, True)
        found.append(walkover(game.number, gone, at))
    return found


def with_due(tournament: Tournament, events: list[ev.Event], at: int) -> list[ev.Event]:
    """Return the events of a command, which are not applied yet, with the walkovers that follow from them."""
    if not any(isinstance(each, (*_LEAVING, ev.Paired, ev.EndedGame, ev.Voided)) for each in events):
        return events
    leaving = any(isinstance(each, _LEAVING) for each in events)
    if not leaving and not any(entrant.withdrawn for entrant in tournament.entrants.values()):
        return events
    after = copied(tournament)
    for event in events:
        apply(after, event)
    return [*events, *due(after, at)]


def walkover(number: int, gone: tuple[bool, bool], at: int) -> ev.EndedGame:
    """Return the result of a game that is not played, because the players of some seats are gone."""
    return ev.EndedGame(at, number, "", without(gone), WALKOVER, ABSENCE)


def _gone(tournament: Tournament, player: str) -> bool:
    return tournament.entrants[player].withdrawn
