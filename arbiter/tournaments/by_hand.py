"""What an organiser has asked for the pairing of a round, as a value."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final, NamedTuple

from arbiter.tournaments.meetings import Meeting, Pair


class HandPairing(NamedTuple):
    """What an organiser has asked for a round. byes: with a point. Players are in one of these at most."""

    pairs: tuple[Pair, ...] = ()
    byes: tuple[str, ...] = ()

    def without(self, players: Set[str]) -> HandPairing:
        """Return what is asked of pairs and players other than these."""
        pairs = tuple(pair for pair in self.pairs if pair.first not in players and pair.second not in players)
        return HandPairing(pairs, tuple(player for player in self.byes if player not in players))

    def with_pairs(self, pairs: Iterable[tuple[str, str]]) -> HandPairing:
        """Return this with some pairs, instead of what was asked of their players."""
        added = [Pair(*pair) for pair in pairs]
        others = self.without({player for pair in added for player in pair.players})
        return others._replace(pairs=(*others.pairs, *added))

    def of_round(self, paired: Iterable[Meeting]) -> HandPairing:
        """Return this with the pairs of a round that is paired already."""
        return self.with_pairs((meeting.first, meeting.second) for meeting in paired)

    def of(self, playing: Set[str]) -> HandPairing:
        """Return what is asked of those who play the round."""
        pairs = tuple(pair for pair in self.pairs if pair.first in playing and pair.second in playing)
        return HandPairing(pairs, tuple(player for player in self.byes if player in playing))


NOTHING: Final = HandPairing()  #: nothing is asked
