"""The state of matches for pages: in words for people, and as JSON values for the script.

Instants are UTC epoch milliseconds. A clock is the time that a player has left for its next move, as of `started`: the
instant at which the clock of the seat to move began to run, 0 if none runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, cast

from arbiter.games.contract import AnyGame
from arbiter.games.line import along, foreseen, numbers_itself, written
from arbiter.matches.clock import UNLIMITED_MS, available
from arbiter.matches.events import Clocks, Ended, EventKind, Moved
from arbiter.matches.match import Match, Phase, claimable
from arbiter.service.ports.journal import MatchEnd
from arbiter.service.record.published import Published
from arbiter.web.boards import Shown, shown

PHASES: Final = {
    Phase.PENDING: "waiting for the players",
    Phase.ACTIVE: "under way",
    Phase.PAUSED: "interrupted: clocks stand still",
    Phase.ENDED: "over",
}
BROUGHT_BY_MOVES: Final = frozenset(("ply", "turn", "started", "clocks"))
BROUGHT_BY_THE_END: Final = BROUGHT_BY_MOVES | {"phase", "active", "over", "result", "offer"}


class Played(NamedTuple):
    """A move of a match: its ply (0 is the first), seat, notation, and duration; None in an opening.

    credited_ms: the part of the duration that server or network took, and that was not charged. shown: the move as
    people read it, with its number if the game's players number moves in another way than by plies.
    """

    ply: int
    seat: int
    move: str
    spent_ms: int | None = None
    credited_ms: int | None = None
    shown: str = ""


def result_words(end: MatchEnd | Ended, players: Sequence[str], seats: Sequence[str]) -> str:
    """Return the result of a match: `alice (White) wins: checkmate`, `a draw: repetition`, `void: aborted`.

    seats: their names by the rules of the game; a number says nothing, and is left out.
    """
    reason = end.reason.replace("_", " ")
    if end.winner:
        seat = seats[end.winner - 1]
        return f"{players[end.winner - 1]}{'' if seat.isdecimal() else f' ({seat})'} wins: {reason}"
    return f"{'void' if end.result == 'void' else 'a draw'}: {reason}"


def clocks_of(match: Match, clocks: Clocks) -> list[int]:
    """Return the time left of both seats, ms; empty for a match without clocks."""
    left = [available(control, clock) for control, clock in zip(match.controls, clocks, strict=True)]
    cap = match.created.policy.move_cap_ms
    return [] if min(left) >= UNLIMITED_MS else [min(each, cap) for each in left]


def state_of(match: Match, now_ms: int) -> dict[str, Any]:
    """Return the state of a match, without its board."""
    return {
        "revision": match.revision,
        "now": now_ms,
        "ply": match.ply,
        "turn": match.turn if match.phase is not Phase.ENDED else 0,
        "started": match.turn_started or 0,
        "clocks": clocks_of(match, match.clocks),
        "present": match.present,
        "phase": PHASES[match.phase],
        "active": match.phase in (Phase.ACTIVE, Phase.PAUSED),
        "over": match.phase is Phase.ENDED,
        "result": result_words(match.result, match.players, match.game.facts.seats) if match.result is not None else "",
        "offer": offer_of(match),
    }


def event_state(match: Match, published: Published, now_ms: int) -> dict[str, Any]:
    """Return where a match stood after an event that is no move; the match may be further already.

    If it is, values that a later event brings are left out: a page that had the number of moves before the moves
    themselves would take those for old ones.
    """
    state = state_of(match, now_ms) | {"revision": published.revision}
    if match.revision == published.revision:
        return state
    later = BROUGHT_BY_THE_END if match.phase is Phase.ENDED else BROUGHT_BY_MOVES
    return {name: value for name, value in state.items() if name not in later}


def offer_of(match: Match) -> int:
    """Return the seat whose offer of a draw is open, or 0."""
    return match.offer.seat if match.offer is not None else 0


def claim_of(match: Match) -> str:
    """Return the reason by which the seat to move may claim a draw now, or ''."""
    return (claimable(match) or "").replace("_", " ")


def moved_state(match: Match, published: Published, position: Shown, now_ms: int, named: str) -> dict[str, Any]:
    """Return the state of a match after a move; the match may have later moves."""
    event = cast("Moved", published.event)
    ledger = event.ledger
    return {
        "revision": published.revision,
        "now": now_ms,
        "ply": event.ply + 1,
        "turn": event.turn,
        "started": event.at,
        "clocks": clocks_of(match, event.clocks),
        "offer": offer_of(match),
        "move": Played(event.ply, event.seat, event.move, ledger.charged, ledger.credited, named)._asdict(),
        **position.json(),
    }


def shown_move(game: AnyGame, before: Any, ply: int, move: str) -> str:
    """Return a move as the list of moves shows it."""
    return written(game, before, ply, move) if numbers_itself(game) else game.notation(before, move)


def is_move(published: Published) -> bool:
    """Return whether an event of a match is a move."""
    return cast("Any", published.event).kind is EventKind.MOVED


def positions(game: AnyGame, start: str, moves: Sequence[str]) -> list[Any]:
    """Return the positions of a line of play, from a text's position on; from the initial one for ''."""
    first = game.start(start)
    return [first, *along(game, first, moves)]


def number(text: str, other: int, most: int) -> int:
    """Return a number from a query or a form, at most `most`; `other` if the text is not a number."""
    return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 10 else other


def shown_at(match: Match, ply: int) -> Shown:
    """Return the position of a match after `ply` moves."""
    return shown_line(match, ply, ply)[0]


def shown_line(match: Match, first: int, last: int) -> list[Shown]:
    """Return the positions of a match after `first`, …, `last` moves."""
    game = match.game
    line = positions(game, match.created.position, match.moves[:last])

    def asked(n: int) -> Iterator[Any]:
        yield from ((what, line[n]) for what in ("pieces", "regions", "counters", "task"))
        if n:
            yield "pieces", line[n - 1]
            yield "steps", line[n - 1], match.moves[n - 1]

    return [
        shown(game, line[n], game.steps(line[n - 1], match.moves[n - 1]), line[n - 1]) if n else shown(game, line[0])
        for n in foreseen(game, range(first, last + 1), asked)
    ]


def written_line(match: Match, write: Callable[[AnyGame, Any, int, str], str]) -> list[str]:
    """Return the moves of a match, each as `write` writes it from the game, the position before it, its ply, itself."""
    game = match.game
    line = positions(game, match.created.position, match.moves)

    def asked(ply: int) -> Iterator[Any]:
        yield "notation", line[ply], match.moves[ply]
        yield "number", line[ply], ply

    plies = range(len(match.moves))
    return [write(game, line[ply], ply, match.moves[ply]) for ply in foreseen(game, plies, asked)]
