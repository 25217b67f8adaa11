"""The check of a knockout: a player is out after too many lost ties; a tie has two players and ends when decided."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.check import FormatCheck
from arbiter.tournaments.checks.history import EarlierRounds
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
                lost.update(players - {_tie_winner(history, meetings)})
        for meeting in event.meetings:
            tie = ties.get(meeting.place, [])
            if any({m.first, m.second} != {meeting.first, meeting.second} for m in tie):
                yield f"tie {meeting.place} has other players than before"
            if any(not history.done(m) for m in tie):
                yield f"tie {meeting.place} goes on before its last meeting has ended"
            if tie and abs(_lead(history, tie)) > max(0, history.spec.options.best_of - len(tie)):
                yield f"tie {meeting.place} goes on though it is decided"
            for player in (meeting.first, meeting.second):
                if lost[player] >= lives and not meeting.place.startswith("T"):
                    yield f"{player} plays on in {meeting.place} after {lost[player]} lost ties"

    def end(self, history: EarlierRounds) -> Iterator[str]:
        """Check a completed tournament."""
        players = set(history.starters)
        met = {player for meeting in history.past() for player in (meeting.first, meeting.second)}
        if len(players) > 1 and not players <= met:
            yield f"{min(players - met)} never played"


def _lead(history: EarlierRounds, tie: list[Meeting]) -> int:
    margins = [history.margin(meeting, tie[0].first) for meeting in tie]
    return sum((margin > 0) - (margin < 0) for margin in margins)


def _ties(history: EarlierRounds) -> dict[str, list[Meeting]]:
    ties: defaultdict[str, list[Meeting]] = defaultdict(list)
    for meeting in history.past():
        ties[meeting.place].append(meeting)
    return ties


def _tie_winner(history: EarlierRounds, meetings: list[Meeting]) -> str:
    """Return the leader of a tie: by meetings, then by games, then by seed."""
    players = sorted({meetings[0].first, meetings[0].second}, key=history.starters.index)
    first = players[0]
    leads = [history.margin(meeting, first) for meeting in meetings]
    meetings_won = sum((lead > 0) - (lead < 0) for lead in leads)
    verdict = meetings_won or sum(leads)
    return players[1] if verdict < 0 else players[0]
