"""A Swiss or a round robin of ours as a tournament report (`arbiter.tournaments.trf`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from arbiter.tournaments import formats
from arbiter.tournaments.by_hand import NOTHING
from arbiter.tournaments.formats.swiss import virtual_points
from arbiter.tournaments.game_ends import DRAW, LOSS, WIN
from arbiter.tournaments.meetings import Meeting
from arbiter.tournaments.standings import Table
from arbiter.tournaments.tournament import Tournament
from arbiter.tournaments.trf import MOST_PLAYERS, NAME, Cell, Report, ReportedPlayer
from arbiter.tournaments.trf_records import Bye, Kept, OtherRecords, Virtual


def is_reported(tournament: Tournament) -> bool:
    """Return whether there is a report of a tournament: of a Swiss or a round robin that has begun."""
    return formats.of(tournament.spec).reported and 0 < len(tournament.seeds) <= MOST_PLAYERS


def report_of(tournament: Tournament, table: Table) -> Report:
    """Return the report of a Swiss or a round robin that has begun; players are numbered by their seeds.

    A round of a Swiss is one of the report: the points of a meeting are its result. Each game of a round robin has a
    round of its own, since its games are what counts there. A void game is written as none; a meeting without play that
    is neither won nor lost by both, as byes. Points that an organiser has given or taken are left out: reports have no
    place for them.
    """
    numbers = {player: number for number, player in enumerate(tournament.seeds, 1)}
    by_game = not formats.of(tournament.spec).in_rounds
    each_round = max((len(meeting.games) for meeting in tournament.meetings), default=1) if by_game else 1
    blank = Cell(0, "-", "Z")
    cells = {player: [blank] * (tournament.rounds * each_round) for player in tournament.seeds}
    for meeting in tournament.meetings:
        first = (meeting.round - 1) * each_round
        for player in (meeting.first, meeting.second):
            found = _games(tournament, meeting, player, numbers) if by_game else []
            found = found or [_met(tournament, meeting, player, numbers)]
            cells[player][first : first + len(found)] = found
    if not by_game:
        for player, byes in _byes(tournament).items():
            for round_, result in byes.items():
                cells[player][round_ - 1] = Cell(0, "-", result)
    rows = {row.player: row for row in table.rows}
    players = [
        ReportedPlayer(
            numbers[player],
            player[:NAME],
            tournament.entrants[player].rating,
            rows[player].points - tournament.awarded.get(player, 0),
            rows[player].place,
            tuple(cells[player]),
        )
        for player in tournament.seeds
    ]
    others = OtherRecords() if by_game else _others(tournament, numbers)
    return Report(tournament.spec.name, tuple(players), tournament.spec.options.rounds, others)


def _others(tournament: Tournament, numbers: Mapping[str, int]) -> OtherRecords:
    """Return what else another program must know to pair the next round of a Swiss."""
    pairs = (sorted(numbers[player] for player in pair) for pair in tournament.forbidden if pair <= numbers.keys())
    virtual = virtual_points(tournament)
    return OtherRecords(
        tournament.initial,
        tuple(sorted(Kept((one, other)) for one, other in pairs)),
        tuple(Virtual(numbers[player], tuple(points)) for player, points in virtual.items()),
        tuple(sorted(_coming_byes(tournament, numbers))),
    )


def _coming_byes(tournament: Tournament, numbers: Mapping[str, int]) -> Iterator[Bye]:
    """Yield the byes of rounds that are not paired yet; whoever has withdrawn is away in all of them."""
    to_come = range(tournament.rounds + 1, tournament.spec.options.rounds + 1)
    for player, number in numbers.items():
        entrant = tournament.entrants[player]
        for round_ in to_come:
            if entrant.withdrawn:
                yield Bye(round_, number, "Z")
            elif player in tournament.by_hand.get(round_, NOTHING).byes:
                yield Bye(round_, number, "F")
            elif round_ in entrant.byes:
                yield Bye(round_, number, "H")
        if to_come and (entrant.withdrawn or to_come[0] in entrant.byes):
            yield Bye(0, number, "Z")


def _met(tournament: Tournament, meeting: Meeting, player: str, numbers: Mapping[str, int]) -> Cell:
    """Return the cell of a meeting as a whole."""
    first = meeting.first == player
    opponent, colour = numbers[meeting.second if first else meeting.first], "w" if first else "b"
    if not tournament.decided(meeting):
        return Cell(opponent, colour, " ")
    results = [tournament.results[game.number] for game in meeting.games]
    if all(each.void for each in results):
        return Cell()
    played = any(each.played for each in results)
    points = [tournament.meeting_points(meeting, each) for each in (player, *({*meeting.players} - {player}))]
    if not played and (DRAW in points):
        return Cell(0, "-", {WIN: "F", DRAW: "H", LOSS: "Z"}[points[0]])
    return Cell(opponent, colour, _result(points[0], played))


def _games(tournament: Tournament, meeting: Meeting, player: str, numbers: Mapping[str, int]) -> list[Cell]:
    """Return a cell for each game of a meeting."""
    found = []
    for game in meeting.games:
        first, result = game.seat1 == player, tournament.results.get(game.number)
        opponent, colour = numbers[game.seat2 if first else game.seat1], "w" if first else "b"
        if result is None:
            found.append(Cell(opponent, colour, " "))
        elif result.void:
            found.append(Cell())
        else:
            found.append(Cell(opponent, colour, _result(result.half_points(1 if first else 2), result.played)))
    return found


def _result(half_points: int, played: bool) -> str:
    if played:
        return {WIN: "1", DRAW: "=", LOSS: "0"}[half_points]
    return {WIN: "+", DRAW: "=", LOSS: "-"}[half_points]


def _byes(tournament: Tournament) -> dict[str, dict[int, str]]:
    """Return the byes of each player by round: allocated ones, and requested ones from its first round on."""
    found: dict[str, dict[int, str]] = {player: {} for player in tournament.seeds}
    paired: Iterable[tuple[str, int]] = {
        (player, each.round) for each in tournament.meetings for player in each.players
    }
    for player in tournament.seeds:
        entrant = tournament.entrants[player]
        requested = [round_ for round_ in entrant.byes if entrant.joined <= round_ <= tournament.rounds]
        found[player] = {round_: "H" for round_ in requested if (player, round_) not in paired}
    for round_, players in tournament.byes.items():
        for player in players:
            found[player][round_] = "U"
    return found
