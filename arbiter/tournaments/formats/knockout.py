"""Knockout: a player is out after one lost tie or, in double elimination, after two.

Each tie has a place: `W2.1` is the first tie of round 2 among the players without a lost tie, `L3.1` of round 3 among
those with one lost tie, `F.1` is the final of a double elimination and `F.2` the second final, if one is needed, `T.1`
is for third place. A tie is played as soon as both its players are known; it does not wait for the rest of its round.

| rule | here |
| --- | --- |
| seeding | the standard bracket: 1 and 2 can meet in the final only, 1 to 4 in the semi-finals, and so on |
| byes | to the best seeds, where the number of players is no power of two |
| tie of n | the best of `best_of` meetings, no more than it takes; a meeting is won by more points in its games |
| a level tie | more meetings, up to four; then more points in all of the tie's games; then the lot (`Lots`, seed "ID/PLACE/level") |
| seats in extra meetings | where a meeting is one game, they come in pairs with swapped seats, and count only together |
| a player does not come | to a game of a tie that is open: it loses the tie, and nobody waits for it again |
| neither player comes | who leads goes on; if nobody leads, both have lost the tie, and the next opponent goes on |
| no winner | if nobody goes on from the final, or only a player who has withdrawn, the tournament has no winner |
| double elimination | losers of round r > 1 enter lower round 2r − 2, in turned order: rematches come late |
| final of a double elimination | if the player who had lost one wins it, a second one decides |
| third place | the losers of the semi-finals, in single elimination |
| withdrawal | the next meeting is paired all the same, and lost by walkover |
| a result is corrected after its bracket has gone on | the bracket stays |
| seats | the lot gives seat 1 of the first meeting (seed "ID/PLACE/seats"), then they take turns; with two games a meeting, the better seed begins |

Tournaments that older servers started go on by the earlier rules: the better seed began, and went on from a level tie.
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.pairer import FreePlayers, Merit, Pairer, Rating, arrange
from arbiter.tournaments.game_ends import GameResult
from arbiter.tournaments.lots import Lots
from arbiter.tournaments.meetings import Meeting, Pair
from arbiter.tournaments.spec import Options
from arbiter.tournaments.tournament import Tournament
from arbiter.tournaments.unpaired_reasons import Why

EXTRA_MEETINGS: Final = 4  #: extra meetings of a level tie, before points and then the seed decide
RULES: Final = "seats of the first meeting and level ties by lot; a tie that nobody plays is lost by both"


class Tie(NamedTuple):
    """A tie of two players, better seed first. None means no player: everybody wins against it.

    winner, loser: once the tie is decided; both None if both players have lost it. known: whether both players are
    known.
    """

    place: str
    first: str | None
    second: str | None
    known: bool
    decided: bool = False
    winner: str | None = None
    loser: str | None = None

    @property
    def losers(self) -> tuple[str, ...]:
        """Who has lost it: nobody while it is open, and both players if neither goes on."""
        if not self.decided:
            return ()
        return tuple(player for player in (self.first, self.second) if player is not None and player != self.winner)


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

    @property
    def winner(self) -> str | None:
        """Who has won the tournament; None while it is open, and if nobody has."""
        final = self._final
        alone = final.first is None or final.second is None
        gone = final.winner is not None and self._tournament.entrants[final.winner].withdrawn
        return None if alone and gone and self._tournament.rules else final.winner

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
        if self._final.decided and unbeaten is not None and self._final.winner not in (None, unbeaten):
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
        verdict = self._verdict(place, a, b) if self._tournament.rules else self._earlier_verdict(place, a, b)
        if verdict is _UNKNOWN:
            return Tie(place, a, b, known=True)
        winner = verdict if isinstance(verdict, str) else None
        if winner is None:
            return Tie(place, a, b, known=True, decided=True)
        return Tie(place, a, b, known=True, decided=True, winner=winner, loser=b if winner == a else a)

    def _verdict(self, place: str, a: str, b: str) -> object:
        """Return the winner of a tie, None if both have lost it, or `_UNKNOWN` while it is open."""
        played = [meeting for meeting in self._at[place] if self._tournament.decided(meeting)]
        margins = [self._margin(meeting, a) for meeting in played]
        lead, leader = sum((margin > 0) - (margin < 0) for margin in margins), None
        if lead:
            leader = a if lead > 0 else b
        extra = len(played) - self._tournament.spec.options.best_of
        complete = extra <= 0 or self._tournament.spec.paired or extra % 2 == 0
        if complete and abs(lead) > max(0, -extra):
            return leader
        absent = {player for meeting in played for player in self._absent(meeting)}
        if absent:
            return leader if len(absent) == 2 else a if b in absent else b
        if not complete or extra < EXTRA_MEETINGS:
            return _UNKNOWN
        if sum(margins):
            return a if sum(margins) > 0 else b
        return Lots(f"{self._tournament.id}/{place}/level").one_of(sorted((a, b)))

    def _result(self, number: int) -> GameResult:
        """Return the result of a game by which the bracket goes, or has gone, on."""
        kept = self._tournament.bracket_results.get(number)
        return self._tournament.results[number] if kept is None else kept

    def _margin(self, meeting: Meeting, player: str) -> int:
        """Return by how many half points a player has won a meeting that is over."""
        won = 0
        for game in meeting.games:
            result = self._result(game.number)
            margin = result.half_points(1) - result.half_points(2)
            won += margin if game.seat1 == player else -margin
        return won

    def _absent(self, meeting: Meeting) -> Iterator[str]:
        """Yield the players who did not come to a game of a meeting that has ended, or had withdrawn."""
        for game in meeting.games:
            result = self._result(game.number)
            for seat, player in enumerate((game.seat1, game.seat2), start=1):
                if not result.played and result.fault(seat):
                    yield player

    def _earlier_verdict(self, place: str, a: str, b: str) -> object:
        """Return the winner of a tie of a (the better seed) and b by the earlier rules, or `_UNKNOWN`."""
        played = [meeting for meeting in self._at[place] if self._tournament.decided(meeting)]
        margins = [self._margin(meeting, a) for meeting in played]
        lead = sum((margin > 0) - (margin < 0) for margin in margins)
        best_of = self._tournament.spec.options.best_of
        if abs(lead) > max(0, best_of - len(played)):
            return a if lead > 0 else b
        if len(played) < best_of + EXTRA_MEETINGS:
            return _UNKNOWN
        return b if sum(margins) < 0 else a

    def is_out(self, player: str) -> bool:
        """Return whether a player has no tie to play any more."""
        lost = [tie.place for tie in self.ties if player in tie.losers]
        allowed = 1 if self._tournament.spec.options.double else 0
        if any(tie.place == "T.1" for tie in self.ties) and player in self._semi_finalists():
            allowed = 1  # it plays for the third place
        won = self._final.decided and player == self._final.winner
        return won or len(lost) > allowed or "T.1" in lost or self._final.decided

    def _semi_finalists(self) -> set[str | None]:
        return {player for tie in self._rounds[-2] for player in (tie.first, tie.second)}

    def next_pairs(self) -> list[Pair]:
        """Return the meetings that can be played now: one in every open tie whose players are known."""
        pairs: list[Pair] = []
        for tie in self.ties:
            meetings = self._at[tie.place]
            open_meeting = any(not self._tournament.decided(meeting) for meeting in meetings)
            if tie.decided or not tie.known or open_meeting or tie.first is None or tie.second is None:
                continue
            first = self._first_seat(tie.place, tie.first, tie.second)
            other = tie.second if first == tie.first else tie.first
            swapped = len(meetings) % 2
            pairs.append(Pair(*((other, first) if swapped else (first, other)), tie.place))
        return pairs

    def _first_seat(self, place: str, a: str, b: str) -> str:
        """Return which player of a tie, the better seed first, has seat 1 in its first meeting."""
        if self._tournament.spec.paired or not self._tournament.rules:
            return a
        return Lots(f"{self._tournament.id}/{place}/seats").one_of(sorted((a, b)))


class Knockout(Pairer):
    """The pairer of a knockout."""

    title = "Knockout"
    purpose = "Who loses is out. It names a winner, and says little about strength."
    has_bracket = True
    rules = RULES

    def most_meetings(self, options: Options) -> int:
        """Return the most meetings of two players: with those of level ties; and twice in a double elimination."""
        return (options.best_of + EXTRA_MEETINGS) * (2 if options.double else 1)

    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return the meetings of all ties that can be played now."""
        pairs = Bracket(tournament).next_pairs()
        return arrange(tournament, tournament.rounds + 1, pairs) if pairs else None

    def waits(self, tournament: Tournament, field: FreePlayers, player: str) -> Why | None:
        """Return whether a player is out, or waits for the other one of its next tie."""
        return Why.OUT if Bracket(tournament).is_out(player) else Why.ROUND

    def ties(self, tournament: Tournament) -> Mapping[str, Pair]:
        """Return the ties whose two players are known."""
        known = ((tie.place, tie.first, tie.second) for tie in Bracket(tournament).ties if tie.known)
        return {place: Pair(a, b, place) for place, a, b in known if a is not None and b is not None}

    def over(self, tournament: Tournament) -> bool:
        """Return whether every tie is decided."""
        return not Bracket(tournament).next_pairs()

    def end_note(self, tournament: Tournament) -> str:
        """Return that there is no winner, if there is none."""
        return "" if Bracket(tournament).winner is not None else "it has no winner: nobody went on from the final"

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
            nobody = len(tie.losers) == 2
            name_here = f"{name}, lost by both" if nobody else name
            out = player in tie.losers and (nobody or lost[player] + 1 == lives)
            far[player] = Merit((_number(tie.place, final=final), 0) if out else order, reached=name_here)
        if tie.loser is not None and not third:
            lost[tie.loser] += 1
    winner = bracket.winner
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
