"""Complete games: every game that the bot says it plays, to its end, and unusual positions."""

from __future__ import annotations

import random

from arbiter.conformance.bot_match import BotMatch
from arbiter.conformance.clauses import GAME, MATCH, REFUSAL, clause
from arbiter.conformance.failures import Failed, NotApplicable
from arbiter.conformance.testbed import Testbed
from arbiter.conformance.waiting import REACT_S
from arbiter.games import registry

TIMES_S = (40, 160, 640)  #: on each clock for a complete game, plus 50 ms a move: more if the bot's flag fell before
WHOLE = (*registry.SEED, "chess", "go")  #: that are played to their ends: the last two are what engines play
LONG_LINE = 25  #: random moves after which Elevation has thousands of legal moves
HUGE_LINE = 40


async def _whole(testbed: Testbed, game: str) -> None:
    """Play a game to its end. A bot that keeps moving gets more time: its machine may be slow, and that is no fault."""
    if not testbed.plays(game):
        raise NotApplicable(f"this bot does not play {game}")
    for time_s in TIMES_S:
        match = await testbed.match(game, time=f"{round(time_s * testbed.scale) or 1}s+50ms")
        match.go_on()
        while not match.over:
            ply = match.now.ply
            await testbed.until(
                lambda ply=ply, match=match: match.over or match.now.ply > ply,  # type: ignore[misc]
                f"the next move in a game of {game}",
                2 * REACT_S,
            )
        result = match.now.result
        assert result is not None
        if not (result.cause.value == "time" and result.seat == match.seat):
            break
    else:
        raise Failed("the bot's flag fell")
    if result.cause.value not in ("rules", "time"):
        raise Failed(f"the game ended by {result.reason}, not by the rules")
    _no_strikes(match)
    await testbed.until(testbed.acknowledged, "the result to be acknowledged")


def _no_strikes(match: BotMatch) -> None:
    strikes = match.now.strikes[match.seat - 1]
    if strikes:
        raise Failed(f"{strikes} of the bot's moves were illegal or malformed")


def _register(game: str) -> None:
    async def situation(testbed: Testbed) -> None:
        await _whole(testbed, game)

    situation.__doc__ = (
        f"Play {registry.classes()[game].facts.name} from its start to its end, against moves drawn by chance."
    )
    register = clause(
        f"games.{game}",
        f"plays {registry.classes()[game].facts.name} to its end, with legal moves only",
        "The rules forbid the move here.",
        REFUSAL,
    )
    register(situation)


for _game in WHOLE:
    _register(_game)


@clause(
    "games.second-seat",
    "plays the second seat as well as the first",
    "the position says which seat is to move.",
    MATCH,
)
async def second_seat(testbed: Testbed) -> None:
    """Play three moves in which the bot has seat 2."""
    match = await testbed.match(seat=2)
    await match.goes_on(3)
    _no_strikes(match)


@clause(
    "games.long-list",
    "plays where there are more legal moves than a turn carries",
    "If the list is longer, or not ready in time for the turn, request it by GameService.LegalMoves.",
)
async def long_list(testbed: Testbed) -> None:
    """Play a position with a thousand or more legal moves; turns do not list them, LegalMoves streams them."""
    with testbed.proxy.without_lists():
        game = "elevation" if testbed.plays("elevation") else testbed.game()
        match = await testbed.match(game, opening=_line(game, LONG_LINE))
        await match.goes_on(2)
        _no_strikes(match)


@clause(
    "games.opening",
    "plays on from an opening",
    "The bot's first turn also has the opening, if no player had moved yet when the bot got the match.",
)
async def opening(testbed: Testbed) -> None:
    """Start a match with an opening of seven random moves that nobody played."""
    match = await testbed.match(opening=_line(testbed.game(), 7))
    await match.goes_on(2)
    _no_strikes(match)


@clause(
    "games.huge-position",
    "plays on the largest board that there is",
    'A game is named by its variant, written like a call: "pods", "pods(size=5)".',
    GAME,
)
async def huge_position(testbed: Testbed) -> None:
    """Play the largest variant of a game, after an opening that fills the board."""
    variants = [variant for name in registry.classes() if testbed.plays(name) for variant in _larger(name)]
    if not variants or (testbed.games and not set(testbed.games) & set(registry.classes())):
        raise NotApplicable("this bot plays no game with a larger board")
    match = await testbed.match(variants[0], opening=_line(variants[0], HUGE_LINE))
    await match.goes_on(2)
    _no_strikes(match)


def _larger(name: str) -> list[str]:
    """Return the variants of a game with a larger board than usual, each with one parameter at its maximum."""
    kind = registry.classes()[name]
    usual = len(registry.game(name).board.names)
    greatest = [f"{name}({one.name}={one.maximum})" for one in kind.facts.parameters if one.maximum is not None]
    return [variant for variant in greatest if len(registry.game(variant).board.names) > usual]


def _line(variant: str, moves: int) -> tuple[str, ...]:
    """Return a line of moves from the start that does not end the game: random, but the same in every run."""
    game, dice = registry.game(variant), random.Random(variant)
    position, line = game.initial(), list[str]()
    while len(line) < moves:
        choices = sorted(game.moves(position))
        dice.shuffle(choices)
        for move in choices:
            after = game.play(position, move)
            if after.outcome is None:
                break
        else:
            return tuple(line)
        position = after
        line.append(move)
    return tuple(line)
