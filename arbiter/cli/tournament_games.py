"""`arbiter tournament games`: all games of a tournament in one text file, for programs that rate players."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from arbiter.cli import short_ids
from arbiter.cli.argument_types import OutFile
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.short_ids import TournamentId
from arbiter.cli.terminal import counted, tell, write_text
from arbiter.errors import Refusal
from arbiter.event_json.canonical import NotCanonicalError, RecordError, UnknownKindError, decode
from arbiter.matches import read
from arbiter.matches.pgn import write
from arbiter.matches.transcript import split
from arbiter.tournaments import events as ev
from arbiter.tournaments.codec import read_event
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.game_rulings import in_words
from arbiter.tournaments.tournament import Tournament

RESULTS: Final[Mapping[tuple[int, ...], str]] = {(2, 0): "1-0", (0, 2): "0-1", (1, 1): "1/2-1/2"}
"""The result tag for half points by seat; any other points are no result that such programs know."""


class PlayedGame(NamedTuple):
    """A game of a tournament that a match has decided: what the tags say of it beside the match's own tags."""

    match_id: str
    tags: dict[str, str]


def games(tournament_id: TournamentId, /, *, out: OutFile = None, connection: Connection | None = None) -> None:
    """Write the games of a tournament into one file, in PGN: Ordo, BayesElo and programs for chess read it.

    White is seat 1, which moves first. Chess has its moves, other games have them as a comment. The result is the one
    that counts: of the newest ruling, if there is one; `*` for a game that is void, or lost without play since a player
    was disqualified. Games that nobody played are left out, since they show no strength.
    """
    with connected(connection) as client:
        tournament = tournament_of(client.export_tournament(short_ids.tournament_id(client, tournament_id)))
        played, left_out = played_games(tournament)
        with _output(out) as put:
            for number, game in enumerate(played):
                put(("\n" if number else "") + _text(client.transcript(game.match_id), game))
    without = f"; left out: {counted(left_out, 'game')} that nobody played" if left_out else ""
    tell(f"{counted(len(played), 'game')} of {tournament.spec.name}{without}")


def tournament_of(log: bytes) -> Tournament:
    """Return the tournament of an exported log. Raises Failure."""
    try:
        return replay(_events(log))
    except (RecordError, NotCanonicalError, ValueError) as error:
        raise Failure(f"the log of the tournament can't be read: {error}") from None


def _events(log: bytes) -> Iterator[ev.Event]:
    for line in log.splitlines():
        with suppress(UnknownKindError):  # the standings and the signature of one that has ended
            yield read_event(decode(line))


def played_games(tournament: Tournament) -> tuple[list[PlayedGame], int]:
    """Return the games of a tournament that were played, by number, and how many have a result without play."""
    results = sorted(tournament.as_played.items())
    played = [PlayedGame(result.match, _tags(tournament, number)) for number, result in results if result.played]
    return played, len(results) - len(played)


def _tags(tournament: Tournament, number: int) -> dict[str, str]:
    game, result = tournament.games[number - 1], tournament.results[number]
    round_ = tournament.meetings[game.meeting - 1].round
    tags = {"Event": tournament.spec.name, "Round": str(round_), "TournamentGame": str(number)}
    out = [player for player in dict.fromkeys(game.players) if player in tournament.disqualified]
    if out:
        tags["Disqualified"] = ", ".join(out)
    ruling = result.ruling
    if ruling is None:
        return tags
    said = in_words(ev.Decision.VOID if result.void else ev.Decision.POINTS, ruling.points or ())
    how = " without play" if not (result.void or ruling.played) else ""
    tags["Ruling"] = f"{said}{how} by {ruling.by}{f': {ruling.note}' if ruling.note else ''}"
    return {**tags, "Result": RESULTS.get(ruling.points or (), "*") if result.rated else "*"}


def _text(lines: bytes, game: PlayedGame) -> str:
    try:
        records, _ = split(lines)
        return write([read(record) for record in records], game.tags)
    except (RecordError, Refusal) as error:
        raise Failure(f"match {game.match_id} can't be written: {error}") from None


@contextmanager
def _output(out: Path | None) -> Iterator[Callable[[str], object]]:
    """Yield what writes text to a file, or to standard output. Raises Failure."""
    if out is None:
        yield write_text
        return
    try:
        with out.open("w", encoding="utf-8") as file:
            yield file.write
    except OSError as error:
        raise Failure(f"can't write {out}: {error.strerror or error}") from None
