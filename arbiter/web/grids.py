"""Live boards side by side: each with its players and clocks, kept current by one stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import orjson
from markupsafe import Markup

from arbiter.matches.match import Match
from arbiter.service.gate.admission import Call
from arbiter.service.gate.gate import Gate
from arbiter.service.gate.match_calls import MatchQuery
from arbiter.service.gate.paging import PageRequest
from arbiter.web.boards import Shown, board, sprite
from arbiter.web.states import shown_at, state_of
from arbiter.web.visits import beside

MOST: Final = 12  #: boards side by side


class BoardGrid(NamedTuple):
    """Boards for the templates: each match with its board and state; the symbols and all states for the page.

    begun: the label of the matches that are added when they begin, '' for all; None if there is no room.
    """

    boards: Sequence[tuple[Match, Markup, dict[str, Any]]]
    symbols: Markup
    states: str
    begun: str | None


async def live_matches(gate: Gate, call: Call, label: str = "") -> list[Match]:
    """Return the live matches with a label, or all for '', the newest first: as many as have room. Raises Refusal."""
    found = await gate.matches.list(call, MatchQuery(label=label, ended=False), PageRequest(MOST, ""))
    return [match for match in found.items if isinstance(match, Match)]


async def grid(matches: Sequence[Match], now_ms: int, label: str = "") -> BoardGrid:
    """Return live boards of some matches. `label`: that of the matches to add when they begin, '' for all."""
    found = []
    for match in matches:
        position = await beside(shown_at, match, match.ply)
        found.append((match, board_of(match, position), state_of(match, now_ms)))
    states = [{"match": match.id, **state} for match, _, state in found]
    begun = label if len(found) < MOST else None
    return BoardGrid(found, sprite(match.game for match in matches), orjson.dumps(states).decode(), begun)


def board_of(match: Match, position: Shown) -> Markup:
    """Return the board of a match, with a position of the match."""
    first, second = match.players
    return board(match.game, position, f"{match.game.facts.name}, {first} against {second}")
