"""Swiss: in every round players of about the same score meet, and nobody meets the same opponent twice.

Source: FIDE Handbook C.04.3, the FIDE (Dutch) System, in the edition in force since 1 February 2026; a table in
`arbiter.tournaments.dutch` says what of it is implemented. The `tournament_started` event of every Swiss names the
edition by which it was paired (`RULES`).

| rule | here |
| --- | --- |
| what is scored | meetings: the player with more points in its games has won it |
| pairing-allocated bye | the point of a won meeting, at most once (`byes` of the round's event) |
| who has the bye | the lowest score that can have it; there, whoever has missed the fewest games |
| requested byes | half a point, for the rounds that a player named when it entered |
| late entry | paired from the next round on, numbered after all others; nothing for the rounds missed |
| withdrawal | not paired any more |
| forfeit | a meeting of walkovers and no-shows alone is not played: it may be paired again; its winner has no bye |
| acceleration | Baku (C.04.7): the better half of the field has virtual points in the first half of the rounds |
| forbidden pairs | never meet |
| seats | as the Dutch rules allocate colours; the first seed has seat 1 in round 1, unless a report says otherwise |
| pairs and byes by hand | as the organiser asked; the others by the rules, or by score where these can't |
| fewer than two play a round | a round of byes: requested ones count; a player left alone has the bye if it may |
| no legal pairing | the tournament is over: it has fewer rounds than were planned |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from arbiter.tournaments import dutch
from arbiter.tournaments.by_hand import NOTHING, HandPairing
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.pairer import FreePlayers, InvalidOption, Pairer, arrange
from arbiter.tournaments.game_ends import DRAW, WIN
from arbiter.tournaments.meetings import Meeting, Pair
from arbiter.tournaments.spec import Options, Spec, TieBreak
from arbiter.tournaments.tournament import Tournament

RULES: Final = "FIDE C.04.3 (Dutch system), edition in force since 1 February 2026"


class Swiss(Pairer):
    """The pairer of a Swiss."""

    title = "Swiss"
    purpose = "Rounds in which players of about the same score meet. For a large field."
    by_round = True
    rules = RULES
    late_entry = True
    in_rounds = True
    reported = True
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
        round_ = tournament.rounds + 1
        playing = [player for player in tournament.seeds if _plays(tournament, player, round_)]
        if len(playing) < 2 <= len(tournament.players):  # the others sit it out, and come back
            given = tournament.by_hand.get(round_, NOTHING).byes
            byes = [player for player in playing if player in given or _may_have_bye(tournament, player)]
            return replace(arrange(tournament, round_, (), byes), idle=True)
        return arrange(tournament, round_, *(pair_round(tournament) or ((), ())))

    def paired_again(self, tournament: Tournament) -> list[Pair] | None:
        """Return the pairs of the next round."""
        paired = pair_round(tournament)
        return paired[0] if paired is not None else None

    def field_caution(self, spec: Spec, players: int) -> str:
        """Return a warning if the players run out of opponents before the last round."""
        rounds = players - 1 + players % 2
        if players < 2 or spec.options.rounds <= rounds:
            return ""
        return (
            f"{players} players can play {rounds} rounds of a Swiss, since nobody meets the same opponent twice: "
            f"of its {spec.options.rounds} rounds the others are not played, unless more players enter."
        )


def pair_round(tournament: Tournament) -> tuple[list[Pair], list[str]] | None:
    """Return the pairs of the next round and the players with a bye, or None if there is no legal pairing.

    What an organiser has asked for the round is done, whatever the rules say.
    """
    numbers = {player: number for number, player in enumerate(tournament.seeds, start=1)}
    forbidden = {
        frozenset(numbers[player] for player in pair)
        for pair in tournament.forbidden
        if all(player in numbers for player in pair)
    }
    round_ = tournament.rounds + 1
    playing = {player for player in tournament.seeds if _plays(tournament, player, round_)}
    asked = tournament.by_hand.get(round_, NOTHING).of(playing)
    rest = playing - {player for pair in asked.pairs for player in pair.players} - set(asked.byes)
    entries = _entries(tournament, numbers, rest)
    paired = dutch.pair_round(entries, tournament.spec.options.rounds, forbidden, tournament.initial)
    if paired is None:
        return _neighbours(tournament, asked, rest) if asked != NOTHING else None
    pairs = [Pair(tournament.seeds[one - 1], tournament.seeds[other - 1]) for one, other in paired.pairs]
    bye = [tournament.seeds[paired.bye - 1]] if paired.bye else []
    return [*asked.pairs, *pairs], [*asked.byes, *bye]


def _neighbours(tournament: Tournament, asked: HandPairing, rest: Collection[str]) -> tuple[list[Pair], list[str]]:
    """Return what is asked for a round, with pairs of neighbours by score; a player who is left over has a bye."""
    scores = Counter(dict.fromkeys(rest, 0))
    for player in rest:
        meetings = tournament.meetings_of[player]
        scores[player] += sum(tournament.meeting_points(meeting, player) for meeting in meetings)
        scores[player] += WIN * sum(player in byes for byes in tournament.byes.values())
    order = sorted(rest, key=lambda player: (-scores[player], tournament.seeds.index(player)))
    pairs = [Pair(*pair) for pair in zip(order[::2], order[1::2], strict=False)]
    return [*asked.pairs, *pairs], [*asked.byes, *order[2 * len(pairs) :]]


def _entries(tournament: Tournament, numbers: Mapping[str, int], present: Collection[str]) -> list[dutch.Entry]:
    """Return the players' records as the Dutch rules need them. present: whom they pair."""
    virtual = virtual_points(tournament)
    meetings = {(meeting.round, player): meeting for meeting in tournament.meetings for player in meeting.players}
    return [
        dutch.Entry(
            number,
            [
                _result(tournament, player, round_, meetings.get((round_, player)), numbers)
                for round_ in range(1, tournament.rounds + 1)
            ],
            present=player in present,
            virtual=virtual.get(player, ()),
        )
        for player, number in numbers.items()
    ]


def _plays(tournament: Tournament, player: str, round_: int) -> bool:
    entrant = tournament.entrants[player]
    return not entrant.withdrawn and round_ not in entrant.byes


def _may_have_bye(tournament: Tournament, player: str) -> bool:
    """Return whether a player may have the pairing-allocated bye: it had none, and has not won without play (C2)."""
    numbers = {each: number for number, each in enumerate(tournament.seeds, start=1)}
    meetings = {meeting.round: meeting for meeting in tournament.meetings_of[player]}
    results = (_result(tournament, player, n, meetings.get(n), numbers) for n in range(1, tournament.rounds + 1))
    return not any(result.points == WIN and not result.played for result in results)


def _result(
    tournament: Tournament, player: str, round_: int, meeting: Meeting | None, numbers: Mapping[str, int]
) -> dutch.Result:
    if meeting is None:
        if player in tournament.byes.get(round_, ()):
            return dutch.Result(points=WIN)
        entrant = tournament.entrants[player]
        return dutch.Result(points=DRAW if round_ in entrant.byes and round_ >= entrant.joined else 0)
    first = meeting.first == player
    opponent = meeting.second if first else meeting.first
    played = any(tournament.results[game.number].played for game in meeting.games)
    return dutch.Result(numbers[opponent], 1 if first else 2, tournament.meeting_points(meeting, player), played)


def virtual_points(tournament: Tournament) -> Mapping[str, Sequence[int]]:
    """Return the virtual half points of each round, of the players who have any: those of a report, or Baku's."""
    return tournament.virtual or (baku(tournament) if tournament.spec.options.accelerated else {})


def baku(tournament: Tournament) -> dict[str, list[int]]:
    """Return the virtual half points of each round, of the players who have any (C.04.7).

    The first half of the players, rounded up to an even number, gets them in the first half of the rounds, rounded up:
    one point in the first half of those, rounded up, then half a point. Late entrants get none.
    """
    starters = [player for player in tournament.seeds if tournament.entrants[player].joined == 1]
    accelerated = (tournament.spec.options.rounds + 1) // 2
    whole = (accelerated + 1) // 2
    better = starters[: 2 * ((len(starters) + 3) // 4)]
    return {player: [WIN] * whole + [DRAW] * (accelerated - whole) for player in better}
