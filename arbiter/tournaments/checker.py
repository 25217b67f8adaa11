"""An independent check that pairings are legal. It uses the log alone, and code that is separate from the pairers.

The checker replays a log with its own bookkeeping (`arbiter.tournaments.checks`) and shares only the events with the
formats. It describes each fault in words; an empty list means that every round was legal.

Rules for all formats: nobody is paired after withdrawing, before entering, or twice at once in a round; nobody is
paired with itself (except a ladder's newcomer); meetings and games are numbered without gaps; a pair of games has both
seatings; no game ends twice; void games are played again, no more than `attempts` times; nobody wins by walkover after
withdrawing, or without having come to its own last game. Each module of `arbiter.tournaments.checks` adds the rules of
its format. What an organiser has paired by hand may break some of these; it has to be done as it was asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from arbiter.tournaments import checks, trf
from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.correction_checks import Decisions
from arbiter.tournaments.checks.hand_pairings import is_by_hand, undone
from arbiter.tournaments.checks.history import EarlierRounds, is_void
from arbiter.tournaments.checks.openings import OpeningsCheck
from arbiter.tournaments.game_ends import ABSENCE, ELSEWHERE, NO_SHOW, UNPLAYED, WALKOVER
from arbiter.tournaments.meetings import Meeting, Pair
from arbiter.tournaments.spec import Spec


def violations(log: Iterable[ev.Event]) -> list[str]:
    """Return the faults in the rounds of a tournament's log, in words and in order; [] if everything is legal."""
    check = _checked(log)
    return check.wrong if check is not None else ["the log does not begin with the tournament's creation"]


def broken_by_hand(log: Iterable[ev.Event]) -> list[str]:
    """Return which rules of its format a tournament breaks where an organiser has paired by hand, in words."""
    check = _checked(log)
    return check.broken if check is not None else []


def would_break(log: Iterable[ev.Event], round_: int, pairs: Iterable[Pair], byes: Iterable[str]) -> list[str]:
    """Return which rules of its format some pairs and byes of a round break, after the events of a log, in words."""
    check = _checked(log)
    if check is None:
        return []
    meetings = tuple(Meeting(0, round_, pair.first, pair.second, "", ()) for pair in pairs)
    return check.broken_by(ev.Paired(0, round_, meetings, tuple(byes)))


def _checked(log: Iterable[ev.Event]) -> _Check | None:
    events = iter(log)
    first = next(events, None)
    if not isinstance(first, ev.Created):
        return None
    check = _Check(first.spec)
    for event in events:
        check.take(event)
    return check


class _Check(EarlierRounds):
    """The rules of all formats, event by event."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.wrong: list[str] = []
        self.broken: list[str] = []  # by hand
        self._format = checks.of(spec)
        self._openings = OpeningsCheck(spec, self._format.same_openings(spec.options))

    def say(self, text: str) -> None:
        self.wrong.append(text)

    def take(self, event: ev.Event) -> None:
        self.events += 1
        match event:
            case ev.Entered():
                self._entered(event)
            case ev.Withdrawn():
                self.leave(event.player)
            case ev.EntryChanged():
                self._entry_changed(event)
            case ev.PlayedElsewhere() | ev.Started():
                self._started(event)
            case ev.Paired():
                self._paired(event)
            case ev.Begun():
                self._begun(event)
            case ev.EndedGame():
                self._ended(event)
            case ev.Voided():
                if self.open.pop(event.game, None) != event.match:
                    self.say(f"game {event.game} was void without being under way")
            case ev.Ruled() | ev.Corrected():
                self._decided(event)
            case ev.Ended():
                self._over(event)

    def _entered(self, event: ev.Entered) -> None:
        if event.player in self.here:
            self.say(f"{event.player} entered twice")
        if event.player not in self.order:  # a player that enters again keeps its place
            self.order.append(event.player)
        if bool(event.team) != bool(self.spec.boards):
            self.say(f"{event.player} entered {'with' if event.team else 'without'} a team")
        self.come_back(event.player)
        self.team[event.player] = event.team
        self.ratings[event.player] = event.rating
        self.asked[event.player] = event.byes

    def _entry_changed(self, event: ev.EntryChanged) -> None:
        if event.player not in self.here:
            self.say(f"the entry of {event.player} was changed, but it does not play")
        if self.starters and event.rating != self.ratings.get(event.player):
            self.say(f"the seed of {event.player} was changed after the start")
        past = max(self.by_round, default=0)
        for round_ in set(event.byes) ^ set(self.asked.get(event.player, ())):
            if round_ <= past:
                self.say(f"the bye of {event.player} in round {round_} was changed when this was paired already")
        self.ratings[event.player] = event.rating
        self.asked[event.player] = event.byes

    def _played_elsewhere(self, text: str) -> None:
        report = trf.read(text)
        rounds = [
            n for each in report.players for n, cell in enumerate(each.cells, 1) if cell.opponent or cell.result == "U"
        ]
        self.elsewhere = max(rounds, default=0)
        self.virtual = max((len(each.half_points) for each in report.others.virtual), default=0)

    def _started(self, event: ev.PlayedElsewhere | ev.Started) -> None:
        if isinstance(event, ev.PlayedElsewhere):
            self._played_elsewhere(event.report)
            return
        self.starters = list(event.seeds)
        self.rules = event.rules
        if self.elsewhere is not None:
            return  # the report says in which order
        ordered = sorted((player for player in self.order if player in self.here), key=lambda p: -self.ratings[p])
        if self.starters != ordered:
            self.say(f"the seeds are {', '.join(self.starters)}, but should be {', '.join(ordered)}")

    def _paired(self, event: ev.Paired) -> None:
        seen: Counter[str] = Counter()
        for meeting in event.meetings:
            seen.update({meeting.first, meeting.second})
            self._meeting(meeting, event)
        seen.update(event.byes)
        for player, times in seen.items():
            if times > 1:
                self.say(f"round {event.round}: {player} was paired {times} times at once")
            if player not in self.here | self.gone:
                self.say(f"round {event.round}: {player} never entered")
            if player in self.gone and not self._format.pairs_withdrawn:
                self.say(f"round {event.round}: {player} was paired after it withdrew")
        if not self.is_of_report(event.round):
            self._rules(event)
        for meeting in event.meetings:
            self.by_round[event.round].append(meeting)
            for player in {meeting.first, meeting.second}:
                self.meetings_of[player].append(meeting)
            self.met[frozenset((meeting.first, meeting.second))] += 1
            self.paired_at[meeting.number], self.going_on[meeting.number] = event.at, meeting
        self.byes[event.round].extend(event.byes)
        self.sitting[event.round] = {player for player in self.here if event.round in self.asked[player]}

    def _rules(self, event: ev.Paired) -> None:
        """Check a round by the rules of the format."""
        self.wrong.extend(f"round {event.round}: {text}" for text in self._format.round(self, event))
        self.wrong.extend(undone(self, event))
        said = self.broken if is_by_hand(self, event.round) else self.wrong
        said.extend(f"round {event.round}: {text}" for text in self._format.legal(self, event))

    def _meeting(self, meeting: Meeting, event: ev.Paired) -> None:
        where = f"meeting {meeting.number}"
        if meeting.number != len(self.meetings) + 1:
            self.say(f"{where} is out of order")
        self.meetings[meeting.number] = meeting
        self._openings.paired(meeting)
        players = {meeting.first, meeting.second}
        if len(players) == 1 and not self._format.pairs_alone:
            self.say(f"{where}: {meeting.first} was paired with itself")
        seatings: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for game in meeting.games:
            if game.number != len(self.meeting_of_game) + 1:
                self.say(f"game {game.number} is out of order")
            self.meeting_of_game[game.number] = meeting.number
            if {game.seat1, game.seat2} != players:
                self.say(f"{where}: game {game.number} is of others")
            seatings[game.game].append((game.seat1, game.seat2))
        if self.is_of_report(event.round):
            return  # one result for a meeting
        wanted = [(meeting.first, meeting.second), (meeting.second, meeting.first)]
        if not self.spec.paired or len(players) == 1:
            wanted = wanted[:1]
        for name in self.spec.games:
            if seatings.pop(name, []) != wanted:
                self.say(f"{where}: the seatings in {name} are wrong")
        if seatings:
            self.say(f"{where} has games that the tournament does not play")

    def _begun(self, event: ev.Begun) -> None:
        if event.game in self.open or event.game in self.results:
            self.say(f"game {event.game} was begun twice")
        self.attempts[event.game] += 1
        if event.attempt != self.attempts[event.game]:
            self.say(f"game {event.game}: attempt {event.attempt} is out of order")
        if event.attempt - self.granted[event.game] > self.spec.attempts:
            self.say(f"game {event.game} was begun {event.attempt} times, of {self.spec.attempts} at most")
        self.open[event.game] = event.match
        meeting = self.meetings.get(self.meeting_of_game.get(event.game, 0))
        if meeting is None:
            self.say(f"game {event.game} was begun, but never paired")
            return
        game = next(game for game in meeting.games if game.number == event.game)
        self.wrong.extend(self._openings.begun(game, event.opening, event.position, event.entry))

    def _ended(self, event: ev.EndedGame) -> None:
        if event.game in self.results:
            self.say(f"game {event.game} ended twice")
        under_way = self.open.pop(event.game, "")
        if event.match != under_way:
            self.say(f"game {event.game} ended by match {event.match!r}, but was under way as {under_way!r}")
        if (
            not event.match
            and event.reason in (NO_SHOW, UNPLAYED)
            and self.attempts[event.game] - self.granted[event.game] < self.spec.attempts
        ):
            self.say(f"game {event.game} was given up after attempt {self.attempts[event.game]}")
        self._walkover(event)
        if is_void(event):
            self.say(f"game {event.game} has the void match {event.match!r} as its result")
        self.results[event.game] = event
        meeting = self.going_on.get(self.meeting_of_game.get(event.game, 0))
        if meeting is not None and self.done(meeting):
            del self.going_on[meeting.number]
            self.ended_at.setdefault(meeting.number, event.at)

    def _walkover(self, event: ev.EndedGame) -> None:
        """Check who wins by a walkover, and note who came to a game."""
        meeting = self.meetings.get(self.meeting_of_game.get(event.game, 0))
        games = meeting.games if meeting is not None else ()
        game = next((each for each in games if each.number == event.game), None)
        if game is None:
            return
        for seat, player in ((1, game.seat1), (2, game.seat2)):
            if event.reason == ELSEWHERE:
                continue
            if event.reason != WALKOVER:
                if event.reason != UNPLAYED or event.cause == ABSENCE:
                    self.came[player] = event.cause != ABSENCE or event.winner == seat
            elif event.winner == seat and player in self.gone:
                self.say(f"game {event.game}: {player} won by walkover, though it had withdrawn")
            elif event.winner == seat and not self.came.get(player, True):
                self.say(f"game {event.game}: {player} won by walkover, though it did not come to its own last game")

    def _decided(self, event: ev.Ruled | ev.Corrected) -> None:
        if isinstance(event, ev.Corrected):
            known = dict(self.meetings)
            self.wrong.extend(Decisions(self, self._format).take(event.what))
            for number, meeting in self.meetings.items():
                before = known[number]
                if {meeting.first, meeting.second} != {before.first, before.second}:
                    self._openings.paired(meeting)
            return
        if event.game not in self.results:
            self.say(f"game {event.game} was ruled on without a result")
        if (event.decision is ev.Decision.POINTS) != (len(event.points) == 2) or sum(event.points) > 2:
            self.say(f"game {event.game}: the ruling gives {event.points} half points")
        self.keep([event.game])
        self.ruled_at[event.game] = self.events
        self.rulings.pop(event.game, None)
        if event.decision is not ev.Decision.STANDS:
            self.rulings[event.game] = event

    def _over(self, event: ev.Ended) -> None:
        if event.end is not ev.End.COMPLETE:
            return
        left = [number for number in self.meeting_of_game if number not in self.results]
        if left:
            self.say(f"it is complete, but game {left[0]} has no result")
        self.wrong.extend(self._format.end(self))
        (self.broken if self.pairs_by_hand else self.wrong).extend(self._format.legal(self, None))

    def broken_by(self, event: ev.Paired) -> list[str]:
        """Return what is wrong with a round that would come next, or with all rounds, where they follow from tables."""
        return [*self._format.legal(self, event), *self._format.legal(self, None)]
