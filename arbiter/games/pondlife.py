"""Pondlife, also called Nest: tadpoles, and the pieces that a nest hatches as it moves.

A position holds the board as one exact number, one byte per cell, so that the repetition test is one set lookup.
Whether a move leaves the nest under attack is not tested by playing it: the lines from enemy pieces to the nest
determine beforehand where each piece may go (`pondlife_attack`). The table of moves is in `pondlife_tables`, the
position and its text in `pondlife_position`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from arbiter.errors import parameter_invalid, with_article
from arbiter.games.contract import (
    Basis,
    EndReason,
    Facts,
    Game,
    Outcome,
    Piece,
    Region,
    Ruling,
    Seat,
    Step,
    Value,
    flag_parameter,
    number_parameter,
    word_parameter,
)
from arbiter.games.pondlife_attack import Attack
from arbiter.games.pondlife_position import (
    LARGEST_NUMBER,
    STAMPS,
    Army,
    PondlifePosition,
    army,
    position_text,
    read_position,
)
from arbiter.games.pondlife_tables import (
    BOARD,
    EMPTY,
    FIRST_TADPOLE,
    KINDS,
    LAST_TADPOLE,
    NEST,
    NUMBER,
    FacingPiece,
    facing_piece,
    tables,
)

UNHATCHED: Final = "FFFWWSDH"
UNHATCHED_WITH_EEL: Final = "FFFWWSDEH"
EGGS: Final = (7, 8)  #: by seat
CLAIM_AFTER: Final = 60  #: plies without capture or nest move after which a player may claim a draw
DRAW_AFTER: Final = 120  #: plies of this kind after which the game is a draw
MOST_HANDICAP: Final = 9

NAMES: Final = {
    "N": "nest", "T": "tadpole", "F": "frog", "W": "newt", "S": "snake", "D": "dragonfly", "E": "eel", "H": "fish"
}  # fmt: skip

REASONS: Final = (
    EndReason("nest_trapped", "The opponent's nest is attacked and the opponent has no legal move.", Basis.TEXT),
    EndReason("no_moves", "The opponent has no legal move; the opponent's nest is not attacked.", Basis.TEXT),
    EndReason(
        "sixty_moves",
        "60 plies in a row brought no capture and no nest move, and the player to move claims a draw. At 120 such "
        "plies the game is drawn without a claim (ours).",
        Basis.TEXT,
    ),
)

RULINGS: Final = (
    Ruling("board", "A hexagon of side 5 with vertical files, 61 cells.", Basis.OURS),
    Ruling(
        "start",
        "Nests on e1 and e9. Tadpoles on the last cell of each other file on their player's side, facing the opponent.",
        Basis.OURS,
    ),
    Ruling("eggs", "An egg serves once: when it is paid it leaves the game.", Basis.OURS),
    Ruling(
        "check",
        "A nest is attacked if some enemy piece could move on to its cell by the table of moves, whatever else forbids "
        "that move; an enemy nest attacks only if it is able to hatch or pay.",
        Basis.OURS,
    ),
    Ruling(
        "no progress",
        "After 120 plies in a row without capture or nest move the game is drawn without a claim.",
        Basis.OURS,
    ),
)

_WITHOUT = re.compile(r"(?=.)F{0,3}W{0,2}S?D?E?H?", re.ASCII)
PARAMETERS: Final = (
    flag_parameter("eel", False, "Each player also has an eel off the board."),
    number_parameter("lines", 2, 2, 3, "In how many lines dragonflies and eels move."),
    number_parameter("handicap", 0, 0, MOST_HANDICAP, "Moves, none a capture, that Blue makes before Yellow's first."),
    word_parameter(
        "without",
        "none",
        "none, or letters in the order F W S D E H, each at most as often as Yellow has that piece off the board",
        lambda word: word == "none" or _WITHOUT.fullmatch(word) is not None,
        "Yellow's unhatched pieces that are left out of the game, a letter for each.",
    ),
)

_MOVE = re.compile(r"([a-i][1-9])-([a-i][1-9])(?:=(egg|[SH]|F[34]|[WDE][0-5]))?", re.ASCII)
_BYTES = tuple(255 << 8 * cell for cell in range(BOARD.size))
_OTHER: tuple[Seat, Seat] = (2, 1)


class Pondlife(Game[PondlifePosition]):
    """A variant of Pondlife. Parameters: `eel`, `lines` (2 or 3), `handicap` (0 to 9), `without` (letters, or `none`).

    Raises Refusal PARAMETER_INVALID if `without` names an eel in a game that has none.
    """

    facts: ClassVar[Facts] = Facts(
        id="pondlife",
        name="Pondlife",
        designer="unknown",
        summary="Move your nest, hatch the pond's animals from it, and leave the enemy nest no escape.",
        seats=("Yellow", "Blue"),
        parameters=PARAMETERS,
        reasons=REASONS,
        rulings=RULINGS,
        draw_offers=True,
        letters=NAMES,
        material="pieces on the board and to hatch",
        faces="F",
    )
    board = BOARD

    def __init__(self, **values: Value) -> None:
        super().__init__(**values)
        missing = "" if self.values["without"] == "none" else str(self.values["without"])
        if "E" in missing and not self.values["eel"]:
            raise parameter_invalid(missing, "pondlife(without=…)", "no E unless eel=true")
        table = tables(int(self.values["lines"]))
        self._reach = table.reach
        self._attack = Attack(table.sight)
        full = UNHATCHED_WITH_EEL if self.values["eel"] else UNHATCHED
        self._unhatched = (_left_out(full, missing), full)
        # Between two plies of progress there are at most 119 others, because 120 end the game. Progress is a nest move,
        # which takes an egg or an unhatched piece, or the capture of a tadpole or a hatched piece.
        hatchable = sum(map(len, self._unhatched))
        self.bound = DRAW_AFTER * (sum(EGGS) + hatchable + 16 + hatchable + 1)

    # The start

    def initial(self) -> PondlifePosition:
        """Return the start position; with a handicap Blue moves first, if it can."""
        board = 0
        for line in BOARD.lines:
            nests = "e" in BOARD.names[line[0]]
            board |= STAMPS[0][line[-1] << 5 | (NEST if nests else NUMBER[FacingPiece("T", 0)])]
            board |= STAMPS[1][line[0] << 5 | (NEST if nests else NUMBER[FacingPiece("T", 3)])]
        armies = army(1, board, self._unhatched[0], EGGS[0], 0), army(2, board, self._unhatched[1], EGGS[1], 0)
        handicap = int(self.values["handicap"])
        return self._with_outcome(
            PondlifePosition(board, 2 if handicap else 1, armies, 0, handicap, frozenset((board,)))
        )

    # Moves

    def moves(self, position: PondlifePosition) -> list[str]:
        """Return the legal moves: pieces by their cell, then the nest; goals in the order of the directions."""
        return [] if position.outcome else list(self._legal(position))

    def _legal(self, position: PondlifePosition) -> Iterator[str]:
        """Yield the legal moves, whether or not the game has ended."""
        board, turn, armies, _, handicap, stood, _ = position
        own, enemy = armies[turn - 1], armies[2 - turn]
        stamp = STAMPS[turn - 1]
        occupied = own.cells | enemy.cells
        closed = occupied if handicap else own.cells
        free, pinned = self._attack.guard(own, enemy)
        for place in own.places:
            goals = pinned.get(1 << (place >> 5), free) & ~closed
            if not goals or place & 31 == NEST:
                continue
            lifted = board ^ stamp[place]
            for bit, clear, becomes, text in self._reach[place].values():
                if bit & goals and not clear & occupied:
                    after = lifted ^ stamp[becomes]
                    if bit & enemy.cells:
                        after ^= board & _BYTES[becomes >> 5]
                    if after not in stood:
                        yield text
        yield from self._nest_moves(position)

    def _nest_moves(self, position: PondlifePosition) -> Iterator[str]:
        board, turn, armies, _, handicap, stood, _ = position
        own, enemy = armies[turn - 1], armies[2 - turn]
        stamp = STAMPS[turn - 1]
        closed = own.cells | enemy.cells if handicap else own.cells
        left = own.leavings()
        place = own.nest << 5 | NEST
        for bit, _, becomes, text in self._reach[place].values() if left else ():
            cell = becomes >> 5
            if bit & closed or self._is_tadpole(board, cell):
                continue
            if_hatched, if_paid = self._attack.attacked_at(cell, own, enemy)
            if if_hatched:
                continue
            moved = board & ~_BYTES[cell] ^ stamp[place] ^ stamp[becomes]
            for word, kind in left:
                if kind == EMPTY and if_paid:
                    continue
                if moved ^ stamp[own.nest << 5 | kind] not in stood:
                    yield f"{text}={word}"

    @staticmethod
    def _is_tadpole(board: int, cell: int) -> bool:
        return FIRST_TADPOLE <= board >> 8 * cell & 31 <= LAST_TADPOLE

    # Play

    def play(self, position: PondlifePosition, move: str) -> PondlifePosition:
        """Return the position after a move. Raises Refusal MOVE_MALFORMED or MOVE_ILLEGAL."""
        source, target, word = self._read_move(move)
        if position.outcome:
            raise self.illegal_move(position, move, "the game is over")
        kind = position.board >> 8 * source & 255
        place = source << 5 | kind & 31
        if not kind or kind >> 5 != position.turn - 1:
            raise self.illegal_move(position, move, f"no piece of seat {position.turn} stands on {BOARD.names[source]}")
        objection = self._objection(position, place, target, word)
        if objection:
            raise self.illegal_move(position, move, objection)
        after = self._moved(position, place, target, word)
        if after.board in position.stood:
            raise self.illegal_move(position, move, "the board that it makes has stood before in this game")
        return self._with_outcome(after)

    def _objection(self, position: PondlifePosition, place: int, target: int, word: str | None) -> str:
        """Return why a piece of the seat to move may not make a move, apart from repetition; '' if it may."""
        own, enemy = position.armies[position.turn - 1], position.armies[2 - position.turn]
        name = NAMES[KINDS[place & 31].letter]
        goal = self._reach[place].get(target)
        if goal is None:
            return f"the {name} there does not move like that"
        if goal.bit & own.cells:
            return "a piece of the same player stands on the target"
        if goal.clear & (own.cells | enemy.cells):
            return "a piece stands in the way"
        if position.handicap and goal.bit & enemy.cells:
            return "handicap moves do not capture"
        if place & 31 == NEST:
            return self._nest_objection(position, target, word)
        if word is not None:
            return f"{with_article(name)} leaves nothing behind"
        free, pinned = self._attack.guard(own, enemy)
        return "" if pinned.get(1 << (place >> 5), free) & goal.bit else "the nest would be under attack"

    def _nest_objection(self, position: PondlifePosition, target: int, word: str | None) -> str:
        own, enemy = position.armies[position.turn - 1], position.armies[2 - position.turn]
        if self._is_tadpole(position.board, target):
            return "a nest does not move on to a tadpole"
        if word is None:
            return "a nest must leave a hatched piece or pay an egg"
        if word not in dict(own.leavings()):
            return "there is no egg left" if word == "egg" else f"{word} may not be hatched now"
        if_hatched, if_paid = self._attack.attacked_at(target, own, enemy)
        return "the nest would be under attack" if (if_paid if word == "egg" else if_hatched) else ""

    def _moved(self, position: PondlifePosition, place: int, target: int, word: str | None) -> PondlifePosition:
        """Return the position after a legal move, without testing whether the game has ended."""
        board, turn, armies, quiet, handicap, stood, _ = position
        own, enemy = armies[turn - 1], armies[2 - turn]
        stamp = STAMPS[turn - 1]
        goal = self._reach[place][target]
        arrived = [goal.becomes]
        nest = own.nest
        unhatched, eggs, hatched = own.unhatched, own.eggs, own.hatched
        quiet += 1
        if word is not None:
            quiet, nest = 0, target
            if word == "egg":
                eggs -= 1
            else:
                arrived.append(place & ~31 | NUMBER[facing_piece(word)])
                unhatched = unhatched.replace(word[0], "", 1)
                hatched = min(hatched + 1, LARGEST_NUMBER)
        taken = board & _BYTES[target]
        cells = own.cells & ~(1 << (place >> 5))
        for there in arrived:
            cells |= 1 << (there >> 5)
        after = board ^ taken ^ stamp[place] ^ sum(stamp[there] for there in arrived)
        if taken:
            quiet = 0
            gone = tuple([there for there in enemy.places if there >> 5 != target])
            enemy = enemy._replace(places=gone, cells=enemy.cells ^ goal.bit)
            if self._is_tadpole(board, target):
                stood = frozenset()  # tadpoles are never hatched, so no earlier board can occur again
        places = tuple(sorted([there for there in own.places if there != place] + arrived))
        own = Army(places, cells, nest, unhatched, eggs, hatched)
        handicap = max(handicap - 1, 0)
        return PondlifePosition(
            after,
            turn if handicap else _OTHER[turn - 1],
            (own, enemy) if turn == 1 else (enemy, own),
            quiet,
            handicap,
            stood | {after},
        )

    def _with_outcome(self, position: PondlifePosition) -> PondlifePosition:
        """Return the position with its outcome; ends a handicap that cannot be used up."""
        stuck = next(self._legal(position), None) is None
        if stuck and position.handicap:
            position = position._replace(turn=1, handicap=0)
            stuck = next(self._legal(position), None) is None
        if stuck:
            turn = position.turn
            attacked = self._attack.attacked(position.armies[turn - 1], position.armies[2 - turn])
            reason = "nest_trapped" if attacked else "no_moves"
            return position._replace(outcome=Outcome(_OTHER[turn - 1], reason))
        if position.quiet >= DRAW_AFTER:
            return position._replace(outcome=Outcome(0, "sixty_moves"))
        return position

    def claim(self, position: PondlifePosition) -> str | None:
        """Return `sixty_moves` once 60 plies in a row brought no capture and no nest move."""
        return "sixty_moves" if position.quiet >= CLAIM_AFTER and not position.outcome else None

    # Notation

    def _read_move(self, move: str) -> tuple[int, int, str | None]:
        """Parse a move: return source cell, target cell and the word after `=`, if there is one."""
        parts = _MOVE.fullmatch(move)
        if parts is None or parts[1] not in BOARD.index or parts[2] not in BOARD.index:
            raise self.malformed_move(move)
        return BOARD.index[parts[1]], BOARD.index[parts[2]], parts[3]

    def parse(self, text: str) -> PondlifePosition:
        """Parse a position. Raises Refusal POSITION_MALFORMED."""
        position = self._with_outcome(read_position(text, self.malformed_position))
        waiting = _OTHER[position.turn - 1]
        # This also refuses handicap moves that cannot be made while Blue's nest is attacked: they end at once, and the
        # text of the position, with Yellow to move, would be malformed.
        if not position.handicap and self._attack.attacked(position.armies[waiting - 1], position.armies[2 - waiting]):
            raise self.malformed_position(
                text.split(" ", 1)[0],
                f"the nest of seat {waiting}",
                "a nest that is not attacked, as it is not to move",
            )
        return position

    def text(self, position: PondlifePosition) -> str:
        """Return the position's text."""
        return position_text(position)

    def pieces(self, position: PondlifePosition) -> list[Piece]:
        """Return the content of each cell; a frog's face is given as its facing."""
        return [
            Piece((byte >> 5) + 1, *KINDS[byte & 31]) if byte else Piece(0, "")
            for byte in position.board.to_bytes(BOARD.size, "little")
        ]

    def steps(self, position: PondlifePosition, move: str) -> list[Step]:
        """Return a move's parts: the moved piece on arrival; then what the nest hatches, or the egg that it pays."""
        source, target, word = self._read_move(move)
        goal = self._reach[source << 5 | position.board >> 8 * source & 31].get(target)
        if goal is None:
            raise self.illegal_move(position, move, "nothing moves like that")
        steps = [Step("move", BOARD.names[source], BOARD.names[target], *KINDS[goal.becomes & 31])]
        if word == "egg":
            steps.append(Step("pay", "", BOARD.names[target], "N"))
        elif word is not None:
            steps.append(Step("hatch", "", BOARD.names[source], *facing_piece(word)))
        return steps

    def material(self, position: PondlifePosition) -> tuple[int, int]:
        """Return how many pieces each seat has on the board or can still hatch."""
        first, second = (len(own.places) + len(own.unhatched) for own in position.armies)
        return first, second

    def regions(self, position: PondlifePosition) -> Sequence[Region]:
        """Return the nest of the seat to move, if it is attacked."""
        own, enemy = position.armies[position.turn - 1], position.armies[2 - position.turn]
        if not self._attack.attacked(own, enemy):
            return []
        return [Region("threat", position.turn, (own.nest,), "!", "the nest is attacked")]

    def counters(self, position: PondlifePosition) -> Mapping[str, int]:
        """Return eggs and pieces off the board by player, and the counts for the draw rule and the handicap."""
        counts: dict[str, int] = {}
        for seat, own in zip(self.facts.seats, position.armies, strict=True):
            counts[f"{seat} eggs"] = own.eggs
            counts |= {f"{seat} {_several(letter)} to hatch": own.unhatched.count(letter) for letter in own.unhatched}
            counts[f"{seat} hatched"] = own.hatched
        return counts | {"plies without progress": position.quiet, "handicap moves left": position.handicap}


def _several(letter: str) -> str:
    return {"H": "fish", "D": "dragonflies"}.get(letter, f"{NAMES[letter]}s")


def _left_out(full: str, missing: str) -> str:
    for letter in missing:
        full = full.replace(letter, "", 1)
    return full
