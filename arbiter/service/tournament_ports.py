"""What tournaments need from the rest of the arbiter, as ports, and how many matches each player takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from arbiter.matches.policy import Policy
from arbiter.service import tournament_log
from arbiter.service.adjudicators import Judges
from arbiter.service.hall import Hall
from arbiter.service.ports import Clock, Journal, StoredRecord
from arbiter.service.tournament_log import Log
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats import Field, Strength, of
from arbiter.tournaments.openings import opening
from arbiter.tournaments.spec import Openings
from arbiter.tournaments.tournament import Tournament


class Presence(Protocol):
    """Who is there."""

    def room_for(self, player: str) -> int | None:
        """Return how many more matches a player takes now; None if it is not there."""


class Pairing(Protocol):
    """Work on tournaments that may take seconds: it runs apart from the event loop."""

    async def propose(self, tournament: Tournament, field: Field) -> Arrange | None:
        """Return what a tournament's format proposes, for the tournament as far as it is durable.

        Raises PairingFailed.
        """

    async def opening(self, openings: Openings, game: str, number: int) -> tuple[str, ...]:
        """Return the opening of a meeting's games; see `arbiter.tournaments.openings`. Raises PairingFailed."""

    async def recall(self, tournament: str, records: Sequence[StoredRecord]) -> Log:
        """Return the log of a tournament from all its records. Raises StoreDamaged."""


class Strengths(Protocol):
    """How strong players are."""

    async def strengths(self, games: Sequence[str]) -> Mapping[str, Strength]:
        """Return how strong the newest version of each player is, by the results of some variants together.

        Raises Refusal STORE_UNAVAILABLE, BUDGET_SPENT.
        """


class PairingFailed(Exception):
    """The process that pairs gave no answer, or its code has a mistake; says what is known."""


class PairingHere:
    """Pairs on the spot: where nobody minds waiting, as in a simulation."""

    async def propose(self, tournament: Tournament, field: Field) -> Arrange | None:
        """Return what a tournament's format proposes; see the port."""
        return of(tournament.spec).propose(tournament, field)

    async def opening(self, openings: Openings, game: str, number: int) -> tuple[str, ...]:
        """Return the opening of a meeting's games; see the port."""
        return opening(openings, game, number)

    async def recall(self, tournament: str, records: Sequence[StoredRecord]) -> Log:
        """Return the log of a tournament; see the port."""
        return tournament_log.recall(tournament, records)


class Places:
    """How many more matches each player takes, those that are just being made counted in; and all tournaments together.

    most_games: of all tournaments at once.
    """

    def __init__(self, presence: Presence, most_games: int) -> None:
        self._presence = presence
        self._most_games = most_games
        self._making: Counter[str] = Counter()
        self._games: dict[str, int] = {}  # under way or being made, by tournament

    @property
    def full(self) -> bool:
        """Whether as many games of tournaments are under way, or being made, as there may be."""
        return sum(self._games.values()) >= self._most_games

    def hold(self, tournament_id: str, games: int) -> None:
        """Take note of how many games of a tournament are under way or being made."""
        if games:
            self._games[tournament_id] = games
        else:
            self._games.pop(tournament_id, None)

    def is_free(self, player: str) -> bool:
        """Say whether a player is there and takes another match."""
        left = self._presence.room_for(player)
        return left is not None and left > self._making[player]

    def may_play(self, player: str) -> bool:
        """Say whether a match may be made for a player: for one who is away too, whose clock then runs."""
        left = self._presence.room_for(player)
        return left is None or left > self._making[player]

    def take(self, players: Collection[str]) -> None:
        """Count a match of some players in that is going to be made; `release` is to follow."""
        self._making.update(players)

    def release(self, players: Collection[str]) -> None:
        """Count it in no longer: it has been made, and counts by itself, or could not be made."""
        self._making.subtract(players)


class Outside(NamedTuple):
    """What a tournament needs from the rest of the arbiter. policy: of matches, where a specification says nothing."""

    journal: Journal
    hall: Hall
    clock: Clock
    places: Places
    pairing: Pairing
    ratings: Strengths
    policy: Policy
    judges: Judges
