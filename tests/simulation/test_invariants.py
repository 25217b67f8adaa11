"""The invariants find each manipulation of the evidence of a simulation."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from arbiter.errors import Reason
from arbiter.matches.requests import Receipt
from arbiter.service.ports.directory import Challenge
from arbiter.service.record.tournament_log import Chain, StoredLog
from arbiter.testing.clock import NOON_MS
from arbiter.testing.guarantees import Bookmarked
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.testing.simulation.invariants import RunEvidence, violations
from arbiter.testing.simulation.invariants.challenges import challenges_end_in_one_way
from arbiter.testing.simulation.invariants.servers import clocks_agree, thoughts_are_measured
from arbiter.testing.simulation.invariants.tournaments import free_play_ends_in_time
from arbiter.testing.simulation.invariants.waits import (
    AGAIN_MS,
    NOTICED_MS,
    nobody_is_absent_whom_the_log_keeps,
    waits_for_the_log_are_charged_to_nobody,
)
from arbiter.testing.simulation.observations import (
    AskedStream,
    ChallengeAnswer,
    ChallengeStory,
    EndedStream,
    LogHold,
    LostServer,
    ReceivedRequest,
    SentTurn,
    TwoStreams,
)
from arbiter.testing.simulation.plan import draw
from arbiter.testing.simulation.run import Evidence, play_out
from arbiter.tournaments.events import Ended
from arbiter.tournaments.spec import Format, Options, Spec

SEED = 4
MATCHES = 12

Tamper = Callable[[Evidence], Any]


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    made = play_out(draw(SEED, MATCHES))
    assert violations(RunEvidence(made)) == []
    return made


def copied(evidence: Evidence) -> Evidence:
    """Return evidence that can be changed; answers and events stay the same objects, because they are immutable."""
    history = evidence.history
    lists: dict[str, Any] = {
        name: list(getattr(history, name)) for name in history.__slots__ if isinstance(getattr(history, name), list)
    }
    lists["readings"] = [
        replace(reading, parts=[list(part) for part in reading.parts], heads=list(reading.heads))
        for reading in history.readings
    ]
    return replace(evidence, history=replace(history, **lists), records=list(evidence.records))


def change_record(evidence: Evidence, old: bytes, new: bytes) -> None:
    """Change a word in the first record that has it, except the first record of each match."""
    n = next(n for n, record in enumerate(evidence.records) if old in record.body and record.revision > 1)
    record = evidence.records[n]
    evidence.records[n] = record._replace(body=record.body.replace(old, new, 1))


def forget_what_was_asked(evidence: Evidence) -> None:
    asked = evidence.history.asked
    player = asked[0].player
    asked[:] = [one for one in asked if one.player != player]


def answer_anew(evidence: Evidence) -> None:
    given = evidence.history.given
    for one in given:
        if isinstance(one.answer, Receipt) and one.answer.kind is not None:
            given.append(one._replace(answer=replace(one.answer, revision=one.answer.revision + 1)))
            return
    raise AssertionError("no event was acknowledged")


def answer_too_soon(evidence: Evidence) -> None:
    given = evidence.history.given
    n = next(n for n, one in enumerate(given) if not isinstance(one.answer, Exception) and one.answer.kind is not None)
    given[n] = given[n]._replace(head=0)


def forget_a_match(evidence: Evidence) -> None:
    last = evidence.records[-1].match_id
    evidence.records[:] = [record for record in evidence.records if record.match_id != last]


def swap_events(evidence: Evidence) -> None:
    part = longest_part(evidence)
    one, other = [at for at, item in enumerate(part) if not isinstance(item, Bookmarked)][1:3]
    part[one], part[other] = part[other], part[one]


def double_an_event(evidence: Evidence) -> None:
    part = longest_part(evidence)
    part.insert(1, part[0])


def drop_an_event(evidence: Evidence) -> None:
    del longest_part(evidence)[1]


def drop_the_last_event(evidence: Evidence) -> None:
    reading = next(reading for reading in evidence.history.readings if reading.match_id)
    part = next(part for part in reversed(reading.parts) if part)
    part[:] = [item for item in part if not isinstance(item, Bookmarked)][:-1]


def move_a_bookmark(evidence: Evidence) -> None:
    longest_part(evidence).append(Bookmarked(1))


def run_ahead_with_a_bookmark(evidence: Evidence) -> None:
    """Add a bookmark to a stream of all matches, further than what was sent."""
    part = next(part for reading in evidence.history.readings if not reading.match_id for part in reading.parts if part)
    part.insert(0, Bookmarked(len(evidence.records)))


def longest_part(evidence: Evidence) -> list[Any]:
    """Return the longest part of the streams of one match."""
    readings = [reading for reading in evidence.history.readings if reading.match_id]
    return max((part for reading in readings for part in reading.parts), key=len)


def change_a_result(evidence: Evidence) -> None:
    results = evidence.history.results
    results[0] = results[0]._replace(words=("draw", 0, "draw_agreed", "agreement", "players", 0))


def show_a_turn_too_soon(evidence: Evidence) -> None:
    handed = evidence.history.handed
    handed[0] = handed[0]._replace(head=0)


def change_what_was_seen(evidence: Evidence) -> None:
    heads = max((reading.heads for reading in evidence.history.readings), key=len)
    item, place, head = heads[0]
    heads[0] = (item._replace(body=b"{}"), place, head)


def arrive_later(evidence: Evidence) -> None:
    asked = evidence.history.asked
    asked[:] = [one._replace(at_ms=one.at_ms + 1) for one in asked]


def leave_a_stream_open(evidence: Evidence) -> None:
    evidence.history.ended.append(EndedStream("reader0", "Play", "revoked", False, 0.0, None, 4.0))


@pytest.mark.parametrize(
    ("tamper", "promise"),
    [
        (lambda evidence: change_record(evidence, b'"charged":', b'"charged":1'), "Fair clocks"),
        (lambda evidence: change_record(evidence, b'"previous":"', b'"previous":"0'), "Proof"),
        (lambda evidence: change_record(evidence, b'"cause":"resignation"', b'"cause":"arbiter"'), "Typed ends"),
        (lambda evidence: change_record(evidence, b'"party":"player"', b'"party":"players"'), "Typed ends"),
        (lambda evidence: change_record(evidence, b'"ply":1,', b'"ply":0,'), "Exactly once"),
        (forget_what_was_asked, "Nobody plays for another"),
        (answer_anew, "Exactly once"),
        (answer_too_soon, "No acknowledged move is lost"),
        (forget_a_match, "No acknowledged match is lost"),
        (swap_events, "Ordered"),
        (double_an_event, "Unique"),
        (drop_an_event, "Gap-free"),
        (drop_the_last_event, "Resumable"),
        (move_a_bookmark, "Bookmarked"),
        (run_ahead_with_a_bookmark, "Bookmarked"),
        (change_a_result, "Results are those of the record"),
        (show_a_turn_too_soon, "No event is seen before it is durable"),
        (change_what_was_seen, "Streams tell the record"),
        (arrive_later, "Fair clocks"),
        (leave_a_stream_open, "A stream that the server ends is over"),
        (lambda evidence: evidence.history.results.clear(), "Every result is received"),
        (lambda evidence: evidence.history.unforeseen.append("a callback raised"), "Nothing unforeseen"),
        (lambda evidence: evidence.history.unfinished.append("m000001"), "Every match ends"),
    ],
)
def test_a_manipulation_is_found(evidence: Evidence, tamper: Tamper, promise: str) -> None:
    changed = copied(evidence)
    tamper(changed)
    assert promise in {violation.promise for violation in violations(RunEvidence(changed))}


def lose_a_server(evidence: Evidence) -> None:
    """Say that a server with all players was lost before the first thought that took long, and found by nobody."""
    for record in evidence.records:
        event = json.loads(record.body)
        if event["kind"] == "moved" and event["ledger"]["charged"] > 1_000:
            at_s = (event["ledger"]["started"] - NOON_MS) / 1_000 + 0.1
            players = tuple(sorted({stream.player for stream in evidence.history.streams}))
            evidence.history.lost.append(LostServer("killed", 0, "s1", at_s, None, players))
            return
    raise AssertionError("nobody thinks for a second")


def set_a_clock_wrong(evidence: Evidence) -> None:
    handed = evidence.history.handed
    handed[-1] = handed[-1]._replace(true_ms=handed[-1].true_ms + 6)


@pytest.fixture(scope="module")
def evidence_of_servers() -> Evidence:
    """Return the evidence of a run of two servers without faults."""
    made = play_out(draw(8, 6, replicas=2))
    assert violations(RunEvidence(made)) == []
    return made


@pytest.mark.long
@pytest.mark.parametrize(
    ("tamper", "promise"),
    [
        (lose_a_server, "The outage is charged to nobody"),
        (
            lambda evidence: evidence.history.calm.append(LostServer("killed", 0, "s1", 5.0, None, ("bot0",))),
            "Players of a killed server soon go on",
        ),
        (set_a_clock_wrong, "Fair clocks"),
        (
            lambda evidence: evidence.history.two_streams.append(TwoStreams("bot0", (0, 1), 5.0, 3.1)),
            "One live Play stream a player",
        ),
        (lambda evidence: evidence.history.differences.append("m000001 goes on"), "Every server knows the same"),
        (
            lambda evidence: evidence.history.ended.append(
                EndedStream("reader0", "Play", "revoked", False, None, None, 4.0, elsewhere=True)
            ),
            "Revocation is heard",
        ),
    ],
)
def test_a_manipulation_is_found_among_servers(evidence_of_servers: Evidence, tamper: Tamper, promise: str) -> None:
    changed = copied(evidence_of_servers)
    tamper(changed)
    assert promise in {violation.promise for violation in violations(RunEvidence(changed))}


def with_a_wait(evidence: Evidence) -> tuple[RunEvidence, str, dict[str, Any]]:
    """Make a wait of a thought: its turn was sent only when it was answered, as far as anybody knows.

    Return the evidence, the match, and the event of the answer.
    """
    changed = copied(evidence)
    changed = replace(changed, plan=replace(changed.plan, limits={"stall_ms": 1_000}))
    case = RunEvidence(changed)
    match_id, event = next(
        (match_id, entry.event)
        for match_id, entries in case.matches.items()
        for entry in entries
        if entry.kind == "moved" and 1_200 < entry.event["ledger"]["charged"] < 1_000 + AGAIN_MS
    )
    ledger, handed = event["ledger"], changed.history.handed
    n = next(n for n, each in enumerate(handed) if (each.match_id, each.since) == (match_id, ledger["started"]))
    handed[n] = handed[n]._replace(at_ms=ledger["arrived"], true_ms=ledger["arrived"] - NOON_MS)
    return case, match_id, event


@pytest.mark.parametrize("excuse", ["", "it does not read", "it has had the turn", "the log is free", "it was again"])
def test_a_wait_for_the_log_that_is_charged_is_found(evidence_of_servers: Evidence, excuse: str) -> None:
    case, match_id, event = with_a_wait(evidence_of_servers)
    ledger, history = event["ledger"], case.history
    began_ms, ended_ms = (ledger[name] - NOON_MS for name in ("started", "arrived"))
    if excuse == "it has had the turn":
        sent = next(each for each in history.handed if (each.match_id, each.true_ms) == (match_id, ended_ms))
        history.handed.append(sent._replace(at_ms=ledger["started"], true_ms=began_ms))
    if excuse != "the log is free":
        history.holds.append(LogHold(began_ms, ended_ms))
    if excuse == "it does not read":
        streams = history.asked_streams
        streams[:] = [replace(each, kept_waiting=[(began_ms, ended_ms)]) for each in streams]
    if excuse == "it was again":
        entries = case.matches[match_id]
        entry = next(entry for entry in entries if entry.event is event)
        entries.insert(entries.index(entry), entry._replace(event={"kind": "interrupted", "at": ledger["started"]}))
    assert bool(list(waits_for_the_log_are_charged_to_nobody(case))) is not bool(excuse)


@pytest.mark.parametrize(
    ("over_s", "cut_s", "is_found"),
    [(0.3, 0.4, True), (0.3, None, True), (0.3, 0.3, False), (-AGAIN_MS / 1_000, None, False)],
    ids=["sent away", "its connection stays", "it has left itself", "it was away for long"],
)
def test_a_wait_begins_before_servers_send_a_player_away(
    evidence_of_servers: Evidence, over_s: float, cut_s: float | None, is_found: bool
) -> None:
    """The player asks for the stream on which it gets its turn only at the end of the wait; the first one is over."""
    case, match_id, event = with_a_wait(evidence_of_servers)
    began_ms, ended_ms = (event["ledger"][name] - NOON_MS for name in ("started", "arrived"))
    sent = next(each for each in case.history.handed if (each.match_id, each.true_ms) == (match_id, ended_ms))
    first = AskedStream(sent.player, 0, 0, asked_ms=began_ms - 2 * AGAIN_MS, over_ms=began_ms + 1_000 * over_s)
    first.cut_ms = began_ms + 1_000 * cut_s if cut_s is not None else None
    last = AskedStream(sent.player, 0, sent.process, asked_ms=ended_ms - 1, begun_ms=ended_ms)
    streams = case.history.asked_streams
    streams[:] = [*(each for each in streams if each.player != sent.player), first, last]
    case.history.holds.append(LogHold(began_ms, ended_ms))
    assert bool(list(waits_for_the_log_are_charged_to_nobody(case))) is is_found


@pytest.mark.parametrize("excuse", ["", "the log was free meanwhile", "it has had a stream"])
def test_a_player_who_goes_from_server_to_server_waits_as_long_as_the_log_is_locked(
    evidence_of_servers: Evidence, excuse: str
) -> None:
    case, match_id, event = with_a_wait(evidence_of_servers)
    began_ms, ended_ms = (event["ledger"][name] - NOON_MS for name in ("started", "arrived"))
    sent = next(each for each in case.history.handed if (each.match_id, each.true_ms) == (match_id, ended_ms))
    first = AskedStream(sent.player, 1, sent.process + 1, asked_ms=began_ms, over_ms=ended_ms - 500)
    first.cut_ms = first.over_ms
    first.begun_ms = began_ms if excuse == "it has had a stream" else None
    last = AskedStream(sent.player, 0, sent.process, asked_ms=ended_ms - 100, begun_ms=ended_ms)
    streams = case.history.asked_streams
    streams[:] = [*(each for each in streams if each.player != sent.player), first, last]
    case.history.holds[:] = [LogHold(began_ms - NOTICED_MS, ended_ms)]
    if excuse == "the log was free meanwhile":
        case.history.holds[:] = [LogHold(began_ms - NOTICED_MS, ended_ms - 300), LogHold(ended_ms - 200, ended_ms)]
    assert bool(list(waits_for_the_log_are_charged_to_nobody(case))) is not bool(excuse)


@pytest.mark.parametrize("gives_up", [False, True])
@pytest.mark.parametrize("cause", ["time", "absence"])
def test_a_loss_is_found_of_a_player_whose_stream_the_log_keeps(
    evidence_of_servers: Evidence, cause: str, gives_up: bool
) -> None:
    changed = copied(evidence_of_servers)
    case = RunEvidence(changed)
    match_id, entries = next(
        (match_id, entries)
        for match_id, entries in case.matches.items()
        if any(each.kind == "moved" for each in entries)
    )
    n = 0 if cause == "absence" else next(n for n, each in enumerate(entries) if each.kind == "moved")
    policy, last = entries[0].event["policy"], entries[n].event
    lasts_ms = policy["no_show_ms"] if cause == "absence" else policy["move_cap_ms"]
    end = {
        "kind": "ended",
        "at": last["at"] + lasts_ms,
        "cause": cause,
        "reason": "no_show",
        "seat": last.get("turn", 1),
    }
    entries[n + 1 :] = [entries[n + 1]._replace(event=end)]
    began_ms = last["at"] - NOON_MS
    stream = AskedStream(case.player(match_id, end["seat"]), 0, 1, asked_ms=began_ms + 1_000)
    stream.cut_ms = began_ms + 2_000 if gives_up else None
    changed.history.asked_streams.append(stream)
    changed.history.holds.append(LogHold(began_ms, began_ms + lasts_ms))
    found = [*waits_for_the_log_are_charged_to_nobody(case), *nobody_is_absent_whom_the_log_keeps(case)]
    assert bool(found) is not gives_up


@pytest.mark.long
def test_without_faults_a_loss_on_time_is_found(evidence: Evidence) -> None:
    stormy = next(
        made for made in (play_out(draw(seed, MATCHES)) for seed in range(1, 8)) if b'"cause":"time"' in joined(made)
    )
    fine = replace(stormy, plan=replace(stormy.plan, faults={}))
    assert "Without faults nobody forfeits" in {violation.promise for violation in violations(RunEvidence(fine))}


def joined(evidence: Evidence) -> bytes:
    return b"".join(record.body for record in evidence.records)


@pytest.mark.parametrize("another_server", [False, True])
def test_two_clocks_may_differ_by_twice_what_one_may_be_wrong(
    evidence_of_servers: Evidence, another_server: bool
) -> None:
    """As where a turn is sent by one server, and its player moves by a single call at another one."""
    changed = copied(evidence_of_servers)
    handed, asked = changed.history.handed, changed.history.asked
    n, sent = next((n, each) for n, each in enumerate(asked) if each.ask.verb == "move")
    asked[n] = sent._replace(at_ms=sent.at_ms + 4, process=sent.process + another_server)
    handed[:] = [each._replace(at_ms=each.at_ms - 4) if _is_answered_by(each, sent) else each for each in handed]
    assert bool(list(thoughts_are_measured(RunEvidence(changed)))) is not another_server


def _is_answered_by(turn: SentTurn, move: ReceivedRequest) -> bool:
    return (turn.player, turn.match_id, turn.ply) == (move.player, move.ask.match_id, move.ask.ply)


@pytest.mark.parametrize("cut_off", [False, True])
def test_a_machine_that_was_suspended_has_the_right_time_once_it_reaches_the_store(
    evidence_of_servers: Evidence, cut_off: bool
) -> None:
    changed = copied(evidence_of_servers)
    handed = changed.history.handed
    last = handed[-1]
    handed[-1] = last._replace(at_ms=last.at_ms - 6_000)
    continued_s = last.true_ms / 1_000 - 2
    changed.history.resumed_s.append(continued_s)
    if cut_off:
        changed.history.gaps.append((continued_s - 1, continued_s + 3))
    assert bool(list(clocks_agree(RunEvidence(changed)))) is not cut_off


@pytest.mark.parametrize("accepted_too", [False, True])
def test_a_player_who_asks_to_accept_and_to_decline_is_refused_one_of_them(
    evidence_of_servers: Evidence, accepted_too: bool
) -> None:
    """Also if the answer to the other one is lost."""
    changed = copied(evidence_of_servers)
    case = RunEvidence(changed)
    [match_id, entries], *_ = case.matches.items()
    entries[0].event["request"] = "challenge c1"
    challenger, player = entries[0].event["players"]
    end = Challenge("c1", challenger, player, "pods", "1m", False, 1, "r", 0, "accepted", match_id, player)
    story = ChallengeStory(challenger, "c1", [(player, False)], end=end, told=[match_id])
    story.answers.append(ChallengeAnswer(player, False, "", Reason.CHALLENGE_NOT_FOUND))
    if accepted_too:
        story.asked.append((player, True))
    changed.history.challenges.append(story)
    assert bool(list(challenges_end_in_one_way(case))) is not accepted_too


@pytest.mark.parametrize("early_ms", [0, 1_000])
def test_an_arena_that_ends_too_early_is_found(evidence_of_servers: Evidence, early_ms: int) -> None:
    spec = Spec("an arena", Format.ARENA, ("circle-of-life(target=1)",), "1m", options=Options(duration_ms=5_000))
    run = TournamentRun(spec, 3, Random(1), lambda _: 1)
    run.play()
    end = run.log[-1]
    assert isinstance(end, Ended)
    log = StoredLog([*run.log[:-1], replace(end, at=end.at - early_ms)], run.tournament, Chain("t1"))
    assert bool(list(free_play_ends_in_time(RunEvidence(evidence_of_servers), log))) is bool(early_ms)
