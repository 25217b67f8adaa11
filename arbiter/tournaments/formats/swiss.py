"""Swiss: in every round players of about the same score meet, and nobody meets the same opponent twice.

Source: FIDE Handbook C.04.3, the FIDE (Dutch) System, in the edition that was in force until 31 January 2026.
`py4swiss` 0.3 does the pairing; it is modelled on bbpPairings. No published library implements the edition of 1
February 2026 yet. The `tournament_started` event of every Swiss names the edition by which it was paired (`RULES`).

| rule | here |
| --- | --- |
| what is scored | meetings: who has more points in its games has won it |
| pairing-allocated bye | the point of a won meeting, at most once (`byes` of the round's event) |
| requested byes | half a point, for the rounds that a player named when it entered |
| late entry | paired from the next round on; nothing for the rounds missed |
| withdrawal | not paired any more |
| who has the bye | who is left over when the score groups have been paired from the top; not always the lowest score |
| forfeit | a meeting of walkovers and no-shows alone is not played: it may be paired again; its winner has no bye |
| acceleration | Baku (C.04.7): the better half of the field has virtual points in the first half of the rounds |
| forbidden pairs | never meet |
| seats | as the Dutch rules allocate colours; the first seed has seat 1 in round 1 |
| no legal pairing | the tournament is over: it has fewer rounds than were planned |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.pairer import FreePlayers, InvalidOption, Pairer, arrange
from arbiter.tournaments.meetings import Meeting, Pair
from arbiter.tournaments.spec import Options, TieBreak
from arbiter.tournaments.tournament import Tournament

if TYPE_CHECKING:
    from py4swiss.trf import ParsedTrf
    from py4swiss.trf.results import RoundResult


RULES: Final = "FIDE C.04.3 (Dutch system), edition in force until 31 January 2026; py4swiss 0.3"


class Swiss(Pairer):
    """The pairer of a Swiss."""

    title = "Swiss"
    purpose = "Rounds in which players of about the same score meet. For a large field."
    by_round = True
    options = ("rounds", "accelerated")
    rules = RULES
    late_entry = True
    in_rounds = True
    tie_breaks = (TieBreak.BUCHHOLZ_CUT_1, TieBreak.BUCHHOLZ, TieBreak.SONNEBORN_BERGER, TieBreak.WINS)

    def invalid_option(self, options: Options) -> InvalidOption | None:
        """Return the rounds option if it is missing."""
        return None if options.rounds else InvalidOption("0", "rounds", "the number of rounds, at least 1")

    def meetings_to_come(self, options: Options, rounds: int, players: int, present: int) -> int:
        """Return how many meetings are still to be paired if all who are present stay."""
        return (options.rounds - rounds) * (present // 2)

    def planned_meetings(self, options: Options) -> int:
        """Return 1: nobody meets twice, except after a meeting that was not played."""
        return 1

    def heavy(self, tournament: Tournament, field: FreePlayers) -> bool:
        """Return True if the Dutch rules pair this round: hundreds of players take seconds."""
        return True

    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return the next round once the last one has been played; without pairs if there is no legal pairing."""
        if self.over(tournament) or not tournament.all_decided():
            return None
        return arrange(tournament, tournament.rounds + 1, *(pair_round(tournament) or ((), ())))

    def over(self, tournament: Tournament) -> bool:
        """Return whether all rounds have been paired."""
        return tournament.rounds >= tournament.spec.options.rounds


def pair_round(tournament: Tournament) -> tuple[list[Pair], list[str]] | None:
    """Return the pairs of the next round and the player with the bye, or None if there is no legal pairing."""
    # Imported here: the import is slow, and only a worker that pairs needs it.
    from py4swiss.engines import DutchEngine
    from py4swiss.engines.common import PairingError

    numbers = {player: number for number, player in enumerate(tournament.seeds, start=1)}
    names = {number: player for player, number in numbers.items()}
    if sum(_plays(tournament, player, tournament.rounds + 1) for player in tournament.seeds) < 2:
        return None
    try:
        drawn = DutchEngine.generate_pairings(_report(tournament, numbers))
    except PairingError:
        return None
    pairs = [Pair(names[pairing.white], names[pairing.black]) for pairing in drawn if pairing.black]
    return pairs, [names[pairing.white] for pairing in drawn if not pairing.black]


def _plays(tournament: Tournament, player: str, round_: int) -> bool:
    entrant = tournament.entrants[player]
    return not entrant.withdrawn and round_ not in entrant.byes


def _report(tournament: Tournament, numbers: dict[str, int]) -> ParsedTrf:
    """Return the tournament so far as a FIDE tournament report."""
    from py4swiss.trf import ParsedTrf
    from py4swiss.trf.codes import PlayerCode
    from py4swiss.trf.sections import PlayerSection, XSection

    rounds = tournament.spec.options.rounds
    extra = XSection(number_of_rounds=rounds)
    extra.forbidden_pairs = {
        (numbers[pair[which]], numbers[pair[1 - which]])
        for pair in tournament.spec.entry.forbidden
        if all(player in numbers for player in pair)
        for which in (0, 1)
    }
    if tournament.spec.options.accelerated:
        extra.accelerations = {numbers[player]: points for player, points in baku(tournament).items()}
    meetings = {(meeting.round, player): meeting for meeting in tournament.meetings for player in meeting[2:4]}
    sections = []
    for player, number in numbers.items():
        results = [
            _result(tournament, player, round_, meetings.get((round_, player)), numbers)
            for round_ in range(1, tournament.rounds + 1)
        ]
        if not _plays(tournament, player, tournament.rounds + 1):
            results.append(_absent(tournament, player, tournament.rounds + 1))
        points = sum(extra.scoring_point_system.get_points_times_ten(result) for result in results)
        sections.append(
            PlayerSection(
                code=PlayerCode.PLAYER, starting_number=number, points_times_ten=points, rank=number, results=results
            )
        )
    return ParsedTrf(player_sections=sections, x_section=extra)


def _result(
    tournament: Tournament, player: str, round_: int, meeting: Meeting | None, numbers: Mapping[str, int]
) -> RoundResult:
    from py4swiss.trf.results import ColorToken, ResultToken, RoundResult

    if meeting is None:
        if player in tournament.byes.get(round_, ()):
            return RoundResult(id=0, color=ColorToken.BYE_OR_NOT_PAIRED, result=ResultToken.PAIRING_ALLOCATED_BYE)
        return _absent(tournament, player, round_)
    opponent = meeting.second if meeting.first == player else meeting.first
    margin = tournament.score(meeting, player) - tournament.score(meeting, opponent)
    played = any(tournament.results[game.number].played for game in meeting.games)
    if played:
        token = ResultToken.WIN if margin > 0 else ResultToken.DRAW if margin == 0 else ResultToken.LOSS
    else:
        token = ResultToken.FORFEIT_WIN if margin > 0 else ResultToken.FORFEIT_LOSS
    colour = ColorToken.WHITE if meeting.first == player else ColorToken.BLACK
    return RoundResult(id=numbers[opponent], color=colour, result=token)


def _absent(tournament: Tournament, player: str, round_: int) -> RoundResult:
    from py4swiss.trf.results import ColorToken, ResultToken, RoundResult

    asked = round_ in tournament.entrants[player].byes and round_ >= tournament.entrants[player].joined
    token = ResultToken.HALF_POINT_BYE if asked else ResultToken.ZERO_POINT_BYE
    return RoundResult(id=0, color=ColorToken.BYE_OR_NOT_PAIRED, result=token)


def baku(tournament: Tournament) -> dict[str, list[int]]:
    """Return the virtual points of each round, in tenths of a point, of the players who have any (C.04.7).

    The first half of the players, rounded up to an even number, gets them in the first half of the rounds, rounded up:
    one point in the first half of those, rounded up, then half a point. Late entrants get none.
    """
    starters = [player for player in tournament.seeds if tournament.entrants[player].joined == 1]
    accelerated = (tournament.spec.options.rounds + 1) // 2
    whole = (accelerated + 1) // 2
    better = starters[: 2 * ((len(starters) + 3) // 4)]
    return {player: [10] * whole + [5] * (accelerated - whole) for player in better}
