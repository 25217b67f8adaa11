"""`arbiter ratings …`: exports the record, computes the ratings from it again, and finds games that look arranged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import arbiter_client as arb
from cyclopts import App, Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arbiter.cli.argument_types import Flag, RatedVariant
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.ratings_record import UNPLAYED, VerifiedMatch, read_record
from arbiter.cli.ratings_view import print_board, print_json, tell_anchors
from arbiter.cli.table_options import Json, TableOptions
from arbiter.cli.terminal import console, counted, for_people, say, table, write_json
from arbiter.cli.transcript_files import KEY_FILE, RULINGS_FILE, SUFFIX, published_keys, write_whole
from arbiter.event_json.canonical import MalformedRecordError
from arbiter.games import registry
from arbiter.matches.signing import write_keys
from arbiter.ratings.anchors import checked
from arbiter.ratings.arranged import GivenUp, SuspiciousPattern, arranged
from arbiter.ratings.counts import identity, named
from arbiter.ratings.farmed import DatedResult, farmed
from arbiter.ratings.rated_matches import ACROSS_GAMES, Result, counts_of, rated
from arbiter.ratings.rating_list import rating_list
from arbiter.ratings.rating_results import AnchoredPlayer, Estimate, RatingList
from arbiter.ratings.rulings import Rulings

app = App(name="ratings", help="Export the record, recompute ratings, look for arranged games, rule.")

EVERY: Final = 2**31 - 1  #: no limit
EARLY_PLIES: Final = 8

Keys = Annotated[list[str] | None, Parameter(negative=())]
ProgressCallback = Callable[[int, int], None]


@app.command
def export(
    folder: Path, /, *, game: str = "", label: str = "", unrated: Flag = False, connection: Connection | None = None
) -> None:
    """Export the transcripts of all finished rated matches into a folder, with the arbiter's public keys.

    The rulings on ratings are written beside them, so that the same ratings can be computed from the folder.
    Transcripts that are already in the folder are not requested again.

    :param folder: The folder; it is created if it does not exist.
    :param game: Only this variant.
    :param label: Only matches with this label, such as a tournament's id.
    :param unrated: Unrated matches too. They count for no rating, but they can be verified and read.
    """
    with connected(connection) as client, _progress("Exporting") as progress:
        ended = client.list_matches(game=game, label=label, phase=arb.Phase.ENDED, most=EVERY)
        matches = [match for match in ended if match.rated or unrated]
        keys = published_keys(client.server_info())
        written = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / KEY_FILE, write_keys(keys).encode())
            if rulings := client.export_rating_rulings():  # last: they are about matches that are listed
                write_whole(folder / RULINGS_FILE, rulings)
            for done, match in enumerate(matches, 1):
                file = folder / f"{match.match_id}{SUFFIX}"
                if not file.exists():
                    write_whole(file, client.transcript(match.match_id))
                    written += 1
                progress(done, len(matches))
        except OSError as error:
            raise Failure(f"can't write {error.filename or folder}: {error.strerror or error}") from None
    new = counted(written, "transcript")
    say(f"{new} written to {folder}, which has {len(matches):,}; the public keys are in {KEY_FILE}.")


@app.command
def recompute(
    *paths: Path,
    key: Keys = None,
    game: RatedVariant = "",
    anchor: Keys = None,
    all_versions: Flag = False,
    json: Json = False,
    output: TableOptions | None = None,
) -> None:
    """Compute ratings from transcripts, offline: the numbers equal those of the server's leaderboard to the last digit.

    Every transcript is verified first, as `arbiter verify` does. The first invalid one ends the command, with exit code
    1.

    :param paths: Transcripts, and folders of them (all files that end in .jsonl).
    :param key: A file of public keys, as `arbiter key export` wrote it, or a public key in 64 hexadecimal digits; may
        be given several times.
    :param anchor: A fixed rating, as NAME=ELO, for all versions of a player, or NAME@VERSION=ELO; may be given several
        times. A server publishes its anchors.
    :param all_versions: Also show older versions of bots, not only the newest of each player.
    """
    variant = registry.game(game).variant if game else ""
    anchors = checked(_anchor(each) for each in anchor or ())
    with _progress("Verifying", output) as progress:
        found = read_record(_required(paths), _given(key), progress)
    worked_out = rating_list([each.result for each in found.games], anchors, variant or None)
    if for_people(output) and not json:
        without = f"; {found.unfinished} of matches that have not ended are not counted" if found.unfinished else ""
        rulings = f"; {counted(found.rulings, 'ruling was', 'rulings were')} applied" if found.rulings else ""
        say(f"{counted(len(found.games), 'transcript holds', 'transcripts hold')}{without}{rulings}.", "dim")
    board = _leaderboard(worked_out, variant, all_versions, found.rulings)
    if json:
        print_json(board)
    else:
        print_board(board, output)
    tell_anchors(board, output)


@app.command(name="arranged")
def show_arranged(
    *paths: Path,
    key: Keys = None,
    game: RatedVariant = "",
    early: int = EARLY_PLIES,
    json: Json = False,
    output: TableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """List pairs and clusters of players whose rated games look arranged, and why; a finding is no proof.

    All versions of a bot are examined together; only where an account lost a series of games to one player, each
    version is compared with its own other games.

    :param paths: Transcripts, and folders of them. [default: ask the server for its matches]
    :param key: For transcripts: a file of public keys, or a public key in 64 hexadecimal digits.
    :param early: A game that is resigned before this many plies counts as given up early.
    """
    variant = registry.game(game).variant if game else ""
    with _progress("Verifying", output) as progress:
        games = read_record(paths, _given(key), progress).games if paths else _listed(variant, connection)
    dated = [DatedResult(each.ended_ms, each.result) for each in games]
    games = tuple(each._replace(result=_without_versions(each.result)) for each in games)
    counts = counts_of((each.result for each in games), variant or None)
    findings = (*arranged(counts, _given_up(games, variant, early)), *farmed(dated, variant or None))
    if json:
        write_json([each._asdict() for each in findings])
        return
    if for_people(output):
        say(f"{counted(counts.games, 'rated game')} of {counted(len(counts.players), 'player')}", "bold")
    table(("what", "players", "games", "probability", "why"), map(_line, findings), "Nothing looks arranged.", output)


# The record


def _required(paths: Sequence[Path]) -> Sequence[Path]:
    if not paths:
        raise Failure("say which transcripts: files, or a folder that `arbiter ratings export` wrote")
    return paths


def _given(keys: Sequence[str] | None) -> Sequence[str]:
    if not keys:
        raise Failure("say by which keys transcripts are to be verified: --key FILE, as `arbiter key export` wrote it")
    return keys


def _listed(game: str, connection: Connection | None) -> tuple[VerifiedMatch, ...]:
    """Return the rated games of a server, from its list of matches."""
    with connected(connection) as client:
        matches = client.list_matches(game=game, phase=arb.Phase.ENDED, most=EVERY)
        unrated = rulings_of(client).unrated()
    return tuple(
        _game(match) for match in matches if match.rated and match.match_id not in unrated and match.result is not None
    )


def rulings_of(client: arb.BlockingClient) -> Rulings:
    """Return the rulings on ratings of a server. Raises Failure if they are no log."""
    rulings = Rulings()
    try:
        for line in client.export_rating_rulings().splitlines()[:-1]:
            rulings.follow(line)
    except MalformedRecordError as error:
        raise Failure(f"ruling {rulings.revision + 1} on ratings of the server: {error}") from None
    return rulings


def _game(match: arb.Match) -> VerifiedMatch:
    """Return a finished match as a game; lists do not say how many of its plies were the opening."""
    result = match.result
    assert result is not None
    one, two = map(identity, match.players, match.versions or ("", ""))
    kind, cause = result.kind.name.lower(), result.cause.name.lower()
    ended = Result(match.game, True, one, two, kind, result.winner, cause)
    return VerifiedMatch(ended, match.ply, cause in UNPLAYED, match.ended_ms)


def _without_versions(result: Result) -> Result:
    return result._replace(player_1=named(result.player_1)[0], player_2=named(result.player_2)[0])


def _given_up(games: Iterable[VerifiedMatch], game: str, early: int) -> Iterator[GivenUp]:
    for each in games:
        result = each.result
        if each.given_up and each.plies < early and result.winner and any(rated((result,), game or None)):
            pair = (result.player_1, result.player_2)
            yield GivenUp(pair[2 - result.winner], pair[result.winner - 1], 1)


# Output


def _anchor(text: str) -> tuple[str, float]:
    player, _, rating = text.rpartition("=")
    try:
        return player, float(rating)
    except ValueError:
        raise Failure(f"{text!r} is no anchor: write NAME=ELO") from None


def _leaderboard(found: RatingList, game: str, all_versions: bool, rulings: int) -> arb.Leaderboard:
    """Return computed ratings in the form of a server's answer."""
    rows = found.all_versions if all_versions else found.newest
    return arb.Leaderboard(
        rows=tuple(
            arb.LeaderboardRow(
                row.place,
                row.group,
                *named(row.player),
                arb.Estimate(row.rating, row.low, row.high),
                row.games,
                row.provisional,
                row.above_next,
                arb.Forfeits(*row.forfeits),
            )
            for row in rows
        ),
        game=game,
        games=found.games,
        players=len(rows),
        advantage=_estimate(found.advantage),
        draws=_estimate(found.draws),
        spread=found.spread,
        anchors=_anchors(found.anchors),
        note="" if game else ACROSS_GAMES,
        rulings=rulings,
    )


def _anchors(anchors: Iterable[AnchoredPlayer]) -> tuple[arb.Anchor, ...]:
    found: dict[str, arb.Anchor] = {}
    for each in anchors:
        by_games = None if each.by_games is None else _estimate(each.by_games)
        fixes = (arb.AnchoredPlayer(each.player, by_games, each.contradicted),) if each.player else ()
        before = found.get(each.anchor, arb.Anchor(each.anchor, each.rating))
        found[each.anchor] = replace(before, fixes=(*before.fixes, *fixes))
    return tuple(found.values())


def _estimate(estimate: Estimate) -> arb.Estimate:
    return arb.Estimate(*estimate)


def _line(finding: SuspiciousPattern) -> tuple[str, ...]:
    probability = "" if finding.probability is None else f"{finding.probability:.2g}"
    return finding.kind.replace("_", " "), ", ".join(finding.players), str(finding.games), probability, finding.reason


@contextmanager
def _progress(doing: str, output: TableOptions | None = None) -> Iterator[ProgressCallback]:
    """Show the progress of a long job: a bar on a terminal, nothing for programs."""
    if not for_people(output):
        yield lambda done, of: None
        return
    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("matches"), TimeRemainingColumn())
    with Progress(*columns, console=console(), transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
