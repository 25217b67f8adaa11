"""A bundled bot behind pipes: one process that plays any number of matches, and needs no network.

    python -m arbiter_client.bridge.piped_bot BOT [--seed N]

Standard input is a Unix socket, on which programs are asked for as of `arbiter.sandbox.spawner`: each message carries
standard input, standard output and a socket for the end of one more program. Here a program is a thread, which speaks
lines of JSON (clients/lines/README.md), and plays one match after another. So all matches share this process, and what
it has loaded.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from inspect import isawaitable, isclass
from typing import Any, Final

from arbiter_client import bots, log
from arbiter_client.bot import Bot, Choice, ClaimDraw, Move, OfferDraw, Resign, Run, running
from arbiter_client.bridge.json_lines import line_of
from arbiter_client.calling import of_the_bot
from arbiter_client.cli import Parser
from arbiter_client.errors import ArbiterError, Reason
from arbiter_client.values.game import LegalMove
from arbiter_client.values.match import Clock
from arbiter_client.values.play import LiveMatch, RecentMove, Turn

logger = logging.getLogger("arbiter_client")

HANDLES: Final = 3  #: of a program
ALL_MOVES: Final = 999_999_999  #: the largest number of a line of JSON: the bot wants the legal moves, however many


class _Matches:
    """The matches that a bot plays: it thinks for a shorter time if there are more."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._live: set[str] = set()
        self._lock = threading.Lock()

    def count(self, match: LiveMatch, *, over: bool) -> None:
        """Note that a match has begun, or is over."""
        match.over = over
        with self._lock:
            (self._live.discard if over else self._live.add)(f"{match.match_id}/{match.seat}")
            self._run.playing = len(self._live)


class _Program:
    """The bot as one program. control: the socket on which its end is asked for and told."""

    def __init__(self, bot: Bot, matches: _Matches, given: int, written: int, control: int) -> None:
        self.control = socket.socket(fileno=control)
        self.code = -signal.SIGKILL  #: as a process that is ended from outside
        self._bot = bot
        self._matches = matches
        self._given = given
        self._written = written
        self._match: LiveMatch | None = None
        self._answers: Mapping[str, Callable[[Mapping[str, Any]], str | None]] = {
            "arbiter": self._introduced,
            "match": self._begun,
            "turn": self._chosen,
            "end": self._ended,
        }

    def play(self) -> None:
        """Answer lines until they end, and have the end told."""
        try:
            with os.fdopen(self._given, encoding="utf-8") as lines, os.fdopen(self._written, "wb", 0) as answers:
                for line in lines:
                    said = json.loads(line)
                    does = self._answers.get(said["kind"])
                    answer = does(said) if does is not None else None
                    if answer is not None:
                        answers.write(f"{answer}\n".encode())
            self.code = 0
        except BrokenPipeError:
            pass  # nobody waits for the answer any more
        except Exception as error:
            self.code = 1
            logger.error("%s failed: %s: %s", self._bot.name, type(error).__name__, error, exc_info=of_the_bot(error))
        finally:
            self._forget()
            with suppress(OSError):
                self.control.shutdown(socket.SHUT_RD)  # which wakes the one that tells it

    def end(self) -> None:
        """Tell how it ended. A choice that is still under way is not needed any more."""
        if (match := self._match) is not None:
            match.over = True
        with suppress(OSError):
            self.control.send(b"%d" % self.code)
        self.control.close()

    def _introduced(self, said: Mapping[str, Any]) -> str:
        bot = self._bot
        moves = ALL_MOVES if bot.extras.legal_moves_up_to else 0
        return line_of("ready", name=bot.name, version=bot.version, games=bot.games, moves=moves)

    def _begun(self, said: Mapping[str, Any]) -> None:
        self._forget()
        names = ("match_id", "game", "seat", "opponent", "time_control", "rated", "start_position")
        self._match = LiveMatch(**{name: said[name] for name in names})
        self._matches.count(self._match, over=False)

    def _ended(self, said: Mapping[str, Any]) -> None:
        self._forget()

    def _forget(self) -> None:
        match, self._match = self._match, None
        if match is not None:
            self._matches.count(match, over=True)

    def _chosen(self, said: Mapping[str, Any]) -> str:
        assert self._match is not None
        choice = self._bot.choose(turn_of(self._match, said))
        if isawaitable(choice):
            raise TypeError("a bot behind pipes chooses in a plain method")
        return choice_line(choice)


def turn_of(match: LiveMatch, said: Mapping[str, Any]) -> Turn:
    """Return the turn of a match that a line of JSON describes."""
    match.moves = tuple(said["played"])
    clocks: tuple[Clock, ...] = ()
    left = said["left_ms"]
    if said["clocks_ms"] is not None:
        mine, theirs = said["clocks_ms"]
        own = Clock(mine, mine if left is None else left, 0, said["moves_left"])
        both = own, Clock(theirs, theirs, 0, 0)
        clocks = both if match.seat == 1 else both[::-1]
    refused = said["refused"]
    return Turn(
        game=match.game,
        seat=match.seat,
        ply=said["ply"],
        position=said["position"],
        last_moves=tuple(RecentMove(**last) for last in said["last_moves"]),
        clocks=clocks,
        started_ms=0,
        now_ms=0,
        draw_claim=said["draw_claim"],
        draw_offered=said["draw_offered"],
        opponent=match.opponent,
        board=(),
        legal_move_count=None,
        legal_moves=tuple(LegalMove(move, ()) for move in said["moves"] or ()),
        available_ms=0 if left is None else max(1, left),
        revision=0,
        match=match,
        refused=refused and ArbiterError(Reason(refused["reason"]), refused["message"], "FAILED_PRECONDITION"),
    )


def choice_line(choice: Choice) -> str:
    """Return the line of JSON with a bot's choice."""
    match choice:
        case Resign():
            return line_of("resign")
        case ClaimDraw():
            return line_of("claim")
        case OfferDraw():
            return _move_line("offer", choice.move)
    return _move_line("move", choice)


def _move_line(kind: str, move: str | Move) -> str:
    if isinstance(move, str):
        return line_of(kind, move=move)
    return line_of(kind, move=move.text, evaluation=move.evaluation, line=move.line)


def serve(bot: Bot, channel: socket.socket) -> None:
    """Play a bot, as one more program for each message of a channel, until it ends."""
    run = Run(None, None)
    matches = _Matches(run)
    with running(bot, run), selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not channel:
                    selector.unregister(key.fileobj)
                    key.data.end()
                    continue
                message, handles, _, _ = socket.recv_fds(channel, 1, HANDLES)
                if not message:
                    return
                if len(handles) < HANDLES:  # there are too many open files
                    for handle in handles:
                        os.close(handle)
                    continue
                program = _Program(bot, matches, *handles)
                selector.register(program.control, selectors.EVENT_READ, program)
                threading.Thread(target=program.play, name="arbiter-bot", daemon=True).start()


def bundled(name: str) -> Callable[[int | None], Bot]:
    """Return what makes a bundled bot of a seed."""
    module = import_module(f"{bots.__name__}.{name}")
    of_module = (each for each in vars(module).values() if isclass(each) and each.__module__ == module.__name__)
    [made] = (each for each in of_module if issubclass(each, Bot))
    return made


def main() -> None:
    """Play the bot of the command line."""
    parser = Parser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bot", type=bundled)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    log.show()
    serve(arguments.bot(arguments.seed), socket.socket(fileno=os.dup(0)))


if __name__ == "__main__":
    main()
