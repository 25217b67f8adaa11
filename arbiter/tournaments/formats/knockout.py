"""Knockout: a player is out after one lost tie or, in double elimination, after two.

Each tie has a place: `W2.1` is the first tie of round 2 among the players without a lost tie, `L3.1` of round 3 among
those with one lost tie, `F.1` is the final of a double elimination and `F.2` the second final, if one is needed, `T.1`
is for third place. A tie is played as soon as both its players are known; it does not wait for the rest of its round.

| rule | here |
| --- | --- |
| seeding | the standard bracket: 1 and 2 can meet in the final only, 1 to 4 in the semi-finals, and so on |
| byes | to the best seeds, where the number of players is no power of two |
| tie of n | the best of `best_of` meetings, no more than it takes; a meeting is won by more points in its games |
| a level tie | more meetings, up to four; then more points in all of the tie's games; then the better seed goes on |
| double elimination | losers of round r > 1 enter lower round 2r − 2, in turned order: rematches come late |
| final of a double elimination | if the player who had lost one wins it, a second one decides |
| third place | the losers of the semi-finals, in single elimination |
| withdrawal | the meetings that are left are paired all the same, and lost by walkover |
| seats | the better seed has seat 1 in the first meeting of a tie, then they take turns |
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.pairer import FreePlayers, Merit, Pairer, Rating, arrange
from arbiter.tournaments.meetings import Meeting, Pair
from arbiter.tournaments.spec import Options
from arbiter.tournaments.tournament import Tournament

EXTRA_MEETINGS: Final = 4  #: extra meetings of a level tie, before points and then the seed decide


class Tie(NamedTuple):
    """A tie of two players, better seed first. None means no player: everybody wins against it.

    winner, loser: once the tie is decided. known: whether both players are known.
    """

    place: str
    first: str | None
    second: str | None
    known: bool
    decided: bool = False
    winner: str | None = None
    loser: str | None = None


_UNKNOWN: Final = object()


class Bracket:
    """The current state of all ties of a knockout."""

    def __init__(self, tournament: Tournament) -> None:
        self._tournament = tournament
        self._seed = {player: number for number, player in enumerate(tournament.seeds)}
        self._at: defaultdict[str, list[Meeting]] = defaultdict(list)
        for meeting in tournament.meetings:
            self._at[meeting.place].append(meeting)
        self.ties: list[Tie] = []
        self._upper()
        if tournament.spec.options.double:
            self._lower()
        elif tournament.spec.options.third_place and len(self._rounds) > 1:
            semi_finals = self._rounds[-2]
            self.third = self._tie("T.1", _loser(semi_finals[0]), _loser(semi_finals[1]))

    @property
    def final(self) -> Tie:
        """The tie whose winner has won the tournament."""
        return self._final

    def _upper(self) -> None:
        order = bracket_order(len(self._tournament.seeds))
        seeds: list[str | None] = [*self._tournament.seeds, *[None] * (len(order) - len(self._tournament.seeds))]
        entering: list[object] = [seeds[number] for number in order]
        self._rounds: list[list[Tie]] = []
        while len(entering) > 1:
            number = len(self._rounds) + 1
            ties = [
                self._tie(f"W{number}.{i // 2 + 1}", entering[i], entering[i + 1]) for i in range(0, len(entering), 2)
            ]
            self._rounds.append(ties)
            entering = [_winner(tie) for tie in ties]
        self._final = self._rounds[-1][0]

    def _lower(self) -> None:
        survivors = [_loser(tie) for tie in self._rounds[0]]
        number = 0
        for upper in self._rounds[1:]:
            number += 1
            met = [self._tie(f"L{number}.{i // 2 + 1}", *survivors[i : i + 2]) for i in range(0, len(survivors), 2)]
            dropped = [_loser(tie) for tie in reversed(upper)]
            number += 1
            met = [self._tie(f"L{number}.{i + 1}", _winner(tie), dropped[i]) for i, tie in enumerate(met)]
            survivors = [_winner(tie) for tie in met]
        unbeaten = _winner(self._rounds[-1][0])
        self._final = self._tie("F.1", unbeaten, survivors[0])
        if self._final.decided and self._final.winner is not None and self._final.winner != unbeaten:
            self._final = self._tie("F.2", unbeaten, survivors[0])

    def _tie(self, place: str, first: object, second: object) -> Tie:
        tie = self._judged(place, first, second)
        self.ties.append(tie)
        return tie

    def _judged(self, place: str, first: object, second: object) -> Tie:
        if first is _UNKNOWN or second is _UNKNOWN:
            return Tie(place, None, None, known=False)
        a, b = (each if isinstance(each, str) else None for each in (first, second))
        if a is None or b is None:
            return Tie(place, a, b, known=True, decided=True, winner=a or b)
        if self._seed[b] < self._seed[a]:
            a, b = b, a
        winner = self._verdict(place, a, b)
        if winner is None:
            return Tie(place, a, b, known=True)
        return Tie(place, a, b, known=True, decided=True, winner=winner, loser=b if winner == a else a)

    def _verdict(self, place: str, a: str, b: str) -> str | None:
        """Return the winner of a tie of a (the better seed) and b, or None while it is open."""
        played = [meeting for meeting in self._at[place] if self._tournament.decided(meeting)]
        margins = [self._tournament.score(meeting, a) - self._tournament.score(meeting, b) for meeting in played]
        lead = sum((margin > 0) - (margin < 0) for margin in margins)
        best_of = self._tournament.spec.options.best_of
        if abs(lead) > max(0, best_of - len(played)):
            return a if lead > 0 else b
        if len(played) < best_of + EXTRA_MEETINGS:
            return None
        return b if sum(margins) < 0 else a

    def next_pairs(self) -> list[Pair]:
        """Return the meetings that can be played now: one in every open tie whose players are known."""
        pairs: list[Pair] = []
        for tie in self.ties:
            meetings = self._at[tie.place]
            open_meeting = any(not self._tournament.decided(meeting) for meeting in meetings)
            if tie.decided or not tie.known or open_meeting or tie.first is None or tie.second is None:
                continue
            swapped = len(meetings) % 2
            pairs.append(Pair(*((tie.second, tie.first) if swapped else (tie.first, tie.second)), tie.place))
        return pairs


class Knockout(Pairer):
    """The pairer of a knockout."""

    title = "Knockout"
    purpose = "Who loses is out. It names a winner, and says little about strength."
    has_bracket = True
    options = ("best_of", "double", "third_place")

    def most_meetings(self, options: Options) -> int:
        """Return the most meetings of two players: with those of level ties; and twice in a double elimination."""
        return (options.best_of + EXTRA_MEETINGS) * (2 if options.double else 1)

    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return the meetings of all ties that can be played now."""
        pairs = Bracket(tournament).next_pairs()
        return arrange(tournament, tournament.rounds + 1, pairs) if pairs else None

    def over(self, tournament: Tournament) -> bool:
        """Return whether every tie is decided."""
        return not Bracket(tournament).next_pairs()

    def merits(
        self, tournament: Tournament, players: Sequence[str], ratings: Mapping[str, Rating]
    ) -> Mapping[str, Merit]:
        """Return how far each player got."""
        return progress(tournament, players)


def bracket_order(players: int) -> list[int]:
    """Return the seeds (from 0) of the standard bracket from top to bottom. Its size is the next power of two, from 2.

    Neighbours in a round have seeds that add up to the round's size − 1, so the best seeds meet as late as possible.
    """
    order = [0, 1]
    while len(order) < players:
        size = 2 * len(order)
        order = [seed for each in order for seed in (each, size - 1 - each)]
    return order


def _winner(tie: Tie) -> object:
    return tie.winner if tie.decided else _UNKNOWN


def _loser(tie: Tie) -> object:
    return tie.loser if tie.decided else _UNKNOWN


_STILL_IN: Final = 1_000_000  #: greater than any round


def progress(tournament: Tournament, players: Iterable[str]) -> dict[str, Merit]:
    """Return how far each player got.

    Players who are still in are level. The others rank by the round in which they lost their last tie. In single
    elimination the tie for third place orders the losers of the semi-finals.
    """
    far = {player: Merit((_STILL_IN, 0)) for player in players}
    if not tournament.seeds:
        return far
    bracket = Bracket(tournament)
    lives = 2 if tournament.spec.options.double else 1
    lost: Counter[str] = Counter()
    for tie in bracket.ties:
        third = tie.place.startswith("T")
        final = tie.place == bracket.final.place
        name = "third place" if third else _round_name(tie.place, final=final)
        for player in (tie.first, tie.second):
            if player is None:
                continue
            order, reached = far[player].order, far[player].reached
            if third:
                # Level until it is decided; its loser ranks as a loser of a semi-final.
                won = tie.winner == player
                far[player] = Merit((order[0], int(won)), reached=name if won or not tie.decided else reached)
                continue
            out = tie.decided and tie.loser == player and lost[player] + 1 == lives
            far[player] = Merit((_number(tie.place, final=final), 0) if out else order, reached=name)
        if tie.loser is not None and not third:
            lost[tie.loser] += 1
    winner = bracket.final.winner
    if winner is not None:
        far[winner] = Merit((_STILL_IN, 0), reached="winner")
    return far


def _number(place: str, *, final: bool) -> int:
    """Return the round number of a tie, the final's the largest: `W2.1` is of round 2."""
    return _STILL_IN - 1 if final else int(place[1:].partition(".")[0])


def _round_name(place: str, *, final: bool) -> str:
    if final or place.startswith("F"):
        return "final"
    return f"{'lower ' if place.startswith('L') else ''}round {_number(place, final=False)}"
