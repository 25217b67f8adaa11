"""Rulings and corrections of organisers, and what they change, as messages."""

from __future__ import annotations

from collections.abc import Sequence

from arbiter_protos.v1 import match_pb2
from arbiter_protos.v1 import tournament_pb2 as pb

from arbiter.errors import argument_invalid
from arbiter.tournaments import corrections
from arbiter.tournaments.commands import Correct, Rule
from arbiter.tournaments.events import Decision
from arbiter.tournaments.later_pairings import LaterPairings, RoundPairs
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.standings import PlaceChange


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
    match message.WhichOneof("what"):
        case "disqualify":
            out = message.disqualify
            return corrections.Disqualify(out.player, out.from_start, _results(out.results), not out.games_go_on)
        case "reinstate":
            return corrections.Reinstate(message.reinstate.player)
        case "replay":
            return corrections.Replay(message.replay.game)
        case "award":
            return corrections.Award(message.award.player, message.award.half_points)
        case "lots":
            return corrections.DrawLots(tuple(message.lots.players), message.lots.seed)
        case _:
            return _of_pairing(message)


def _of_pairing(message: match_pb2.Correction) -> corrections.Correction:
    match message.WhichOneof("what"):
        case "pair":
            pairs = tuple((pair.first, pair.second) for pair in message.pair.pairs)
            return corrections.PairByHand(message.pair.round, pairs)
        case "forbid":
            return corrections.Forbid(message.forbid.first, message.forbid.second, message.forbid.lifted)
        case "bye":
            return corrections.GiveBye(message.bye.player, message.bye.round, message.bye.half_points)
        case "pair_round":
            return corrections.PairRound(message.pair_round.round, message.pair_round.afresh)
        case "hold":
            return corrections.Hold(message.hold.off)
        case _:
            raise argument_invalid("", "correction", f"one of {', '.join(corrections.CORRECTIONS)}")


def _results(number: match_pb2.DisqualifiedResults.ValueType) -> corrections.Results:
    if not number:
        return corrections.Results.STAND
    try:
        return corrections.Results[match_pb2.DisqualifiedResults.Name(number).removeprefix("DISQUALIFIED_RESULTS_")]
    except (KeyError, ValueError):
        raise argument_invalid(str(number), "results", "stand, forfeit or void") from None


def correction_message(what: corrections.Correction) -> match_pb2.Correction:
    """Return a correction."""
    match what:
        case corrections.Disqualify():
            results = match_pb2.DisqualifiedResults.Value(f"DISQUALIFIED_RESULTS_{what.results.name}")
            return match_pb2.Correction(
                disqualify=match_pb2.Disqualification(
                    player=what.player, from_start=what.from_start, results=results, games_go_on=not what.stop
                )
            )
        case corrections.Reinstate():
            return match_pb2.Correction(reinstate=match_pb2.Reinstatement(player=what.player))
        case corrections.Replay():
            return match_pb2.Correction(replay=match_pb2.Replay(game=what.game))
        case corrections.Award():
            return match_pb2.Correction(award=match_pb2.PointsAward(player=what.player, half_points=what.points))
        case corrections.DrawLots():
            return match_pb2.Correction(lots=match_pb2.LotDraw(players=what.players, seed=what.seed))
        case _:
            return _pairing_message(what)


def _pairing_message(what: corrections.OfPairing) -> match_pb2.Correction:
    match what:
        case corrections.PairByHand(round_, pairs):
            seated = [match_pb2.SeatedPair(first=first, second=second) for first, second in pairs]
            return match_pb2.Correction(pair=match_pb2.PairingByHand(round=round_, pairs=seated))
        case corrections.Forbid(first, second, lifted):
            return match_pb2.Correction(forbid=match_pb2.ForbiddenPair(first=first, second=second, lifted=lifted))
        case corrections.GiveBye(player, round_, points):
            return match_pb2.Correction(bye=match_pb2.GivenBye(player=player, round=round_, half_points=points))
        case corrections.PairRound(round_, afresh):
            return match_pb2.Correction(pair_round=match_pb2.RoundPairing(round=round_, afresh=afresh))
        case corrections.Hold(off):
            return match_pb2.Correction(hold=match_pb2.PauseAfterRound(off=off))


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
