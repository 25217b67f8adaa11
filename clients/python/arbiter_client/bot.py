"""The base class of bots: one method, from a turn to a move, and optional callbacks."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Final

from arbiter_client.blocking import BlockingClient
from arbiter_client.client import Client
from arbiter_client.errors import ArbiterError
from arbiter_client.time_control import same
from arbiter_client.values.game import LegalMove, MatchPly
from arbiter_client.values.match import Searched
from arbiter_client.values.play import DrawOffer, FinishedMatch, LiveMatch, TournamentCall, Turn
from arbiter_client.values.player import Challenge, ChallengeClosed, Terms

SEATS: Final = 2
UNCONNECTED: Final = "this bot plays without a connection: there is no server to ask"


@dataclass(frozen=True, slots=True)
class Extras:
    """Optional content of each turn; it costs time on both sides.

    `legal_moves_up_to` asks for the legal moves if there are at most this many, `steps` for their visible parts.
    """

    board: bool = False
    legal_move_count: bool = False
    legal_moves_up_to: int = 0
    steps: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """Returned by `choose`: play a move with a comment, which opponents see after the end of the match.

    evaluation: the score that the bot expects, in permille: 0 lost, 500 even, 1000 won. line: the moves that it
    expects, beginning with its own. The server cuts the line after 32 moves or 500 characters. search: what an engine
    says of its search. thought_s: how long a program has thought about it, in seconds, where the rest of the time since
    the turn came was the way to the program and back. In the server's process that way is not charged.
    """

    text: str
    evaluation: int | None = None
    line: Sequence[str] = ()
    search: Searched | None = None
    thought_s: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class OfferDraw:
    """Returned by `choose`: offer a draw, and play a move."""

    move: str | Move


@dataclass(frozen=True, slots=True)
class ClaimDraw:
    """Returned by `choose`: claim the draw that `turn.draw_claim` names."""


@dataclass(frozen=True, slots=True)
class Resign:
    """Returned by `choose`: resign the match."""


Choice = str | Move | OfferDraw | ClaimDraw | Resign
"""What `choose` may return: a move or its text, or another act."""


def with_thought(choice: Choice, thought_s: float) -> Choice:
    """Return a choice that says of its move how long a program has thought about it, in seconds."""
    if isinstance(choice, OfferDraw):
        return OfferDraw(_thought(choice.move, thought_s))
    return _thought(choice, thought_s) if isinstance(choice, (str, Move)) else choice


def _thought(move: str | Move, thought_s: float) -> Move:
    return replace(Move(move) if isinstance(move, str) else move, thought_s=thought_s)


@dataclass(slots=True, eq=False)
class Run:
    """What a run of a bot knows for it: its connection, and how many matches it plays and may still agree on.

    client, blocking: None if it has no connection (`bridge.piped_bot`).
    """

    client: Client | None
    blocking: BlockingClient | None
    playing: int = 0
    left: int | None = None


_CURRENT: ContextVar[Run] = ContextVar("arbiter_client_run")
"""The run that calls a method of the bot: its tasks and threads inherit it."""


@contextmanager
def running(bot: Bot, run: Run) -> Iterator[None]:
    """Play a bot in a run: what the block starts belongs to it."""
    bot._runs = (*bot._runs, run)
    token = _CURRENT.set(run)
    try:
        yield
    finally:
        _CURRENT.reset(token)
        bot._runs = tuple(each for each in bot._runs if each is not run)


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Bot(ABC):
    """A bot. A subclass describes itself and chooses moves; everything else has a default.

    Every method may be a plain one or `async`. Plain methods run in threads, so that the stream stays alive while the
    bot thinks; they call the server through `self.blocking`, and async methods through `self.client`. Several matches
    may be under way at once: keep the data of a match in `turn.match.memory`. One bot may be in several runs.
    """

    name: str = ""  #: the bot's name, for people
    version: str = "1"  #: the bot's version; rated apart from other versions
    games: Sequence[str] = ()  #: the games or variants that it plays; empty for all
    time_controls: Sequence[str] = ()  #: the time controls that it accepts; empty for all
    opponents: Sequence[str] = ()  #: the players whose challenges and seeks it accepts; empty for all
    rated: bool | None = None  #: whether it plays only rated matches, or (False) only unrated ones; None for both
    seat: int = 0  #: the seat that challenges and seeks must give it: 1 or 2; 0 for any, and for the lot
    least_rating: float | None = None  #: the lowest rating of a challenger in the game; None for no limit
    most_rating: float | None = None  #: the highest one
    most_matches: int = 0  #: how many matches it plays at once; 0 for no limit
    accept_challenges: bool = True  #: whether it accepts challenges for its games, time controls and opponents
    accept_seeks: bool = False  #: whether it accepts suitable open seeks of other players
    seeks: Sequence[Terms] = ()  #: terms of seeks to keep open while there is room for a match
    enter_tournaments: bool = False  #: whether it enters suitable tournaments
    capabilities: Sequence[str] = ()  #: its capabilities beyond the first version of the protocol, by name
    extras: Extras = Extras()  #: the optional content of its turns

    _runs: tuple[Run, ...] = ()  # in which it is

    @property
    def client(self) -> Client:
        """The connection of the run that calls, for `async` methods. Raises RuntimeError if the bot is in no run."""
        client = self._run().client
        if client is None:
            raise RuntimeError(UNCONNECTED)
        return client

    @property
    def blocking(self) -> BlockingClient:
        """The same for plain methods."""
        blocking = self._run().blocking
        if blocking is None:
            raise RuntimeError(UNCONNECTED)
        return blocking

    @property
    def playing(self) -> int:
        """How many matches are under way in the run that calls, or agreed on."""
        return self._run().playing if self._runs else 0

    @property
    def left(self) -> int | None:
        """How many more matches that run may agree on before it ends; None for no limit."""
        return self._run().left if self._runs else None

    def _run(self) -> Run:
        """Return the run that calls, or elsewhere the only one."""
        current = _CURRENT.get(None)
        if current is not None and current in self._runs:
            return current
        if len(self._runs) == 1:
            return self._runs[0]
        where = "in no run" if not self._runs else f"in {len(self._runs)} runs, and this thread belongs to none of them"
        raise RuntimeError(f"{self.name or 'the bot'} is {where}: use its client in the methods that a run calls")

    @abstractmethod
    def choose(self, turn: Turn) -> Choice | Awaitable[Choice]:
        """Return the act for a turn: a move, `OfferDraw(move)`, `ClaimDraw()` or `Resign()`.

        A move is its text, or `Move(text, evaluation=…, line=…)` to add a comment.
        """

    def refused(self, turn: Turn, refusal: ArbiterError) -> Choice | Awaitable[Choice | None] | None:
        """Return another choice for a turn after the first one was refused. None: `choose` is called once more.

        That call has `turn.refused` set. If its result is refused too, the bot resigns the match.
        """
        return None

    def started(self, match: LiveMatch) -> Awaitable[None] | None:
        """React to the start of a match, or to its continuation after a restart of the bot; it precedes the first turn.

        What takes long before a first move belongs here: no clock of the match starts before this has returned, or at
        most `Policy.ready_ms` later.
        For a match of the bot against itself it is called twice, once for each seat.
        """
        return None

    def ended(self, finished: FinishedMatch) -> Awaitable[None] | None:
        """React to the end of a match. After this returns, the client acknowledges the result to the server."""
        return None

    def draw_offered(self, offer: DrawOffer) -> bool | Awaitable[bool]:
        """Return whether to accept the opponent's draw offer. By default no."""
        return False

    def challenged(self, challenge: Challenge) -> bool | str | Awaitable[bool | str]:
        """Return True to accept a challenge, or the reason for declining it. By default, its `objection` decides."""
        if not self.accept_challenges:
            return "this bot accepts no challenges"
        return self.objection(challenge) or True

    def sought(self, seek: Challenge) -> bool | Awaitable[bool]:
        """Return whether to accept an open seek of another player. By default, if there is no `objection` to it.

        Called only with `accept_seeks`.
        """
        return not self.objection(seek)

    def called(self, call: TournamentCall) -> bool | Awaitable[bool]:
        """Return whether to enter a tournament. By default, if its games, time control and `rated` suit the bot.

        Called only with `enter_tournaments`, and only for tournaments that it has not entered yet.
        """
        suits = all(map(self.plays, call.games)) and self.plays_at(call.time_control)
        return suits and self.rated in (None, call.rated)

    def challenge_closed(self, closed: ChallengeClosed) -> Awaitable[None] | None:
        """React to the end of one of the bot's own challenges or seeks, which is no longer open."""
        return None

    def legal_moves(self, turn: Turn) -> tuple[LegalMove, ...]:
        """Return the legal moves of a turn: those in it, or else the server's answer. For plain methods.

        Raises RuntimeError in an `async` method, which awaits `ask_legal_moves`.
        """
        if _is_in_a_loop():
            raise RuntimeError("in an async method, `await self.ask_legal_moves(turn)` instead: legal_moves would wait")
        return turn.legal_moves or self.blocking.legal_moves(MatchPly(turn.match.match_id, turn.ply))

    async def ask_legal_moves(self, turn: Turn) -> tuple[LegalMove, ...]:
        """Return the same for `async` methods."""
        return turn.legal_moves or await self.client.legal_moves(MatchPly(turn.match.match_id, turn.ply))

    def plays(self, game: str) -> bool:
        """Return whether the bot plays a variant: it, or its game, is in `games`, or `games` is empty."""
        return not self.games or game in self.games or game.partition("(")[0] in self.games

    def plays_at(self, time_control: str) -> bool:
        """Return whether the bot plays at a time control: `60s` in `time_controls` stands for `1m` too."""
        return not self.time_controls or any(same(time_control, own) for own in self.time_controls)

    def objection(self, challenge: Challenge) -> str:
        """Return the reason why the bot's attributes exclude a challenge or seek; '' if they do not."""
        terms = challenge.terms
        if not self.plays(terms.game):
            return f"this bot plays {', '.join(self.games)}"
        if not self.plays_at(terms.time_control):
            return f"this bot plays at {', '.join(self.time_controls)}"
        if self.rated is not None and self.rated != terms.rated:
            return f"this bot plays {'rated' if self.rated else 'unrated'} matches only"
        if self.seat and terms.seat != SEATS + 1 - self.seat:
            return f"this bot plays as seat {self.seat} only"
        if self.opponents and challenge.challenger not in self.opponents:
            return f"this bot plays against {', '.join(self.opponents)}"
        if self.least_rating is not None and (challenge.rating is None or challenge.rating < self.least_rating):
            return f"this bot plays against ratings of at least {self.least_rating:g}"
        if self.most_rating is not None and (challenge.rating is None or challenge.rating > self.most_rating):
            return f"this bot plays against ratings of at most {self.most_rating:g}"
        if 0 < self.most_matches <= self.playing:
            return f"this bot plays {self.most_matches} matches at once, and is playing them"
        if self.left == 0:
            return "this bot has as many matches as it plays before it stops"
        return ""
