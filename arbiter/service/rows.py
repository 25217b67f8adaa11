"""What lists of matches show, derived from events."""

from __future__ import annotations

from arbiter.matches.events import Created, Ended
from arbiter.matches.match import Match
from arbiter.service.ports import MatchEnd, MatchRow


def row_of(created: Created) -> MatchRow:
    """Return what lists show of a match from its first event on."""
    return MatchRow(
        match_id=created.match,
        game=created.game,
        player_1=created.players[0],
        player_2=created.players[1],
        time_control=created.time,
        rated=created.rated,
        label=created.label,
        creator=created.creator,
        request_id=created.request,
        created_ms=created.at,
    )


def end_of(match: Match) -> MatchEnd:
    """Return what lists show of a match's end; it has ended."""
    ended = match.result
    assert isinstance(ended, Ended)
    return MatchEnd(
        result=ended.result.value,
        winner=ended.winner,
        reason=ended.reason,
        cause=ended.cause.value,
        party=ended.party.value,
        seat=ended.seat or 0,
        note=ended.note,
        ended_ms=ended.at,
        position=match.text,
        ply=match.ply,
        version_1=match.versions[0],
        version_2=match.versions[1],
    )
