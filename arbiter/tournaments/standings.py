"""The standings of a tournament of any format at any moment: a function of the tournament, and so of its log.

| format | what is counted | order |
| --- | --- | --- |
| Swiss | meetings that have ended: won by more points in their games | points, tie-breaks |
| arena | games | arena points (`arbiter.tournaments.formats.arena`), tie-breaks |
| ladder | games | rating by the games of this ladder, provisional players apart, at the end (`formats/ladder.py`) |
| knockout | games | how far a player got (those still in it, then by the round in which they went out), tie-breaks |
| round robin | games, without those against who has left early (`arbiter.tournaments.early_leavers`) | points, tie-breaks |
| of teams | games | points, games won; `arbiter.tournaments.team_standings` ranks the teams |
| all others | games | points, tie-breaks |

A won meeting or game counts one point, a drawn one half a point; `arbiter.tournaments.game_ends` says what the end of a
game means, `arbiter.tournaments.counting_result` which result of it counts after an organiser's decisions. A player
that is disqualified from the start comes after all others. Points that the organiser gives or takes are added to a
player's points, but not to what tie-breaks and pairings count. Players that are level in everything share a place,
unless lots were drawn. In a Swiss a pairing-allocated bye counts as a won meeting, and a requested bye as a drawn one;
a round before a late entry or after a withdrawal counts as lost. A meeting is a forfeit if none of its games was
played. If all of them are void, it is a round without points that neither player missed.

A ladder's validation games, of a player against itself, do not count. This module does not compute the fit that rates
the players; the caller passes it in. Players that share a place appear in seed order.
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from arbiter.tournaments import formats
from arbiter.tournaments.early_leavers import early_leavers
from arbiter.tournaments.formats.pairer import Merit, Rating
from arbiter.tournaments.game_ends import DRAW, LOSS, WIN, GameResult, Winner
from arbiter.tournaments.groups import Groups, prize_places
from arbiter.tournaments.lots import Lots
from arbiter.tournaments.meetings import Meeting, ScheduledGame
from arbiter.tournaments.old_games import Kind, Line
from arbiter.tournaments.spec import TieBreak
from arbiter.tournaments.team_standings import TeamTable, team_standings
from arbiter.tournaments.tie_breaks import Encounter, EncounterKind, Scores
from arbiter.tournaments.tournament import Tournament


class Faults(NamedTuple):
    """Games that a player lost by its own fault, not by play.

    timeouts: its flag fell. crashes: it did not come, or did not come back. violations: it broke the rules of the game.
    walkovers: it had withdrawn.
    """

    timeouts: int = 0
    crashes: int = 0
    violations: int = 0
    walkovers: int = 0


class StandingsRow(NamedTuple):
    """One player's row of the standings.

    place: from 1; players that are level in everything share a place. values: one for each tie-break of the table, in
    quarters. points: half points of what the format counts. meeting_points, game_points: half points of all ended
    meetings and games; only the former include byes. games: number of ended games, split into wins, draws, losses.
    arena_points: in an arena, else None. reached: how far the player got in a knockout, else ''. rating: by the games
    of this tournament; None without a played game, or if ratings were not requested. left_early: its games do not count
    for the points of the others. prize_place: as if only the best bot of each author had played, else 0; everywhere 0
    without `Groups.one_prize`. awarded: half points (in an arena, its own) that the organiser gave or took; they are
    part of `points` (of `arena_points`). team: '' if this is no tournament of teams.
    """

    place: int
    player: str
    points: int
    values: tuple[int, ...]
    meeting_points: int
    game_points: int
    games: int
    wins: int
    draws: int
    losses: int
    faults: Faults
    withdrawn: bool
    arena_points: int | None = None
    reached: str = ""
    rating: Rating | None = None
    left_early: bool = False
    disqualified: bool = False
    awarded: int = 0
    prize_place: int = 0
    team: str = ""


class Table(NamedTuple):
    """The standings after the event `revision` of a tournament, best player first, and its columns of `values`.

    teams: those of the teams; None if there are none.
    """

    revision: int
    tie_breaks: tuple[TieBreak, ...]
    rows: tuple[StandingsRow, ...]
    teams: TeamTable | None = None


def standings(tournament: Tournament, ratings: Mapping[str, Rating] | None = None) -> Table:
    """Return the current standings: of the entrants before the start, then of all participants.

    ratings: a fit of `rated_games`. Without them a ladder is ordered by points, like other formats.
    """
    ratings = ratings or {}
    spec = tournament.spec
    started = tournament.started_at is not None
    players = tournament.seeds or (list(tournament.entrants) if started else tournament.players)
    games = _games(tournament, players)
    pairer, order = formats.of(spec), (TieBreak.WINS,) if spec.boards else formats.tie_breaks(spec)
    meetings = {player: list((_rounds if pairer.in_rounds else _meetings)(tournament, player)) for player in players}
    counted = meetings
    if not pairer.in_rounds:
        counted = {player: [each.encounter(tournament) for each in games[player]] for player in players}
    left_early, old_points = early_leavers(tournament), tournament.old.points(tournament.disqualified)
    for player in set(players) - left_early:
        counted[player] = [each for each in counted[player] if each.opponent not in left_early]
    scores = Scores(counted, tournament.rounds, swiss=pairer.in_rounds)
    merits = pairer.merits(tournament, players, ratings) or {
        player: Merit((points + tournament.awarded.get(player, 0),)) for player, points in scores.points.items()
    }
    first = {
        player: (not _out(tournament, player), player not in left_early, *merits[player].order) for player in players
    }
    ranking = scores.rank(order, first)
    rows: list[StandingsRow] = []
    for group in (part for level in ranking.groups for part in _by_lot(tournament, level)):
        place = len(rows) + 1
        for player in group:
            scored: Counter[int] = Counter()
            for each in games[player]:
                scored[each.score] += each.times
            row = StandingsRow(
                place=place,
                player=player,
                points=scores.points[player] + (0 if pairer.own_points else tournament.awarded.get(player, 0)),
                values=ranking.values[player],
                meeting_points=sum(each.score for each in meetings[player]) + old_points[player],
                game_points=WIN * scored[WIN] + DRAW * scored[DRAW],
                games=scored.total(),
                wins=scored[WIN],
                draws=scored[DRAW],
                losses=scored[LOSS],
                faults=_faults(games[player]),
                withdrawn=tournament.entrants[player].withdrawn,
                arena_points=merits[player].arena_points,
                reached=merits[player].reached,
                rating=ratings.get(player),
                left_early=player in left_early,
                disqualified=tournament.entrants[player].disqualified,
                awarded=tournament.awarded.get(player, 0),
                team=tournament.entrants[player].team,
            )
            rows.append(row)
    teams = team_standings(tournament, formats.tie_breaks(spec)) if spec.boards else None
    return Table(tournament.revision, order, tuple(_with_prizes(rows, spec.groups)), teams)


def _with_prizes(rows: list[StandingsRow], groups: Groups) -> list[StandingsRow]:
    """Return rows with their places for the prizes, if several bots of one author share them."""
    if not groups.one_prize:
        return rows
    prizes = prize_places(((row.player, row.place, row.disqualified) for row in rows), groups.authors)
    return [row._replace(prize_place=prize) for row, prize in zip(rows, prizes, strict=True)]


def _out(tournament: Tournament, player: str) -> bool:
    """Return whether a player is disqualified from the start, and so comes after all others."""
    disqualified = tournament.disqualified.get(player)
    return disqualified is not None and disqualified.what.from_start


def _by_lot(tournament: Tournament, level: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return players that are level in everything, each alone in the order of the last lot that has them all."""
    for drawn in reversed(tournament.lots):
        if len(level) > 1 and set(level) <= set(drawn.players):
            order = Lots(drawn.seed).shuffled(sorted(drawn.players))
            return [(player,) for player in sorted(level, key=order.index)]
    return [level]


class PlaceChange(NamedTuple):
    """A player whose place or points differ between two standings. Points are in halves; in an arena its own."""

    player: str
    place_before: int
    place: int
    points_before: int
    points: int


def place_changes(before: Table, after: Table) -> list[PlaceChange]:
    """Return the players whose place or points differ between two standings, in the order of the second."""
    earlier = {row.player: row for row in before.rows}
    return [
        PlaceChange(row.player, old.place, row.place, _counted(old), _counted(row))
        for row, old in ((row, earlier[row.player]) for row in after.rows if row.player in earlier)
        if (row.place, _counted(row)) != (old.place, _counted(old))
    ]


def _counted(row: StandingsRow) -> int:
    return row.points if row.arena_points is None else row.arena_points


class GameForFit(NamedTuple):
    """A game for a rating fit. variant, moves: two games with the same of both went the same way; moves '': unknown.

    version1, version2: of the bots in seat 1 and 2. number: of the game.
    """

    seat1: str
    seat2: str
    winner: Winner
    variant: str = ""
    moves: str = ""
    version1: str = ""
    version2: str = ""
    number: int = 0


class OldGamesForFit(NamedTuple):
    """Old games for a rating fit that are alike, as `GameForFit`. last: the number of the last one.

    games: how many; known: of how many the moves are known; lines: their variant and digest, each once.
    """

    seat1: str
    seat2: str
    winner: int
    version1: str
    version2: str
    last: int
    games: int
    known: int
    lines: frozenset[tuple[str, str]]


def rated_games(tournament: Tournament) -> list[GameForFit]:
    """Return the games for a rating fit, in the order of their numbers, without games that were not played.

    Old games of a ladder are not among them, but in `old_rated_games`. Where the record does not say with which version
    a player played, it is the one with which it last entered.
    """
    entered = {player: entrant.version for player, entrant in tournament.entrants.items()}
    games = ((tournament.games[number - 1], result) for number, result in sorted(tournament.results.items()))
    return [
        GameForFit(
            *(game.seat1, game.seat2, each.winner, game.game, each.moves, *_versions(game, each.versions, entered)),
            number=game.number,
        )
        for game, each in games
        if each.rated and game.seat1 != game.seat2
    ]


def old_rated_games(tournament: Tournament) -> list[OldGamesForFit]:
    """Return the old games of a ladder for a rating fit."""
    entered = {player: entrant.version for player, entrant in tournament.entrants.items()}
    found = [
        OldGamesForFit(
            *(kind.seat1, kind.seat2, kind.result.winner, *_versions(kind, kind.result.versions, entered)),
            *(sum_.last, sum_.games, 0, frozenset()),
        )
        for kind, sum_ in tournament.old.counting(tournament.disqualified)
        if kind.result.rated
    ]
    return found + [
        OldGamesForFit(
            *(line.seat1, line.seat2, line.winner, *_versions(line, line.versions, entered)),
            *(0, 0, known.games, frozenset((line.game, digest.hex()) for digest in known.among())),
        )
        for line, known in tournament.old.rated_lines(tournament.disqualified)
    ]


def _versions(
    game: ScheduledGame | Kind | Line, versions: tuple[str, ...], entered: Mapping[str, str]
) -> tuple[str, str]:
    one, two = versions or ("", "")
    return one or entered[game.seat1], two or entered[game.seat2]


class _Seat(NamedTuple):
    """An ended game from one player's side; or old games that are alike, and then how many."""

    game: ScheduledGame | Kind
    result: GameResult
    seat: int
    times: int = 1

    @property
    def score(self) -> int:
        """What the player scored, in half points."""
        return self.result.half_points(self.seat)

    def encounter(self, tournament: Tournament) -> Encounter:
        """Return the game as an encounter of its own. That of old games has no round."""
        played = self.result.played
        second = played and self.seat == 2
        game = self.game
        return Encounter(
            tournament.meetings[game.meeting - 1].round if isinstance(game, ScheduledGame) else 0,
            self.game.seat2 if self.seat == 1 else self.game.seat1,
            self.score,
            EncounterKind.PLAYED if played else EncounterKind.FORFEIT,
            int(second),
            int(second and self.score == WIN),
            self.times,
        )


def _games(tournament: Tournament, players: Iterable[str]) -> dict[str, list[_Seat]]:
    """Return each player's ended games, old ones first, and then in the order of their numbers."""
    games: dict[str, list[_Seat]] = {player: [] for player in players}
    for game, played, times in ended_games(tournament):
        if game.seat1 != game.seat2 and not played.void:
            games[game.seat1].append(_Seat(game, played, 1, times))
            games[game.seat2].append(_Seat(game, played, 2, times))
    return games


def ended_games(tournament: Tournament) -> Iterator[tuple[ScheduledGame | Kind, GameResult, int]]:
    """Yield the games that have a result: old ones of a kind together, and how many, then the others by number."""
    for kind, sum_ in tournament.old.counting(tournament.disqualified):
        yield kind, kind.result, sum_.games
    for number in sorted(tournament.results):
        yield tournament.games[number - 1], tournament.results[number], 1


def _faults(games: Iterable[_Seat]) -> Faults:
    faults: Counter[str] = Counter()
    for each in games:
        faults[each.result.fault(each.seat)] += each.times
    return Faults(**{fault: times for fault, times in faults.items() if fault})


# Meetings


def _meetings(tournament: Tournament, player: str) -> Iterator[Encounter]:
    """Yield a player's meetings with others, including those that are not over."""
    for meeting in tournament.meetings_of[player]:
        if meeting.first != meeting.second:
            yield _meeting(tournament, meeting, player)


def _meeting(tournament: Tournament, meeting: Meeting, player: str) -> Encounter:
    opponent = meeting.second if meeting.first == player else meeting.first
    if not tournament.decided(meeting):
        return Encounter(meeting.round, opponent, 0, EncounterKind.OPEN)
    results = [(game, tournament.results[game.number]) for game in meeting.games]
    if all(result.void for _, result in results):
        return Encounter(meeting.round, kind=EncounterKind.ALLOCATED)
    played = [(game, result) for game, result in results if result.played]
    second = [result.winner == 2 for game, result in played if game.seat2 == player]
    kind = EncounterKind.PLAYED if played else EncounterKind.FORFEIT
    points = tournament.meeting_points(meeting, player)
    return Encounter(meeting.round, opponent, points, kind, len(second), sum(second))


def _rounds(tournament: Tournament, player: str) -> Iterator[Encounter]:
    """Yield a player's rounds of a Swiss: its meeting, or why it sat out."""
    met = {each.round: each for each in _meetings(tournament, player)}
    entrant = tournament.entrants[player]
    for round_ in range(1, tournament.rounds + 1):
        if round_ in met:
            yield met[round_]
        elif player in tournament.byes.get(round_, ()):
            yield Encounter(round_, "", WIN, EncounterKind.ALLOCATED)
        else:
            there = entrant.joined <= round_ and not (entrant.withdrawn and entrant.left < round_)
            asked = there and round_ in entrant.byes
            yield Encounter(round_, "", DRAW if asked else LOSS, EncounterKind.REQUESTED)


# Text


def points_text(points: int) -> str:
    """Return half points as people write them: 5 is '2½', 1 is '½', −3 is '−1½'."""
    return _mixed(points, 2, ("", "½"))


def quarters_text(quarters: int) -> str:
    """Return quarters (the value of a tie-break) as people write them: 7 is '1¾'."""
    return _mixed(quarters, 4, ("", "¼", "½", "¾"))


def _mixed(number: int, unit: int, fractions: Sequence[str]) -> str:
    whole, rest = divmod(abs(number), unit)
    return f"{'−' if number < 0 else ''}{whole or ''}{fractions[rest]}" or "0"
