"""One message of every kind that the server sends on a Play stream, with every field set."""

from __future__ import annotations

from typing import Final

from arbiter_protos.v1 import match_pb2, play_pb2, player_pb2, refusal_pb2, tournament_pb2

NOW: Final = 1_800_000_000_000  #: a time, UTC, milliseconds since 1970

CLOCK: Final = match_pb2.Clock(remaining_ms=59_000, available_ms=60_000, periods_left=3, moves_left=6)
WON: Final = match_pb2.Result(
    kind=match_pb2.RESULT_KIND_WIN,
    winner=2,
    reason="territory",
    cause=match_pb2.CAUSE_RULES,
    party=match_pb2.PARTY_PLAYERS,
)
TURN: Final = play_pb2.Turn(
    match_id="m-1",
    game="pods(size=3)",
    seat=2,
    ply=1,
    position=".../..../..P../..../... 2 1",
    last_moves=[play_pb2.RecentMove(ply=0, seat=1, move="c3")],
    clocks=[CLOCK, match_pb2.Clock(remaining_ms=0, available_ms=1_000)],
    started_ms=NOW,
    now_ms=NOW + 12,
    draw_claim="repetition",
    draw_offered=True,
    opponent="zoë",
    available_ms=1_000,
    revision=4,
)
TERMS: Final = player_pb2.Terms(game="pods(size=3)", time_control="1m+1s", rated=True, seat=2, abandon_ms=600_000)
HELLO: Final = play_pb2.ServerHello(
    protocol_version="1.0",
    software="arbiter",
    software_version="1.2.3",
    capabilities=["one", "two"],
    player="alice",
    now_ms=NOW,
    silence_most_ms=45_000,
)
MATCH: Final = match_pb2.Match(
    match_id="m-1",
    game="pods(size=3)",
    players=["alice", "zoë"],
    time_control="1m+1s",
    rated=True,
    label="Spring cup – round 1",
    phase=match_pb2.PHASE_ACTIVE,
    revision=4,
    ply=1,
    turn=2,
    position=TURN.position,
    moves=["c3"],
    clocks=TURN.clocks,
    turn_started_ms=NOW,
    draw_offered_by=1,
    created_ms=NOW - 1_000,
    policy=match_pb2.Policy(
        illegal_moves=4, no_show_ms=60_000, abandon_ms=0, move_cap_ms=3_600_000, kept_refusals=16, ready_ms=10_000
    ),
    opening_plies=1,
    versions=["7", "2.0 beta"],
    time_controls=["1m+1s", "1m+1s"],
)
LEDGER: Final = match_pb2.Ledger(
    started_ms=NOW,
    handed_over_ms=NOW + 3,
    arrived_ms=NOW + 90,
    credited_ms=5,
    charged_ms=85,
    left_ms=59_915,
    round_trip_ms=2,
)
RECEIPT: Final = match_pb2.Receipt(request_id="r-1", match_id="m-1", revision=5, ply=2, ledger=LEDGER)
ANSWER: Final = match_pb2.MoveAnswer(request_id="r-1", match_id="m-1", receipt=RECEIPT)
CHALLENGE: Final = player_pb2.Challenge(
    challenge_id="c-1", challenger="zoë", opponent="alice", terms=TERMS, created_ms=NOW
)
SEEK: Final = player_pb2.Challenge(challenge_id="c-2", challenger="zoë", terms=TERMS, created_ms=NOW)
REFUSAL: Final = refusal_pb2.Refusal(
    reason=refusal_pb2.REFUSAL_REASON_DRAINING, code=14, message="back soon", facts={"retry_after_ms": "1000"}
)
CALL: Final = play_pb2.TournamentCall(
    tournament_id="t-1",
    name="Spring cup",
    format=tournament_pb2.TOURNAMENT_FORMAT_SWISS,
    games=["pods", "hop-it"],
    time_control="3m+2s",
    rated=True,
    phase=tournament_pb2.TOURNAMENT_PHASE_ENTRY,
    entered=True,
    creator="olga",
    start_ms=NOW + 60_000,
    entry_closes_ms=NOW + 50_000,
)
ENDED: Final = play_pb2.MatchEnded(
    match_id="m-1",
    game="pods(size=3)",
    seat=2,
    opponent="zoë",
    result=WON,
    position=TURN.position,
    cursor="17",
)
CLOSED: Final = play_pb2.ChallengeClosed(challenge_id="c-1", match_id="m-2")
