"""Games of a file, made into matches for replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import arbiter_client as arb
from arbiter_client.blocking import BlockingClient

from arbiter.cli.failure import Failure
from arbiter.matches.answers import LONGEST_NOTE
from arbiter.matches.creation import LONGEST_LABEL
from arbiter.matches.game_files import FileGame, form_of, games_of
from arbiter.matches.notation import GOES_ON, RESULTS, NotationError
from arbiter.plain_text import plain


def games_in(path: Path) -> Iterator[FileGame]:
    """Yield the games of a file, which is read line by line. Raises Failure if it cannot be read or has no form."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:  # many PGN files are in Latin-1
            yield from games_of(lines, form_of(path.name))
    except OSError as error:
        raise Failure(f"can't read {path}: {error.strerror or error}") from None
    except NotationError as error:
        raise Failure(f"{path}, {error}") from None


def imported(client: BlockingClient, found: FileGame, file: str, label: str) -> str:
    """Make a match of a game, with the caller in both seats, and end it; return its id.

    Raises NotationError for a game that the rules do not allow or that has no moves, and ArbiterError for what the
    server refuses.
    """
    game = found.play(0)
    if not (game.moves or game.start):
        raise NotationError(found.line, "it has neither moves nor a start position: there is nothing to replay")
    caller = client.myself()
    me = caller.player.name
    # What ends a game by its rules can be no opening: the caller plays it, if its token may play.
    plays_end = game.ended and arb.Scope.PLAY in caller.scopes
    opening = game.moves[:-1] if game.ended else game.moves
    match_id = client.create_match(
        game.variant,
        (me, me),
        time_control="none",
        label=plain(f"{label}: {found.heading}")[:LONGEST_LABEL],
        start=arb.StartRule.AT_ONCE,
        opening=opening,
        position=game.start,
    ).match_id
    if plays_end:
        client.submit_move(match_id, len(opening), game.moves[-1])
        return match_id
    last = f", and the last move is {game.moves[-1]}" if game.ended else ""
    note = plain(f"{game.result} in {file}, game {found.number}: {found.heading}{last}")[:LONGEST_NOTE]
    kinds = {RESULTS[0]: arb.ResultKind.DRAW, GOES_ON: arb.ResultKind.VOID}
    winner = next((seat for seat in (1, 2) if RESULTS[seat] == game.result), 0)
    client.adjudicate_match(match_id, kinds.get(game.result, arb.ResultKind.WIN), note, winner)
    return match_id
