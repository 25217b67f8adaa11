"""`arbiter transcript`: the record of a match as a file, or as readable text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from arbiter.cli import short_ids
from arbiter.cli.argument_types import Flag, OutFile
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.short_ids import MatchId
from arbiter.cli.terminal import counted, on_terminal, say, write_text
from arbiter.cli.verify import read_file
from arbiter.drawing.text_drawing import draw
from arbiter.errors import Refusal
from arbiter.event_json.canonical import RecordError
from arbiter.games import registry
from arbiter.games.line import follow
from arbiter.matches import notation, read
from arbiter.matches.events import Event
from arbiter.matches.pgn import write as pgn_text
from arbiter.matches.sgf import write as sgf_text
from arbiter.matches.transcript import split
from arbiter.plain_text import plain_json
from arbiter.text_files import text_of


def transcript(
    match_id: MatchId | None = None,
    /,
    *,
    out: OutFile = None,
    text: Flag = False,
    pgn: Flag = False,
    sgf: Flag = False,
    file: Path | None = None,
    from_text: Path | None = None,
    connection: Connection | None = None,
) -> None:
    """Write the record of a match: the exact bytes of its events, one canonical JSON text per line, and the signature.

    `arbiter verify` verifies it. With --text, write readable text instead, similar to PGN, with clocks. With --pgn
    and --sgf, write what programs for chess and Go read; programs that rate players read PGN of every game. `arbiter
    match import` reads all three.

    :param text: Write readable text.
    :param pgn: Write PGN: a match of chess with clocks, and evaluations once it has ended; of another game, its tags,
        and the moves as a comment.
    :param sgf: Write a match of Go as SGF, with clocks, and evaluations once it has ended.
    :param file: Read the record from this file instead of a server.
    :param from_text: Read a readable text from this file, play its moves, and show the resulting position.
    """
    if text + pgn + sgf > 1:
        raise Failure("choose one of --text, --pgn and --sgf")
    if (match_id is not None) + (file is not None) + (from_text is not None) != 1:
        raise Failure("say which match: its id, --file FILE or --from-text FILE")
    if from_text is not None:
        _write(_replay_report(from_text).encode(), out)
        return
    if file is not None:
        lines = read_file(file)
    else:
        assert match_id is not None
        with connected(connection) as client:
            lines = client.transcript(short_ids.match_id(client, match_id))
    form = pgn_text if pgn else sgf_text if sgf else notation.write if text else None
    _write(lines if form is None else _as_text(lines, form), out)
    if out is not None:
        records, signature = split(lines)
        signed = " and the signature" if signature is not None else ""
        say(f"the match in {out}" if form is not None else f"{counted(len(records), 'event')}{signed} in {out}")


def _as_text(lines: bytes, form: Callable[[Sequence[Event]], str]) -> bytes:
    """Return a match in a form for people or other programs. Raises Failure for what is no transcript."""
    try:
        records, _ = split(lines)
        events = [read(record) for record in records]
    except RecordError as error:
        raise Failure(f"this is no transcript: {error}") from None
    try:
        return form(events).encode()
    except (RecordError, Refusal) as error:
        raise Failure(f"this match can't be written so: {error}") from None


def _replay_report(file: Path) -> str:
    """Return the players, the result and the final position of a readable text."""
    try:
        written = notation.read(text_of(read_file(file)))
    except RecordError as error:
        raise Failure(f"{file}, {error}") from None
    except ValueError as error:
        raise Failure(f"can't read {file}: {error}") from None
    tags, moves = written.tags, [move.move for move in written.moves]
    game = registry.game(tags["Game"])
    line = follow(game, game.start(tags.get(notation.POSITION, "")), moves)
    steps = game.steps(line.positions[-2], moves[-1]) if moves else None
    players = f"{tags.get('Player1', 'player 1')} against {tags.get('Player2', 'player 2')}"
    heading = f"{game.variant}: {players}, {counted(len(moves), 'move')}, {written.result}"
    ended = "" if written.result == notation.GOES_ON else f"over: {written.result}"
    drawn = draw(game, line.final, steps, colour=on_terminal(), caption=ended)
    return f"{heading}\n{written.position}\n\n{drawn}"


def _write(data: bytes, out: Path | None) -> None:
    if out is None and on_terminal():  # elsewhere the exact bytes: they are signed
        write_text(plain_json(data.decode(errors="replace")))
        return
    if out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        out.write_bytes(data)
    except OSError as error:
        raise Failure(f"can't write {out}: {error.strerror or error}") from None
