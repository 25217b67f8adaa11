"""Checks a whole exported tournament: its log, the transcripts of its matches, its standings, ratings and signature.

Nothing that follows from something else is believed. Pairings are checked by `arbiter.tournaments.checker`, games by
their transcripts (`arbiter.matches.transcript`), results by deciding again what the end of each match means, standings
and ratings by computing them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from arbiter.event_json.canonical import MalformedRecordError, NotCanonicalError, decode, digest, encode
from arbiter.games import registry
from arbiter.matches import transcript
from arbiter.matches.match import Match
from arbiter.matches.signing import CheckSignature, read_signature
from arbiter.matches.transcript import TranscriptError
from arbiter.plain_text import plain
from arbiter.service.record.tournament_log import Chain
from arbiter.service.tournaments.exported import FORM, final_table, standings_line
from arbiter.service.tournaments.game_matches import DAMAGED, creation, occasion_of, report
from arbiter.service.tournaments.own_ratings import Rater
from arbiter.service.tournaments.trial_decision import PairTest
from arbiter.tournaments import commands as do
from arbiter.tournaments import engine, formats
from arbiter.tournaments import events as ev
from arbiter.tournaments.book_order import Opening
from arbiter.tournaments.checker import broken_by_hand, violations
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.standings import Table
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.tournaments.walkovers import due

MOST_SHOWN: Final = 1_000  #: characters of a problem: parts of it may come from the file

Transcripts = Callable[[str], bytes | None]
"""Returns the transcript of a match, or None if there is none."""


class TournamentError(Exception):
    """An invalid export. `line`: of the tournament's file, from 1, or 0 for the whole; `problem`: what is wrong."""

    def __init__(self, line: int, problem: str) -> None:
        shown = plain(problem[:MOST_SHOWN])
        super().__init__(f"line {line}: {shown}" if line else shown)
        self.line = line
        self.problem = shown


class VerifiedTournament(NamedTuple):
    """A valid export: the tournament at its end, its standings, the ids of its matches, and the key that signed.

    broken: the rules of its format that it breaks where the organiser has paired by hand, in words.
    unchecked: its games whose rules are not installed here. Their moves, clocks and strikes were not checked, nor the
    openings and the end of a trial that follow from these rules.
    """

    tournament: Tournament
    table: Table
    matches: frozenset[str]
    key: str
    broken: list[str]
    unchecked: list[str]


async def verify(
    data: bytes, transcripts: Transcripts, check_signature: CheckSignature, rater: Rater
) -> VerifiedTournament:
    """Return what an export holds after verifying all of it. Raises TournamentError for the first fault."""
    lines = _lines(data)
    events = _events(lines[:-2])
    tournament, matches = _replayed(events, transcripts, check_signature)
    if tournament.end is None:
        raise TournamentError(len(lines) - 1, "expected the end of the tournament, found the standings")
    try:
        faults = [*violations(events), *trial_faults(tournament)]
        table = await final_table(tournament, rater)
    except Exception as error:  # a hostile log may contradict itself in any way
        raise TournamentError(0, f"the events can't follow each other: {error!r}") from error
    for fault in faults:
        raise TournamentError(0, f"it breaks the rules of its format: {fault}")
    wanted = standings_line(tournament.id, len(events), digest(lines[-3]), table)
    if lines[-2] != wanted:
        raise TournamentError(len(lines) - 1, _difference(lines[-2], wanted))
    signed = _signed(lines, tournament, check_signature)
    unchecked = [game for game in tournament.spec.games if not registry.installed(game)]
    return VerifiedTournament(tournament, table, matches, signed, broken_by_hand(events), unchecked)


def trial_faults(tournament: Tournament) -> list[str]:
    """Return what is wrong with the end of a trial: its test is computed again.

    Older ones end undecided in silence, wait for absent players to the last meeting, or say the verdict in other words.
    """
    end = tournament.end
    if end is None or not formats.of(tournament.spec).ends_by_test or end.end not in (ev.End.DECIDED, ev.End.COMPLETE):
        return []
    test = PairTest(tournament)
    for each in (test, PairTest(tournament, patient=True)):
        wanted = ev.End.DECIDED if each.has_decided else ev.End.COMPLETE
        said = ("",) if end.end is ev.End.COMPLETE else ()
        if end.end is wanted and end.note in (each.answer(), each.answer(older=True), *said):
            return []
    if not all(map(registry.installed, tournament.spec.games)):
        return []  # how many openings there are, after which games only come again, follows from the rules
    return [f"the trial ends {end.end.value} with {end.note!r}, but its test says {test.answer() or 'nothing'!r}"]


def _lines(data: bytes) -> list[bytes]:
    *lines, rest = data.split(b"\n")
    if rest:
        raise TournamentError(len(lines) + 1, "cut off: the line has no end")
    if len(lines) < 3:
        raise TournamentError(len(lines) + 1, "expected a log, the standings and the signature, found the end")
    for number, line in enumerate(lines, 1):
        try:
            value = decode(line)
            canonical = encode(value)
        except NotCanonicalError as error:
            raise TournamentError(number, f"not a record: {error}") from None
        if canonical != line:
            raise TournamentError(number, "not in canonical form")
        kind = value.get("kind") if isinstance(value, dict) else None
        if (kind == FORM.kind) != (number == len(lines)):
            raise TournamentError(number, f"kind is {str(kind)[:60]!r}: the signature is the last line, and no other")
    return lines


def _events(lines: Sequence[bytes]) -> list[ev.Event]:
    first = decode(lines[0])
    chain, events = Chain(str(first.get("tournament")) if isinstance(first, dict) else ""), list[ev.Event]()
    for number, line in enumerate(lines, 1):
        try:
            events += chain.follow([line])
        except MalformedRecordError as error:
            raise TournamentError(number, str(error)) from None
        if number > 1 and events[-1].at < events[-2].at:
            raise TournamentError(number, f"at is {events[-1].at}, expected {events[-2].at} or later")
    created = events[0]
    if not isinstance(created, ev.Created) or created.tournament != chain.tournament:
        raise TournamentError(1, "expected the event that makes the tournament")
    return events


class _Replay:
    """The tournament after some of its events, and the matches that they name."""

    def __init__(self, created: ev.Created, transcripts: Transcripts, check_signature: CheckSignature) -> None:
        self.tournament = Tournament(created)
        self.matches: dict[str, Match] = {}
        self._transcripts = transcripts
        self._check_signature = check_signature
        self._follows: tuple[ev.Event, ...] = ()  # what the end of the last match led to
        self._reported: list[ev.Event] = []  # what a report leads to, and is still to come

    def take(self, event: ev.Event) -> None:
        """Check an event and apply it. Raises ValueError with what is wrong."""
        if isinstance(event, ev.Started) and self.tournament.phase is not TournamentPhase.ENTRY:
            raise ValueError("the tournament starts twice")
        if isinstance(event, ev.PlayedElsewhere):
            self._played_elsewhere(event)
        if self._reported:
            if event != self._reported.pop(0):
                raise ValueError(f"{event} does not follow from the report")
        elif isinstance(event, ev.Begun):
            self._begun(event)
        elif isinstance(event, ev.EndedGame | ev.Voided):
            self._ended(event)
        elif isinstance(event, ev.Ruled | ev.Corrected):
            self._decided(event)
        apply(self.tournament, event)

    def _played_elsewhere(self, event: ev.PlayedElsewhere) -> None:
        command = do.GoOn(event.caller, event.request, event.report, event.players, event.versions)
        decided = engine.decide(self.tournament, command, event.at)
        if decided.refusal is not None:
            raise ValueError(f"its report is not allowed: {decided.refusal}")
        self._reported = list(decided.events)

    def _begun(self, event: ev.Begun) -> None:
        match = self._match(event.match)
        made, game = match.created, self._game(event.game)
        wanted = creation(self.tournament, game, event.attempt, made.policy, Opening(event.opening, event.position))
        place = occasion_of(match) if made.request == wanted.request else None
        if place is None:
            raise ValueError(f"match {match.id} was made for {made.request[:60]!r}, expected {wanted.request!r}")
        for name in (
            "game",
            "players",
            "time",
            "rated",
            "label",
            "creator",
            "opening",
            "position",
            "adjudication",
            "policy",
        ):
            found, expected = getattr(made, name), getattr(wanted, name)
            if found != expected and not (name == "adjudication" and found is None):
                raise ValueError(f"match {match.id} has {name} {found!r}, expected {expected!r}")

    def _ended(self, event: ev.EndedGame | ev.Voided) -> None:
        self._game(event.game)
        if not event.match:
            if event not in (*self._follows, *due(self.tournament, event.at)):
                raise ValueError(f"{event} is a result without a match, which follows from no withdrawal or absence")
            return
        running = self.tournament.running.get(event.game)
        if running is None or running.match != event.match:
            raise ValueError(f"game {event.game} ends by match {event.match}, which is not its match")
        if isinstance(event, ev.Voided) and event.reason == DAMAGED:
            return
        decided = engine.decide(self.tournament, report(event.game, self._match(event.match)), event.at).events
        self._follows = decided
        if event not in decided:
            follows = "; ".join(map(str, decided)) or "nothing"
            raise ValueError(f"{event} does not follow from match {event.match}, from which follows {follows}")

    def _decided(self, event: ev.Ruled | ev.Corrected) -> None:
        command: do.AfterTheEnd
        if isinstance(event, ev.Ruled):
            command = do.Rule(event.caller, event.request, event.game, event.decision, event.points, event.note)
        else:
            command = do.Correct(event.caller, event.request, event.what, event.note)
        decided = engine.decide(self.tournament, command, event.at)
        if decided.events[:1] != (event,):
            raise ValueError(f"{event} is not allowed: {decided.refusal or 'the request was made before'}")

    def _game(self, number: int) -> ScheduledGame:
        if not 1 <= number <= len(self.tournament.games):
            raise ValueError(f"game {number} was not paired")
        return self.tournament.games[number - 1]

    def _match(self, match_id: str) -> Match:
        if match_id in self.matches:
            return self.matches[match_id]
        data = self._transcripts(match_id)
        if data is None:
            raise ValueError(f"the transcript of match {match_id} is missing")
        try:
            match = transcript.verify(data, self._check_signature).match
        except TranscriptError as error:
            raise ValueError(f"the transcript of match {match_id} is not valid: {error}") from None
        if match.id != match_id:
            raise ValueError(f"the transcript of match {match_id} is that of {match.id}")
        self.matches[match_id] = match
        return match


def _replayed(
    events: Sequence[ev.Event], transcripts: Transcripts, check_signature: CheckSignature
) -> tuple[Tournament, frozenset[str]]:
    created = events[0]
    assert isinstance(created, ev.Created)
    replay = _Replay(created, transcripts, check_signature)
    for number, event in enumerate(events[1:], 2):
        try:
            if replay.tournament.end is not None and not isinstance(event, ev.Ruled | ev.Corrected):
                raise ValueError("expected the standings: the tournament has ended")
            replay.take(event)
        except ValueError as error:
            raise TournamentError(number, str(error)) from None
        except Exception as error:  # a hostile log may contradict itself in any way
            raise TournamentError(number, f"it can't follow the events before: {error!r}") from error
    return replay.tournament, frozenset(replay.matches)


def _difference(line: bytes, wanted: bytes) -> str:
    found, expected = decode(line), decode(wanted)
    if not isinstance(found, dict) or not isinstance(expected, dict):
        return "expected the standings"
    for name, value in expected.items():
        if name != "rows" and found.get(name) != value:
            return f"{name} is {str(found.get(name))[:200]!r}, expected {str(value)[:200]!r}"
    rows, right = found.get("rows"), expected["rows"]
    for number, row in enumerate(right if isinstance(right, list) else ()):
        there = rows[number] if isinstance(rows, list) and number < len(rows) else None
        if there != row:
            return f"row {number + 1} of the standings is {str(there)[:400]}, expected {str(row)[:400]}"
    return "the standings have fields or rows that do not follow from the log"


def _signed(lines: Sequence[bytes], tournament: Tournament, check_signature: CheckSignature) -> str:
    number = len(lines)
    try:
        signature = read_signature(lines[-1], FORM)
    except MalformedRecordError as error:
        raise TournamentError(number, str(error)) from None
    assert tournament.end is not None
    problem = signature.statement.problem(tournament.id, number - 1, digest(lines[-2])) or check_signature(
        signature, tournament.end.at
    )
    if problem:
        raise TournamentError(number, problem)
    return signature.statement.key
