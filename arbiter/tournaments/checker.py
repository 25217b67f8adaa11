"""An independent check: is what was paired legal? Code apart from the pairers, from the log alone.

The checker replays a log with bookkeeping of its own and shares nothing with the formats but the events. It says what
is wrong in words; an empty list means that every round was legal.

| format | what is checked |
| --- | --- |
| all | nobody is paired after it withdrew, before it entered, or twice at once in a round; nobody with itself but as a ladder's newcomer; meetings and games are numbered without gaps; a pair of games has both seatings; no game ends twice; void games are played again |
| round robin | each two meet equally often, as often as the cycles say; nobody twice in a round; seats differ by at most 1, none three times in a row (but with four players over more than two cycles) |
| gauntlet | heads meet all others, as often as the cycles say; no two heads, no two others meet |
| Swiss | nobody meets twice (but after a meeting without play); one bye at most a round, one a player, only with an odd number, none for who won without play; forbidden pairs never meet; byes that were asked for are given; seats differ by at most 2, none three times in a row but in the last round (C.04.3 C3); a round is complete before the next |
| knockout | nobody plays on who has lost too many ties; a tie has two players; it goes on only while it is open |
| arena, ladder | only those who were free are paired; no rematch while another opponent was free; newcomers first (ladder) |
| trial | the same two, seats in turns |
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, pairwise
from typing import Final

from arbiter.tournaments import events as ev
from arbiter.tournaments.meetings import Meeting
from arbiter.tournaments.spec import Format, Spec


def violations(log: Iterable[ev.Event]) -> list[str]:
    """Return what is wrong with the rounds of a tournament's log, in words and in order; [] if all of it is legal."""
    events = list(log)
    if not events or not isinstance(events[0], ev.Created):
        return ["the log does not begin with the tournament's creation"]
    check = _Check(events[0].spec)
    for event in events[1:]:
        check.take(event)
    return check.wrong


class _Check:
    """What has happened so far, kept in the checker's own way."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.wrong: list[str] = []
        self.order: list[str] = []  # players as they entered
        self.here: set[str] = set()
        self.gone: set[str] = set()
        self.asked: dict[str, tuple[int, ...]] = {}
        self.starters: list[str] = []
        self.meetings: dict[int, Meeting] = {}
        self.by_round: defaultdict[int, list[Meeting]] = defaultdict(list)
        self.byes: defaultdict[int, list[str]] = defaultdict(list)
        self.meeting_of_game: dict[int, int] = {}
        self.results: dict[int, ev.EndedGame] = {}
        self.open: dict[int, str] = {}
        self.attempts: Counter[int] = Counter()

    def say(self, text: str) -> None:
        self.wrong.append(text)

    def take(self, event: ev.Event) -> None:
        match event:
            case ev.Entered():
                if event.player in self.here:
                    self.say(f"{event.player} entered twice")
                self.order.append(event.player)
                self.here.add(event.player)
                self.gone.discard(event.player)
                self.asked[event.player] = event.byes
            case ev.Withdrawn():
                self.here.discard(event.player)
                self.gone.add(event.player)
            case ev.Started():
                self.starters = list(event.seeds)
            case ev.Paired():
                self._paired(event)
            case ev.Begun():
                self._begun(event)
            case ev.EndedGame():
                self._ended(event)
            case ev.Voided():
                if self.open.pop(event.game, None) != event.match:
                    self.say(f"game {event.game} was void without being under way")
            case ev.Ended() if event.end is ev.End.COMPLETE:
                self._complete()

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
            if player in self.gone and self.spec.format is not Format.KNOCKOUT:
                self.say(f"round {event.round}: {player} was paired after it withdrew")
        rule = _ROUND.get(self.spec.format)
        if rule is not None:
            self.wrong.extend(f"round {event.round}: {text}" for text in rule(self, event))
        for meeting in event.meetings:
            self.by_round[event.round].append(meeting)
        self.byes[event.round].extend(event.byes)

    def _meeting(self, meeting: Meeting, event: ev.Paired) -> None:
        where = f"meeting {meeting.number}"
        if meeting.number != len(self.meetings) + 1:
            self.say(f"{where} is out of order")
        self.meetings[meeting.number] = meeting
        players = {meeting.first, meeting.second}
        if len(players) == 1 and self.spec.format is not Format.LADDER:
            self.say(f"{where}: {meeting.first} was paired with itself")
        seatings: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for game in meeting.games:
            if game.number != len(self.meeting_of_game) + 1:
                self.say(f"game {game.number} is out of order")
            self.meeting_of_game[game.number] = meeting.number
            if {game.seat1, game.seat2} != players:
                self.say(f"{where}: game {game.number} is of others")
            seatings[game.game].append((game.seat1, game.seat2))
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
        self.open[event.game] = event.match
        meeting = self.meetings.get(self.meeting_of_game.get(event.game, 0))
        if meeting is None:
            self.say(f"game {event.game} was begun, but never paired")

    def _ended(self, event: ev.EndedGame) -> None:
        if event.game in self.results:
            self.say(f"game {event.game} ended twice")
        under_way = self.open.pop(event.game, "")
        if event.match != under_way:
            self.say(f"game {event.game} ended by match {event.match!r}, but was under way as {under_way!r}")
        self.results[event.game] = event

    def _complete(self) -> None:
        left = [number for number in self.meeting_of_game if number not in self.results]
        if left:
            self.say(f"it is complete, but game {left[0]} has no result")
        rule = _END.get(self.spec.format)
        if rule is not None:
            self.wrong.extend(rule(self))

    # What rules ask

    def past(self) -> Iterator[Meeting]:
        """Yield the meetings of earlier rounds."""
        for meetings in self.by_round.values():
            yield from meetings

    def margin(self, meeting: Meeting, player: str) -> int:
        """Return by how many games' points a player has won a meeting so far."""
        total = 0
        for game in meeting.games:
            result = self.results.get(game.number)
            if result is not None and result.winner:
                total += 1 if (game.seat1, game.seat2)[result.winner - 1] == player else -1
        return total

    def played(self, meeting: Meeting) -> bool:
        """Return whether any game of a meeting was played."""
        return any(game.number in self.results and self.results[game.number].match for game in meeting.games)

    def done(self, meeting: Meeting) -> bool:
        """Return whether all games of a meeting have ended."""
        return all(game.number in self.results for game in meeting.games)

    def seats(self, player: str) -> list[int]:
        """Return the seats that a player was given in the first games of its meetings that were played, in order."""
        return [
            1 if meeting.first == player else 2
            for meeting in self.past()
            if player in (meeting.first, meeting.second) and meeting.first != meeting.second and self.played(meeting)
        ]


def _swiss(check: _Check, event: ev.Paired) -> Iterator[str]:
    met = {frozenset((m.first, m.second)) for m in check.past() if check.played(m)}
    never = {frozenset(pair) for pair in check.spec.entry.forbidden}
    paired = {player for meeting in event.meetings for player in (meeting.first, meeting.second)}
    for meeting in check.past():
        if not check.done(meeting):
            yield f"meeting {meeting.number} of round {meeting.round} was still being played"
    for meeting in event.meetings:
        pair = frozenset((meeting.first, meeting.second))
        if pair in met:
            yield f"{meeting.first} and {meeting.second} meet again"
        if pair in never:
            yield f"{meeting.first} and {meeting.second} must not meet"
    yield from _swiss_byes(check, event)
    expected = {player for player in check.here if event.round not in check.asked[player]}
    if event.meetings and paired | set(event.byes) != expected:
        yield f"paired were {sorted(paired | set(event.byes) ^ expected)[:5]} other than those who play"
    last = event.round == check.spec.options.rounds
    for meeting in event.meetings:
        for seat, player in ((1, meeting.first), (2, meeting.second)):
            seats = [*check.seats(player), seat]
            if not last and (seats[-3:] == [seat] * 3 or abs(seats.count(1) - seats.count(2)) > 2):
                yield f"{player} has seat {seat} too often"


def _swiss_byes(check: _Check, event: ev.Paired) -> Iterator[str]:
    if len(event.byes) > 1:
        yield f"{len(event.byes)} players have a bye"
    for player in event.byes:
        if any(player in byes for byes in check.byes.values()):
            yield f"{player} has a second bye"
        for meeting in check.past():
            mine = player in (meeting.first, meeting.second)
            if mine and not check.played(meeting) and check.margin(meeting, player) > 0:
                yield f"{player} has a bye, and has won without play before"


def _round_robin(check: _Check, event: ev.Paired) -> Iterator[str]:
    size = len(check.starters)
    expected = size // 2
    if len(event.meetings) != expected:
        yield f"{len(event.meetings)} meetings, expected {expected}"


def _round_robin_end(check: _Check) -> Iterator[str]:
    times = Counter(frozenset((m.first, m.second)) for m in check.past())
    first = Counter(m.first for m in check.past())
    second = Counter(m.second for m in check.past())
    for pair in combinations(check.starters, 2):
        if times[frozenset(pair)] != check.spec.options.cycles:
            yield f"{pair[0]} and {pair[1]} met {times[frozenset(pair)]} times"
    for player in check.starters:
        if abs(first[player] - second[player]) > 1:
            yield f"{player} had seat 1 {first[player]} times and seat 2 {second[player]} times"
        held = [meeting.first == player for meeting in check.past() if player in (meeting.first, meeting.second)]
        if len(check.starters) == 4 and check.spec.options.cycles > 2:
            continue  # the tables of four cannot do it over more cycles
        if any(seats in ((True,) * 3, (False,) * 3) for seats in zip(held, held[1:], held[2:], strict=False)):
            yield f"{player} had one seat three times in a row"


def _sides(check: _Check) -> tuple[set[str], set[str]]:
    playing = [player for player in check.order if player in set(check.starters)]
    heads = min(check.spec.options.heads, len(playing) - 1)
    return set(playing[:heads]), set(playing[heads:])


def _gauntlet(check: _Check, event: ev.Paired) -> Iterator[str]:
    heads, _ = _sides(check)
    for meeting in event.meetings:
        if (meeting.first in heads) == (meeting.second in heads):
            yield f"{meeting.first} and {meeting.second} are of the same side"


def _gauntlet_end(check: _Check) -> Iterator[str]:
    heads, others = _sides(check)
    times = Counter(frozenset((m.first, m.second)) for m in check.past())
    for head in heads:
        for other in others:
            if times[frozenset((head, other))] != check.spec.options.cycles:
                yield f"{head} and {other} met {times[frozenset((head, other))]} times"


def _ties(check: _Check) -> dict[str, list[Meeting]]:
    ties: defaultdict[str, list[Meeting]] = defaultdict(list)
    for meeting in check.past():
        ties[meeting.place].append(meeting)
    return ties


def _tie_winner(check: _Check, meetings: list[Meeting]) -> str:
    """Return who leads a tie: by meetings, then by games, then by seed."""
    players = sorted({meetings[0].first, meetings[0].second}, key=check.starters.index)
    first = players[0]
    leads = [check.margin(meeting, first) for meeting in meetings]
    meetings_won = sum((lead > 0) - (lead < 0) for lead in leads)
    verdict = meetings_won or sum(leads)
    return players[1] if verdict < 0 else players[0]


def _knockout(check: _Check, event: ev.Paired) -> Iterator[str]:
    ties = _ties(check)
    lives = 2 if check.spec.options.double else 1
    lost: Counter[str] = Counter()
    for place, meetings in ties.items():
        if place.startswith("T"):
            continue
        if place in {meeting.place for meeting in event.meetings}:
            continue  # it goes on
        players = {meetings[0].first, meetings[0].second}
        if all(check.done(meeting) for meeting in meetings):
            lost.update(players - {_tie_winner(check, meetings)})
    for meeting in event.meetings:
        tie = ties.get(meeting.place, [])
        if any({m.first, m.second} != {meeting.first, meeting.second} for m in tie):
            yield f"tie {meeting.place} has other players than before"
        if any(not check.done(m) for m in tie):
            yield f"tie {meeting.place} goes on before its last meeting has ended"
        if tie and abs(_lead(check, tie)) > max(0, check.spec.options.best_of - len(tie)):
            yield f"tie {meeting.place} goes on though it is decided"
        for player in (meeting.first, meeting.second):
            if lost[player] >= lives and not meeting.place.startswith("T"):
                yield f"{player} plays on in {meeting.place} after {lost[player]} lost ties"


def _lead(check: _Check, tie: list[Meeting]) -> int:
    margins = [check.margin(meeting, tie[0].first) for meeting in tie]
    return sum((margin > 0) - (margin < 0) for margin in margins)


def _knockout_end(check: _Check) -> Iterator[str]:
    players = set(check.starters)
    met = {player for meeting in check.past() for player in (meeting.first, meeting.second)}
    if len(players) > 1 and not players <= met:
        yield f"{min(players - met)} never played"


def _free(check: _Check, event: ev.Paired) -> Iterator[str]:
    free = set(event.free)
    for meeting in event.meetings:
        for player in (meeting.first, meeting.second):
            if player not in free:
                yield f"{player} was paired, and was not free"
    never = {frozenset(pair) for pair in check.spec.entry.forbidden}
    for meeting in event.meetings:
        if frozenset((meeting.first, meeting.second)) in never:
            yield f"{meeting.first} and {meeting.second} must not meet"


def _last(check: _Check, player: str) -> str:
    found = ""
    for meeting in check.past():
        if player in (meeting.first, meeting.second) and meeting.first != meeting.second:
            found = meeting.second if meeting.first == player else meeting.first
    return found


def _arena(check: _Check, event: ev.Paired) -> Iterator[str]:
    yield from _free(check, event)
    never = {frozenset(pair) for pair in check.spec.entry.forbidden}

    def again(first: str, second: str) -> bool:
        return _last(check, first) == second or _last(check, second) == first

    def fresh(first: str, second: str) -> bool:
        return not again(first, second) and frozenset((first, second)) not in never

    paired = {player for meeting in event.meetings for player in (meeting.first, meeting.second)}
    alone = [player for player in event.free if player not in paired]
    rematches = [(m.first, m.second) for m in event.meetings if again(m.first, m.second)]
    for first, second in rematches:
        # One who was left over could have taken the place of either.
        for other in alone:
            if fresh(first, other) or fresh(second, other):
                yield f"{first} and {second} meet again, though {other} was free"
    for (a, b), (c, d) in combinations(rematches, 2):  # two rematches could have changed opponents
        if (fresh(a, c) and fresh(b, d)) or (fresh(a, d) and fresh(b, c)):
            yield f"{a} and {b} meet again, though {c} and {d} were free"


def _ladder(check: _Check, event: ev.Paired) -> Iterator[str]:
    yield from _free(check, event)
    if not check.spec.options.validation:
        return
    alone = {m.first for m in check.past() if m.first == m.second and check.done(m)}
    for meeting in event.meetings:
        if meeting.first != meeting.second:
            for player in (meeting.first, meeting.second):
                if player not in alone:
                    yield f"{player} was paired before it played against itself"


def _trial(check: _Check, event: ev.Paired) -> Iterator[str]:
    sequence = [*check.past(), *event.meetings]
    for before, after in pairwise(sequence[-2:]):
        if (before.first, before.second) != (after.second, after.first):
            yield f"meeting {after.number} has not the seats of meeting {before.number}, swapped"


_ROUND: Final[dict[Format, Callable[[_Check, ev.Paired], Iterator[str]]]] = {
    Format.ROUND_ROBIN: _round_robin,
    Format.GAUNTLET: _gauntlet,
    Format.SWISS: _swiss,
    Format.KNOCKOUT: _knockout,
    Format.ARENA: _arena,
    Format.LADDER: _ladder,
    Format.TRIAL: _trial,
}

_END: Final[dict[Format, Callable[[_Check], Iterator[str]]]] = {
    Format.ROUND_ROBIN: _round_robin_end,
    Format.GAUNTLET: _gauntlet_end,
    Format.KNOCKOUT: _knockout_end,
}
