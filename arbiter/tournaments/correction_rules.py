"""Which corrections of an organiser are allowed: a table over phases and formats, and what each one needs besides.

| decision | formats | before the start | under way, paused | ended |
| --- | --- | --- | --- | --- |
| rule on a game | all but trials | – | yes | yes |
| disqualify, from now on | all | yes | yes | – |
| disqualify, from the start | all but trials | yes | yes | yes |
| reinstate | all | yes | yes | from the start |
| play a game again | all but trials | – | yes | – |
| give or take points | those with places by points: not knockouts, ladders, trials | – | yes | yes |
| draw lots | those with shared places: not ladders, trials | – | yes | yes |
| pair by hand | Swiss, round robin | Swiss | yes | – |
| give a bye | Swiss | yes | yes | – |
| pair a round, or again | Swiss | – | yes | – |
| pause after the round | Swiss | yes | yes | – |
| forbid a pair, or lift that | Swiss, arena, ladder | yes | yes | – |

A trial's sequential test has used its games, so their results stay. A player is disqualified "from now on" while there
is something to come. Where a tournament has ended, nobody plays a game again; the organiser rules on it instead.
`arbiter.tournaments.pairing_rules` says what else corrections of pairings need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from arbiter.errors import with_article
from arbiter.tournaments import formats, pairing_rules
from arbiter.tournaments.corrections import (
    Award,
    Correction,
    Disqualify,
    DrawLots,
    OfPairing,
    Reinstate,
    Replay,
    Results,
)
from arbiter.tournaments.formats.pairer import Pairer
from arbiter.tournaments.game_rulings import tie_has_gone_on
from arbiter.tournaments.spec import REARRANGED
from arbiter.tournaments.tournament import Tournament, TournamentPhase

MOST_POINTS: Final = 2_000  #: half points that are given or taken at once
MOST_IN_LOT: Final = 1_000  #: players

Allowed = Callable[[Pairer], bool]
Row = Mapping[TournamentPhase, Allowed]


def _never(_: Pairer) -> bool:
    return False


def _always(_: Pairer) -> bool:
    return True


def _no_test(pairer: Pairer) -> bool:
    return not pairer.ends_by_test


def _by_points(pairer: Pairer) -> bool:
    return not (pairer.ends_by_test or pairer.has_bracket or pairer.pairs_by_strength)


def _shared_places(pairer: Pairer) -> bool:
    return not (pairer.ends_by_test or pairer.pairs_by_strength)


def _in_rounds(pairer: Pairer) -> bool:
    return pairer.in_rounds


def _by_hand(pairer: Pairer) -> bool:
    return pairer.in_rounds or pairer in [formats.PAIRERS[each] for each in REARRANGED]


def _forbids(pairer: Pairer) -> bool:
    return pairer.keeps_apart


def _row(entry: Allowed, started: Allowed, ended: Allowed) -> Row:
    phase = TournamentPhase
    return {phase.ENTRY: entry, phase.RUNNING: started, phase.PAUSED: started, phase.ENDED: ended}


TABLE: Final[Mapping[str, Row]] = {
    "disqualify": _row(_always, _always, _never),
    "disqualify from the start": _row(_no_test, _no_test, _no_test),
    "reinstate": _row(_always, _always, _no_test),
    "replay": _row(_never, _no_test, _never),
    "award": _row(_never, _by_points, _by_points),
    "lots": _row(_never, _shared_places, _shared_places),
    "pair": _row(_in_rounds, _by_hand, _never),
    "bye": _row(_in_rounds, _in_rounds, _never),
    "pair_round": _row(_never, _in_rounds, _never),
    "hold": _row(_in_rounds, _in_rounds, _never),
    "forbid": _row(_forbids, _forbids, _never),
}
"""The formats in which each correction is allowed, by the phase."""


def row_of(what: Correction) -> str:
    """Return the row of the table for a correction."""
    return "disqualify from the start" if isinstance(what, Disqualify) and what.from_start else what.name


def allowed(tournament: Tournament) -> frozenset[str]:
    """Return the rows of the table that the phase and the format of a tournament allow."""
    pairer = formats.of(tournament.spec)
    return frozenset(name for name, row in TABLE.items() if row[tournament.phase](pairer))


def invalid(what: Correction) -> tuple[object, str, str] | None:
    """Return what is wrong with a correction in itself: a value, its field, and what is allowed; None if nothing is."""
    match what:
        case Disqualify(_, False, results) if results is not Results.STAND:
            return results.value, "results", "that they stand, where the player is disqualified from now on only"
        case Award(_, points) if not 0 < abs(points) <= MOST_POINTS:
            return points, "half_points", f"a number up to {MOST_POINTS} that is not 0, also a negative one"
        case DrawLots(players, seed):
            if len(set(players)) != len(players) or not 2 <= len(players) <= MOST_IN_LOT:
                return ", ".join(players), "players", f"2 to {MOST_IN_LOT} different players"
            if not seed:
                return seed, "seed", "a text"
        case Disqualify() | Reinstate() | Replay() | Award():
            return None
        case _:
            return pairing_rules.invalid(what)
    return None


def why_not(tournament: Tournament, what: Correction) -> str:
    """Return why a tournament does not allow a correction now, as a clause; '' if it does."""
    if row_of(what) not in allowed(tournament):
        return _not_in_table(tournament, what)
    match what:
        case Disqualify(player):
            if player not in tournament.entrants:
                return f"{player} has not entered it"
            return f"{player} is disqualified already" if player in tournament.disqualified else ""
        case Reinstate(player):
            if player not in tournament.disqualified:
                return f"{player} is not disqualified"
            late = tournament.seeds and player not in tournament.seeds and not formats.of(tournament.spec).late_entry
            return f"it has started without {player}, and nobody enters it late" if late else ""
        case Award(player):
            return "" if player in tournament.seeds else f"{player} does not take part in it"
        case DrawLots(players):
            strange = [player for player in players if player not in tournament.seeds]
            return f"{strange[0]} does not take part in it" if strange else ""
        case Replay(game):
            return _why_not_again(tournament, game)
        case _:
            return pairing_rules.why_not(tournament, what)


def _why_not_again(tournament: Tournament, number: int) -> str:
    if number not in tournament.results:
        return f"game {number} has no result, so it can't be played again"
    game = tournament.games[number - 1]
    if game.seat1 == game.seat2:
        return f"game {number} is one of {game.seat1} against itself, which counts nowhere"
    gone = [player for player in game.players if tournament.entrants[player].withdrawn]
    if gone:
        return f"{gone[0]} does not play any more"
    if formats.of(tournament.spec).has_bracket:
        meeting = tournament.meetings[game.meeting - 1]
        on = any(tournament.meetings_of[player][-1].number != meeting.number for player in game.players)
        if on or tie_has_gone_on(tournament, number):
            return f"a player has been paired again since game {number}, and the bracket follows from it: rule on it"
    return ""


def _not_in_table(tournament: Tournament, what: Correction) -> str:
    never = not any(allows(formats.of(tournament.spec)) for allows in TABLE[row_of(what)].values())
    if tournament.phase is TournamentPhase.ENTRY and not never:
        return "it has not started yet"
    if TABLE[row_of(what)][TournamentPhase.RUNNING](formats.of(tournament.spec)):
        more = {"disqualify": ": disqualify from the beginning", "replay": ": rule on the game"}.get(row_of(what), "")
        return f"it is over{more}"
    name = with_article(tournament.spec.format.value.replace("_", " "))
    return {
        "award": f"places in {name} do not follow from points",
        "lots": f"{name} has no shared places that a lot could order",
        "replay": f"nobody plays a game of {name} again, since its test has used it",
        "pair": f"{name} is not paired by hand",
        "bye": f"{name} has no rounds that a player can sit out",
        "pair_round": f"{name} has no rounds that are paired one after the other",
        "hold": f"{name} has no rounds that are paired one after the other",
        "forbid": f"{name} has no pairs that could be forbidden",
    }.get(row_of(what), f"the results of {name} stay, since its test has used them: disqualify from now on")


def decided_at(tournament: Tournament, what: Correction) -> tuple[int, str]:
    """Return the revision with which that has changed which a correction is about, and what has changed, a clause."""
    if isinstance(what, Replay):
        return tournament.changed.get(what.game, 0), f"the result of game {what.game} is another one"
    if isinstance(what, OfPairing) and pairing_rules.changed_at(tournament, what) > tournament.decided_at:
        return tournament.paired_at, "its round has been paired"
    return tournament.decided_at, "an organiser has decided something"
