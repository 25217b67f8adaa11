"""What a bot is: one method, from a turn to a move, and callbacks for those who want them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from arbiter_client.blocking import BlockingClient
from arbiter_client.client import Client
from arbiter_client.errors import ArbiterError
from arbiter_client.values.game import LegalMove, MatchPly
from arbiter_client.values.play import DrawOffer, FinishedMatch, LiveMatch, TournamentCall, Turn
from arbiter_client.values.player import Challenge, ChallengeClosed, Terms


@dataclass(frozen=True, slots=True)
class Extras:
    """Optional content of each turn; it costs time on both sides.

    `legal_moves_up_to` asks for the legal moves if their number is not larger, `steps` for their visible parts.
    """

    board: bool = False
    legal_move_count: bool = False
    legal_moves_up_to: int = 0
    steps: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """Returned by `choose`: play a move and say what the bot thinks of it; opponents see that after the end.

    evaluation: the score that the bot expects, in permille: 0 lost, 500 even, 1000 won. line: the moves that it expects
    from this one on, its own move first. What goes beyond 32 moves or 500 characters is cut off by the server.
    """

    text: str
    evaluation: int | None = None
    line: Sequence[str] = ()


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
"""What a bot does at its turn: a move or its text, or one of the other acts."""


class Bot(ABC):
    """A bot. Subclasses say who they are and choose moves; everything else has a default.

    Every method may be a plain one or `async`. Plain ones run in threads, so that the stream stays alive while the bot
    thinks, and may ask the server through `self.blocking`; async ones ask through `self.client`. Several matches may
    be under way at once: keep what belongs to one of them in `turn.match.memory`.
    """

    name: str = ""  #: the bot's name, for people
    version: str = "1"  #: the bot's version; rated apart from other versions
    games: Sequence[str] = ()  #: the games or variants that it plays; empty for all
    time_controls: Sequence[str] = ()  #: those that it accepts in challenges, seeks and tournaments; empty for all
    opponents: Sequence[str] = ()  #: the players whose challenges and seeks it accepts; empty for all
    most_matches: int = 0  #: how many matches it plays at once; 0 for no limit
    accept_challenges: bool = True  #: whether it accepts challenges that suit
    accept_seeks: bool = False  #: whether it is told of open seeks of others, and accepts those that suit
    seeks: Sequence[Terms] = ()  #: terms of seeks to keep open while there is room for a match
    enter_tournaments: bool = False  #: whether it is told of tournaments, and enters those that suit
    capabilities: Sequence[str] = ()  #: its capabilities beyond the first version of the protocol, by name
    extras: Extras = Extras()  #: the optional content of its turns

    playing: int = 0  #: how many matches are under way, or agreed on
    left: int | None = None  #: how many more it may agree on before the run ends; None for no limit
    client: Client  #: the connection, while the bot plays
    blocking: BlockingClient  #: the same for plain methods

    @abstractmethod
    def choose(self, turn: Turn) -> Choice | Awaitable[Choice]:
        """Return what to do at a turn: a move, `OfferDraw(move)`, `ClaimDraw()` or `Resign()`.

        A move is its text, or `Move(text, evaluation=…, line=…)` to say more about it.
        """

    def refused(self, turn: Turn, refusal: ArbiterError) -> Choice | Awaitable[Choice | None] | None:
        """Return another choice for a turn after the first one was refused, or None to be asked through `choose`.

        `choose` is then called once more, with `turn.refused` set. If that is refused too, the match is resigned.
        """
        return None

    def started(self, match: LiveMatch) -> Awaitable[None] | None:
        """Be told that a match has started, or that one under way was taken up. It comes before its first turn.

        Of a match against itself the bot is told twice, once a seat.
        """
        return None

    def ended(self, finished: FinishedMatch) -> Awaitable[None] | None:
        """Be told that a match has ended; once this returns, the server is told that the result was seen."""
        return None

    def draw_offered(self, offer: DrawOffer) -> bool | Awaitable[bool]:
        """Return whether to accept the opponent's draw offer. By default no."""
        return False

    def challenged(self, challenge: Challenge) -> bool | str | Awaitable[bool | str]:
        """Return True to accept a challenge, or the reason for declining it. By default, the `objection` to it."""
        if not self.accept_challenges:
            return "this bot accepts no challenges"
        return self.objection(challenge) or True

    def sought(self, seek: Challenge) -> bool | Awaitable[bool]:
        """Return whether to accept somebody's open seek. By default, where there is no `objection` to it.

        Asked with `accept_seeks` only.
        """
        return not self.objection(seek)

    def called(self, call: TournamentCall) -> bool | Awaitable[bool]:
        """Return whether to enter a tournament. By default, if the bot plays all its games, at its time control.

        Asked with `enter_tournaments` only, and only of tournaments that it has not entered yet.
        """
        return all(map(self.plays, call.games)) and self.plays_at(call.time_control)

    def challenge_closed(self, closed: ChallengeClosed) -> Awaitable[None] | None:
        """Be told that a challenge or seek of the bot's own is no longer open."""
        return None

    def legal_moves(self, turn: Turn) -> tuple[LegalMove, ...]:
        """Return the legal moves of a turn: those that it carries, or else the server's answer. For plain methods."""
        return turn.legal_moves or self.blocking.legal_moves(MatchPly(turn.match.match_id, turn.ply))

    def plays(self, game: str) -> bool:
        """Return whether the bot plays a variant: it, or its game, is in `games`, or `games` is empty."""
        return not self.games or game in self.games or game.partition("(")[0] in self.games

    def plays_at(self, time_control: str) -> bool:
        """Return whether the bot plays at a time control."""
        return not self.time_controls or time_control in self.time_controls

    def objection(self, challenge: Challenge) -> str:
        """Return why the bot does not accept a challenge or seek, by what is said of it above; '' if it may."""
        terms = challenge.terms
        if not self.plays(terms.game):
            return f"this bot plays {', '.join(self.games)}"
        if not self.plays_at(terms.time_control):
            return f"this bot plays at {', '.join(self.time_controls)}"
        if self.opponents and challenge.challenger not in self.opponents:
            return f"this bot plays against {', '.join(self.opponents)}"
        if 0 < self.most_matches <= self.playing:
            return f"this bot plays {self.most_matches} matches at once, and is playing them"
        if self.left == 0:
            return "this bot has as many matches as it plays before it stops"
        return ""
