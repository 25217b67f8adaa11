"""The state of a tournament from its events: the players, the pairings, the results, and the games to play next.

A tournament can be large (a hundred players have ten thousand games), so unlike a match it is mutable and `apply`
changes it in place. It is built from its events alone; two tournaments with the same events have equal state.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import singledispatchmethod
from typing import NamedTuple

from arbiter.tournaments import corrections as cor
from arbiter.tournaments import events as ev
from arbiter.tournaments.by_hand import NOTHING, HandPairing
from arbiter.tournaments.counting_result import Disqualified, counting_result
from arbiter.tournaments.game_ends import DRAW, ELSEWHERE, LOSS, UNPLAYED, WALKOVER, WIN, GameResult
from arbiter.tournaments.groups import Named
from arbiter.tournaments.meetings import Meeting, Pair, ScheduledGame, make_meetings
from arbiter.tournaments.old_games import Numbered, OldGames
from arbiter.tournaments.report_history import history_of
from arbiter.tournaments.spec import AGAINST_ITSELF, REARRANGED
from arbiter.tournaments.trf import read_with_lines


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


class MeetingEnd(NamedTuple):
    """The end of a meeting: when its last game got its result.

    usual_ms: how long a meeting took on average, from its pairing to its end, over all that had ended by then.
    """

    at: int
    usual_ms: int


class Tournament:
    """A tournament after some of its events.

    entrants: by player, in the order of entry; seeds: players in seed order, late entrants at the end. meetings, games:
    by number − 1. results: by game. running: running games; none after the end. attempts: number of matches created for
    each game. old: the sums of games that were dropped (`arbiter.tournaments.folding`), which are in no other field.
    byes: full-point byes by round. rounds: the last paired round. rules: as in `events.Started`. met: for how many
    meetings two players have been paired; lead: in how many more of its meetings a player first had seat 1 than seat 2.
    encounters: whose each meeting is, by number − 1. attended: whether each player came to the last of its games that
    was not decided by a walkover, and stayed; a player without one has no entry. rulings: of each game, in order;
    ruled_at: the revision of the last one. changed: the revision with which each game got its result, or the last
    decision on it. as_played: the results without the organiser's decisions. disqualified: by player. awarded: half
    points by player. lots: in the order in which they were drawn. decided_at: the revision of the organiser's last
    ruling or correction. bracket_results: by which a bracket went on before they were corrected. tries: the number of
    matches of each game before it was last ordered to be played again. forbidden: pairs that must not meet. by_hand:
    what an organiser has asked for a round. paired_at: the revision of the last pairing. ordered: the round that is
    paired though play pauses, 0 for none. held_by: who lets it pause after a round, '' for nobody.
    held_after: that round. elsewhere: what was played before it went on here. initial: the seat of odd numbers in the
    first round of a Swiss. virtual: half points by which a report accelerates it.
    """

    def __init__(self, created: ev.Created) -> None:
        self.created = created
        self.spec = created.spec
        self.phase = TournamentPhase.ENTRY
        self.revision = 1
        self.at = created.at
        self.started_at: int | None = None
        self.entrants: dict[str, Entrant] = {}
        self.seeds: list[str] = []
        self.meetings: Numbered[Meeting] = Numbered()
        self.games: Numbered[ScheduledGame] = Numbered()
        self.old = OldGames()
        self.results: dict[int, GameResult] = {}
        self.running: dict[int, RunningGame] = {}
        self.attempts: defaultdict[int, int] = defaultdict(int)
        self.byes: dict[int, tuple[str, ...]] = {}
        self.rounds = 0
        self.missed: ev.StartMissed | None = None  # its start time, since there were too few players
        self.rules = ""
        self.elsewhere: ev.PlayedElsewhere | None = None
        self.initial = 1
        self.virtual: dict[str, tuple[int, ...]] = {}
        self.end: ev.Ended | None = None
        self._paused_ms = 0  # sum of all finished pauses
        self._paused_at = created.at
        self.meetings_of: defaultdict[str, list[Meeting]] = defaultdict(list)
        self.met: defaultdict[frozenset[str], int] = defaultdict(int)
        self.encounters: Numbered[Encounter] = Numbered()
        self.attended: dict[str, bool] = {}
        self.rulings: defaultdict[int, list[ev.Ruled]] = defaultdict(list)
        self.changed: dict[int, int] = {}
        self.ruled_at: dict[int, int] = {}
        self.as_played: dict[int, GameResult] = {}
        self.disqualified: dict[str, Disqualified] = {}
        self._entries: dict[str, Entrant] = {}  # of the disqualified, without that
        self.awarded: defaultdict[str, int] = defaultdict(int)
        self.lots: list[cor.DrawLots] = []
        self.corrections: list[ev.Corrected] = []
        self.decided_at = 0
        self.bracket_results: dict[int, GameResult] = {}
        self.tries: defaultdict[int, int] = defaultdict(int)
        self.lead: defaultdict[str, int] = defaultdict(int)
        self.forbidden = created.spec.pairs_apart
        self.by_hand: dict[int, HandPairing] = {}
        self.paired_at = 0
        self.ordered = 0
        self.held_by = ""
        self.held_after = 0
        self._pairs: dict[frozenset[str], int] = {}
        self.ends: dict[int, MeetingEnd] = {}
        self._paired_at: dict[int, int] = {}  # of the meetings that go on
        self._meetings_ms = 0  # sum over the meetings that have ended
        self.requests: dict[tuple[str, str], ev.Event] = {(created.creator, created.request): created}
        self._waiting_of: defaultdict[str, dict[int, ScheduledGame]] = defaultdict(dict)  # in order of their numbers
        self._open: dict[int, int] = {}  # games without a result, by meeting that is not decided

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
        return self.started_at + duration + self._paused_ms if duration and self.started_at is not None else None

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
        return meeting.number not in self._open

    def score(self, meeting: Meeting, player: str) -> int:
        """Return a player's score in a meeting so far, in half points."""
        return _score(self.results, meeting, player)

    def meeting_points(self, meeting: Meeting, player: str) -> int:
        """Return what a player has won by a meeting that is over, in half points.

        The player with more points in the games of the meeting has won it. Both have lost a level meeting in which
        nobody scored, or that was not played. The points of a single game count as they are: a ruling can give any.
        """
        return _meeting_points(self.results, meeting, player)

    def points_as_played(self, meeting: Meeting, player: str) -> int:
        """Return the same without the organiser's decisions."""
        return _meeting_points(self.as_played, meeting, player)

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
        return playing | {player for player, games in self._waiting_of.items() if games}

    def ready(self, making: Collection[int] = ()) -> Iterator[ScheduledGame]:
        """Yield the games that can start now, in order: nobody plays more than `at_once` games in parallel.

        making: games whose match is being created; they count as running. Thousands of games may wait: no more of them
        are looked at than are asked for. The tournament must not change meanwhile.
        """
        if self.phase is not TournamentPhase.RUNNING:
            return
        under_way = {*self.running, *making}
        playing = Counter(player for number in under_way for player in set(self.games[number - 1].players))
        free = {player for player in self._waiting_of if playing[player] < self.spec.at_once}
        least = 1 if self.spec.format in AGAINST_ITSELF else 2
        last = 0  # each game waits for both its players
        for game in heapq.merge(*(self._waiting_of[player].values() for player in free)):
            if len(free) < least:
                return
            if (
                game.number == last
                or game.number in under_way
                or not free.issuperset(game.players)
                or self.is_stranded(game)
            ):
                continue
            last = game.number
            playing.update(set(game.players))
            free.difference_update(player for player in game.players if playing[player] >= self.spec.at_once)
            yield game

    def waiting(self) -> list[ScheduledGame]:
        """Return the games that have not started, or must be played again, in order."""
        return sorted({game for games in self._waiting_of.values() for game in games.values()})

    def stranded(self) -> list[ScheduledGame]:
        """Return the waiting games of players who have withdrawn, in order: they will not be played."""
        gone = [player for player in self._waiting_of if self.entrants[player].withdrawn]
        return sorted({game for player in gone for game in self._waiting_of[player].values()})

    def has_games_to_play(self, player: str) -> bool:
        """Return whether a player has a game that is under way, or waits and will be played."""
        waiting = self._waiting_of.get(player, {}).values()
        playing = (self.games[number - 1] for number in self.running)
        return any(not self.is_stranded(game) for game in waiting) or any(player in game.players for game in playing)

    def to_stop(self) -> list[int]:
        """Return the games under way that end now, since a player of them was disqualified, in order."""
        out = {player for player, each in self.disqualified.items() if each.what.stop}
        return sorted(number for number in self.running if out.intersection(self.games[number - 1].players))

    def is_stranded(self, game: ScheduledGame) -> bool:
        """Return whether a player of a game has withdrawn, so that it does not begin."""
        return self.entrants[game.seat1].withdrawn or self.entrants[game.seat2].withdrawn

    def apply(self, event: ev.Event) -> None:
        """Apply the next event."""
        self._take(event)
        self.revision += 1
        self.at = event.at
        request = getattr(event, "request", "")
        if request:
            self.requests[getattr(event, "caller", ""), request] = event

    @singledispatchmethod
    def _take(self, event: object) -> None:
        raise TypeError(f"{event!r} is no event that a tournament goes on with")

    @_take.register
    def _entered(self, event: ev.Entered) -> None:
        joined = self.rounds + 1
        self.entrants[event.player] = Entrant(
            event.player, event.version, event.rating, joined, event.byes, team=event.team, category=event.category
        )
        if self.seeds and event.player not in self.seeds:  # a returning player keeps its place
            self.seeds.append(event.player)

    @_take.register
    def _withdrawn(self, event: ev.Withdrawn) -> None:
        self.entrants[event.player] = self.entrants[event.player]._replace(withdrawn=True, left=self.rounds)

    @_take.register
    def _entry_changed(self, event: ev.EntryChanged) -> None:
        before = self.entrants[event.player]
        version = event.version or before.version
        self.entrants[event.player] = before._replace(rating=event.rating, byes=event.byes, version=version)

    @_take.register
    def _start_missed(self, event: ev.StartMissed) -> None:
        self.missed = event

    @_take.register
    def _played_elsewhere(self, event: ev.PlayedElsewhere) -> None:
        history = history_of(read_with_lines(event.report))
        names = {each.number: player for each, player in zip(history.players, event.players, strict=True)}
        self.elsewhere = event
        self.initial = history.initial
        self.virtual = {names[each.number]: each.half_points for each in history.virtual}

    @_take.register
    def _started(self, event: ev.Started) -> None:
        self.phase = TournamentPhase.RUNNING
        self.started_at = event.at
        self.seeds = list(event.seeds)
        self.rules = event.rules

    @_take.register
    def _paused(self, event: ev.Paused) -> None:
        self.phase = TournamentPhase.PAUSED
        self._paused_at = event.at
        self.held_by = ""

    @_take.register
    def _continued(self, event: ev.Continued) -> None:
        self.phase = TournamentPhase.RUNNING
        self._paused_ms += event.at - self._paused_at

    @_take.register
    def _paired(self, event: ev.Paired) -> None:
        self.rounds = max(self.rounds, event.round)
        self.paired_at = self.revision + 1
        self.ordered = 0
        if event.byes:
            self.byes[event.round] = self.byes.get(event.round, ()) + event.byes
        for meeting in event.meetings:
            self.meetings.append(meeting)
            self.games.extend(meeting.games)
            self._open[meeting.number] = len(meeting.games)
            self._paired_at[meeting.number] = event.at
            for player in {meeting.first, meeting.second}:
                self.meetings_of[player].append(meeting)
            self._meet(Pair(meeting.first, meeting.second), meeting.number)
            for game in meeting.games:
                self._wait(game)

    def _meet(self, pair: Pair, meeting: int) -> None:
        """Note that a meeting is of a pair."""
        players = frozenset(pair.players)
        encounter = Encounter(self._pairs.setdefault(players, len(self._pairs)), self.met[players])
        self.encounters[meeting - 1] = encounter
        self.met[players] += 1
        self.lead[pair.first] += 1
        self.lead[pair.second] -= 1

    @_take.register
    def _begun(self, event: ev.Begun) -> None:
        self._forget(event.game)
        self.attempts[event.game] = event.attempt
        self.running[event.game] = RunningGame(event.attempt, event.match)

    @_take.register
    def _ended_game(self, event: ev.EndedGame) -> None:
        self._forget(event.game)
        self.running.pop(event.game, None)
        how = (event.reason, event.cause, event.moves, event.versions)
        result = self.as_played[event.game] = GameResult(event.winner, event.match, *how)
        self.results[event.game] = self._counting_result(event.game)
        self.changed[event.game] = self.revision + 1
        game = self.games[event.game - 1]
        for seat, player in ((1, game.seat1), (2, game.seat2)):
            if result.fault(seat) == "crashes":
                self.attended[player] = False
            elif result.reason not in (WALKOVER, UNPLAYED, ELSEWHERE):
                self.attended[player] = True
        meeting = game.meeting
        self._open[meeting] -= 1
        if not self._open[meeting]:
            del self._open[meeting]
            self._meeting_ended(meeting, event.at)

    def _meeting_ended(self, meeting: int, at: int) -> None:
        began = self._paired_at.pop(meeting)
        if meeting not in self.ends:  # if it is, a game of it was played again: how long that took is no measure
            self._meetings_ms += at - began
            ended = len(self.ends) + self.old.meetings
            self.ends[meeting] = MeetingEnd(at, self._meetings_ms // (ended + 1))

    @_take.register
    def _voided(self, event: ev.Voided) -> None:
        self.running.pop(event.game, None)
        self._wait(self.games[event.game - 1])

    @_take.register
    def _ruled(self, event: ev.Ruled) -> None:
        self.rulings[event.game].append(event)
        self.ruled_at[event.game] = self.revision + 1
        self.decided_at = self.revision + 1
        self._recount([event.game])

    @_take.register
    def _corrected(self, event: ev.Corrected) -> None:
        self.corrections.append(event)
        self.decided_at = self.revision + 1
        match event.what:
            case cor.Disqualify(player):
                before = self._entries[player] = self.entrants[player]
                out = Disqualified(event.what, event.caller, event.note, self.revision + 1)
                self.disqualified[player] = out
                left = before.left if before.withdrawn else self.rounds
                self.entrants[player] = before._replace(withdrawn=True, left=left, disqualified=True)
                self._recount(self._games_of(player))
            case cor.Reinstate(player):
                del self.disqualified[player]
                self.entrants[player] = self._entries.pop(player)
                if self.seeds and player not in self.seeds:  # it was disqualified before the start
                    self.entrants[player] = self.entrants[player]._replace(joined=self.rounds + 1)
                    self.seeds.append(player)
                self._recount(self._games_of(player))
            case cor.Replay(game):
                self._replay(game, event.at)
            case cor.Award(player, points):
                self.awarded[player] += points
            case cor.DrawLots():
                self.lots.append(event.what)
            case _:
                self._pair_by_hand(event.what, event.caller)

    def _pair_by_hand(self, what: cor.OfPairing, caller: str) -> None:
        match what:
            case cor.Forbid(first, second, lifted):
                pair = frozenset({frozenset((first, second))})
                self.forbidden = self.forbidden - pair if lifted else self.forbidden | pair
            case cor.Hold(off):
                self.held_by = "" if off else caller
                is_between = self.phase is TournamentPhase.PAUSED and self.all_decided()  # two rounds
                self.held_after = self.rounds + 1 if is_between else self.rounds
            case cor.PairByHand(round_, pairs):
                if self.spec.format not in REARRANGED:
                    kept = self.by_hand.get(round_, NOTHING).of_round(self.of_round(round_))
                    self.by_hand[round_] = kept.with_pairs(pairs)
                    self._unpair(round_)
                else:
                    self._rearrange(round_, pairs)
            case cor.GiveBye(player, round_, points):
                asked = self.by_hand.get(round_, NOTHING).without({player})
                if points == WIN:
                    asked = asked._replace(byes=(*asked.byes, player))
                else:
                    entrant = self.entrants[player]
                    self.entrants[player] = entrant._replace(byes=(*entrant.byes, round_))
                self.by_hand[round_] = asked
                self._unpair(round_)
            case cor.PairRound(round_, afresh):
                if afresh:
                    self.by_hand.pop(round_, None)
                self._unpair(round_)
                self.ordered = round_

    def _unpair(self, round_: int) -> None:
        """Take back the pairing of the last round, of which no game has begun; walkovers in it do not count.

        The numbers of its games are used again. If a match is just being created for one of these, its attempt is over.
        """
        if round_ != self.rounds:
            return
        gone = self.of_round(round_)
        for meeting in gone:
            self._give_up(meeting.games)
            self._paired_at.pop(meeting.number, None)
            self.ends.pop(meeting.number, None)
            self._open.pop(meeting.number, None)
            for player in meeting.players:
                self.meetings_of[player].pop()
        self.meetings.cut(len(gone))
        self.encounters.cut(len(gone))
        self.games.cut(sum(len(meeting.games) for meeting in gone))
        self.byes.pop(round_, None)
        self.rounds = round_ - 1
        self.ordered = round_ if self.phase is TournamentPhase.PAUSED else 0
        for player, each in self.entrants.items():
            self.entrants[player] = each._replace(joined=min(each.joined, round_), left=min(each.left, self.rounds))

    def _rearrange(self, round_: int, pairs: Collection[tuple[str, str]]) -> None:
        """Give the meetings of some players in a round, of which no game has begun, to other pairs of them."""
        named = {player for pair in pairs for player in pair}
        old = [meeting for meeting in self.of_round(round_) if not named.isdisjoint(meeting.players)]
        for before, pair in zip(old, (Pair(*each) for each in pairs), strict=True):
            first = before.games[0].number
            [meeting] = make_meetings(self.spec, [pair], round_, before.number - 1, first - 1)
            self._give_up(before.games)
            self.meetings[meeting.number - 1] = meeting
            for game in meeting.games:
                self.games[game.number - 1] = game
            for player in before.players:
                self.meetings_of[player].remove(before)
            for player in pair.players:
                self.meetings_of[player] = sorted([*self.meetings_of[player], meeting])
            if set(pair.players) != set(before.players):
                self._meet(pair, meeting.number)
            for game in meeting.games:
                self._wait(game)

    def _give_up(self, games: Iterable[ScheduledGame]) -> None:
        for game in games:
            self._forget(game.number)
            for known in (self.results, self.as_played, self.rulings, self.ruled_at, self.changed):
                known.pop(game.number, None)
            self.attempts[game.number] += 1
            self.tries[game.number] = self.attempts[game.number]

    def _games_of(self, player: str) -> list[int]:
        games = (game.number for meeting in self.meetings_of[player] for game in meeting.games)
        return [number for number in games if number in self.results]

    def _counting_result(self, number: int) -> GameResult:
        game = self.games[number - 1]
        seats = [self.disqualified.get(player) for player in game.players] if game.seat1 != game.seat2 else []
        rulings = self.rulings.get(number, ())
        return counting_result(self.as_played[number], seats, rulings, self.ruled_at.get(number, 0))

    def _recount(self, numbers: Iterable[int]) -> None:
        """Set the results of some games to what counts after the decision that is applied now."""
        for number in numbers:
            if self._bracket_has_gone_on(number):
                self.bracket_results.setdefault(number, self.results[number])
            self.results[number] = self._counting_result(number)
            self.changed[number] = self.revision + 1

    def _bracket_has_gone_on(self, number: int) -> bool:
        """Return whether a player of a game of a bracket has been paired in another tie since."""
        game = self.games[number - 1]
        place = self.meetings[game.meeting - 1].place
        later = (self.meetings_of[player][-1] for player in game.players)
        return bool(place) and any(meeting.number > game.meeting and meeting.place != place for meeting in later)

    def _replay(self, number: int, at: int) -> None:
        """Let a game that has a result wait for being played again."""
        game = self.games[number - 1]
        del self.results[number], self.as_played[number]
        self.rulings.pop(number, None)
        self.changed[number] = self.revision + 1
        self.tries[number] = self.attempts[number]
        self._open[game.meeting] = self._open.get(game.meeting, 0) + 1
        self._paired_at.setdefault(game.meeting, at)
        self._wait(game)

    @_take.register
    def _ended(self, event: ev.Ended) -> None:
        self.phase = TournamentPhase.ENDED
        self.end = event
        self.running.clear()
        self._waiting_of.clear()

    def _wait(self, game: ScheduledGame) -> None:
        for player in (game.seat1, game.seat2):
            games = self._waiting_of[player]
            is_last = game.number > next(reversed(games), 0)
            games[game.number] = game
            if not is_last:  # it is played again
                self._waiting_of[player] = dict(sorted(games.items()))

    def _forget(self, number: int) -> None:
        for player in self.games[number - 1].players:
            games = self._waiting_of.get(player, {})
            games.pop(number, None)
            if not games:
                self._waiting_of.pop(player, None)


def _score(results: Mapping[int, GameResult], meeting: Meeting, player: str) -> int:
    return sum(
        results[game.number].half_points(1 if game.seat1 == player else 2)
        for game in meeting.games
        if game.number in results
    )


def _meeting_points(results: Mapping[int, GameResult], meeting: Meeting, player: str) -> int:
    opponent = meeting.second if meeting.first == player else meeting.first
    mine, other = _score(results, meeting, player), _score(results, meeting, opponent)
    if len(meeting.games) == 1 or mine != other:
        return mine if len(meeting.games) == 1 else WIN if mine > other else LOSS
    played = any(results[game.number].played for game in meeting.games)
    return DRAW if mine and played else LOSS


def replay(events: Iterable[ev.Event]) -> Tournament:
    """Return the tournament of a log. Raises ValueError if the log does not start with its creation."""
    stream = iter(events)
    created = next(stream, None)
    if not isinstance(created, ev.Created):
        raise ValueError("a tournament's log begins with its creation")
    tournament = Tournament(created)
    for event in stream:
        tournament.apply(event)
    return tournament
