"""One match without I/O: commands in, events out; clocks as arithmetic; transcript and hash chain.

decision = create("m1", Create(game="pods", players=("alice", "bob"), time="1m+1s", …), now)
stored = seal_first("m1", decision.events)         # bytes to store, each with the hash of the one before
match = replay(decision.events)

decision = decide(match, Play(seat=1, request="r1", ply=0, move="…", arrived=now), now)
stored = seal(match, decision.events)
for event in decision.events:                      # once they are durable
    match = evolve(match, event)
decision.answer                                    # a receipt or a refusal, to be given now
deadline(match)                                    # when to decide `Tick()`

match = replay(read(data) for data in stored_records)
"""

from arbiter.matches.answers import Decision
from arbiter.matches.creation import create
from arbiter.matches.evolution import begin, evolve, replay
from arbiter.matches.match import Match, Phase, available_ms, claimable, deadline, with_position
from arbiter.matches.record import check_chain, read, read_record, seal, seal_first
from arbiter.matches.requests import Receipt
from arbiter.matches.transitions import decide

__all__ = [
    "Decision",
    "Match",
    "Phase",
    "Receipt",
    "available_ms",
    "begin",
    "check_chain",
    "claimable",
    "create",
    "deadline",
    "decide",
    "evolve",
    "read",
    "read_record",
    "replay",
    "seal",
    "seal_first",
    "with_position",
]
