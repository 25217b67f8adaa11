"""A game whose rules run in another process: the stand-in for a plug-in game in a server.

What the other process answers is plain JSON, and is checked here, so that faulty rules give an error with a name and
not a value that fails later. The stand-in asks by `Rules.ask`, which another layer implements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeVar

from arbiter.errors import shortened
from arbiter.games.contract import AnyGame, Game, Outcome, Piece, Seat, Step
from arbiter.games.remote_answers import (
    nonsense,
    read_board,
    read_counters,
    read_facts,
    read_pieces,
    read_plain,
    read_regions,
    read_steps,
    read_text,
    read_texts,
    read_value,
    read_whole,
    with_check,
)

T = TypeVar("T")

SNAPSHOT: Final = ("claim", "material")
"""What a position brings along, beside its text, turn and outcome, if the game has rules of its own for it."""


Question = tuple[str, Any, *tuple[str | int, ...]]
"""A method of a game, the position that it is asked about, and further arguments. None as the position is that which
the question before, a `play`, leads to.
"""

BEFORE: Final = -1
"""In place of a position's number: the position that the call before has made."""


class Call(NamedTuple):
    """A question to the rules of a variant: a method, the number of a position (0: none), and further arguments.

    line: how that position is reached, if the process does not have it (any more).
    """

    variant: str
    method: str
    position: int = 0
    arguments: tuple[str | int, ...] = ()
    line: Line | None = None


class Moves:
    """A move and those before it, which many positions share. No tuple: a deep one can't be shown in a traceback."""

    __slots__ = ("before", "last")

    def __init__(self, before: Moves | None, last: str) -> None:
        self.before = before
        self.last = last


class Line(NamedTuple):
    """How a position is reached: the method that makes the first one, its arguments, and the moves since."""

    method: str
    arguments: tuple[str | int, ...]
    moves: Moves | None = None

    def played(self) -> list[str]:
        """Return the moves, the first one first."""
        found, rest = list[str](), self.moves
        while rest is not None:
            found.append(rest.last)
            rest = rest.before
        return found[::-1]


class Rules(Protocol):
    """The rules of a package's games in another process."""

    def ask(self, call: Call) -> tuple[Any, int]:
        """Return an answer as JSON values, and the number of the position that the call has made.

        Raises Refusal, RulesFailed; RulesAwaited if there is no answer yet.
        """

    def ask_ahead(self, calls: Sequence[Call]) -> None:
        """Ask several things in one request, in this order, so that each, asked for itself soon after, is answered.

        The answers of some hundreds of calls are kept.
        """


class RemotePosition:
    """A position of rules that run elsewhere. `number` names it there, and `line` leads to it."""

    __slots__ = ("claim", "line", "material", "number", "outcome", "text", "turn")

    def __init__(self, number: int, line: Line, answer: Any) -> None:
        text, turn, outcome, claim, material = answer
        self.number = number
        self.line = line
        self.text = read_plain(text)
        self.turn: Seat = 1 if read_whole(turn, 1, 2) == 1 else 2
        self.outcome = None if outcome is None else Outcome(read_whole(outcome[0], 0, 2), read_text(outcome[1]))
        self.claim = None if claim is None else read_text(claim)
        self.material = None if material is None else (read_whole(material[0]), read_whole(material[1]))


class RemoteGame(Game[RemotePosition]):
    """A variant of a game whose rules run elsewhere. `remote_class` makes the class of each game."""

    rules: ClassVar[Rules]
    code: ClassVar[tuple[str, str, str]]  #: package, version and hash, as in `arbiter.games.registry.Code`
    rules_text: ClassVar[str]
    reasons: ClassVar[frozenset[str]]

    def __init__(self, variant: str) -> None:
        self._variant = variant  # as it was written, until the rules have said how it is called
        self._rules = type(self).rules
        answer, number = self._rules.ask(Call(variant, "open"))
        with_check(variant, "open", partial(self._take, number), answer)

    def _take(self, number: int, answer: Any) -> None:
        self._first = RemotePosition(number, Line("initial", ()), answer["initial"])
        self.values = {read_text(name): read_value(value) for name, value in answer["values"].items()}
        self.board = read_board(answer["board"])
        self.bound = read_whole(answer["bound"], 0)
        self._variant = read_plain(answer["variant"])

    @property
    def variant(self) -> str:
        """The canonical name, as the rules give it."""
        return self._variant

    def initial(self) -> RemotePosition:
        """Return the position that a game starts from."""
        return self._first

    def parse(self, text: str) -> RemotePosition:
        """Parse a position."""
        return self._made(Call(self._variant, "parse", 0, (text,)), Line("parse", (text,)))

    def text(self, position: RemotePosition) -> str:
        """Return the position's text."""
        return position.text

    def moves(self, position: RemotePosition) -> Sequence[str]:
        """Return every legal move once."""
        return self._asked(read_texts, "moves", position)

    def play(self, position: RemotePosition, move: str) -> RemotePosition:
        """Return the position after a move."""
        line = position.line._replace(moves=Moves(position.line.moves, move))
        return self._made(Call(self._variant, "play", position.number, (move,), position.line), line)

    def pieces(self, position: RemotePosition) -> Sequence[Piece]:
        """Return the content of each cell."""
        return self._asked(partial(read_pieces, self.board.size), "pieces", position)

    def steps(self, position: RemotePosition, move: str) -> Sequence[Step]:
        """Return the visible parts of a legal move."""
        return self._asked(partial(read_steps, self.board.index), "steps", position, move)

    def foresee(self, questions: Iterable[Question]) -> None:
        """Ask for all of it in one request; see the function."""
        calls, line = list[Call](), Line("initial", ())
        for method, position, *arguments in questions:
            if getattr(type(self), method) is getattr(Game, method):
                continue  # answered here
            line = line if position is None else position.line
            number = BEFORE if position is None else position.number
            calls.append(Call(self._variant, method, number, tuple(arguments), line))
            if method == "play":
                line = line._replace(moves=Moves(line.moves, str(arguments[0])))
        if len(calls) > 1:
            self._rules.ask_ahead(calls)

    def _made(self, call: Call, line: Line) -> RemotePosition:
        answer, number = self._rules.ask(call)
        position = with_check(self._variant, call.method, partial(RemotePosition, number, line), answer)
        for reason in (position.outcome and position.outcome.reason, position.claim):
            if reason is not None and reason not in self.reasons:
                raise nonsense(self._variant, call.method, f"{shortened(ascii(reason))} is none of its end reasons")
        return position

    def _asked(
        self, read: Callable[[Any], T], method: str, position: RemotePosition | None, *arguments: str | int
    ) -> T:
        if position is None:
            call = Call(self._variant, method, 0, arguments)
        else:
            call = Call(self._variant, method, position.number, arguments, position.line)
        return with_check(self._variant, method, read, self._rules.ask(call)[0])


def foresee(game: AnyGame, questions: Iterable[Question]) -> None:
    """Say what a game will be asked next, one by one. Rules in another process are asked for all of it at once."""
    if isinstance(game, RemoteGame):
        game.foresee(questions)


def _start(game: RemoteGame, text: str) -> RemotePosition:
    return game._made(Call(game.variant, "start", 0, (text,)), Line("start", (text,)))


def _claim(game: RemoteGame, position: RemotePosition) -> str | None:
    return position.claim


def _material(game: RemoteGame, position: RemotePosition) -> tuple[int, int]:
    if position.material is None:
        raise NotImplementedError(f"{game.variant} counts no material")
    return position.material


def _asking(read: Callable[[Any], Any], method: str, with_position: bool) -> Callable[..., Any]:
    """Return a method that asks for an answer about a position, or about none."""
    if with_position:
        return lambda game, position, *arguments: game._asked(read, method, position, *arguments)
    return lambda game, *arguments: game._asked(read, method, None, *arguments)


_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "start": _start,
    "claim": _claim,
    "material": _material,
    "starts": _asking(read_texts, "starts", False),
    "canonical": _asking(read_text, "canonical", False),
    "actor": _asking(read_text, "actor", False),
    "notation": _asking(read_plain, "notation", True),
    "from_notation": _asking(read_text, "from_notation", True),
    "number": _asking(read_plain, "number", True),
    "task": _asking(read_plain, "task", True),
    "counters": _asking(read_counters, "counters", True),
    "picture": _asking(read_text, "picture", True),
    "regions": _asking(read_regions, "regions", True),
}

OPTIONAL: Final = tuple(_METHODS)
"""The methods that a game may leave as `Game` has them; then the other process is not asked."""


def remote_class(name: str, rules: Rules, answer: Any) -> type[RemoteGame]:
    """Return the class of a game from the description that its process gives. Raises RulesFailed for nonsense."""

    def read(answer: Any) -> type[RemoteGame]:
        facts = read_facts(name, answer["facts"])
        package, version, sha256 = map(read_text, answer["code"])
        methods = {method: _METHODS[read_text(method)] for method in answer["methods"]}
        own = {"__module__": __name__, "__doc__": facts.summary, "facts": facts, "rules": rules}
        said = {"code": (package, version, sha256), "rules_text": read_text(answer["rules_text"])}
        reasons = frozenset(reason.name for reason in facts.reasons)
        return type(name, (RemoteGame,), {**methods, **own, **said, "reasons": reasons})

    return with_check(name, "facts", read, answer)
