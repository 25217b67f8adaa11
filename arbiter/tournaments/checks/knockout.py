"""The check of a knockout: a player is out after too many lost ties; a tie has two players and ends when decided."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.check import FormatCheck
from arbiter.tournaments.checks.history import EarlierRounds
from arbiter.tournaments.game_ends import NO_SHOW
from arbiter.tournaments.meetings import Meeting


class KnockoutCheck(FormatCheck):
    """Identifies ties by the `place` of their meetings."""

    pairs_withdrawn = True

    def round(self, history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
        """Check a paired round."""
        ties = _ties(history)
        lives = 2 if history.spec.options.double else 1
        lost: Counter[str] = Counter()
        for place, meetings in ties.items():
            if place.startswith("T"):
                continue
            if place in {meeting.place for meeting in event.meetings}:
                continue  # the tie continues
            players = {meetings[0].first, meetings[0].second}
            if all(history.done(meeting) for meeting in meetings):
                lost.update(players - _going_on(history, meetings))
        for meeting in event.meetings:
            tie = ties.get(meeting.place, [])
            if any({m.first, m.second} != {meeting.first, meeting.second} for m in tie):
                yield f"tie {meeting.place} has other players than before"
            if any(not history.done(m) for m in tie):
                yield f"tie {meeting.place} goes on before its last meeting has ended"
            complete = not history.rules or history.spec.paired or (len(tie) - history.spec.options.best_of) % 2 == 0
            complete = complete or len(tie) < history.spec.options.best_of
            if tie and complete and abs(_lead(history, tie)) > max(0, history.spec.options.best_of - len(tie)):
                yield f"tie {meeting.place} goes on though it is decided"
            if history.rules:
                yield from _begins_fairly(history, meeting, tie)
            for player in (meeting.first, meeting.second):
                if lost[player] >= lives and not meeting.place.startswith("T"):
                    yield f"{player} plays on in {meeting.place} after {lost[player]} lost ties"

    def end(self, history: EarlierRounds) -> Iterator[str]:
        """Check a completed tournament."""
        players = set(history.starters)
        met = {player for meeting in history.past() for player in (meeting.first, meeting.second)}
        nobody = any(not _going_on(history, meetings) for meetings in _ties(history).values())
        if len(players) > 1 and not players <= met and not nobody:
            yield f"{min(players - met)} never played"
        if history.rules and not history.spec.paired:
            for place, meetings in _ties(history).items():
                extra = len(meetings) - history.spec.options.best_of
                if extra > 0 and extra % 2 and not _absent(history, meetings):
                    yield f"tie {place} ended after one of two extra games"


def _begins_fairly(history: EarlierRounds, meeting: Meeting, tie: list[Meeting]) -> Iterator[str]:
    """Yield what is wrong with a further meeting of a tie: it waits for the absent again, or seats are not swapped."""
    if tie and _absent(history, tie):
        yield f"tie {meeting.place} goes on, and waits again for {min(_absent(history, tie))}"
    if tie and meeting.first == tie[-1].first:
        yield f"tie {meeting.place} goes on with {meeting.first} in seat 1 again"


def _absent(history: EarlierRounds, meetings: list[Meeting]) -> set[str]:
    """Return the players who did not come to a game of a tie, or had withdrawn."""
    found: set[str] = set()
    for meeting in meetings:
        for game in meeting.games:
            result = history.results.get(game.number)
            kept = history.kept.get(game.number)
            if history.decided(game.number) is not None if kept is None else kept.decided:
                continue
            if result is None or result.cause != "absence" or (result.match and result.reason != NO_SHOW):
                continue
            found |= {player for seat, player in ((1, game.seat1), (2, game.seat2)) if result.winner != seat}
    return found


def _lead(history: EarlierRounds, tie: list[Meeting]) -> int:
    margins = [history.margin(meeting, tie[0].first) for meeting in tie]
    return sum((margin > 0) - (margin < 0) for margin in margins)


def _ties(history: EarlierRounds) -> dict[str, list[Meeting]]:
    ties: defaultdict[str, list[Meeting]] = defaultdict(list)
    for meeting in history.past():
        ties[meeting.place].append(meeting)
    return ties


def _going_on(history: EarlierRounds, meetings: list[Meeting]) -> set[str]:
    """Return who may go on from a tie: its leader by meetings, then by games; both from a level one, as the lot says.

    Nobody, if neither came to a level tie. By the earlier rules, the better seed goes on from a level one.
    """
    players = sorted({meetings[0].first, meetings[0].second}, key=history.starters.index)
    first = players[0]
    leads = [history.margin(meeting, first) for meeting in meetings]
    meetings_won = sum((lead > 0) - (lead < 0) for lead in leads)
    if history.rules:
        absent = _absent(history, meetings)
        if len(absent) == 1 and abs(meetings_won) <= max(0, history.spec.options.best_of - len(meetings)):
            return set(players) - absent
        if len(absent) == 2 and not meetings_won:
            return set()
    verdict = meetings_won or sum(leads)
    if history.rules and not verdict:
        return set(players)
    return {players[1] if verdict < 0 else players[0]}
