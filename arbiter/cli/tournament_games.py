"""`arbiter tournament games`: all games of a tournament in one text file, for programs that rate players."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import arbiter_client as arb
from cyclopts import Parameter

from arbiter.cli import ids
from arbiter.cli.connection import Connection, connected
from arbiter.cli.counts import counted
from arbiter.cli.failure import Failure
from arbiter.cli.terminal import tell, write_text
from arbiter.cli.tournament_view import result_of
from arbiter.errors import Refusal
from arbiter.event_json.canonical import RecordError
from arbiter.matches import read
from arbiter.matches.pgn import write
from arbiter.matches.transcript import split
from arbiter.tournaments import events as ev
from arbiter.tournaments.rulings import in_words

RESULTS: Final = {(2, 0): "1-0", (0, 2): "0-1", (1, 1): "1/2-1/2"}
"""The result tag for half points by seat; any other points are no result that such programs know."""


class PlayedGame(NamedTuple):
    """A game of a tournament that a match has decided: what the tags say of it beside the match's own tags."""

    match_id: str
    tags: dict[str, str]


def games(
    tournament_id: str,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    connection: Connection | None = None,
) -> None:
    """Write the games of a tournament into one file, in PGN: Ordo, BayesElo and programs for chess read it.

    White is seat 1, which moves first. Chess has its moves, other games have them as a comment. The result is that of
    the newest ruling, if there is one. Games that nobody played are left out, since they show no strength.

    :param tournament_id: The tournament: its id, the beginning of one, or `last`.
    :param out: Write to this file instead of standard output.
    """
    with connected(connection) as client:
        tournament_id = ids.tournament_id(client, tournament_id)
        found = client.get_tournament(tournament_id)
        played, left_out = played_games(client, found)
        with _output(out) as put:
            for number, game in enumerate(played):
                put(("\n" if number else "") + _text(client.transcript(game.match_id), game))
    without = f"; left out: {counted(left_out, 'game')} that nobody played" if left_out else ""
    tell(f"{counted(len(played), 'game')} of {found.spec.name}{without}")


def played_games(client: arb.BlockingClient, found: arb.Tournament) -> tuple[list[PlayedGame], int]:
    """Return the games of a tournament that were played, by number, and how many have a result without play."""
    paired: dict[int, tuple[int, arb.PairedGame]] = {}
    ended: dict[int, arb.GameEnded] = {}
    ruled: dict[int, arb.GameRuled] = {}
    for event in client.observe_tournament(found.tournament_id, "0"):
        if not isinstance(event, arb.TournamentEvent):
            continue
        if isinstance(event.what, arb.GamesPaired):
            paired |= {game.number: (event.what.round, game) for game in event.what.games}
        elif isinstance(event.what, arb.GameEnded):
            ended[event.what.number] = event.what
        elif isinstance(event.what, arb.GameRuled):
            ruled[event.what.number] = event.what
        if event.revision >= found.revision:
            break
    rated = {number: end for number, end in sorted(ended.items()) if result_of(end).played}
    games_ = [
        PlayedGame(end.match_id, _tags(found.spec, *paired[number], ruled.get(number))) for number, end in rated.items()
    ]
    return games_, len(ended) - len(rated)


def _tags(spec: arb.TournamentSpec, round_: int, game: arb.PairedGame, ruled: arb.GameRuled | None) -> dict[str, str]:
    tags = {"Event": spec.name, "Round": str(round_), "TournamentGame": str(game.number)}
    if ruled is None or ruled.decision == ev.Decision.STANDS:
        return tags
    said = f"{in_words(ruled.decision, ruled.half_points)} by {ruled.caller}{f': {ruled.note}' if ruled.note else ''}"
    points = (*ruled.half_points[:2], 0, 0)[:2]
    result = RESULTS.get((points[0], points[1]), "*") if ruled.decision == ev.Decision.POINTS else "*"
    return {**tags, "Result": result, "Ruling": said}


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
