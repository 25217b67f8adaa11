"""Rulings and corrections of organisers, and what they change, as messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from arbiter_protos.v1 import match_pb2
from arbiter_protos.v1 import tournament_pb2 as pb

from arbiter.errors import argument_invalid
from arbiter.tournaments import corrections
from arbiter.tournaments.commands import Correct, Rule
from arbiter.tournaments.events import Decision
from arbiter.tournaments.later_pairings import LaterPairings, RoundPairs
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.standings import PlaceChange
from arbiter.wire.copied_fields import copied


def ruling_of(request: pb.RuleOnGameRequest, caller: str) -> Rule:
    """Return the ruling that a caller asks for. Raises Refusal ARGUMENT_INVALID."""
    try:
        decision = Decision[pb.RulingDecision.Name(request.decision).removeprefix("RULING_DECISION_")]
    except (KeyError, ValueError):
        raise argument_invalid(str(request.decision), "decision", "points, void or stands") from None
    what = (request.game, decision, tuple(request.half_points), request.note)
    return Rule(caller, request.request_id, *what, request.revision)


def place_change_message(change: PlaceChange) -> pb.PlaceChange:
    """Return what a ruling changes for a player."""
    return pb.PlaceChange(
        player=change.player,
        place_before=change.place_before,
        place=change.place,
        half_points_before=change.points_before,
        half_points=change.points,
    )


def correct_of(request: pb.CorrectTournamentRequest, caller: str) -> Correct:
    """Return the correction that a caller asks for. Raises Refusal ARGUMENT_INVALID."""
    return Correct(caller, request.request_id, _correction(request.correction), request.note, request.revision)


def _correction(message: match_pb2.Correction) -> corrections.Correction:
    name = message.WhichOneof("what")
    if name is None:
        raise argument_invalid("", "correction", f"one of {', '.join(corrections.CORRECTIONS)}")
    form, asked = corrections.CORRECTIONS[name], getattr(message, name)
    values: dict[str, Any] = {field.name: getattr(asked, field.name, None) for field in fields(form)}
    match name:
        case "disqualify":
            values |= {"results": _results(asked.results), "stop": not asked.games_go_on}
        case "award" | "bye":
            values["points"] = asked.half_points
        case "lots":
            values["players"] = tuple(asked.players)
        case "pair":
            values["pairs"] = tuple((pair.first, pair.second) for pair in asked.pairs)
    return form(**values)


def _results(number: match_pb2.DisqualifiedResults.ValueType) -> corrections.Results:
    if not number:
        return corrections.Results.STAND
    try:
        return corrections.Results[match_pb2.DisqualifiedResults.Name(number).removeprefix("DISQUALIFIED_RESULTS_")]
    except (KeyError, ValueError):
        raise argument_invalid(str(number), "results", "stand, forfeit or void") from None


def correction_message(what: corrections.Correction) -> match_pb2.Correction:
    """Return a correction. Its message has the name of the correction."""
    message = match_pb2.Correction()
    part = getattr(message, what.name)
    part.CopyFrom(copied(type(part), what, **_others(what)))
    return message


def _others(what: corrections.Correction) -> dict[str, Any]:
    """Return the values of a correction's message that the correction does not have under the same name."""
    match what:
        case corrections.Disqualify():
            results = match_pb2.DisqualifiedResults.Value(f"DISQUALIFIED_RESULTS_{what.results.name}")
            return {"results": results, "games_go_on": not what.stop}
        case corrections.Award() | corrections.GiveBye():
            return {"half_points": what.points}
        case corrections.PairByHand():
            return {"pairs": [match_pb2.SeatedPair(first=first, second=second) for first, second in what.pairs]}
    return {}


def later_message(later: LaterPairings) -> pb.LaterPairings:
    """Return pairings that exist, and would be others."""
    return pb.LaterPairings(
        result=later.result, round=later.round, pairs=_pairs(later.pairs), instead=_pairs(later.instead)
    )


def round_message(paired: RoundPairs | None) -> pb.RoundPairs | None:
    """Return who meets in a round; None if that is not known."""
    if paired is None:
        return None
    return pb.RoundPairs(round=paired.round, pairs=_pairs(paired.pairs), byes=paired.byes)


def _pairs(pairs: Sequence[Pair]) -> list[pb.PlayerPair]:
    return [pb.PlayerPair(first=pair.first, second=pair.second) for pair in pairs]
