"""The organiser's corrections for the checks: what they change in the history, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

from arbiter.tournaments.checks import hand_pairings
from arbiter.tournaments.checks.check import FormatCheck
from arbiter.tournaments.checks.history import EarlierRounds
from arbiter.tournaments.corrections import (
    Award,
    Correction,
    Disqualify,
    DrawLots,
    Hold,
    Reinstate,
    Replay,
    Results,
)


class Decisions:
    """Applies corrections to a history."""

    def __init__(self, history: EarlierRounds, check: FormatCheck) -> None:
        self._history = history
        self._check = check

    def take(self, what: Correction) -> Iterator[str]:
        """Apply a correction; yield what is wrong with it, a clause each."""
        match what:
            case Disqualify():
                yield from self._disqualify(what)
            case Reinstate(player):
                yield from self._reinstate(player)
            case Replay(game):
                yield from self._replay(game)
            case Award(player) if player not in self._history.order:
                yield f"{player} got points, and never entered"
            case DrawLots(players) if not set(players) <= set(self._history.order):
                yield "players who never entered were in a lot"
            case Award() | DrawLots() | Hold():
                return
            case _:
                yield from hand_pairings.take(self._history, what, anew=self._check.pairs_anew)

    def _disqualify(self, what: Disqualify) -> Iterator[str]:
        history, player = self._history, what.player
        if player in history.disqualified:
            yield f"{player} was disqualified twice"
        if player not in history.order:
            yield f"{player} was disqualified, and never entered"
        if not what.from_start and what.results is not Results.STAND:
            yield f"{player} was disqualified from now on, and its results do not stand"
        history.keep(history.games_of(player))
        if player in history.here:
            history.was_here.add(player)
        history.leave(player)
        history.disqualified[player], history.out_at[player] = what, history.events

    def _reinstate(self, player: str) -> Iterator[str]:
        history = self._history
        if player not in history.disqualified:
            yield f"{player} was reinstated, and was not disqualified"
            return
        history.keep(history.games_of(player))
        del history.disqualified[player], history.out_at[player]
        if player in history.was_here:
            history.was_here.discard(player)
            history.come_back(player)
            if history.starters and player not in history.starters:
                history.back_from.setdefault(player, max(history.by_round, default=0) + 1)

    def _replay(self, game: int) -> Iterator[str]:
        history = self._history
        if game not in history.results:
            yield f"game {game} is to be played again, and had no result"
            return
        if set(history.players_of(game)) & history.gone:
            yield f"game {game} is to be played again, and a player of it is gone"
        meeting = history.meetings[history.meeting_of_game[game]]
        del history.results[game]
        history.rulings.pop(game, None)
        history.granted[game] = history.attempts[game]
        history.going_on[meeting.number] = meeting
