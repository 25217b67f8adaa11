"""What an organiser can decide after the fact, besides rulings on single games, as values.

Nothing is edited: each decision is an event of the tournament's log (`events.Corrected`), with who, when and why, and
the state of the tournament follows from all of them in order. `arbiter.tournaments.correction_rules` says in which phases and
formats each one is allowed.

| correction | what follows |
| --- | --- |
| disqualify | the player is not paired any more, and loses its remaining games as if it had withdrawn; see `Disqualify` |
| reinstate | takes a disqualification back: results are as before it, and the player is paired again if it had not withdrawn. Walkovers in between stand: such a game can be played again |
| replay | a game that has a result is played again in its round. Its result and all rulings on it count no more; pairings that exist stay |
| award | half points, also less than none, are added to a player's points in the standings; pairings and tie-breaks do not count them |
| lots | players who share a place are ordered by lot: `Lots(seed)` shuffles their names, in the order of the alphabet |
| pair | these pairs meet in a round that has not begun, whatever the rules say. If it is paired, its other pairs stay, and players who have lost their opponents are paired by the rules. In a round robin the players of whole pairs change their opponents, or their seats |
| forbid | two players are not paired any more, or may be again |
| bye | a player sits out a round that has not begun, with a point or half of one |
| pair_round | the round after a pause is paired before play goes on; a round that is paired, and has not begun, is paired again. afresh: by the rules, what was asked for it by `pair` and `bye` (of a point) is taken back |
| hold | the tournament pauses once the round under way is over, between two rounds once the next one is |
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final


class Results(StrEnum):
    """What becomes of the results of a disqualified player."""

    STAND = "stand"  #: they count as they are
    FORFEIT = "forfeit"  #: it has lost all its games without play, the others have won them
    VOID = "void"  #: its games do not count


@dataclass(frozen=True, slots=True)
class Disqualify:
    """A player is disqualified.

    from_start: as if it had never taken part: it comes after all others in the standings; otherwise from now on, and it
    keeps its place. results: of all its games, those under way too; other than `stand` only from the start. A result
    that does not stand does not count for ratings, and a bracket that has gone on by it stays. stop: its games under
    way are stopped, and end as walkovers; otherwise they go on.
    """

    name: ClassVar[str] = "disqualify"
    player: str
    from_start: bool = False
    results: Results = Results.STAND
    stop: bool = True


@dataclass(frozen=True, slots=True)
class Reinstate:
    """The disqualification of a player is taken back."""

    name: ClassVar[str] = "reinstate"
    player: str


@dataclass(frozen=True, slots=True)
class Replay:
    """A game that has a result is played again."""

    name: ClassVar[str] = "replay"
    game: int


@dataclass(frozen=True, slots=True)
class Award:
    """Points given to a player, or taken from it. points: in halves; in an arena its own; not 0."""

    name: ClassVar[str] = "award"
    player: str
    points: int


@dataclass(frozen=True, slots=True)
class DrawLots:
    """Players who are level in everything are ordered by lot. seed: of `arbiter.tournaments.lots.Lots`."""

    name: ClassVar[str] = "lots"
    players: tuple[str, ...]
    seed: str


@dataclass(frozen=True, slots=True)
class PairByHand:
    """Players meet in a round that has not begun. pairs: the first player of each has seat 1 in its first game."""

    name: ClassVar[str] = "pair"
    round: int
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Forbid:
    """Two players are not paired from the next pairing on. lifted: they may be again, whoever has forbidden it."""

    name: ClassVar[str] = "forbid"
    first: str
    second: str
    lifted: bool = False


@dataclass(frozen=True, slots=True)
class GiveBye:
    """A player sits out a round that has not begun. points: in halves, 2 or 1."""

    name: ClassVar[str] = "bye"
    player: str
    round: int
    points: int = 2


@dataclass(frozen=True, slots=True)
class PairRound:
    """A round is paired, or paired again. afresh: without what was asked for it by hand, but for half-point byes."""

    name: ClassVar[str] = "pair_round"
    round: int
    afresh: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """The tournament pauses once the round under way is over, between two rounds once the next one is.

    off: it does not.
    """

    name: ClassVar[str] = "hold"
    off: bool = False


OfPairing = PairByHand | Forbid | GiveBye | PairRound | Hold
"""Corrections of pairings that have not been played."""

Correction = Disqualify | Reinstate | Replay | Award | DrawLots | OfPairing
"""Every correction that exists."""

CORRECTIONS: Final[dict[str, type[Correction]]] = {
    kind.name: kind
    for kind in (Disqualify, Reinstate, Replay, Award, DrawLots, PairByHand, Forbid, GiveBye, PairRound, Hold)
}


def in_words(what: Correction, called: Callable[[str], str] = str) -> str:
    """Return a correction as people read it, without who and why. called: returns how a player's name is shown."""
    match what:
        case Disqualify():
            since = "from the beginning" if what.from_start else "from now on"
            results = {Results.STAND: "stand", Results.FORFEIT: "count as lost without play", Results.VOID: "are void"}
            said = f"{called(what.player)} is disqualified {since}: its results {results[what.results]}"
            return f"{said}, its games under way {'are stopped' if what.stop else 'go on'}"
        case Reinstate():
            return f"the disqualification of {called(what.player)} is taken back"
        case Replay():
            return f"game {what.game} is played again"
        case Award():
            number = "½" if abs(what.points) == 1 else f"{abs(what.points) // 2}{'½' if what.points % 2 else ''}"
            return f"{called(what.player)} {'gets' if what.points > 0 else 'loses'} {number} in the standings"
        case DrawLots():
            return f"{', '.join(map(called, what.players))} are ordered by lot, seed {what.seed}"
        case _:
            return _pairing_in_words(what, called)


def _pairing_in_words(what: OfPairing, called: Callable[[str], str]) -> str:
    match what:
        case PairByHand():
            pairs = (f"{called(first)}–{called(second)}" for first, second in what.pairs)
            return f"round {what.round}: {', '.join(pairs)} by hand"
        case Forbid():
            again = "may be paired again" if what.lifted else "are not paired any more"
            return f"{called(what.first)} and {called(what.second)} {again}"
        case GiveBye():
            points = "a point" if what.points > 1 else "half a point"
            return f"{called(what.player)} sits out round {what.round} with {points}"
        case PairRound():
            return f"round {what.round} is paired{' by the rules alone' if what.afresh else ''}"
        case Hold():
            return f"it {'does not pause' if what.off else 'pauses'} once the round under way is over"
