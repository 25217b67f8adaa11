"""Pairing of free players: a matching with as many pairs as possible, and of those one with maximum weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.tournament import Tournament

FEW = 8  #: this many players are matched in about a millisecond
NEIGHBOURS = 12  #: candidates of each player in a large field, in the given order
PART = 400  #: this many players are matched at once: the cost of an exact matching grows with more than the square

_WHOLE = 10**9  # weights as whole numbers, so that sums have no rounding errors


def matched(
    players: Sequence[str], weight: Callable[[str, str], float | None], neighbours: int = NEIGHBOURS
) -> list[tuple[str, str]]:
    """Return the pairs of a maximum-weight matching among those with most pairs (Edmonds' blossom, by rustworkx).

    weight: of two players, None if they must not meet. In a field of more than twice `neighbours` players, only players
    close to each other in the given order are tried, so the order should put suitable opponents together. More than
    `PART` players are matched part by part; a player who finds no opponent in a part belongs to the next one, too.
    """
    place = {player: number for number, player in enumerate(players)}
    pairs: list[tuple[str, str]] = []
    rest: list[str] = []
    for start in range(0, len(players), PART):
        part = [*rest, *players[start : start + PART]]
        found = _matched(part, weight, neighbours)
        pairs += found
        paired = {player for pair in found for player in pair}
        rest = [player for player in part if player not in paired]
    return sorted(pairs, key=lambda pair: place[pair[0]])


def _matched(
    players: Sequence[str], weight: Callable[[str, str], float | None], neighbours: int
) -> list[tuple[str, str]]:
    # Imported here: most servers never pair a ladder or an arena.
    import rustworkx

    reach = len(players) if len(players) <= 2 * neighbours else neighbours
    edges = []
    for number, first in enumerate(players):
        for other in range(number + 1, min(len(players), number + 1 + reach)):
            value = weight(first, players[other])
            if value is not None:
                edges.append((number, other, round(value * _WHOLE)))
    graph = rustworkx.PyGraph[None, int](multigraph=False)
    graph.add_nodes_from([None] * len(players))
    graph.add_edges_from(edges)
    pairs = rustworkx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    return [(players[min(pair)], players[max(pair)]) for pair in pairs]


def seated(tournament: Tournament, first: str, second: str) -> Pair:
    """Return two players with balanced seats: seat 1 goes to the one who had it less often, or not last."""

    def need(player: str) -> tuple[int, int]:
        newest = reversed(tournament.meetings_of.get(player, []))  # a ladder has many meetings: read only the last ones
        held = (meeting.first == player for meeting in newest if meeting.first != meeting.second)
        last_two = list(islice(held, 2))
        streak = 1 if last_two == [True, True] else -1 if last_two == [False, False] else 0
        return (streak, tournament.lead.get(player, 0))

    return Pair(first, second) if need(first) <= need(second) else Pair(second, first)
