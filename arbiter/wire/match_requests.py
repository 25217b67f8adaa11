"""Requests about matches, converted for the use cases."""

from __future__ import annotations

from typing import Any, Final

from arbiter_protos.v1 import match_pb2 as pb

from arbiter.matches.commands import ResultKind
from arbiter.matches.policy import ClockStart
from arbiter.service.gate.match_calls import MatchQuery, NewMatch

_RESULTS: Final = {
    pb.RESULT_KIND_WIN: ResultKind.WIN,
    pb.RESULT_KIND_DRAW: ResultKind.DRAW,
    pb.RESULT_KIND_VOID: ResultKind.VOID,
}
_POLICY: Final = ("illegal_moves", "kept_refusals", "no_show_ms", "abandon_ms", "move_cap_ms", "ready_ms")


def new_match_of(request: pb.CreateMatchRequest) -> NewMatch:
    """Return the parameters of a request to create a match."""
    asked = request.policy
    policy: dict[str, Any] = {name: getattr(asked, name) for name in _POLICY if asked.HasField(name)}
    if request.start == pb.START_RULE_AT_ONCE:
        policy["start"] = ClockStart.AT_ONCE
    return NewMatch(
        request_id=request.request_id,
        game=request.game,
        players=tuple(request.players),
        time_control=request.time_control,
        rated=request.rated,
        label=request.label,
        opening=tuple(request.opening),
        position=request.position,
        policy=policy,
    )


def wanted_of(request: pb.ListMatchesRequest) -> MatchQuery:
    """Return the filter of a request to list matches."""
    ended = None if request.phase == pb.PHASE_UNSPECIFIED else request.phase == pb.PHASE_ENDED
    return MatchQuery(request.player, request.game, request.label, ended)


def result_kind_of(number: int) -> ResultKind | None:
    """Return the kind of a result that an organiser sets, None for a kind that nobody can set."""
    return _RESULTS.get(number)  # type: ignore[call-overload, no-any-return]
