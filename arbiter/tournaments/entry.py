"""Which changes of its entry a player, or the organiser, may make, and when: before the start all can be undone.

| change | before the start | under way, paused | ended |
| --- | --- | --- | --- |
| enter | every format | formats with late entry | – |
| enter again after a withdrawal | every format | formats with re-entry | – |
| withdraw | every format | every format | – |
| ask for byes, or take them back | formats in rounds | formats in rounds, for rounds that are not paired yet | – |
| correct the rating for seeding | every format | – | – |

A player that enters again before the start keeps its place in the order of entry: the withdrawal is undone.
deploy/TOURNAMENTS.md has the same table with the names of the formats.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Final

from arbiter.errors import with_article
from arbiter.tournaments import formats
from arbiter.tournaments.formats.pairer import Pairer
from arbiter.tournaments.tournament import Entrant, Tournament, TournamentPhase


class EntryChange(StrEnum):
    """What changes."""

    ENTER = "enter"
    RETURN = "enter again"
    WITHDRAW = "withdraw"
    BYES = "byes"
    SEED = "seed"


Allowed = Callable[[Pairer], bool]


def _always(_: Pairer) -> bool:
    return True


def _never(_: Pairer) -> bool:
    return False


def _late_entry(pairer: Pairer) -> bool:
    return pairer.late_entry


def _reentry(pairer: Pairer) -> bool:
    return pairer.reentry


def _in_rounds(pairer: Pairer) -> bool:
    return pairer.in_rounds


_BEFORE: Final[Mapping[EntryChange, Allowed]] = {
    EntryChange.ENTER: _always,
    EntryChange.RETURN: _always,
    EntryChange.WITHDRAW: _always,
    EntryChange.BYES: _in_rounds,
    EntryChange.SEED: _always,
}
_STARTED: Final[Mapping[EntryChange, Allowed]] = {
    EntryChange.ENTER: _late_entry,
    EntryChange.RETURN: _reentry,
    EntryChange.WITHDRAW: _always,
    EntryChange.BYES: _in_rounds,
    EntryChange.SEED: _never,
}
TABLE: Final[Mapping[TournamentPhase, Mapping[EntryChange, Allowed]]] = {
    TournamentPhase.ENTRY: _BEFORE,
    TournamentPhase.RUNNING: _STARTED,
    TournamentPhase.PAUSED: _STARTED,
    TournamentPhase.ENDED: dict.fromkeys(EntryChange, _never),
}
"""The formats in which each change is allowed, by the phase."""


def allowed(tournament: Tournament, change: EntryChange) -> bool:
    """Return whether the phase and the format of a tournament allow a change."""
    return TABLE[tournament.phase][change](formats.of(tournament.spec))


def why_not(tournament: Tournament, change: EntryChange) -> str:
    """Return why a tournament that has not ended does not allow a change, as a clause; '' if it does."""
    if allowed(tournament, change):
        return ""
    name = with_article(tournament.spec.format.value.replace("_", " "))
    return {
        EntryChange.ENTER: f"nobody enters {name} after its start",
        EntryChange.RETURN: f"nobody who has withdrawn enters {name} again after its start",
        EntryChange.WITHDRAW: "nobody withdraws now",
        EntryChange.BYES: f"{name} has no rounds that a player can sit out",
        EntryChange.SEED: "the seeds are fixed at the start",
    }[change]


def wrong_byes(tournament: Tournament, byes: Collection[int], entrant: Entrant | None = None) -> str:
    """Return why a player can't have these byes, as a clause; '' if it can. entrant: the player, if it has entered."""
    before = set(entrant.byes) if entrant is not None else set()
    if set(byes) == before:
        return ""
    refused = why_not(tournament, EntryChange.BYES)
    if refused:
        return refused
    paired = sorted(each for each in set(byes) ^ before if each <= tournament.rounds)
    if paired:
        return f"round {paired[0]} is paired already: its bye can be neither asked for nor taken back"
    rounds = tournament.spec.options.rounds
    late = sorted(each for each in set(byes) - before if each > rounds)
    return f"it has {rounds} rounds, and no round {late[0]}" if late else ""
