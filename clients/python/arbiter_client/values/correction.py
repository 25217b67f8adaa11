"""Corrections of organisers, besides rulings on single games. `correct_tournament` makes one."""

from __future__ import annotations

from dataclasses import dataclass, fields

from arbiter_protos.v1 import match_pb2 as pb

from arbiter_client.values.reading import OpenEnum
from arbiter_client.values.tournament import PlayerPair


class DisqualifiedResults(OpenEnum):
    """What becomes of the results of a player who is disqualified from the start."""

    UNSPECIFIED = 0  #: they stand
    STAND = 1
    FORFEIT = 2  #: it has lost all its games without play
    VOID = 3  #: its games do not count


@dataclass(frozen=True, slots=True)
class Disqualification:
    """A player is disqualified: from now on, or from the start. games_go_on: those under way are not stopped."""

    player: str
    from_start: bool = False
    results: DisqualifiedResults = DisqualifiedResults.STAND
    games_go_on: bool = False


@dataclass(frozen=True, slots=True)
class Reinstatement:
    """The disqualification of a player is taken back."""

    player: str


@dataclass(frozen=True, slots=True)
class Replay:
    """A game that has a result is played again in its round."""

    game: int


@dataclass(frozen=True, slots=True)
class PointsAward:
    """A player gets points in the standings, or loses some. half_points: in an arena, its own points."""

    player: str
    half_points: int


@dataclass(frozen=True, slots=True)
class LotDraw:
    """Players who share a place are ordered by lot. seed: '' for one that the server draws."""

    players: tuple[str, ...]
    seed: str = ""


@dataclass(frozen=True, slots=True)
class PairingByHand:
    """Players meet in a round that has not begun, whatever the rules say. The first of a pair has seat 1 first.

    If the round is paired, its other pairs stay, and players who have lost their opponents are paired by the rules. In
    a round robin the players of whole pairs change their opponents or seats.
    """

    round: int
    pairs: tuple[PlayerPair, ...]


@dataclass(frozen=True, slots=True)
class ForbiddenPair:
    """Two players are kept apart from the next pairing on. lifted: they may be paired again."""

    first: str
    second: str
    lifted: bool = False


@dataclass(frozen=True, slots=True)
class GivenBye:
    """A player sits out a round that has not begun, with a point (2 half points) or half of one (1)."""

    player: str
    round: int
    half_points: int = 2


@dataclass(frozen=True, slots=True)
class RoundPairing:
    """A round that has not begun is paired while the tournament is paused, or is paired again.

    afresh: without the pairs and the byes with a point that were asked for it by hand.
    """

    round: int
    afresh: bool = False


@dataclass(frozen=True, slots=True)
class PauseAfterRound:
    """The tournament pauses once the round under way is over; between two rounds, once the next one is.

    off: it does not.
    """

    off: bool = False


OfPairing = PairingByHand | ForbiddenPair | GivenBye | RoundPairing | PauseAfterRound
"""What an organiser can decide about pairings."""

Decision = Disqualification | Reinstatement | Replay | PointsAward | LotDraw | OfPairing
"""What an organiser can decide."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A decision: one of these; the others are None."""

    disqualify: Disqualification | None = None
    reinstate: Reinstatement | None = None
    replay: Replay | None = None
    award: PointsAward | None = None
    lots: LotDraw | None = None
    pair: PairingByHand | None = None
    forbid: ForbiddenPair | None = None
    bye: GivenBye | None = None
    pair_round: RoundPairing | None = None
    hold: PauseAfterRound | None = None

    @property
    def what(self) -> Decision | None:
        """The decision; None if it is newer than this client."""
        made = (getattr(self, each.name) for each in fields(self))
        return next((each for each in made if each is not None), None)


def message_of(what: Decision) -> pb.Correction:
    """Return the message of a decision."""
    match what:
        case Disqualification():
            results = pb.DisqualifiedResults.ValueType(what.results)
            out = pb.Disqualification(
                player=what.player, from_start=what.from_start, results=results, games_go_on=what.games_go_on
            )
            return pb.Correction(disqualify=out)
        case Reinstatement():
            return pb.Correction(reinstate=pb.Reinstatement(player=what.player))
        case Replay():
            return pb.Correction(replay=pb.Replay(game=what.game))
        case PointsAward():
            return pb.Correction(award=pb.PointsAward(player=what.player, half_points=what.half_points))
        case LotDraw():
            return pb.Correction(lots=pb.LotDraw(players=what.players, seed=what.seed))
        case _:
            return _of_pairing(what)


def _of_pairing(what: OfPairing) -> pb.Correction:
    match what:
        case PairingByHand():
            pairs = [pb.SeatedPair(first=pair.first, second=pair.second) for pair in what.pairs]
            return pb.Correction(pair=pb.PairingByHand(round=what.round, pairs=pairs))
        case ForbiddenPair():
            pair = pb.ForbiddenPair(first=what.first, second=what.second, lifted=what.lifted)
            return pb.Correction(forbid=pair)
        case GivenBye():
            bye = pb.GivenBye(player=what.player, round=what.round, half_points=what.half_points)
            return pb.Correction(bye=bye)
        case RoundPairing():
            return pb.Correction(pair_round=pb.RoundPairing(round=what.round, afresh=what.afresh))
        case PauseAfterRound():
            return pb.Correction(hold=pb.PauseAfterRound(off=what.off))
