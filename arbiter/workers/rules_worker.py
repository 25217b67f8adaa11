"""A worker process for rules: `python -m arbiter.workers.rules_worker MEMORY_BYTES NICE`.

It reads jobs from standard input and writes answers to standard output as frames. A frame is a header (see HEAD) and a
pickled value. Once the modules of all games are loaded it sends ("done", None). Then it takes jobs. A job is (kind,
arguments). Its answer is any number of chunk frames and one last frame: ("done", value), ("refused", refusal), or
("failed", traceback) for an error in the rules' code. The parent process kills the worker when a job takes too long.
The worker exits at the end of its input. Both ends are this program, so pickle is safe here.
"""

from __future__ import annotations

import os
import pickle
import resource
import struct
import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.games.line import Line, follow, replay
from arbiter.service.ports.rules import LinePosition, ListedMove

HEAD = struct.Struct(">?I")  #: whether a frame is the last one of its answer, and its length in bytes


def legal_moves(
    variant: str, start: str, moves: Sequence[str], steps: bool, most_line: int, most_moves: int, chunk: int
) -> Iterator[object]:
    """Yield the chunks of the legal moves at the end of a line, then (position, total)."""
    _, line = _line(variant, start, moves, most_line, len(moves))
    game, position = line.game, line.final
    texts = sorted(game.moves(position))
    if len(texts) > most_moves:
        raise Refusal(
            Reason.BUDGET_SPENT,
            f"this position has {len(texts)} legal moves: at most {most_moves} are listed",
            limit=most_moves,
            retry_after_ms=0,
        )
    for first in range(0, len(texts), chunk):
        part = texts[first : first + chunk]
        if steps:
            yield [ListedMove(text, _steps(game, position, text)) for text in part]
        else:
            yield [ListedMove(text) for text in part]
    yield game.text(position), len(texts)


def play_moves(
    variant: str, start: str, moves: Sequence[str], from_ply: int, board: bool, most_line: int
) -> Iterator[object]:
    """Yield the positions of a line from a ply on, one for each chunk, then the outcome as (winner, reason) or None."""
    first, line = _line(variant, start, moves, most_line, from_ply)
    game = line.game
    for ply, position in enumerate(line.positions, first):
        if ply >= from_ply:
            cells = _board(game, position) if board else ()
            yield LinePosition(ply, game.text(position), position.turn, game.claim(position) or "", cells)
    outcome = line.final.outcome
    yield (outcome.winner, outcome.reason) if outcome else None


_KEPT = 256  #: cached ends of lines: callers mostly ask about the continuation of a line next
_LOOK_BACK = 4  #: how many moves shorter than the request a cached line may be
_ends: OrderedDict[tuple[str, str, tuple[str, ...]], Any] = OrderedDict()


def _line(variant: str, start: str, moves: Sequence[str], most: int, from_ply: int) -> tuple[int, Line]:
    """Return a line of play from a ply on, at most `from_ply`, and that ply. Raises as `replay` does."""
    whole = tuple(moves)
    # no cached line for a line that is too long: it is refused
    shortest = max(0, len(whole) - _LOOK_BACK) if len(whole) <= most else len(whole) + 1
    for ply in range(min(from_ply, len(whole)), shortest - 1, -1):
        position = _ends.get((variant, start, whole[:ply]))
        if position is not None:
            line = follow(registry.game(variant), position, whole[ply:], ply)
            break
    else:
        ply, line = 0, replay(variant, start or None, whole, most)
    _ends[variant, start, whole] = line.final
    _ends.move_to_end((variant, start, whole))
    if len(_ends) > _KEPT:
        _ends.popitem(last=False)
    return ply, line


def _steps(game: AnyGame, position: Any, move: str) -> tuple[tuple[str, str, str, str, int], ...]:
    # Plain tuples: the reader does not need the code of the games.
    return tuple((s.action, s.source, s.target, s.piece, s.facing) for s in game.steps(position, move))


def _board(game: AnyGame, position: Any) -> tuple[tuple[str, int, str, int, int, str], ...]:
    return tuple(
        (name, piece.owner, piece.letter, piece.facing, piece.height, piece.mark)
        for name, piece in zip(game.board.names, game.pieces(position), strict=True)
        if piece.letter or piece.mark or piece.height >= 0
    )


_JOBS: dict[str, Callable[..., Iterator[object]]] = {"legal_moves": legal_moves, "play_moves": play_moves}


def frame(value: object, last: bool) -> bytes:
    """Encode a value as a frame."""
    body = pickle.dumps(value)
    return HEAD.pack(last, len(body)) + body


def answer(kind: str, arguments: tuple[Any, ...]) -> Iterator[bytes]:
    """Yield the frames that answer a job. Refusals, exhausted memory and failures are answers too."""
    try:
        held: list[object] = []
        for item in _JOBS[kind](*arguments):
            if held:
                yield frame(held.pop(), last=False)
            held.append(item)
        yield frame(("done", held[0]), last=True)
    except Refusal as refusal:
        yield frame(("refused", refusal), last=True)
    except (MemoryError, SystemError):  # the interpreter raises SystemError where it runs out of memory itself
        yield frame(("refused", spent("more memory than a request may take")), last=True)
    except Exception:
        yield frame(("failed", traceback.format_exc(limit=-8)), last=True)


def spent(what: str) -> Refusal:
    """Return the refusal of a request that costs too much. `what` names the resource."""
    return Refusal(Reason.BUDGET_SPENT, f"the answer takes {what}: ask for less at once", limit=what, retry_after_ms=0)


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Announce that the worker is ready, and answer jobs until the stream ends."""
    answers.write(frame(("done", None), last=True))
    answers.flush()
    while head := jobs.read(HEAD.size):
        _, length = HEAD.unpack(head)
        for part in answer(*pickle.loads(jobs.read(length))):
            answers.write(part)
        answers.flush()


def load_games() -> None:
    """Load the modules of all games. The tables of a game are computed with its first job: a tenth of a second."""
    with suppress(Exception):  # a packaged game that cannot be loaded fails only the jobs that name it
        registry.classes()


def main() -> None:
    """Serve jobs on standard input and output, within a memory limit and at a lower priority."""
    memory, nice = int(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    os.nice(nice)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a game's print must not mix with the answers
    load_games()
    with suppress(BrokenPipeError):  # the parent process has ended
        serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
