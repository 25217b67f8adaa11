"""Corrections of organisers, besides rulings on single games. `correct_tournament` makes one."""

from __future__ import annotations

from dataclasses import dataclass

from arbiter_protos.v1 import match_pb2 as pb

from arbiter_client.values.reading import OpenEnum


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


Decision = Disqualification | Reinstatement | Replay | PointsAward | LotDraw
"""What an organiser can decide."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A decision: one of these; the others are None."""

    disqualify: Disqualification | None = None
    reinstate: Reinstatement | None = None
    replay: Replay | None = None
    award: PointsAward | None = None
    lots: LotDraw | None = None

    @property
    def what(self) -> Decision | None:
        """The decision; None if it is newer than this client."""
        return self.disqualify or self.reinstate or self.replay or self.award or self.lots


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
