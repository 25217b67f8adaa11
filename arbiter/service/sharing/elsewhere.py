"""The matches of a shared store, as other servers change them.

Every server keeps all unfinished matches of the store live, and follows the log to keep them current. So each server
can decide every command, counts all matches, and has a timer for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from arbiter.matches.events import Ended
from arbiter.matches.match import Match, Phase
from arbiter.service.matches.attendance import Attendance
from arbiter.service.matches.decisions import Decisions
from arbiter.service.matches.live_match import LiveMatch, is_settled
from arbiter.service.matches.recovery import Recovery
from arbiter.service.ports.journal import RecordUnreadable, RulesMissing, StoredRecord, Subject
from arbiter.service.record.match_log import Loading, event_of
from arbiter.service.record.published import Published, published


class MatchesElsewhere:
    """Keeps live matches level with the log. A `Follower` calls `log_grown`."""

    def __init__(self, decisions: Decisions, attendance: Attendance, recovery: Recovery) -> None:
        self._decisions = decisions
        self._attendance = attendance
        self._live = decisions.live
        self._recovery = recovery
        self._behind: dict[str, int] = {}  # matches that can't be updated now: the last revision in the log
        self._over: dict[str, int] = {}  # matches that have ended here: their last record, which is yet to come

    def match_changed(self, match: Match, events: Sequence[Published]) -> None:
        """Remember a match that has ended until its last record comes: its first one does not begin it again."""
        if match.phase is Phase.ENDED and events:
            self._over[match.id] = events[-1].sequence

    def log_grown(self, found: Sequence[StoredRecord]) -> None:
        """Apply the new records of matches, except those that this server has written itself."""
        of_match: dict[str, list[StoredRecord]] = {}
        for record in found:
            if record.subject is Subject.MATCH:
                of_match.setdefault(record.match_id, []).append(record)
        for match_id, records in of_match.items():
            live = self._live.find(match_id)
            if live is not None:
                self._bring_on(live, records)
            elif match_id in self._over:
                pass  # the listeners know all of it
            elif records[0].revision == 1 and not self._live.draining:
                self._begin(records)
            elif self._live.is_too_new(match_id) and _is_end(records[-1]):
                self._live.note_end_elsewhere(match_id)
        if found:
            place = found[-1].sequence
            self._over = {match_id: last for match_id, last in self._over.items() if last > place}
        self._look_again()

    def _begin(self, records: Sequence[StoredRecord]) -> None:
        """Make a match live that another server has created; the listeners get its events so far."""
        loading = Loading()
        try:
            events = [loading.add(record) for record in records]
        except RecordUnreadable as damage:
            self._live.note_unreadable(records[0].match_id, damage)
            return
        match = loading.match
        if not match.game.installed:
            self._live.note_unreadable(match.id, RulesMissing(match.id, match.created.game, match.holders))
            return
        live = self._live.enter(match)
        self._decisions.became_durable(live, live.newest, published(records, events, match.created.label))
        if match.phase is not Phase.ENDED:
            self._decisions.watch(live)
            self._attendance.note_present_players(live)

    def _bring_on(self, live: LiveMatch, records: Sequence[StoredRecord]) -> None:
        known = live.durable.revision if live.durable is not None else 0
        match_id, fresh = live.newest.id, [record for record in records if record.revision > known]
        if not fresh:
            return
        if live.durable is None or not is_settled(live) or fresh[0].revision != known + 1:
            self._behind[match_id] = fresh[-1].revision
            return
        loading = Loading(live.durable)
        try:
            events = [loading.add(record) for record in fresh]
        except RecordUnreadable as damage:
            self._decisions.set_aside(live, damage)
            return
        self._decisions.catch_up(live, loading.match, fresh, events)
        if loading.match.phase is not Phase.ENDED:  # players of this server may be absent for the other server
            self._attendance.note_present_players(live)

    def _look_again(self) -> None:
        """Read the matches that have fallen behind. Those that are busy are checked again at the next call."""
        for match_id, revision in list(self._behind.items()):
            live = self._live.find(match_id)
            if live is None or (live.durable is not None and live.durable.revision >= revision):
                del self._behind[match_id]
            elif live.durable is not None and is_settled(live):
                self._recovery.take_in(live)


def _is_end(record: StoredRecord) -> bool:
    try:
        return isinstance(event_of(record), Ended)
    except RecordUnreadable:
        return False
