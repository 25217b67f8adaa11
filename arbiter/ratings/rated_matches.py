"""From ended matches to counts: which matches are rated, and how.

There is one function for both ways to ratings: the server's, from tallies (how often a pairing ended in one way), and
the offline one, from verified transcripts, match by match. Both give equal counts, and so the same ratings to the last
digit. This module does not import matches: its protocols name the fields that it reads.

The policy, by the cause of a match's end:

| the end | counts as |
| --- | --- |
| by the rules of the game, agreement or resignation; adjudicated by the organiser | its result |
| by time, by illegal moves, by absence | its result: a loss for the player at fault, also shown in a separate column |
| void for whatever reason, and unrated matches | nothing |

A bot that loses on time has lost: it could have moved. `forfeits=False` leaves such games out everywhere, to show how a
bot fares without them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple, Protocol

from arbiter.errors import argument_invalid
from arbiter.ratings.counts import Counts, PairCount, identity

_invalid: Final = partial(argument_invalid, of="a rated result")

FORFEITS: Final = {"time": "timeouts", "absence": "absences", "rule_violation": "violations"}
"""Causes of an end for which a player is at fault, with their names in a leaderboard."""

ACROSS_GAMES: Final = (
    "Across games: one rating from the results of all games together. It says how a bot fares against this field on "
    "the mix of games that was played, not how strong it is at any of them; a bot that plays only its best game stands "
    "too high, and the order of two bots may differ in every single game."
)
"""The meaning of a rating across games; commands print it beside such a rating."""


class Rated(Protocol):
    """What a match was: of which game, and whether it counts."""

    @property
    def game(self) -> str:
        """The game, with its variant."""

    @property
    def rated(self) -> bool:
        """Whether the match is rated."""


class Began(Rated, Protocol):
    """The fields read from the event that creates a match."""

    @property
    def players(self) -> tuple[str, str]:
        """The players by seat."""


class Finished(Protocol):
    """The fields read from the event that ends a match."""

    @property
    def result(self) -> str:
        """A win, a draw or void."""

    @property
    def winner(self) -> int:
        """The seat that won, or 0."""

    @property
    def cause(self) -> str:
        """The cause of the end."""


class Tallied(Rated, Finished, Protocol):
    """The fields read from a tally of the store: how often a pairing ended in one way. `player_1` had seat 1."""

    @property
    def player_1(self) -> str:
        """The player in seat 1."""

    @property
    def player_2(self) -> str:
        """The player in seat 2."""

    @property
    def games(self) -> int:
        """The number of matches."""

    @property
    def version_1(self) -> str:
        """The version of the bot in seat 1, '' if unknown."""

    @property
    def version_2(self) -> str:
        """The version of the bot in seat 2, '' if unknown."""


class Result(NamedTuple):
    """How one match, or several alike, ended, in the words of the record; players are identities (`identity`).

    repeated: how many of them only repeat others of these players and seats, move by move; 0 where that is not known.
    """

    game: str
    rated: bool
    player_1: str
    player_2: str
    result: str
    winner: int
    cause: str
    games: int = 1
    repeated: int = 0


class Forfeits(NamedTuple):
    """The number of games that a player lost by time, absence or illegal moves."""

    timeouts: int = 0
    absences: int = 0
    violations: int = 0

    @property
    def total(self) -> int:
        """Their sum."""
        return sum(self)


def result_of(began: Began, ended: Finished, versions: tuple[str, str] = ("", "")) -> Result:
    """Return a match's result for the ratings, from its first and last event; versions by seat ("": none)."""
    one, two = (identity(name, version) for name, version in zip(began.players, versions, strict=True))
    return Result(began.game, began.rated, one, two, str(ended.result), ended.winner, str(ended.cause))


def result_of_tally(tally: Tallied) -> Result:
    """Return the result of a tally's matches for the ratings."""
    one, two = identity(tally.player_1, tally.version_1), identity(tally.player_2, tally.version_2)
    return Result(tally.game, tally.rated, one, two, tally.result, tally.winner, tally.cause, tally.games)


def counts_of(results: Iterable[Result], game: str | None = None, forfeits: bool = True) -> Counts:
    """Return the counts of the rated results: of one game, or (None) of all games together (see ACROSS_GAMES).

    A player without rated results is left out. Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for a
    result that contradicts itself, and for a rated match of a player against itself.
    """
    pairs: dict[tuple[str, str], Counter[int]] = {}
    repeated: Counter[tuple[str, str]] = Counter()
    for each in rated(results, game, forfeits):
        if each.player_1 == each.player_2:
            raise _invalid(each.player_2, "player_2", "another player than in seat 1")
        pairs.setdefault((each.player_1, each.player_2), Counter())[each.winner] += each.games
        repeated[each.player_1, each.player_2] += each.repeated
    players = {player for pair in pairs for player in pair}
    by_pair = (PairCount(*pair, found[1], found[0], found[2], repeated[pair]) for pair, found in pairs.items())
    return Counts(tuple(sorted(players)), tuple(sorted(by_pair)))


def rated(results: Iterable[Result], game: str | None = None, forfeits: bool = True) -> Iterable[Result]:
    """Yield the rated results: not void, and of the game (None: any).

    Raises Refusal ARGUMENT_INVALID as `counts_of`.
    """
    for each in results:
        if not each.rated or each.result == "void" or each.games < 1 or game not in (None, each.game):
            continue
        if (each.result, each.winner) not in (("win", 1), ("win", 2), ("draw", 0)):
            raise _invalid(f"{each.result}, winner {each.winner}", "result", "win with winner 1 or 2, or draw with 0")
        if forfeits or each.cause not in FORFEITS:
            yield each


def forfeits_of(results: Iterable[Result], game: str | None = None) -> dict[str, Forfeits]:
    """Return how many rated games each player lost by time, absence or illegal moves, without players who lost none."""
    found: dict[str, Counter[str]] = {}
    for each in rated(results, game):
        if each.cause in FORFEITS and each.winner:
            loser = each.player_2 if each.winner == 1 else each.player_1
            found.setdefault(loser, Counter())[FORFEITS[each.cause]] += each.games
    return {player: Forfeits(**numbers) for player, numbers in sorted(found.items())}
