"""Laws that every game must obey, for the bundled games and for those of third parties.

Each law is a function of a game and of a choice: `choose(n)` returns a number from 0 to n − 1, from a seeded generator
or from Hypothesis. The law plays moves as chosen. If the game breaks the law, it raises AssertionError with the
variant, the position and the move in the message. `check(game, choose)` checks all laws.

    from random import Random
    from arbiter.games import registry
    from arbiter.testing import laws

    laws.check(registry.game("pods(size=5)"), Random(1).randrange)
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Parameter, value_text

Choose = Callable[[int], int]
"""Returns a number from 0 to n − 1 for n."""

WALK: Final = 60  #: plies of a random game, unless a law needs a whole game
SAMPLE: Final = 16  #: the maximum number of moves that are tried in one position
NEAR: Final = 300  #: the maximum number of texts near a move that are tried
ACTIONS: Final = frozenset(
    {"place", "move", "hop", "dig", "hatch", "pay", "pass", "castle", "become", "shoot", "swap", "agree", "dispute"}
    | {"mark", "unmark"}
)

HOSTILE_TEXTS: Final = (
    "", " ", "\n", "\0", "/", "//////", ".", "1", "1 1", "-", "é", "\ud800", "🐸", "٣", "²", "null", "{}",
    "a" * 100_000, "/" * 100_000, " " * 100_000, "9" * 100_000, "." * 100_000, ("." * 100 + "/") * 1_000, "(" * 100_000,
)  # fmt: skip
"""Texts that are no position and no move of any game."""

_PART: Final = re.compile(r"[a-zA-Z][0-9]+|.", re.DOTALL)

HOSTILE_CHARACTERS: Final = " ./,-:=x_0123456789SsPpTtFfNnZz\t\n\r\0é٣²\ud800"
"""What mutations put into texts."""


def check(game: AnyGame, choose: Choose) -> None:
    """Check every law once."""
    for law in LAWS:
        law(game, choose)


def walk(game: AnyGame, choose: Choose, most: int = WALK) -> Iterator[tuple[Any, Sequence[str]]]:
    """Yield the positions of a random game, from the start to the last one, each with its legal moves."""
    position = game.initial()
    for _ in range(most):
        moves = game.moves(position)
        yield position, moves
        if not moves:
            return
        position = game.play(position, moves[choose(len(moves))])
    yield position, game.moves(position)


def names_and_parameters_read_back(game: AnyGame, choose: Choose) -> None:
    """Check that names build the same variant, defaults are allowed, and the facts list letters and reasons."""
    facts = game.facts
    again = registry.game(game.variant)
    assert again.variant == game.variant, f"{game.variant} reads back as {again.variant}"
    assert again.values == game.values, f"{game.variant}: {again.values} instead of {game.values}"
    for parameter in facts.parameters:
        value = parameter.read(value_text(parameter.default))
        assert value == parameter.default, f"{facts.id}: the default of {parameter.name} reads back as {value!r}"
        _check_parameter(game, parameter)
    reasons = [reason.name for reason in facts.reasons]
    assert reasons, f"{facts.id} gives no end reason"
    assert len(set(reasons)) == len(reasons), f"{facts.id} gives an end reason twice"
    assert facts.letters or not game.board.size, f"{facts.id} names no pieces"
    assert all(letter.isupper() for letter in facts.letters or ()), f"{facts.id}: letters of pieces are in upper case"
    assert set(facts.faces) <= set(facts.letters or ()), f"{facts.id}: faces names a letter that is no piece"


def _check_parameter(game: AnyGame, parameter: Parameter) -> None:
    """Check that each bound and choice of a parameter can be written into a variant's name, and is read from it."""
    bounds = (str(bound) for bound in (parameter.minimum, parameter.maximum) if bound is not None)
    for word in (*parameter.choices, *bounds, value_text(parameter.default)):
        value = parameter.read(word)
        assert value_text(value) == word, f"{game.facts.id}: {parameter.name}={word} is written as {value_text(value)}"
        name = f"{game.facts.id}({parameter.name}={word})"
        try:
            again = registry.game(name)
        except Refusal as refusal:
            if refusal.facts.get("what") != word:  # it is not that the value does not go with the others
                raise AssertionError(f"{name}: {refusal}") from None
        else:
            assert again.values[parameter.name] == value, f"{name} has {again.values[parameter.name]!r}"


def texts_round_trip(game: AnyGame, choose: Choose) -> None:
    """Check that the text of a position parses back to a position with the same text, side to move and pieces."""
    for position, _ in walk(game, choose):
        text = game.text(position)
        assert text.isascii(), f"{game.variant}: {text!r} is not ASCII"
        again = game.parse(text)
        assert game.text(again) == text, f"{game.variant}: {text!r} reads back as {game.text(again)!r}"
        assert again.turn == position.turn, f"{game.variant}: {text!r} has another seat to move"
        assert list(game.pieces(again)) == list(game.pieces(position)), f"{game.variant}: {text!r} has other pieces"


def listed_moves_play(game: AnyGame, choose: Choose) -> None:
    """Check that moves are listed once, as one ASCII word, in a fixed order, and that each can be played."""
    for position, moves in walk(game, choose):
        where = f"{game.variant} | {game.text(position)}"
        assert len(set(moves)) == len(moves), f"{where}: a move is listed twice"
        assert list(game.moves(position)) == list(moves), f"{where}: the order of the moves changed"
        for move in _some(moves, choose):
            assert move.isascii(), f"{where}: {move!r} is not ASCII"
            assert move.split() == [move], f"{where}: {move!r} is not one word"
            game.play(position, move)


def unlisted_moves_are_refused(game: AnyGame, choose: Choose) -> None:
    """Check that unlisted moves are refused: moves that are legal elsewhere, mutated moves, hostile texts."""
    seen: set[str] = set()
    for position, moves in walk(game, choose):
        legal = set(moves)
        seen.update(_some(moves, choose))
        others = [*_some(sorted(seen), choose), *(mutated(move, choose) for move in _some(moves, choose))]
        for text in [*others, HOSTILE_TEXTS[choose(len(HOSTILE_TEXTS))]]:
            reason = _refusal(game, position, text)
            where = f"{game.variant} | {game.text(position)}: {text[:60]!r}"
            assert (reason is None) == (text in legal), f"{where} is {reason or 'played'}, listed: {text in legal}"
            assert reason in (None, Reason.MOVE_ILLEGAL, Reason.MOVE_MALFORMED), f"{where} is refused as {reason}"


def moves_have_one_text(game: AnyGame, choose: Choose) -> None:
    """Check that no other text plays a move: not one with other cells or parts, nor a move of another position.

    Each kind of move, as its steps show, is tried the 1st, 2nd, 4th, 8th … time that it comes up: each of its parts is
    replaced by every cell or by every such part that was seen, left out, or put in another order.
    """
    tried = defaultdict[tuple[object, ...], int](int)
    seen: dict[str, None] = {}
    parts: dict[str, None] = {}
    for position, moves in walk(game, choose):
        legal, kinds = set(moves), list[str]()
        for move in _some(moves, choose):
            kind = tuple((step.action, step.piece, bool(step.source)) for step in game.steps(position, move))
            tried[kind] += 1
            kinds += [move] * (tried[kind].bit_count() == 1)
            parts.update(dict.fromkeys(part for part in _parts(move) if part not in game.board.index))
        others = {text for move in kinds for text in near(move, game.board.names, tuple(parts), choose)}
        for text in [*sorted(others), *(_some(list(seen), choose) if kinds else ())]:
            if text not in legal and _refusal(game, position, text) is None:
                where = f"{game.variant} | {game.text(position)}"
                raise AssertionError(f"{where}: {text!r} is played, and not listed: a move has one text")
        seen.update(dict.fromkeys(moves))


def near(move: str, cells: Sequence[str], others: Sequence[str], choose: Choose) -> list[str]:
    """Return texts near a move: one part is another cell or another part, left out, or swapped with the next one.

    Of more than NEAR texts it is a random choice.
    """
    parts = _parts(move)
    found = set[str]()
    for at, part in enumerate(parts):
        before, after = parts[:at], parts[at + 1 :]
        for word in ["", *(cells if part in cells else others)]:
            found.add("".join((*before, word, *after)))
        found.add("".join((*before, *after[:1], part, *after[1:])))
    found |= {move.upper(), move.lower(), *(move + word for word in others)}
    texts = sorted(found - {move})
    return texts if len(texts) <= NEAR else [texts[choose(len(texts))] for _ in range(NEAR)]


def _parts(move: str) -> list[str]:
    """Return the parts of a move: names of cells, letters with a number, and single characters."""
    return _PART.findall(move)


def aliases_are_resolved(game: AnyGame, choose: Choose) -> None:
    """Check that a move's own text stays, that an alias becomes a move's text at once, and that hostile texts may."""
    for alias, move in game.facts.aliases:
        assert alias != move, f"{game.facts.id}: {alias!r} is an alias of itself"
        assert game.canonical(alias) == move, f"{game.facts.id}: {alias!r} becomes {game.canonical(alias)!r}"
    for position, moves in walk(game, choose, 20):
        where = f"{game.variant} | {game.text(position)}"
        for move in _some(moves, choose):
            assert game.canonical(move) == move, f"{where}: {move!r} becomes {game.canonical(move)!r}"
            text = mutated(move, choose)
            once = game.canonical(text)
            assert game.canonical(once) == once, f"{where}: {text!r} becomes {once!r}, and that something else"
    for text in HOSTILE_TEXTS:
        once = game.canonical(text)
        assert game.canonical(once) == once, f"{game.variant}: {text[:60]!r} becomes {once[:60]!r}, and that another"


def positions_are_values(game: AnyGame, choose: Choose) -> None:
    """Check that playing a move leaves the old position unchanged, and that equal moves lead to equal positions."""
    position, twin = game.initial(), game.initial()
    for _ in range(WALK):
        text, number, pieces = game.text(position), hash(position), list(game.pieces(position))
        moves = game.moves(position)
        if not moves:
            return
        move = moves[choose(len(moves))]
        after = game.play(position, move)
        where = f"{game.variant} | {text} | {move}"
        assert game.text(position) == text, f"{where}: playing changed the old position's text"
        assert hash(position) == number, f"{where}: playing changed the old position's hash"
        assert list(game.pieces(position)) == pieces, f"{where}: playing changed the old position's pieces"
        twin = game.play(twin, move)
        assert after == twin, f"{where}: the same move led to two unequal positions"
        assert hash(after) == hash(twin), f"{where}: equal positions have unequal hashes"
        position = after


def games_end(game: AnyGame, choose: Choose) -> None:
    """Check that a whole random game ends within its bound, and that every move is illegal after the end."""
    position, ply, last = game.initial(), 0, ""
    while moves := game.moves(position):
        assert position.outcome is None, f"{game.variant} | {game.text(position)}: has moves and an outcome"
        assert ply < game.bound, f"{game.variant} | {game.text(position)}: goes on after {game.bound} plies"
        last = moves[choose(len(moves))]
        position, ply = game.play(position, last), ply + 1
    where = f"{game.variant} | {game.text(position)}"
    outcome = position.outcome
    assert outcome is not None, f"{where}: no moves, and no outcome"
    assert outcome.winner in (0, 1, 2), f"{where}: winner {outcome.winner!r}"
    assert outcome.reason in {reason.name for reason in game.facts.reasons}, f"{where}: reason {outcome.reason!r}"
    assert game.claim(position) is None, f"{where}: a draw can be claimed after the end"
    for move in {last, *_some(game.moves(game.initial()), choose)}:
        reason = _refusal(game, position, move)
        assert reason == Reason.MOVE_ILLEGAL, f"{where}: {move!r} is {reason or 'played'} after the end"


def pieces_and_steps_are_well_formed(game: AnyGame, choose: Choose) -> None:
    """Check that pieces use the letters of the facts, and that steps name cells of the board and known actions."""
    letters = {"", *(game.facts.letters or ())}
    for position, moves in walk(game, choose):
        where = f"{game.variant} | {game.text(position)}"
        pieces = game.pieces(position)
        assert len(pieces) == game.board.size, f"{where}: {len(pieces)} pieces for {game.board.size} cells"
        for name, piece in zip(game.board.names, pieces, strict=True):
            assert piece.letter.upper() in letters, f"{where}: {name} holds {piece.letter!r}"
            assert (piece.owner in (1, 2)) == bool(piece.letter), f"{where}: {name} holds {piece}"
        claim = game.claim(position)
        assert claim is None or claim in {reason.name for reason in game.facts.reasons}, f"{where}: claim {claim!r}"
        for move in _some(moves, choose):
            _check_steps(game, position, move, f"{where} | {move}")


def _check_steps(game: AnyGame, position: Any, move: str, where: str) -> None:
    cells = game.board.index
    steps = game.steps(position, move)
    assert bool(steps) == bool(cells), f"{where}: {len(steps)} steps on a board of {len(cells)} cells"
    for step in steps:
        assert step.action in ACTIONS, f"{where}: {step}"
        assert step.source in cells or not step.source, f"{where}: {step}"
        assert step.target in cells or not step.target, f"{where}: {step}"
        assert step.piece.upper() in {"", *(game.facts.letters or ())}, f"{where}: {step}"
        if step.action in ("move", "hop", "dig", "castle", "shoot"):
            assert step.source, f"{where}: {step}"
            assert step.target, f"{where}: {step}"
    arrivals = [step.target for step in steps if step.action in ("place", "hatch", "become", "swap")]
    arrivals += [step.target for step in steps if step.action in ("move", "hop")][-1:]
    after = game.pieces(game.play(position, move))
    placed = {step.target for step in steps if step.action == "place"}
    for name in arrivals:
        owner = after[cells[name]].owner
        gone = not owner and name in placed  # a stone may take itself off the board
        assert owner == position.turn or gone, f"{where}: {name} holds {after[cells[name]]} after {steps}"


def hostile_texts_are_refused(game: AnyGame, choose: Choose) -> None:
    """Check that a hostile text is refused as malformed or parses back to itself, and that no other error is raised."""
    texts = list(HOSTILE_TEXTS)
    for position, _ in walk(game, choose, 20):
        text = game.text(position)
        texts += [mutated(text, choose), text + " ", " " + text, text + " 0", text + "\n", text.rpartition(" ")[0]]
    for text in texts:
        where = f"{game.variant} | {text[:200]!r}"
        position = _read(game, text)
        if isinstance(position, Refusal):
            assert position.reason == Reason.POSITION_MALFORMED, f"{where}: refused as {position.reason}"
            assert set(position.facts) == {"what", "where", "allowed"}, f"{where}: other facts than documented"
            assert len(position.message) < 1_000, f"{where}: a message without measure"
        else:
            assert text not in HOSTILE_TEXTS, f"{where} was read as a position"
            written = game.text(position)
            assert game.text(game.parse(written)) == written, f"{where}: written as {written!r}"
            assert not (game.moves(position) and position.outcome), f"{where}: has moves and an outcome"


def _read(game: AnyGame, text: str) -> Any:
    try:
        return game.parse(text)
    except Refusal as refusal:
        return refusal


def mutated(text: str, choose: Choose) -> str:
    """Return a text with one random change: a character replaced, removed, doubled or inserted, or two swapped."""
    at = choose(len(text)) if text else 0
    new = HOSTILE_CHARACTERS[choose(len(HOSTILE_CHARACTERS))]
    before, here, after = text[:at], text[at : at + 1], text[at + 1 :]
    return (
        before + new + after,
        before + after,
        before + here + here + after,
        before + new + here + after,
        before + after[:1] + here + after[1:],
    )[choose(5)]


def _some(moves: Sequence[str], choose: Choose) -> list[str]:
    """Return all moves, or a random choice of SAMPLE of them that includes the first and the last."""
    if len(moves) <= SAMPLE:
        return list(moves)
    return [moves[0], moves[-1], *(moves[choose(len(moves))] for _ in range(SAMPLE - 2))]


def _refusal(game: AnyGame, position: Any, text: str) -> Reason | None:
    try:
        game.play(position, text)
    except Refusal as refusal:
        return refusal.reason
    return None


def material_follows_from_the_text(game: AnyGame, choose: Choose) -> None:
    """Check that a game whose facts promise material returns two numbers that follow from the position's text."""
    if not game.facts.material:
        return
    for position, _ in walk(game, choose):
        counted = game.material(position)
        assert all(type(count) is int and count >= 0 for count in counted), f"{game.variant}: material {counted}"
        assert len(counted) == 2, f"{game.variant}: material of {len(counted)} seats"
        assert game.material(game.parse(game.text(position))) == counted, f"{game.variant}: {game.text(position)}"


LAWS: Final[tuple[Callable[[AnyGame, Choose], None], ...]] = (
    names_and_parameters_read_back,
    texts_round_trip,
    listed_moves_play,
    unlisted_moves_are_refused,
    moves_have_one_text,
    aliases_are_resolved,
    positions_are_values,
    games_end,
    pieces_and_steps_are_well_formed,
    material_follows_from_the_text,
    hostile_texts_are_refused,
)
"""Every law."""
