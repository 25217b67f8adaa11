"""`arbiter match …`: creates, shows, aborts and adjudicates matches."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import arbiter_client as arb
from cyclopts import App

from arbiter.cli import short_ids, words
from arbiter.cli.argument_types import Flag, GameName
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.game_import import games_in, imported
from arbiter.cli.short_ids import MatchId
from arbiter.cli.table_options import AnyTableOptions
from arbiter.cli.terminal import clock_text, counted, instant, on_terminal, say, table, write_drawing, write_line
from arbiter.drawing.caption import start_name
from arbiter.drawing.text_drawing import draw
from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.line import Line, follow, listed
from arbiter.matches.notation import NotationError
from arbiter.plain_text import plain

app = App(name="match", help="Make matches, look at them, judge them.")

PhaseName = Literal["open", "ended"]


@app.command
def create(
    game: GameName,
    player_1: str,
    player_2: str,
    /,
    *,
    time: str = "",
    rated: Flag = False,
    label: str = "",
    opening: str = "",
    position: str = "",
    at_once: Flag = False,
    abandon_ms: int | None = None,
    connection: Connection | None = None,
) -> None:
    """Create a match and print its id. It starts when both players are connected; in unrated matches they may be one.

    :param player_1: The player who moves first.
    :param player_2: The opponent.
    :param time: The time control: `5m`, `1m+1s`, `300ms/move+10s`, `40/30m`, `none`, …; `5m:1m` for time odds.
        [default: the server's]
    :param rated: Count it for ratings.
    :param label: A label for searching.
    :param opening: Moves that are played at the start without the players, separated by spaces: `"a1 e5 b1"`.
    :param position: The position that it starts from, as `arbiter show` writes it. [default: the game's initial one]
    :param at_once: Start at once, even if the players are not connected.
    :param abandon_ms: How many milliseconds a player may be away before it has lost; 0: as long as its clock allows.
        A person, or a bot in a debugger, may need more than the server's minute. [default: the server's]
    """
    start = arb.StartRule.AT_ONCE if at_once else arb.StartRule.UNSPECIFIED
    with connected(connection) as client:
        match = client.create_match(
            game,
            (player_1, player_2),
            time_control=time,
            rated=rated,
            label=label,
            start=start,
            opening=opening.split(),
            position=position,
            policy=None if abandon_ms is None else arb.Policy(abandon_ms=abandon_ms),
        )
    if on_terminal():
        say(
            f"{match.game}: {player_1} against {player_2}, {match.time_control}. `arbiter watch {match.match_id}`",
            "dim",
        )
    write_line(match.match_id)


@app.command(name="list")
def list_matches(
    *,
    player: str = "",
    game: str = "",
    label: str = "",
    phase: PhaseName | None = None,
    most: int = 50,
    output: AnyTableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """List matches, newest first.

    :param player: Only those of this player.
    :param game: Only those of this variant.
    :param label: Only those with this label.
    :param phase: Only those that are open, or that have ended.
    :param most: Maximum number of matches.
    """
    wanted = {None: arb.Phase.UNSPECIFIED, "open": arb.Phase.ACTIVE, "ended": arb.Phase.ENDED}[phase]
    with connected(connection) as client:
        matches = client.list_matches(player=player, game=game, label=label, phase=wanted, most=most)
    rows = (
        (match.match_id, match.game, *match.players, match.time_control, words.phase(match), instant(match.created_ms))
        for match in matches
    )
    table(
        ("match", "game", "player 1", "player 2", "time", "state", "made"), rows, "There are no such matches.", output
    )


@app.command
def show(match_id: MatchId, /, *, ply: int | None = None, connection: Connection | None = None) -> None:
    """Show the current state of a match: players, clocks, board, moves.

    `arbiter watch` steps through a match that is over.

    :param ply: Show the board after this many moves, 0 for the start. [default: after the last one]
    """
    with connected(connection) as client:
        match_id = short_ids.match_id(client, match_id)
        match = client.get_match(match_id, with_moves=True)
    if ply is not None and not 0 <= ply <= match.ply:
        raise Failure(f"{match.match_id} has no ply {ply}: it has had {counted(match.ply, 'move')}")
    rated = ", rated" if match.rated else ""
    label = f", {match.label}" if match.label else ""
    versions = match.versions or ("",) * len(match.players)
    players = [f"{name} {version}".rstrip() for name, version in zip(match.players, versions, strict=True)]
    say(f"{match.match_id}: {' against '.join(players)}, {match.game}, {match.time_control}{rated}{label}")
    say(f"{words.phase(match)}; ply {match.ply}, revision {match.revision}")
    for seat, clock in enumerate(match.clocks, 1):
        say(f"clock of {words.in_seat(match.players, seat, match.game)}: {clock_text(clock.remaining_ms)}")
    line = _line(match)
    if ply is not None:
        last = _last(match, line, ply)
        say(f"after ply {ply}{f', {last}' if last else ''}:")
    write_drawing(f"\n{_drawn(match, line, match.ply if ply is None else ply)}\n")
    if match.start_position:
        name = start_name(line.game, match.start_position) if line is not None else "start position"
        say(f"{name}: {match.start_position}")
    if match.opening_plies:
        say(f"opening: {_moves(match, line, 0, match.opening_plies)}")
    if match.ply > match.opening_plies:
        say(f"moves: {_moves(match, line, match.opening_plies, match.ply)}")


def _line(match: arb.Match) -> Line | None:
    """Return the moves of a match with their positions, or None if the game's rules are not known here."""
    try:
        game = registry.game(match.game)
        return follow(game, game.start(match.start_position), match.moves)
    except Refusal:
        return None


def _moves(match: arb.Match, line: Line | None, first: int, end: int) -> str:
    """Return moves as people write them, or their texts if the game's rules are not known here."""
    return " ".join(match.moves[first:end]) if line is None else listed(line, first, end)


def _last(match: arb.Match, line: Line | None, ply: int) -> str:
    """Return the last of this many moves, '' if there is none."""
    return _moves(match, line, ply - 1, ply) if ply else ""


def _drawn(match: arb.Match, line: Line | None, ply: int) -> str:
    """Return the board after this many moves, or the last position's text if the game's rules are not known here."""
    if line is None:
        return match.position + "\n"
    steps = line.game.steps(line.positions[ply - 1], match.moves[ply - 1]) if ply else None
    over = match.result if ply == match.ply else None
    ended = words.result(over, match.players, match.game) if over is not None else ""
    return draw(line.game, line.positions[ply], steps, colour=on_terminal(), caption=ended)


@app.command(name="import")
def import_games(
    file: Path, /, *, game: int = 0, label: str = "imported", connection: Connection | None = None
) -> None:
    """Make a match of each game in a file, for replay: PGN for chess, SGF for Go, or `arbiter transcript --text`.

    The matches are unrated, and the caller sits in both seats: the arbiter did not see these games, so the moves are an
    opening that nobody played, and the result is the caller's decision, with a note that names the players and the
    file. Clocks, comments and variations are left out. A game with an error is named with its line, and the others are
    imported; the exit code is 1 then.

    :param file: The file, with a name that ends in .pgn or .sgf, or the arbiter's own text.
    :param game: Only this game of the file, 1 for the first. [default: all]
    :param label: The beginning of the matches' labels; the players follow.
    """
    faults = made = 0
    with connected(connection) as client:
        for found in games_in(file):
            if game not in (0, found.number):
                continue
            try:
                say(f"{imported(client, found, file.name, label)}: {plain(found.heading)}")
                made += 1
            except (NotationError, arb.ArbiterError) as error:
                where = "" if isinstance(error, NotationError) else f"line {found.line}: "
                say(f"{file}, game {found.number}, {where}{error}", "red")
                faults += 1
    if faults:
        raise Failure(f"{counted(faults, 'game')} left out, because of an error")
    if not made:
        raise Failure(f"{file} has no game {game}" if game else f"there are no games in {file}")


@app.command
def abort(match_id: MatchId, /, *, note: str = "", connection: Connection | None = None) -> None:
    """End a match without a result; it does not count.

    :param note: The reason; it is recorded.
    """
    with connected(connection) as client:
        match_id = short_ids.match_id(client, match_id)
        match = client.abort_match(match_id, note)
    say(f"{match_id}: {words.phase(match)}")


@app.command
def adjudicate(
    match_id: MatchId,
    /,
    *,
    winner: Literal["1", "2", "draw", "void"],
    note: str,
    connection: Connection | None = None,
) -> None:
    """End a match with a result.

    :param winner: The seat that wins, or draw, or void.
    :param note: The reason; it is recorded.
    """
    kinds = {"draw": arb.ResultKind.DRAW, "void": arb.ResultKind.VOID}
    seat = int(winner) if winner in ("1", "2") else 0
    with connected(connection) as client:
        match_id = short_ids.match_id(client, match_id)
        match = client.adjudicate_match(match_id, kinds.get(winner, arb.ResultKind.WIN), note, seat)
    say(f"{match_id}: {words.phase(match)}")
