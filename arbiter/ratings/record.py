"""From ended matches to counts: what of the record is rated, and as what.

One function, used on both ways to ratings: the server's, from tallies (how often a pairing ended in one way), and the
offline one, from verified transcripts, a match at a time. Both give equal counts, and so the same ratings to the last
digit. Nothing here imports matches: it asks for the fields that it reads.

The policy, by what brought a match to its end:

| the end | counts as |
| --- | --- |
| by the rules of the game, agreement or resignation; adjudicated by the organiser | its result |
| by time, by illegal moves, by absence | its result: a loss for who was at fault, and shown as a column of its own |
| void for whatever reason, and unrated matches | nothing |

A bot that loses on time has lost: it was free to move. Who wants to know how it fares without such games gives
`forfeits=False`, and they count nowhere.
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
"""Causes of an end for which a player is at fault, and what they are called in a leaderboard."""

ACROSS_GAMES: Final = (
    "Across games: one rating from the results of all games together. It says how a bot fares against this field on "
    "the mix of games that was played, not how strong it is at any of them; a bot that plays only its best game stands "
    "too high, and the order of two bots may differ in every single game."
)
"""What a rating across games means. Commands print it with one."""


class Began(Protocol):
    """What is read of the event that makes a match."""

    @property
    def game(self) -> str:
        """The game, with its variant."""

    @property
    def players(self) -> tuple[str, str]:
        """The players by seat."""

    @property
    def rated(self) -> bool:
        """Whether it was agreed to be rated."""


class Finished(Protocol):
    """What is read of the event that ends a match."""

    @property
    def result(self) -> str:
        """A win, a draw or void."""

    @property
    def winner(self) -> int:
        """The seat that won, or 0."""

    @property
    def cause(self) -> str:
        """What brought the end about."""


class Tallied(Protocol):
    """What is read of a tally of the store: how often a pairing ended in one way. `player_1` had seat 1."""

    @property
    def game(self) -> str:
        """The game, with its variant."""

    @property
    def rated(self) -> bool:
        """Whether these matches were agreed to be rated."""

    @property
    def player_1(self) -> str:
        """The player in seat 1."""

    @property
    def player_2(self) -> str:
        """The player in seat 2."""

    @property
    def result(self) -> str:
        """A win, a draw or void."""

    @property
    def winner(self) -> int:
        """The seat that won, or 0."""

    @property
    def cause(self) -> str:
        """What brought the end about."""

    @property
    def games(self) -> int:
        """How many matches."""

    @property
    def version_1(self) -> str:
        """The version of the bot in seat 1, '' if it is not known."""

    @property
    def version_2(self) -> str:
        """The version of the bot in seat 2, '' if it is not known."""


class Result(NamedTuple):
    """How a match ended, or several alike. The words are those of the record; players are identities (`identity`)."""

    game: str
    rated: bool
    player_1: str
    player_2: str
    result: str
    winner: int
    cause: str
    games: int = 1


class Forfeits(NamedTuple):
    """How many games a player lost for another reason than play."""

    timeouts: int = 0
    absences: int = 0
    violations: int = 0

    @property
    def total(self) -> int:
        """Their sum."""
        return sum(self)


def result_of(began: Began, ended: Finished, versions: tuple[str, str] = ("", "")) -> Result:
    """Return what a match counts for, from its first event and its last; versions by seat ("": none)."""
    one, two = (identity(name, version) for name, version in zip(began.players, versions, strict=True))
    return Result(began.game, began.rated, one, two, str(ended.result), ended.winner, str(ended.cause))


def result_of_tally(tally: Tallied) -> Result:
    """Return what the matches of a tally count for."""
    one, two = identity(tally.player_1, tally.version_1), identity(tally.player_2, tally.version_2)
    return Result(tally.game, tally.rated, one, two, tally.result, tally.winner, tally.cause, tally.games)


def counts_of(results: Iterable[Result], game: str | None = None, forfeits: bool = True) -> Counts:
    """Return the counts of what is rated: of one game, or (None) of all games together (see ACROSS_GAMES).

    A player of whom nothing is rated is not among the players. Raises Refusal ARGUMENT_INVALID (facts what, where,
    allowed) for a result that contradicts itself, and a rated match of a player against itself.
    """
    pairs: dict[tuple[str, str], Counter[int]] = {}
    for each in rated(results, game, forfeits):
        if each.player_1 == each.player_2:
            raise _invalid(each.player_2, "player_2", "another player than in seat 1")
        pairs.setdefault((each.player_1, each.player_2), Counter())[each.winner] += each.games
    players = {player for pair in pairs for player in pair}
    by_pair = (PairCount(*pair, found[1], found[0], found[2]) for pair, found in pairs.items())
    return Counts(tuple(sorted(players)), tuple(sorted(by_pair)))


def rated(results: Iterable[Result], game: str | None = None, forfeits: bool = True) -> Iterable[Result]:
    """Yield what counts: rated, not void, of the game (None: any). Raises Refusal ARGUMENT_INVALID as `counts_of`."""
    for each in results:
        if not each.rated or each.result == "void" or each.games < 1 or game not in (None, each.game):
            continue
        if (each.result, each.winner) not in (("win", 1), ("win", 2), ("draw", 0)):
            raise _invalid(f"{each.result}, winner {each.winner}", "result", "win with winner 1 or 2, or draw with 0")
        if forfeits or each.cause not in FORFEITS:
            yield each


def forfeits_of(results: Iterable[Result], game: str | None = None) -> dict[str, Forfeits]:
    """Return how many rated games each player lost by time, absence and illegal moves; who has none is left out."""
    found: dict[str, Counter[str]] = {}
    for each in rated(results, game):
        if each.cause in FORFEITS and each.winner:
            loser = each.player_2 if each.winner == 1 else each.player_1
            found.setdefault(loser, Counter())[FORFEITS[each.cause]] += each.games
    return {player: Forfeits(**numbers) for player, numbers in sorted(found.items())}
