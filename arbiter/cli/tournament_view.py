"""The display of a tournament: in a line, in a table, and as a picture for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

import arbiter_client as arb
from rich.console import Group, RenderableType
from rich.text import Text

from arbiter.cli.ratings_view import interval, signed
from arbiter.cli.table_options import AnyTableOptions
from arbiter.cli.terminal import counted, drawn_table, remark, table
from arbiter.table_text import Cell, Columns
from arbiter.tournaments.formats import Pairer, pairer_of
from arbiter.tournaments.game_ends import GameResult, Winner
from arbiter.tournaments.league import in_words
from arbiter.tournaments.spec import Format, Options
from arbiter.tournaments.standings import points_text, quarters_text

GAMES_SHOWN: Final = 12  #: maximum games under way in a picture

_FAULTS: Final = {"timeouts": "on time", "crashes": "absent", "violations": "by violation", "walkovers": "by walkover"}
"""What a player lost by its own doing, and the headings of these columns."""

PRIZES: Final = "prize: the place for the prizes, as if only the best bot of each author had played."

LEFT_EARLY: Final = "* left before half of its games: the points of the others are without the games against it."

RATING_HEADINGS: Final = ("rating", "95 % interval")

POINTS_OF_TEAMS: Final = (arb.TieBreak.MATCH_POINTS, arb.TieBreak.BOARD_POINTS)  #: columns that the table has anyway
GAME_HEADINGS: Final = ("game", "round", "match", "variant", "player 1", "player 2")


def picture(found: arb.Tournament, stand: arb.Standings) -> RenderableType:
    """Return the state of a tournament, as a picture for a terminal."""
    parts: list[RenderableType] = [Text(f"{in_short(found)}\n{state(found)}\n")]
    parts.append(drawn_table(*lines(stand, brief=True)))
    under_way = games(found)
    if under_way:
        parts.append(drawn_table(GAME_HEADINGS, under_way[:GAMES_SHOWN]))
    if len(under_way) > GAMES_SHOWN:
        parts.append(Text(f"and {counted(len(under_way) - GAMES_SHOWN, 'game')} more", "dim"))
    return Group(*parts)


def word(member: arb.TournamentFormat | arb.TournamentPhase | arb.TieBreak | arb.TournamentEnd) -> str:
    """Return a value of an enumeration as text for people."""
    return member.name.lower().replace("_", " ")


def in_short(found: arb.Tournament) -> str:
    """Return a tournament's specification in short: `Spring Cup: swiss, 5 rounds, pods(size=5), 1m+1s, rated`."""
    spec = found.spec
    rounds = f", {counted(spec.options.rounds, 'round')}" if spec.options.rounds else ""
    rated = ", rated" if spec.rated else ""
    teams = f" of teams with {counted(spec.options.boards, 'board')}" if spec.options.boards else ""
    return f"{spec.name}: {word(spec.format)}{teams}{rounds}, {' and '.join(spec.games)}, {spec.time}{rated}"


def state(found: arb.Tournament) -> str:
    """Return the state of a tournament: `running: round 2 of 5, 5 of 30 games played, 2 under way`.

    The round is that of a Swiss. In other formats the games of many rounds are under way at a time, and a round's
    number says nothing.
    """
    phase = word(found.phase)
    if found.phase is arb.TournamentPhase.ENTRY:
        there = sum(not each.withdrawn for each in found.entrants)
        waits = f"; its start time has come, but {found.start_note}" if found.start_note else ""
        return f"{phase}: {counted(there, 'player')}{waits}"
    if found.phase is arb.TournamentPhase.ENDED:
        phase = f"over ({word(found.end)}{f': {found.end_note}' if found.end_note else ''})"
    running = f", {len(found.running)} under way" if found.running else ""
    rounds = f"round {found.rounds} of {found.spec.options.rounds}, " if _in_rounds(found.spec) else ""
    return f"{phase}: {rounds}{progress(found.games_ended, planned_games(found))}{running}"


def progress(played: int, planned: int | None) -> str:
    """Return how many games have been played: `5 of 30 games played`, or `5 games played` if play decides how many."""
    if planned is None:
        return f"{counted(played, 'game')} played"
    return f"{played:,} of {counted(planned, 'game')} played"


def planned_games(found: arb.Tournament) -> int | None:
    """Return how many games a tournament has in the whole, as far as it is known; None if play decides that.

    A Swiss counts the rounds to come with the players who are there now. A tournament that is complete has had its
    games, even if some were planned that could not be paired.
    """
    if found.phase is arb.TournamentPhase.ENTRY:
        return None
    spec, pairer = found.spec, _pairer(found.spec)
    if pairer is None or found.end is arb.TournamentEnd.COMPLETE:
        return found.games
    there = sum(not each.withdrawn for each in found.entrants)
    to_come = pairer.meetings_to_come(Options(**asdict(spec.options)), found.rounds, len(found.entrants), there)
    return None if to_come is None else found.games + max(0, to_come) * len(spec.games) * (2 if spec.paired else 1)


def _pairer(spec: arb.TournamentSpec) -> Pairer | None:
    """Return the format of a specification, or None for one that this machine does not know."""
    try:
        return pairer_of(Format[spec.format.name], spec.options.boards)
    except KeyError:
        return None


def _in_rounds(spec: arb.TournamentSpec) -> bool:
    pairer = _pairer(spec)
    return pairer is not None and pairer.in_rounds


def leader(stand: arb.Standings) -> str:
    """Return the leader, as a clause after the state; '' if several lead or nothing has been played."""
    if stand.teams is not None:
        teams = [row for row in stand.teams.rows if row.place == 1 and row.matches]
        leads = f"leads with {counted(teams[0].match_points, 'match point')}" if len(teams) == 1 else ""
        return f"; team {teams[0].team} {leads}" if leads else ""
    first = [row for row in stand.rows if row.place == 1]
    if len(first) != 1 or not first[0].games:
        return ""
    return f"; {first[0].player} leads with {points(first[0])}"


def points(row: arb.StandingsRow) -> str:
    """Return a player's points, as its tournament counts them."""
    return points_text(row.half_points) if row.arena_points is None else str(row.arena_points)


def _points(row: arb.StandingsRow) -> float:
    return row.half_points / 2 if row.arena_points is None else row.arena_points


def games(found: arb.Tournament) -> list[tuple[Cell, ...]]:
    """Return the games under way, as rows for `GAME_HEADINGS`."""
    return [(each.number, each.round, each.match_id, each.game, *each.players) for each in found.running]


def lines(stand: arb.Standings, brief: bool, decimal: bool = False) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """Return the headings and the rows of the standings.

    brief: for people. Columns of faults are left out if nobody has any, and ratings, if there are any, stand beside the
    players. `?` stands behind a provisional rating. `≈` stands between two rows if ratings order the players (as in a
    ladder) and the order of these two is not established. A player who has withdrawn is in brackets, with `*` if its
    games do not count for the points of the others; the brackets say if it is disqualified.
    Not brief: for programs, with all columns, those of the ratings at the end. decimal: points are numbers (3.5) and no
    text (3½), and columns say who has withdrawn and who is disqualified.
    """
    knockout, teams = any(row.reached for row in stand.rows), stand.teams is not None
    prizes = any(row.prize_place for row in stand.rows)
    rated = brief and any(row.rating for row in stand.rows)
    unsure = _order_is_unsure(stand.rows)
    faults = [name for name in _FAULTS if not brief or any(getattr(row.faults, name) for row in stand.rows)]
    headings = (
        *("place", *(("prize",) if prizes else ()), "player", *(("team",) if teams else ())),
        *(*(RATING_HEADINGS if rated else ()), *(("reached",) if knockout else ()), "points"),
        *(word(tie_break) for tie_break in stand.tie_breaks),
        *("games", "won", "drawn", "lost", *(_FAULTS[name] for name in faults)),
        *(() if brief else ("left early", "rating", "low", "high", "provisional", "group")),
        *(("withdrawn", "disqualified") if decimal else ()),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            *(row.place, *((row.prize_place or None,) if prizes else ()), row.player if decimal else _name(row)),
            *((row.team,) if teams else ()),
            *(_rating(row.rating, doubt) if rated else ()),
            *((row.reached,) if knockout else ()),
            _points(row) if decimal else points(row),
            *(value / 4 if decimal else quarters_text(value) for value in row.tie_break_quarters),
            *(row.games, row.wins, row.draws, row.losses),
            *(getattr(row.faults, name) for name in faults),
            *(() if brief else ("yes" if row.left_early else "no", *_rating_fields(row.rating, decimal))),
            *(("yes" if each else "no" for each in (row.withdrawn, row.disqualified)) if decimal else ()),
        )
        for row, doubt in zip(stand.rows, unsure, strict=True)
    ]
    return headings, rows


def team_lines(stand: arb.TeamStandings, decimal: bool) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """Return the headings and the rows of the standings of teams. decimal: as in `lines`."""
    headings = (
        *("place", "team", "match points", "board points"),
        *(word(tie_break) for tie_break in stand.tie_breaks if tie_break not in POINTS_OF_TEAMS),
        *("matches", "won", "drawn", "lost", "players"),
    )
    rows: list[tuple[Cell, ...]] = []
    for row in stand.rows:
        values = (
            value / 4 if decimal else quarters_text(value)
            for tie_break, value in zip(stand.tie_breaks, row.tie_break_quarters, strict=True)
            if tie_break not in POINTS_OF_TEAMS
        )
        points = row.board_half_points / 2 if decimal else points_text(row.board_half_points)
        counts = (row.matches, row.wins, row.draws, row.losses)
        rows.append((row.place, row.team, row.match_points, points, *values, *counts, " ".join(row.players)))
    return headings, rows


def shown_tables(stand: arb.Standings, brief: bool, decimal: bool = False) -> dict[str, Columns]:
    """Return the tables of the standings by name: that of the teams first, if there are any."""
    players = Columns(*lines(stand, brief, decimal))
    if stand.teams is None:
        return {"players": players}
    return {"teams": Columns(*team_lines(stand.teams, decimal)), "players": players}


def series_lines(found: arb.Series, headings: Sequence[str]) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """Return the headings and the rows of the table over a series. headings: of its tournaments, in order."""
    rows: list[tuple[Cell, ...]] = []
    for row in found.rows:
        results = {each.tournament_id: each for each in row.results}
        cells: list[Cell] = []
        for each in found.tournaments:
            result = results.get(each.tournament_id)
            points = result.half_points / 2 if result is not None else 0.0
            cells.append(None if result is None else points if result.counts else f"({points:g})")
        rows.append((row.place, row.player, row.half_points / 2, *cells))
    return ("place", "player", "points", *headings), rows


def season_lines(found: arb.Series) -> list[str]:
    """Return the divisions of a season of a league, and who has moved before it, for people; none without a league."""
    if not found.divisions:
        return []
    moves = {group.name: group.players for group in found.moves}
    said = [
        f"{each.name} ({each.tournament_id}): {', '.join(each.players) or 'nobody yet'}" for each in found.divisions
    ]
    return [*said, f"Since the season before: {in_words(moves)}."]


def _name(row: arb.StandingsRow) -> str:
    why = ", disqualified" if row.disqualified else ""
    return f"({row.player}{why}){'*' if row.left_early else ''}" if row.withdrawn else row.player


def legend(stand: arb.Standings) -> list[str]:
    """Return sentences that explain the ratings and marks of standings for people; none if there are none."""
    said = [PRIZES] if any(row.prize_place for row in stand.rows) else []
    said += [LEFT_EARLY] if any(row.left_early for row in stand.rows) else []
    ratings = [row.rating for row in stand.rows if row.rating is not None]
    if not ratings:
        return said
    said += ["Ratings: in Elo, by the games of this tournament alone; 0 is the mean of its players."]
    if any(rating.provisional for rating in ratings):
        said.append("? provisional: the player has met fewer than three others.")
    if any(_order_is_unsure(stand.rows)):
        said.append("≈ the ratings do not establish that this player is better than the next one.")
    return said


def _rating(rating: arb.StandingsRating | None, unsure: bool) -> tuple[str, str]:
    if rating is None:
        return "", ""
    marks = f"{'?' if rating.provisional else ''}{' ≈' if unsure else ''}"
    return signed(rating.elo.value) + marks, interval(rating.elo)


def _rating_fields(rating: arb.StandingsRating | None, decimal: bool) -> tuple[Cell, ...]:
    if rating is None:
        return None, None, None, None, None
    numbers = (rating.elo.value, rating.elo.low, rating.elo.high)
    shown_numbers = (round(number, 3) if decimal else f"{number:.3f}" for number in numbers)
    return (*shown_numbers, "yes" if rating.provisional else "no", rating.group)


def _order_is_unsure(rows: Sequence[arb.StandingsRow]) -> list[bool]:
    """Return for each row whether its rating puts it above the next one without the order being established."""
    keys = [(0, 0.0) if row.rating is None else (2 - row.rating.provisional, row.rating.elo.value) for row in rows]
    if keys != sorted(keys, reverse=True):
        return [False] * len(rows)  # ordered by something other than the rating
    ratings = [row.rating for row in rows]
    return [
        mine is not None and other is not None and mine.group == other.group and mine.provisional == other.provisional
        for mine, other in zip(ratings, [*ratings[1:], None], strict=True)
    ]


def show_changes(
    changes: tuple[arb.PlaceChange, ...],
    later: tuple[arb.LaterPairings, ...],
    output: AnyTableOptions | None,
    *,
    preview: bool,
) -> None:
    """Print which places change, or would change, and which pairings that stay would be others."""
    rows = (
        (
            each.player,
            f"{each.place_before} → {each.place}",
            f"{points_text(each.half_points_before)} → {points_text(each.half_points)}",
        )
        for each in changes
    )
    table(
        ("player", "place", "points"),
        rows,
        f"Nothing {'would change' if preview else 'changes'} in the standings.",
        output,
    )
    for each in later:
        remark(later_in_words(each), output)


def pairs_in_words(paired: arb.RoundPairs) -> str:
    """Return who meets in a round, and who sits out: `Round 3: ann–bob, cid–dan; eve has a bye`, with a full stop."""
    pairs = ", ".join(f"{pair.first}–{pair.second}" for pair in paired.pairs)
    byes = f"{', '.join(paired.byes)} {'has a bye' if len(paired.byes) == 1 else 'have byes'}" if paired.byes else ""
    return f"Round {paired.round}: {'; '.join(filter(None, (pairs, byes))) or 'nobody'}."


def later_in_words(later: arb.LaterPairings) -> str:
    """Return which pairings stay, and would be others: `Round 2 stays; with 0-1 it would have ann–bob instead of …`."""
    where = f"Round {later.round} stays" if later.round else "The bracket stays"
    made, instead = (", ".join(f"{p.first}–{p.second}" for p in pairs) for pairs in (later.pairs, later.instead))
    return f"{where}: {f'with {later.result}, ' if later.result else ''}{instead} would be paired instead of {made}."


def result_of(end: arb.GameEnded) -> GameResult:
    """Return the result of a game, without what organisers have decided on it."""
    winner: Winner = 1 if end.winner == 1 else 2 if end.winner == 2 else 0
    return GameResult(winner, end.match_id, end.reason, end.cause, end.moves)
