"""The state of a tournament from its events: the players, the pairings, the results, and the games to play next.

A tournament can be large (a hundred players have ten thousand games), so unlike a match it is mutable, and its events
change it in place (`arbiter.tournaments.evolution`). Two tournaments with the same events have equal state.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from arbiter.tournaments import corrections as cor
from arbiter.tournaments import events as ev
from arbiter.tournaments.by_hand import HandPairing
from arbiter.tournaments.counting_result import Disqualified
from arbiter.tournaments.game_ends import DRAW, LOSS, WIN, GameResult
from arbiter.tournaments.groups import Named
from arbiter.tournaments.meetings import Meeting, ScheduledGame
from arbiter.tournaments.old_games import Numbered, OldGames
from arbiter.tournaments.spec import AGAINST_ITSELF
from arbiter.tournaments.waiting_games import WaitingGames


class TournamentPhase(StrEnum):
    """The phase of a tournament."""

    ENTRY = "entry"  #: players can enter
    RUNNING = "running"
    PAUSED = "paused"  #: no further games start
    ENDED = "ended"


class Entrant(NamedTuple):
    """A player of a tournament. `joined`: the first round in which it may be paired; `byes`: rounds that it sits out.

    left: if it has withdrawn, the last round that was paired before that. disqualified: then it has withdrawn too.
    team: '' if this is no tournament of teams. category: that its entry names, or ''.
    """

    player: str
    version: str
    rating: int
    joined: int = 1
    byes: tuple[int, ...] = ()
    withdrawn: bool = False
    left: int = 0
    disqualified: bool = False
    team: str = ""
    category: str = ""


class RunningGame(NamedTuple):
    """A running game."""

    attempt: int
    match: str


class Encounter(NamedTuple):
    """A meeting as one of a pair's. pair: its number from 0, by first meetings; times: how often it has met before."""

    pair: int
    times: int


class OpenMeeting(NamedTuple):
    """A meeting that goes on. games: how many have no result. since: when it was paired, or went on again."""

    games: int
    since: int


class MeetingEnd(NamedTuple):
    """The end of a meeting: when its last game got its result.

    usual_ms: how long a meeting took on average, from its pairing to its end, over all that had ended by then.
    """

    at: int
    usual_ms: int


class Tournament:
    """A tournament after some of its events. Revisions are those of its log."""

    def __init__(self, created: ev.Created) -> None:
        self.created = created
        self.spec = created.spec
        self.revision = 1  # of the last event
        self.at = created.at  # of the last event
        self.requests: dict[tuple[str, str], ev.Event] = {(created.creator, created.request): created}

        self.phase = TournamentPhase.ENTRY
        self.started_at: int | None = None
        self.missed: ev.StartMissed | None = None  # its start time, since there were too few players
        self.rules = ""  # as in `events.Started`
        self.paused_ms = 0  # sum of all finished pauses
        self.paused_at = created.at  # the last time
        self.held_by = ""  # who lets it pause after a round, '' for nobody
        self.held_after = 0  # that round
        self.end: ev.Ended | None = None

        self.entrants: dict[str, Entrant] = {}  # by player, in the order of entry
        self.seeds: list[str] = []  # players in seed order, late entrants at the end
        self.disqualified: dict[str, Disqualified] = {}  # by player
        self.entries: dict[str, Entrant] = {}  # of the disqualified, without that

        self.initial = 1  # the seat of odd numbers in the first round of a Swiss
        self.virtual: dict[str, tuple[int, ...]] = {}  # half points by which a report accelerates it

        self.rounds = 0  # the last paired round
        self.paired_at = 0  # the revision of the last pairing
        self.ordered = 0  # the round that is paired though play pauses, 0 for none
        self.byes: dict[int, tuple[str, ...]] = {}  # with a full point, by round
        self.by_hand: dict[int, HandPairing] = {}  # what an organiser has asked for a round
        self.forbidden = created.spec.pairs_apart  # pairs that must not meet
        self.meetings: Numbered[Meeting] = Numbered()  # by number − 1
        self.meetings_of: defaultdict[str, list[Meeting]] = defaultdict(list)  # by player
        self.encounters: Numbered[Encounter] = Numbered()  # whose each meeting is, by number − 1
        self.pairs: dict[frozenset[str], int] = {}  # their numbers, as in `Encounter`
        self.met: defaultdict[frozenset[str], int] = defaultdict(int)  # for how many meetings two players were paired
        self.lead: defaultdict[str, int] = defaultdict(int)  # in how many more meetings one was first than second
        self.open: dict[int, OpenMeeting] = {}  # by number
        self.ends: dict[int, MeetingEnd] = {}  # of those that have ended, by number
        self.meetings_ms = 0  # sum over the meetings that have ended, from their pairing on

        self.games: Numbered[ScheduledGame] = Numbered()  # by number − 1
        self.waiting = WaitingGames()
        self.running: dict[int, RunningGame] = {}  # by game; none after the end
        self.attempts: defaultdict[int, int] = defaultdict(int)  # the number of matches created for each game
        self.tries: defaultdict[int, int] = defaultdict(int)  # those before it was last ordered to be played again
        self.attended: dict[str, bool] = {}  # whether each player came to its last game without a walkover, and stayed
        self.old = OldGames()  # the sums of dropped games (`arbiter.tournaments.folding`), which no other field has

        self.as_played: dict[int, GameResult] = {}  # the results without the organiser's decisions, by game
        self.results: dict[int, GameResult] = {}  # those that count
        self.changed: dict[int, int] = {}  # the revision of each result, or of the last decision on it
        self.bracket_results: dict[int, GameResult] = {}  # by which a bracket went on before they were corrected
        self.rulings: defaultdict[int, list[ev.Ruled]] = defaultdict(list)  # by game, in order
        self.ruled_at: dict[int, int] = {}  # the revision of the last one
        self.corrections: list[ev.Corrected] = []
        self.decided_at = 0  # the revision of the last ruling or correction
        self.awarded: defaultdict[str, int] = defaultdict(int)  # half points by player
        self.lots: list[cor.DrawLots] = []  # in the order in which they were drawn

    @property
    def id(self) -> str:
        """The tournament's id."""
        return self.created.tournament

    @property
    def categories(self) -> Named:
        """The players of each category that has standings of its own: of the specification's, then of the entries'."""
        found = {name: [*players] for name, players in self.spec.groups.tables.items()}
        for each in self.entrants.values():
            if each.category and each.player not in found.setdefault(each.category, []):
                found[each.category].append(each.player)
        return {name: tuple(players) for name, players in found.items()}

    @property
    def players(self) -> list[str]:
        """The players who have not withdrawn, by seed (by entry before the start)."""
        order = self.seeds or list(self.entrants)
        return [player for player in order if not self.entrants[player].withdrawn]

    @property
    def ends_at(self) -> int | None:
        """When its duration ends, or None if it has none or has not started. Pauses do not count."""
        duration = self.spec.options.duration_ms
        return self.started_at + duration + self.paused_ms if duration and self.started_at is not None else None

    @property
    def may_pair(self) -> bool:
        """Whether a round may be paired now."""
        ordered = self.phase is TournamentPhase.PAUSED and self.ordered == self.rounds + 1
        return self.phase is TournamentPhase.RUNNING or ordered

    def of_round(self, round_: int) -> list[Meeting]:
        """Return the meetings of a round, in order."""
        return [meeting for meeting in self.meetings if meeting.round == round_]

    def decided(self, meeting: Meeting) -> bool:
        """Return whether all games of a meeting have their results."""
        return meeting.number not in self.open

    def score(self, meeting: Meeting, player: str, results: Mapping[int, GameResult] | None = None) -> int:
        """Return a player's score in a meeting so far, in half points. results: by game, as they count by default."""
        results = self.results if results is None else results
        return sum(
            results[game.number].half_points(1 if game.seat1 == player else 2)
            for game in meeting.games
            if game.number in results
        )

    def meeting_points(self, meeting: Meeting, player: str, results: Mapping[int, GameResult] | None = None) -> int:
        """Return what a player has won by a meeting that is over, in half points. results: as in `score`.

        The player with more points in the games of the meeting has won it. Both have lost a level meeting in which
        nobody scored, or that was not played. The points of a single game count as they are: a ruling can give any.
        """
        results = self.results if results is None else results
        opponent = meeting.second if meeting.first == player else meeting.first
        mine, other = self.score(meeting, player, results), self.score(meeting, opponent, results)
        if len(meeting.games) == 1 or mine != other:
            return mine if len(meeting.games) == 1 else WIN if mine > other else LOSS
        played = any(results[game.number].played for game in meeting.games)
        return DRAW if mine and played else LOSS

    def all_decided(self) -> bool:
        """Return whether every paired game has its result."""
        return self.games_ended == len(self.games)

    @property
    def games_ended(self) -> int:
        """How many games have a result, also of those that are only in the sums of old games."""
        return len(self.results) + self.old.games

    def has_result(self, number: int) -> bool:
        """Return whether a game has a result; it may be an old one."""
        return number in self.results or (number <= len(self.games) and not self.games.has(number - 1))

    def meetings_played(self, player: str) -> int:
        """Return for how many meetings a player has been paired."""
        return len(self.meetings_of.get(player, ())) + self.old.meetings_of[player]

    def busy(self) -> set[str]:
        """Return the players who have a running or waiting game."""
        playing = {player for number in self.running for player in self.games[number - 1].players}
        return playing.union(self.waiting.games)

    def ready(self, making: Collection[int] = ()) -> Iterator[ScheduledGame]:
        """Yield the games that can start now, in order: nobody plays more than `at_once` games in parallel.

        making: games whose match is being created; they count as running. Thousands of games may wait: no more of them
        are looked at than are asked for. The tournament must not change meanwhile.
        """
        if self.phase is not TournamentPhase.RUNNING:
            return
        under_way = {*self.running, *making}
        playing = Counter(player for number in under_way for player in set(self.games[number - 1].players))
        free = {player for player in self.waiting.games if playing[player] < self.spec.at_once}
        least = 1 if self.spec.format in AGAINST_ITSELF else 2
        for game in self.waiting.of(free):
            if len(free) < least:
                return
            if game.number in under_way or not free.issuperset(game.players) or self.is_stranded(game):
                continue
            playing.update(set(game.players))
            free.difference_update(player for player in game.players if playing[player] >= self.spec.at_once)
            yield game

    def stranded(self) -> list[ScheduledGame]:
        """Return the waiting games of players who have withdrawn, in order: they will not be played."""
        return list(self.waiting.of(player for player in self.waiting.games if self.entrants[player].withdrawn))

    def has_games_to_play(self, player: str) -> bool:
        """Return whether a player has a game that is under way, or waits and will be played."""
        playing = (player in self.games[number - 1].players for number in self.running)
        return any(not self.is_stranded(game) for game in self.waiting.of([player])) or any(playing)

    def to_stop(self) -> list[int]:
        """Return the games under way that end now, since a player of them was disqualified, in order."""
        out = {player for player, each in self.disqualified.items() if each.what.stop}
        return sorted(number for number in self.running if out.intersection(self.games[number - 1].players))

    def is_stranded(self, game: ScheduledGame) -> bool:
        """Return whether a player of a game has withdrawn, so that it does not begin."""
        return self.entrants[game.seat1].withdrawn or self.entrants[game.seat2].withdrawn
