"""Several servers are one arbiter: nobody is charged for one that is lost, and all of them know and tell the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from arbiter.testing.clock import NOON_MS
from arbiter.testing.simulation.invariants.run_evidence import RunEvidence, Violation
from arbiter.testing.simulation.observations import LostServer, ReceivedRequest, SentTurn
from arbiter.testing.simulation.plan import Fault

OUTAGE: Final = "The outage is charged to nobody"
SOON: Final = "Players of a killed server soon go on"
SAME_MS: Final = 5  #: by this much a server's clock may be wrong
PACE_MS: Final = 0.5  #: by this much more for each second in which it could not look at the store's
CORRECTED_S: Final = 4.0  #: after which that is made up for
JUMPED_S: Final = 1.5  #: after which a machine that was suspended, and reaches the store, has the right time again
SLACK_MS: Final = 20  #: a charge for less than this of an outage is not looked at
NOTICED_S: Final = 2.5  #: a server that was stopped for less need not be noticed
KNOWN_MS: Final = 1_000  #: this long after a player has opened a stream, every server knows it
SOON_S: Final = 3.0  #: this long after a server was killed, the others have cleaned up after it
HEARS_S: Final = 0.75  #: this long after that, each of them knows it, and stores the moves that have waited for it
MEANWHILE_S: Final = 2.0  #: moves that come this long after the kill are looked at
TIMELY: Final = frozenset(
    {
        Fault.CRASH,
        Fault.DRAIN,
        Fault.STOP,
        Fault.CUT_OFF,
        Fault.CHASE,
        Fault.ACCEPTING,
        Fault.MOVE,
        Fault.RACE,
        Fault.PACE,
        Fault.BUS_AWAY,
        Fault.OVERTAKEN,
        Fault.CUT,
        Fault.HALF_OPEN,
        Fault.STALL,
        Fault.SUPERSEDE,
        Fault.FORGET,
        Fault.AWAY,
        Fault.LOST,
        Fault.DOUBLED,
        Fault.LATE,
        Fault.CUT_OBSERVER,
        Fault.STALL_OBSERVER,
        Fault.UNREAD,
        Fault.SHUT_OUT,
    }
)
"""Faults with which the store answers each call of a server that runs and reaches it, and soon."""
TWICE_S: Final = 3.0  #: for this long a player may have a stream on two servers that are fine


def lost_servers_are_charged_to_nobody(case: RunEvidence) -> Iterator[Violation]:
    """Check that no thought is charged for the time between the loss of a player's server and its next stream.

    A match in which the player was to move is interrupted before anything is charged. Once others have cleaned up after
    the server, its players are known to be away. A player that moves by a unary call needs no stream.
    """
    for lost in case.history.lost:
        if lost.until_s is not None and lost.until_s - lost.at_s < NOTICED_S:
            continue
        for player in lost.players:
            began, ended = _instant(lost.at_s), _back(case, lost, player)
            for match_id in case.matches:
                known_s = case.history.forgotten_s.get(lost.replica, float("inf"))
                for charged_ms, what in _charges(case, player, match_id, began, ended, known_s):
                    if charged_ms > SLACK_MS:
                        yield Violation(
                            OUTAGE, f"{match_id}: {player} is charged {charged_ms:.0f} ms of {lost}: {what}"
                        )


def players_of_a_killed_server_soon_go_on(case: RunEvidence) -> Iterator[Violation]:
    """Check that a killed server soon counts as gone, and that the moves of its players are stored then.

    Only if nothing happened to the other servers meanwhile, and the store is neither slow nor refuses anything. The
    store does not know that the process was killed, as if its machine had vanished: this is the slower way.
    """
    if not case.plan.faults.keys() <= TIMELY:
        return
    for lost in case.history.calm:
        known_s = case.history.forgotten_s.get(lost.replica, float("inf"))
        if lost.players and known_s > lost.at_s + SOON_S:
            yield Violation(SOON, f"nobody has cleaned up {SOON_S} s after {lost}, but at {known_s:.1f} s")
        for asked, stored_s in moves_before_it_is_known(case, lost):
            if stored_s > lost.at_s + SOON_S + HEARS_S:
                yield Violation(SOON, f"{asked} is stored only at {stored_s:.1f} s, after {lost}")


def moves_before_it_is_known(case: RunEvidence, lost: LostServer) -> Iterator[tuple[ReceivedRequest, float]]:
    """Yield the moves of a lost server's players that have reached another one shortly after, and when each was stored.

    Those that are not on record were refused.
    """
    for asked in case.history.asked:
        if asked.player in lost.players and 0 < asked.true_ms / 1_000 - lost.at_s < MEANWHILE_S:
            for entry in case.matches.get(asked.ask.match_id, ()):
                if entry.kind == "moved" and _answers(case, entry.event, asked):
                    yield asked, case.history.stored_s[entry.sequence - 1]


def _answers(case: RunEvidence, event: dict[str, Any], asked: ReceivedRequest) -> bool:
    """Return whether an event with a request is the answer to one."""
    return event["request"] == asked.ask.request and case.player(asked.ask.match_id, event["seat"]) == asked.player


def _instant(at_s: float) -> float:
    """Return virtual time as an instant of the record."""
    return NOON_MS + at_s * 1_000


def _back(case: RunEvidence, lost: LostServer, player: str) -> float:
    """Return when a player was served again, or known to be away: an instant of the record."""
    back = [
        stream.called_s for stream in case.history.streams if stream.player == player and stream.called_s > lost.at_s
    ]
    known = case.history.forgotten_s.get(lost.replica)
    ends = [min(back, default=None), known, lost.until_s]
    return min((_instant(end) for end in ends if end is not None), default=float("inf"))


def _charges(
    case: RunEvidence, player: str, match_id: str, began: float, ended: float, known_s: float
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield what a player was charged of the time between two instants, and the event that says so.

    A turn whose beginning was stored only after `known_s` could not be interrupted.
    """
    since, stored_s, interrupted = 0, 0.0, False  # the beginning of the turn; whether it was stopped after `began`
    for entry in case.matches[match_id]:
        event, kind = entry.event, entry.kind
        if event["at"] >= began - SAME_MS and kind == "interrupted":
            interrupted = True
        ledger = event.get("ledger") or event.get("late", {}).get("ledger")
        flag = kind == "ended" and event["cause"] == "time"
        if (
            (ledger is not None or flag)
            and not interrupted
            and stored_s < known_s
            and case.player(match_id, event["seat"]) == player
            and not _came_by_a_unary_call(case, player, match_id, event, ended)
        ):
            until, credited = (ledger["arrived"], ledger["credited"]) if ledger is not None else (event["at"], 0)
            yield min(until, ended) - max(since, began) - credited, event
        if kind in ("started", "resumed", "moved"):
            since, stored_s = event["at"], case.history.stored_s[entry.sequence - 1]


def _came_by_a_unary_call(case: RunEvidence, player: str, match_id: str, event: dict[str, Any], ended: float) -> bool:
    """Return whether a move came by a unary call before all servers could know that its player has a new stream."""
    ledger = event.get("ledger")
    return ledger is not None and any(
        not asked.streamed and asked.at_ms == ledger["arrived"] < ended + KNOWN_MS
        for asked in case.history.asked
        if (asked.player, asked.ask.match_id, asked.ask.request) == (player, match_id, event["request"])
    )


def _wrong_ms(case: RunEvidence, since_ms: float, until_ms: float) -> float:
    """Return by how much a server's clock may be wrong between two instants of virtual time.

    A clock that can't be compared with the store's, because its server is stopped or cut off, runs at its own pace.
    After its machine was suspended, it is behind until it is compared.
    """
    gaps = [
        until_s - since_s
        for since_s, until_s in case.history.gaps
        if since_s * 1_000 <= until_ms and since_ms <= (until_s + CORRECTED_S) * 1_000
    ]
    for continued_s in case.history.resumed_s:
        compared_s = max(
            [until_s for since_s, until_s in case.history.gaps if since_s <= continued_s <= until_s] or [0]
        )
        right_s = max(continued_s, compared_s) + JUMPED_S
        if any(continued_s * 1_000 <= instant_ms <= right_s * 1_000 for instant_ms in (since_ms, until_ms)):
            return float("inf")
    return SAME_MS + PACE_MS * max(gaps, default=0.0)


def clocks_agree(case: RunEvidence) -> Iterator[Violation]:
    """Check that all servers have the time of the store: whatever they measure is the same on each."""
    if case.plan.replicas == 1:
        return
    for asked in case.history.asked:
        if abs(asked.at_ms - NOON_MS - asked.true_ms) > _wrong_ms(case, asked.true_ms, asked.true_ms):
            yield Violation("Fair clocks", f"a server's clock is wrong: {asked}")
    for handed in case.history.handed:
        if abs(handed.at_ms - NOON_MS - handed.true_ms) > _wrong_ms(case, handed.true_ms, handed.true_ms):
            yield Violation("Fair clocks", f"a server's clock is wrong: {handed}")


def thoughts_are_measured(case: RunEvidence) -> Iterator[Violation]:
    """Check that the time from the hand-over of a turn to each move that answers it is what every clock would show."""
    if case.plan.replicas == 1:
        return
    both: list[SentTurn | ReceivedRequest] = [*case.history.handed, *case.history.asked]
    handed: dict[tuple[str, str, int], SentTurn] = {}
    for each in sorted(both, key=lambda each: each.true_ms):
        if isinstance(each, SentTurn):
            handed[each.player, each.match_id, each.ply] = each
            continue
        turn = handed.get((each.player, each.ask.match_id, each.ask.ply)) if each.ask.verb == "move" else None
        if turn is not None:
            wrong_ms = (each.at_ms - turn.at_ms) - (each.true_ms - turn.true_ms)
            most_ms = _wrong_ms(case, turn.true_ms, each.true_ms)
            if turn.process != each.process:  # of two servers, one may be ahead and the other behind
                most_ms *= 2
            if abs(wrong_ms) > most_ms:
                yield Violation("Fair clocks", f"a thought is measured wrong by {wrong_ms:.1f} ms: {turn}, {each}")


def a_player_has_one_stream(case: RunEvidence) -> Iterator[Violation]:
    """Check that a player's older Play stream ends soon after it has opened another one, on whichever server."""
    for twice in case.history.two_streams:
        if twice.seconds > TWICE_S:
            yield Violation("One live Play stream a player", f"{twice}")


def servers_know_the_same(case: RunEvidence) -> Iterator[Violation]:
    """Check that no two servers had different states of a match, and that at the end none was behind."""
    for difference in case.history.differences:
        yield Violation("Every server knows the same", difference)


def a_server_without_the_store_keeps_nobody(case: RunEvidence) -> Iterator[Violation]:
    """Check that a server that can't reach the store ends its streams, so that its players go on elsewhere."""
    for what in case.history.held:
        yield Violation("A server without the store keeps nobody", what)


CHECKS = (
    lost_servers_are_charged_to_nobody,
    players_of_a_killed_server_soon_go_on,
    clocks_agree,
    thoughts_are_measured,
    a_player_has_one_stream,
    servers_know_the_same,
    a_server_without_the_store_keeps_nobody,
)
