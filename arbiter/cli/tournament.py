"""`arbiter tournament …`: tournaments on a running server, from a specification file to the standings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import arbiter_client as arb
from cyclopts import App, Parameter

from arbiter.cli import short_ids
from arbiter.cli import tournament_view as view
from arbiter.cli.argument_types import Flag
from arbiter.cli.connection import Connection, connected
from arbiter.cli.entrant_file import FileEntrant, read_entrants
from arbiter.cli.failure import Failure
from arbiter.cli.given_files import read_text
from arbiter.cli.short_ids import TournamentId
from arbiter.cli.table_options import AnyTableOptions
from arbiter.cli.terminal import (
    for_people,
    instant,
    on_terminal,
    remark,
    say,
    table,
    tables,
    tell,
    write_line,
)
from arbiter.cli.tournament_spec import read_all
from arbiter.cli.tournament_watch import watch_live, watch_plainly
from arbiter.plain_text import plain
from arbiter.table_text import Cell, Columns
from arbiter.tournaments.spec import Format

app = App(name="tournament", help="Make tournaments on a server, enter them, watch them.")

PhaseName = Literal["open", "ended"]


RUN: Final = """Run a tournament from a file, with an arbiter of its own and the bots that the file names.

The file is a tournament's specification with a table [[bots]] a bot: `bot`, one that is bundled (greedy, mcts, random,
wire) with `args`, `command`, a program of yours, `lines`, one that reads and writes lines, or `uci` or `gtp`, an engine
of chess or Go. A program has a `name`. Each bot may have `folder`, where it starts, `env`, `sees`, `rating` and
`version`.

Each bot is a process, in a sandbox where bubblewrap is there: it sees its own files and what `sees` names, changes
none, sees no other process, and reaches nobody but the arbiter. A table [sandbox] says what each may take (memory_mb,
processes, files, tmp_mb, cpu_s); deploy/SANDBOX.md has the whole.
A bot that ends is started again, and so is the arbiter. What a bot writes is kept,
a file a match, for its author alone.

Ctrl-C stops at any moment; the same command with --resume continues the newest run as if nothing had happened.
"""
"""Help of `run`, which is here because its module takes long to load and the list of commands must be fast."""

app.command("arbiter.cli.tournament_run.command:run", name="run", help=RUN)

GAMES: Final = "Write all games into one file, for programs that rate players, and for chess."
app.command("arbiter.cli.tournament_games:games", name="games", help=GAMES)
REFERENCE: Final = "Show everything that a tournament's file may say, with what is allowed and the defaults."
app.command("arbiter.cli.tournament_reference:reference", name="reference", help=REFERENCE)

EXPORT: Final = """Write a tournament that has ended into a folder: log, standings, ratings and matches, all signed.

`arbiter verify FOLDER --key FOLDER/keys.json` checks all of it. Transcripts in the folder are not requested again.
"""
app.command("arbiter.cli.tournament_export:export", name="export", help=EXPORT)


@app.command
def create(specification: Path, /, *, connection: Connection | None = None) -> None:
    """Create a tournament that players can enter, and print its id.

    :param specification: The TOML file that specifies it.
    """
    elsewhere = set[str]()
    file = read_all(specification, elsewhere)
    with connected(connection) as client:
        made = client.create_tournament(file.tournament)
    unchecked = (
        f"the rules of {game} are not installed here: the server alone has checked it" for game in sorted(elsewhere)
    )
    for caution in (*unchecked, *made.cautions):
        tell(f"arbiter: {caution}")
    if on_terminal():
        say(f"{view.in_short(made)}. `arbiter tournament enter {made.tournament_id} PLAYER…`", "dim")
    write_line(made.tournament_id)


@app.command
def enter(
    tournament_id: TournamentId,
    players: tuple[str, ...] = (),
    /,
    *,
    rating: int = 0,
    bye: Annotated[list[int] | None, Parameter(negative=())] = None,
    team: str = "",
    category: str = "",
    file: Path | None = None,
    connection: Connection | None = None,
) -> None:
    """Enter players.

    :param players: The players. Only the creator of the tournament can enter others. [default: the caller]
    :param rating: The rating for seeding, in Elo; only the creator of the tournament can set it. [default: their
    ratings]
    :param bye: A round of a Swiss in which the player does not play; may be given several times.
    :param team: The team of the players, in a tournament of teams: in the order of its boards, then reserves.
    :param category: A category of the players, which has standings of its own, beside those of the specification.
    :param file: Enter the players of a CSV file with the columns player, rating, byes, team and category, in its order;
        those who have entered already are left out, so the command can be repeated.
    """
    if file is not None and (players or rating or bye or team or category):
        raise Failure("--file names the players, with their ratings, byes, teams and categories: leave out the others")
    wanted = [FileEntrant(each, rating, tuple(bye or ()), team, category) for each in players or ("",)]
    if file is not None:
        wanted = read_entrants(file)
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        if file is not None:
            there = {each.player for each in client.get_tournament(tournament_id).entrants if not each.withdrawn}
            wanted = [each for each in wanted if each.player not in there]
        for player, seeded_by, byes, of, among in wanted:
            entrant = client.enter_tournament(
                tournament_id, player, byes=byes, rating=seeded_by, team=of, category=among
            )
            say(f"Entered {entrant.player}{f', version {entrant.version}' if entrant.version else ''}.")


@app.command
def withdraw(tournament_id: TournamentId, player: str = "", /, *, connection: Connection | None = None) -> None:
    """Withdraw a player: it loses the games that it has not begun.

    :param player: The player. [default: the caller]
    """
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        say(f"Withdrew {client.withdraw_from_tournament(tournament_id, player).player}.")


@app.command
def change(
    tournament_id: TournamentId,
    player: str = "",
    /,
    *,
    rating: int | None = None,
    bye: Annotated[list[int] | None, Parameter(negative=())] = None,
    no_byes: Flag = False,
    connection: Connection | None = None,
) -> None:
    """Change the entry of a player: its byes, or before the start the rating for its seeding.

    :param player: The player. Only the creator of the tournament can change the entries of others. [default: the
    caller]
    :param rating: The rating for seeding, in Elo; 0 for the player's own. Only the creator can set it. [default:
    unchanged]
    :param bye: A round of a Swiss in which the player does not play; may be given several times, and replaces the byes
    in the rounds to come. [default: unchanged]
    :param no_byes: The player plays in all rounds to come.
    """
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        byes = [] if no_byes else bye
        if byes is not None:
            found = client.get_tournament(tournament_id)
            name = player or client.get_player("").name
            past = {each for entrant in found.entrants if entrant.player == name for each in entrant.byes}
            byes = sorted({*byes, *(each for each in past if each <= found.rounds)})
        entrant = client.change_entry(tournament_id, player, byes=byes, rating=rating)
    sits = f", sits out {', '.join(map(str, entrant.byes))}" if entrant.byes else ""
    say(f"{entrant.player}: rating {entrant.rating or 'none'}{sits}.")


@app.command
def start(tournament_id: TournamentId, /, *, connection: Connection | None = None) -> None:
    """Start a tournament."""
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        started = client.start_tournament(tournament_id)
    say(view.state(started))
    for caution in started.cautions:
        tell(f"arbiter: {caution}")


@app.command(name="import")
def import_report(
    tournament_id: str,
    file: Path,
    /,
    *,
    player: Annotated[list[str] | None, Parameter(negative=())] = None,
    connection: Connection | None = None,
) -> None:
    """Start a Swiss with what was played elsewhere: entrants, rounds and results of a tournament report (TRF).

    Play goes on with the next round. Its games here are of the tournament's own game; those of the report have a result
    and no match.

    :param tournament_id: The tournament, which has not started: its id, the beginning of one, or `last`.
    :param file: The report, TRF16 or TRF26. Its players enter, with its ratings and byes.
    :param player: NAME=PLAYER: who a player of the report is here, by name or number in it; may be given several times.
        [default: the same name]
    """
    who: dict[str, str] = {}
    for each in player or ():
        name, given, here = each.rpartition("=")
        if not (given and name and here):
            raise Failure(f"--player {plain(each)}: write NAME=PLAYER, a name of the report and one of a player here")
        who[name.strip()] = here.strip()
    with connected(connection) as client:
        report = read_text(file)
        tournament_id = short_ids.tournament_id(client, tournament_id)
        say(view.state(client.go_on_from_report(tournament_id, report, who)))


@app.command
def pause(tournament_id: TournamentId, /, *, connection: Connection | None = None) -> None:
    """Begin no further games; games under way continue."""
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        say(view.state(client.pause_tournament(tournament_id)))


@app.command
def resume(tournament_id: TournamentId, /, *, connection: Connection | None = None) -> None:
    """Begin games again after a pause."""
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        say(view.state(client.resume_tournament(tournament_id)))


@app.command
def cancel(
    tournament_id: TournamentId,
    /,
    *,
    note: str = "",
    series_goes_on: Flag = False,
    connection: Connection | None = None,
) -> None:
    """End a tournament now: games under way are void, existing results stay valid.

    :param note: The reason; it is recorded.
    :param series_goes_on: The next tournament of its series takes place all the same: one date is left out.
    """
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        say(view.state(client.cancel_tournament(tournament_id, note, series_goes_on=series_goes_on)))


@app.command(name="list")
def list_tournaments(
    *,
    format_: Annotated[Format | None, Parameter(name="--format")] = None,
    creator: str = "",
    phase: PhaseName | None = None,
    most: int = 50,
    output: AnyTableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """List tournaments, newest first.

    :param format_: Only those of this format.
    :param creator: Only those that this player created.
    :param phase: Only those that are open, or that have ended.
    :param most: Maximum number of tournaments.
    """
    phases = {None: "UNSPECIFIED", "open": "RUNNING", "ended": "ENDED"}
    with connected(connection) as client:
        found = client.list_tournaments(
            format=arb.TournamentFormat[format_.name if format_ else "UNSPECIFIED"],
            creator=creator,
            phase=arb.TournamentPhase[phases[phase]],
            most=most,
        )
    rows = (
        (
            each.tournament_id,
            each.name,
            view.word(each.format),
            view.word(each.phase),
            each.creator,
            instant(each.created_ms),
        )
        for each in found
    )
    table(("tournament", "name", "format", "phase", "by", "made"), rows, "There are no such tournaments.", output)


@app.command
def show(
    tournament_id: TournamentId, /, *, output: AnyTableOptions | None = None, connection: Connection | None = None
) -> None:
    """Show a tournament: its specification, its players, the games under way."""
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        found = client.get_tournament(tournament_id)
    remark(f"{tournament_id}: {view.in_short(found)}, by {found.creator}", output)
    remark(view.state(found), output)
    remark("", output)
    teams = any(each.team for each in found.entrants)
    players: list[tuple[Cell, ...]] = [
        (
            each.player,
            *((each.team,) if teams else ()),
            each.version,
            each.rating or None,
            "disqualified" if each.disqualified else "withdrawn" if each.withdrawn else "",
        )
        for each in found.entrants
    ]
    shown: dict[str, Columns] = {
        "players": Columns(("player", *(("team",) if teams else ()), "version", "rating", "state"), players)
    }
    if found.running or (output is not None and output.form() is not None):
        shown["games"] = Columns(view.GAME_HEADINGS, view.games(found))
    tables(shown, "Nobody has entered.", output)


@app.command
def standings(
    tournament_id: TournamentId,
    /,
    *,
    category: str = "",
    output: AnyTableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """Show the current standings of a tournament.

    :param category: Only the players of this category, or the bots of this author, with places among themselves.
    """
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        found = client.get_standings(tournament_id, category)
    people, decimal = for_people(output), output is not None and output.form() is not None
    tables(view.shown_tables(found, people, decimal), "Nobody has entered.", output)
    if people:
        for sentence in view.legend(found):
            say(sentence, "dim")


@app.command
def series(
    tournament_id: TournamentId, /, *, output: AnyTableOptions | None = None, connection: Connection | None = None
) -> None:
    """Show the table over a series after one of its tournaments. Results in brackets do not count.

    In a league it also says who plays in which division of the season, and who has moved.
    """
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        found = client.get_series(tournament_id)
    people = for_people(output)
    for number, each in enumerate(found.tournaments, 1) if people else ():
        say(f"{number}: {each.name} {each.tournament_id}, {instant(each.started_ms)}", "dim")
    for line in view.season_lines(found):
        remark(line, output)
    headings = [str(number) if people else each.tournament_id for number, each in enumerate(found.tournaments, 1)]
    table(*view.series_lines(found, headings), "No tournament of this series has ended yet.", output)


@app.command
def watch(tournament_id: TournamentId, /, *, connection: Connection | None = None) -> None:
    """Watch a tournament until it is over. Without a terminal, print one line per event and the standings at the end.

    `arbiter watch --all --label TOURNAMENT` shows the moves of its matches.
    """
    with connected(connection) as client:
        tournament_id = short_ids.tournament_id(client, tournament_id)
        if on_terminal():
            watch_live(client, tournament_id)
        else:
            watch_plainly(client, tournament_id)
