"""Whole exported tournaments are verified offline: sound ones hold, and each change of one is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from arbiter.event_json.canonical import decode, digest, encode
from arbiter.keys.key_ring import holds
from arbiter.matches.signing import Signature, Statement, checking
from arbiter.service.ports.journal import Subject
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.service.record import tournament_log
from arbiter.service.tournaments.exported import FORM, exported
from arbiter.service.tournaments.tournament_verification import TournamentError, VerifiedTournament, verify
from arbiter.testing.clock import run
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import OneKey
from arbiter.tournaments import commands as do
from arbiter.tournaments.corrections import Disqualify, DrawLots, GiveBye, PairByHand, Reinstate, Results
from arbiter.tournaments.events import Decision
from arbiter.tournaments.spec import Format
from tests.matches.test_transcript import leaves
from tests.service.tournaments.contest import Contest, spec_of

pytestmark = pytest.mark.long

KEY = OneKey()
CHECK = checking(KEY.public_keys(), holds)


class Export:
    """An exported tournament: its file, and the transcripts of its matches."""

    def __init__(self, data: bytes, matches: dict[str, bytes]) -> None:
        self.data = data
        self.matches = matches

    @property
    def lines(self) -> list[bytes]:
        """The lines of the file."""
        return self.data.splitlines()

    def verified(self, data: bytes | None = None, **changed: bytes | None) -> VerifiedTournament:
        """Return what it holds, with another file or other transcripts."""
        matches = {**self.matches, **changed}
        return run(verify(self.data if data is None else data, matches.get, CHECK, InProcessRating()))

    def refused(self, data: bytes | None = None, **changed: bytes | None) -> TournamentError:
        """Return the error with which it is refused."""
        with pytest.raises(TournamentError) as error:
            self.verified(data, **changed)
        return error.value


async def played(
    format_: Format,
    players: int,
    absent: Sequence[str] = (),
    leaves: bool = True,
    rulings: Sequence[do.AfterTheEnd] = (),
    before: Sequence[do.Request] = (),
    **options: Any,
) -> Export:
    """Play a tournament, and export it. absent: players who are gone when it starts. leaves: the last one withdraws.

    rulings: made after the end. before: made before the start.
    """
    contest = Contest(players, server=InMemoryArbiter(signer=KEY))
    tournament_id = await contest.open(spec_of(format_, **options))
    for name in absent:
        await contest.leave(name)
    for request in before:
        await contest.act(tournament_id, request)
    await contest.act(tournament_id, do.Start("org", "start"))
    if leaves:
        await contest.act(tournament_id, do.Withdraw(contest.names[-1], "org", "leave"))
    await contest.ended(tournament_id)
    for ruling in rulings:
        await contest.act(tournament_id, ruling)
    return await export_of(contest, tournament_id)


async def export_of(contest: Contest, tournament_id: str) -> Export:
    """Export a tournament of a server whose signer is KEY."""
    journal = contest.server.journal
    records = await journal.read(tournament_id, subject=Subject.TOURNAMENT)
    log = tournament_log.read(tournament_id, records)
    data = await exported(log, [record.body for record in records], KEY, InProcessRating())
    matches = {}
    for event in log.events:
        match_id = getattr(event, "match", "")
        if match_id and match_id not in matches:
            parts = [part async for part in contest.server.arbiter.transcripts.parts(match_id)]
            matches[match_id] = b"".join(parts)
    return Export(data, matches)


@pytest.fixture(scope="module")
def export() -> Export:
    return run(played(Format.ROUND_ROBIN, 4))


@pytest.mark.parametrize("format_", [each for each in Format if each is not Format.TRIAL])
def test_a_tournament_of_each_format_holds_though_a_player_withdraws(format_: Format) -> None:
    options: dict[str, Any] = {"duration_ms": 500} if format_ in (Format.ARENA, Format.LADDER) else {}
    found = run(played(format_, 5, **options))
    assert found.verified().tournament.end is not None


@pytest.mark.parametrize("policy", [{}, {"no_show": "void"}])
@pytest.mark.parametrize("format_", [Format.ROUND_ROBIN, Format.SWISS, Format.KNOCKOUT])
def test_a_tournament_with_absent_players_holds(format_: Format, policy: dict[str, str]) -> None:
    found = run(played(format_, 5, absent=("p000", "p001"), policy={**policy, "no_show_ms": 2_000}))
    assert found.verified().tournament.end is not None


@pytest.mark.parametrize("most_meetings", [1, 500])
def test_the_verdict_of_a_trial_is_computed_again(most_meetings: int) -> None:
    options: dict[str, Any] = {"paired": True, "elo0": 0, "elo1": 400, "most_meetings": most_meetings}
    found = run(played(Format.TRIAL, 2, leaves=False, **options))
    assert found.verified().tournament.end is not None
    *log, end, table, signature = found.lines
    for changed in (end.replace(b"ratio", b"ration"), end.replace(b'"note":"', b'"note":"h1: ')):
        assert "its test says" in found.refused(forged([*log, changed, table, signature])).problem


def test_a_trial_that_ends_because_a_player_does_not_come_holds() -> None:
    options: dict[str, Any] = {"paired": True, "most_meetings": 100, "policy": {"no_show_ms": 2_000}}
    found = run(played(Format.TRIAL, 2, absent=("p001",), leaves=False, **options))
    assert found.verified().tournament.end is not None


def test_an_export_with_rulings_holds_and_none_can_be_forged_or_left_out() -> None:
    rulings = (
        do.Rule("org", "r1", 1, Decision.POINTS, (1, 0), "helped by an engine"),
        do.Rule("org", "r2", 2, Decision.VOID, (), "wrong opening"),
        do.Rule("org", "r3", 2, Decision.STANDS, (), "it was right"),
    )
    ruled = run(played(Format.ROUND_ROBIN, 4, rulings=rulings))
    found = ruled.verified()
    assert found.tournament.results[1].ruling is not None
    assert found.tournament.results[2].ruling is None
    assert [each.decision for each in found.tournament.rulings[2]] == [Decision.VOID, Decision.STANDS]
    last = max(number for number, line in enumerate(ruled.lines) if b'"kind":"ruled"' in line)
    left_out = b"".join(line + b"\n" for line in (*ruled.lines[:last], *ruled.lines[last + 1 :]))
    assert ruled.refused(left_out).problem


@pytest.mark.parametrize("format_", [Format.ROUND_ROBIN, Format.SWISS, Format.KNOCKOUT])
def test_an_export_with_corrections_holds_and_none_can_be_left_out(format_: Format) -> None:
    decisions = (
        do.Correct("org", "c1", Disqualify("p001", True, Results.FORFEIT), "an engine"),
        do.Correct("org", "c2", Reinstate("p001"), "it was not"),
        do.Correct("org", "c3", Disqualify("p000", True, Results.VOID), "this one"),
        do.Correct("org", "c4", DrawLots(("p001", "p002"), "s"), "level"),
        do.Rule("org", "r1", 1, Decision.POINTS, (1, 1), "after all"),
    )
    corrected = run(played(format_, 4, rulings=decisions))
    found = corrected.verified()
    assert [each.what for each in found.tournament.corrections] == [each.what for each in decisions[:4]]
    assert found.table.rows[-1].disqualified
    number = max(number for number, line in enumerate(corrected.lines) if b'"correct":"disqualify"' in line)
    assert corrected.refused(forged([*corrected.lines[:number], *corrected.lines[number + 1 :]])).problem
    stolen = corrected.lines[number].replace(b"p000", b"p002")
    assert corrected.refused(forged([*corrected.lines[:number], stolen, *corrected.lines[number + 1 :]])).problem


def test_an_export_with_pairings_by_hand_holds_and_says_what_they_break() -> None:
    rematch = [do.Correct("org", f"p{n}", PairByHand(n, (("p002", "p000"),)), "a show") for n in (1, 2)]
    export = run(played(Format.SWISS, 6, leaves=False, before=[*rematch, do.Correct("org", "b", GiveBye("p001", 1))]))
    found = export.verified()
    assert "round 2: p002 and p000 meet again" in found.broken
    number = max(number for number, line in enumerate(export.lines) if b'"correct":"pair"' in line)
    assert export.refused(forged([*export.lines[:number], *export.lines[number + 1 :]])).problem
    other = export.lines[number].replace(b'"round":2', b'"round":3')
    assert export.refused(forged([*export.lines[:number], other, *export.lines[number + 1 :]])).problem


def test_a_sound_export_holds(export: Export) -> None:
    verified = export.verified()
    assert verified.matches == export.matches.keys() != set()
    assert verified.table.rows[0].rating is not None
    assert verified.key == KEY.public_keys()[0].key_id


def test_each_changed_byte_is_refused(export: Export, seeds: int) -> None:
    """Every byte with many seeds, otherwise one of several: of the last lines fewer, since all is computed before."""
    log = sum(len(line) + 1 for line in export.lines[:-2])
    places = [*range(0, log, 1 if seeds > 20 else 11), *range(log, len(export.data), 1 if seeds > 20 else 97)]
    for place in places:
        changed = bytearray(export.data)
        changed[place] ^= 1
        assert export.refused(bytes(changed)).problem, place


def test_each_changed_byte_of_a_transcript_is_refused(export: Export) -> None:
    match_id, data = next(iter(export.matches.items()))
    for place in range(0, len(data), 97):
        changed = bytearray(data)
        changed[place] ^= 1
        assert match_id in export.refused(**{match_id: bytes(changed)}).problem, place


def test_a_missing_or_exchanged_transcript_is_named(export: Export) -> None:
    one, other = list(export.matches)[:2]
    assert export.refused(**{one: None}).problem == f"the transcript of match {one} is missing"
    assert f"is that of {other}" in export.refused(**{one: export.matches[other]}).problem


def test_a_truncated_file_is_refused(export: Export) -> None:
    lines = export.lines
    for number in range(len(lines)):
        assert export.refused(b"".join(line + b"\n" for line in lines[:number])).problem, number
    for cut in range(1, len(export.data), 101):
        assert export.refused(export.data[:cut]).problem
    assert export.refused(export.data[:-1]).problem == "cut off: the line has no end"


@pytest.mark.parametrize(
    "line", [b"", b"x", b"[]", b"{}", b'{"kind":1}', b"\xff", b"1e400", b"[" * 5_000, b'{"kind":"paired"}', b"null"]
)
def test_hostile_lines_are_refused_by_name(export: Export, line: bytes) -> None:
    for place in (0, 3, len(export.lines) - 2, len(export.lines) - 1):
        changed = [line if number == place else each for number, each in enumerate(export.lines)]
        assert export.refused(b"".join(each + b"\n" for each in changed)).problem


def forged(lines: Sequence[bytes]) -> bytes:
    """Return a file with an unbroken chain and a valid signature: what a dishonest arbiter could write."""
    previous, found = "0" * 64, list[bytes]()
    for number, line in enumerate(lines[:-1], 1):
        value = decode(line)
        assert isinstance(value, dict)
        found.append(encode({**value, "previous": previous, "revision": number}))
        previous = digest(found[-1])
    statement = Statement("t000001", len(found), previous, KEY.public_keys()[0].key_id, form=FORM)
    signature = Signature(statement, KEY.sign(statement.key, statement.message()))
    return b"".join(line + b"\n" for line in (*found, signature.line()))


def other(line: bytes, path: tuple[Any, ...]) -> bytes:
    """Return a line with another value at a path."""
    value: Any = json.loads(line)
    inner = value
    for name in path[:-1]:
        inner = inner[name]
    old = inner[path[-1]]
    inner[path[-1]] = not old if isinstance(old, bool) else old + (1 if isinstance(old, int) else "x")
    return encode(value)


def changed_lines(export: Export, kind: str, fields: Callable[[tuple[Any, ...]], bool]) -> Iterator[list[bytes]]:
    """Yield the lines of a file with one field of one line of a kind changed."""
    for number, line in enumerate(export.lines):
        value: Any = json.loads(line)
        if value["kind"] == kind:
            for path in leaves(value):
                if path[0] not in ("previous", "revision") and fields(path):
                    yield [other(line, path) if number == place else each for place, each in enumerate(export.lines)]


def test_an_unchanged_file_may_be_signed_again(export: Export) -> None:
    assert forged(export.lines) == export.data


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("paired", {"at", "round"}),
        ("game_begun", {"at"}),
        ("game_ended", {"at"}),
        ("tournament_standings", set()),
    ],
)
def test_what_follows_from_something_else_can_not_be_forged(export: Export, kind: str, kept: set[str]) -> None:
    """The signature is valid: each change is found because it contradicts matches, rules or arithmetic."""
    kinds = {json.loads(line)["kind"] for line in export.lines}
    assert kind in kinds, kinds
    tried = 0
    for lines in changed_lines(export, kind, lambda path: path[0] not in kept):
        assert export.refused(forged(lines)).problem
        tried += 1
    assert tried > 3


def test_a_left_out_or_repeated_event_is_found(export: Export) -> None:
    for number, line in enumerate(export.lines[:-2]):
        if json.loads(line)["kind"] in ("paired", "begun", "game_ended", "tournament_started", "tournament_ended"):
            assert export.refused(forged([*export.lines[:number], *export.lines[number + 1 :]])).problem
            assert export.refused(forged([*export.lines[: number + 1], line, *export.lines[number + 1 :]])).problem


async def gone_on() -> Export:
    """Have a tournament of four players go on after a round that was played elsewhere, and export it."""
    contest = Contest(4, server=InMemoryArbiter(signer=KEY))
    tournament_id = await contest.open(spec_of(Format.SWISS))
    results = {1: "2 w 1", 2: "1 b 0", 3: "4 b =", 4: "3 w ="}
    points = {"1": "1.0", "0": "0.0", "=": "0.5"}
    players = (f"001    {n}{'':72}{points[cell[-1]]}           {cell}" for n, cell in results.items())
    report = do.GoOn("org", "go on", "\n".join((*players, "XXP 1 4")), tuple(contest.names), ("",) * 4)
    await contest.act(tournament_id, report)
    await contest.ended(tournament_id)
    return await export_of(contest, tournament_id)


def test_what_follows_from_a_report_holds_and_can_not_be_forged_or_left_out() -> None:
    export = run(gone_on())
    found = export.verified()
    assert [found.tournament.results[number].match for number in (1, 2)] == ["", ""]
    first = next(number for number, line in enumerate(export.lines) if b'"kind":"played_elsewhere"' in line)
    last = max(number for number, line in enumerate(export.lines) if b'"kind":"corrected"' in line)
    assert last - first > 8, "entries, the start, a round, its results, a forbidden pair"
    for number in range(first, last + 1):
        assert export.refused(forged([*export.lines[:number], *export.lines[number + 1 :]])).problem
        line = export.lines[number]
        for path in leaves(json.loads(line)):
            if path[0] not in ("previous", "revision", "at", "request", "caller"):
                changed = [*export.lines[:number], other(line, path), *export.lines[number + 1 :]]
                assert export.refused(forged(changed)).problem, (line, path)
