"""The checks of formats of teams, written from the rules that `arbiter.tournaments.formats.teams` states.

A team has its players in the order of entry, with its boards for the first ones. After each round those who have left
are replaced, in the order of entry, by the first other player who is still there and has no board.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.check import FormatCheck
from arbiter.tournaments.checks.history import EarlierRounds
from arbiter.tournaments.meetings import Meeting


class _OfTeamsCheck(FormatCheck):
    """What the checks of all formats of teams have in common."""

    pairs_withdrawn = True

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check that each team that is paired has one opponent, and each board its players in their seats."""
        boards, matches = history.spec.boards, _matches(history, event.meetings)
        met = Counter(team for teams in matches for team in teams)
        for team, times in met.items():
            if times > 1:
                yield f"team {team} meets {times} teams"
        everybody = history.spec.rounds_a_match > 1
        for teams, meetings in matches.items():
            if len(teams) != 2:
                yield f"players of team {min(teams)} meet each other"
                continue
            turn = (event.round - 1) % boards if everybody else 0
            first = history.team[meetings[0].second if turn % 2 else meetings[0].first]
            [second] = teams - {first}
            lines = [_line_up(history, team, event.round) for team in (first, second)]
            expected = []
            for board in range(1, boards + 1):
                other = (board + turn - 1) % boards + 1
                pair = (lines[0][board - 1], lines[1][other - 1])
                first_moves = (board + other) % 2 == 0 if everybody else board % 2 == 1
                expected.append(pair if first_moves else pair[::-1])
            if [(each.first, each.second) for each in meetings] != expected:
                yield f"the match of {first} and {second} should be {', '.join(map(' – '.join, expected))}"


class RoundRobinOfTeamsCheck(_OfTeamsCheck):
    """All teams meet once in each cycle; the times that a team has seat 1 on board 1 differ by at most 1."""

    def end(self, history: EarlierRounds) -> Iterator[str]:
        """Check a completed tournament."""
        options = history.spec.options
        teams = [team for team, players in _teams(history).items() if _whole(history, players)]
        rounds = history.spec.rounds_a_match
        times: Counter[frozenset[str]] = Counter()
        first: Counter[str] = Counter()
        for number, meetings in history.by_round.items():
            for pair, played in _matches(history, tuple(meetings)).items():
                times[pair] += 1
                if number % rounds == 1 % rounds:
                    first[history.team[played[0].first]] += 1
        for one, other in combinations(teams, 2):
            if times[frozenset((one, other))] != options.cycles * rounds:
                yield f"teams {one} and {other} met in {times[frozenset((one, other))]} rounds"
        for team in teams:
            if abs(2 * first[team] - options.cycles * (len(teams) - 1)) > 1:
                yield f"team {team} had seat 1 on board 1 {first[team]} times"


class SwissOfTeamsCheck(_OfTeamsCheck):
    """No two teams meet again after a match that was played; no team has two byes, and one at most has one a round.

    All teams with a player who is there play. Of two teams, the one that had seat 1 on board 1 less often has it.
    """

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check a paired round."""
        yield from super().round(history, event)
        for meeting in history.past():
            if not history.done(meeting):
                yield f"meeting {meeting.number} of round {meeting.round} was still being played"
        yield from _bye_faults(history, event)
        met, lead = _earlier(history)
        for teams, meetings in _matches(history, event.meetings).items():
            first = history.team[meetings[0].first]
            if teams in met:
                yield f"teams {' and '.join(sorted(teams))} meet again"
            if teams in history.forbidden:
                yield f"teams {' and '.join(sorted(teams))} must not meet"
            if any(lead[other] < lead[first] for other in teams):
                yield f"team {first} has seat 1 on board 1, and the other one had it less often"


def _bye_faults(history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
    """Yield what is wrong with who has a bye, and who is not paired."""
    byes = {history.team[player] for player in event.byes}
    earlier = {history.team[player] for players in history.byes.values() for player in players}
    if len(byes) > 1:
        yield f"{len(byes)} teams have a bye"
    for team in byes & earlier:
        yield f"team {team} has a second bye"
    there = {history.team[player] for player in history.here}
    missing = there - byes - {history.team[player] for meeting in event.meetings for player in meeting.players}
    if event.meetings and missing:
        yield f"team {min(missing)} was not paired"


def _earlier(history: EarlierRounds) -> tuple[set[frozenset[str]], Counter[str]]:
    """Return the teams that have played each other, and how much more often each team had seat 1 on board 1."""
    met: set[frozenset[str]] = set()
    lead: Counter[str] = Counter()
    for meetings in history.by_round.values():
        for teams, played in _matches(history, tuple(meetings)).items():
            first = history.team[played[0].first]
            lead.update({first: 1})
            lead.subtract(teams - {first})
            if any(map(history.played, played)):
                met.add(teams)
    return met, lead


def _teams(history: EarlierRounds) -> dict[str, list[str]]:
    """Return the players of each team, in order."""
    playing = set(history.starters) | history.back_from.keys()
    found: dict[str, list[str]] = {}
    for player in history.order:
        if player in playing:
            found.setdefault(history.team[player], []).append(player)
    return {team: sorted(players, key=lambda each: history.back_from.get(each, 1)) for team, players in found.items()}


def _whole(history: EarlierRounds, players: list[str]) -> bool:
    return sum(history.back_from.get(each, 1) == 1 for each in players) >= history.spec.boards


def _line_up(history: EarlierRounds, team: str, round_: int) -> list[str]:
    """Return who has the boards of a team in a round."""
    players, boards = _teams(history)[team], history.spec.boards
    seated = players[:boards]
    for past in range(round_):
        for player in players:
            if history.left.get(player) == past and player in seated:
                waiting = [each for each in players if each not in seated and history.left.get(each, round_) > past]
                if waiting:
                    seated[seated.index(player)] = waiting[0]
    return seated


def _matches(history: EarlierRounds, meetings: tuple[Meeting, ...]) -> dict[frozenset[str], list[Meeting]]:
    """Return the meetings of a round by the two teams that meet, in order."""
    found: dict[frozenset[str], list[Meeting]] = {}
    for meeting in meetings:
        found.setdefault(frozenset((history.team[meeting.first], history.team[meeting.second])), []).append(meeting)
    return found
