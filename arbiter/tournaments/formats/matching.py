"""Pairing of free players: a matching with as many pairs as possible, and of those one with maximum weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, islice

from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.tournament import Tournament

FEW = 8  #: this many players are matched in about a millisecond
NEIGHBOURS = 12  #: candidates of each player in a large field, in the given order


def matched(players: Sequence[str], weight: Callable[[str, str], float | None]) -> list[tuple[str, str]]:
    """Return the pairs of a maximum-weight matching among those with most pairs (Edmonds' blossom, by networkx).

    weight: of two players, None if they must not meet. In a field of more than twice `NEIGHBOURS` players, only players
    close to each other in the given order are tried, so the order should put suitable opponents together.
    """
    # Imported here: the import takes half a second, and most servers never pair an arena.
    import networkx

    graph: networkx.Graph[str] = networkx.Graph()
    graph.add_nodes_from(players)
    reach = len(players) if len(players) <= 2 * NEIGHBOURS else NEIGHBOURS
    for (i, first), (j, second) in combinations(enumerate(players), 2):
        if j - i > reach:
            continue
        value = weight(first, second)
        if value is not None:
            graph.add_edge(first, second, weight=value)
    place = {player: number for number, player in enumerate(players)}
    pairs = [tuple(sorted(pair, key=place.__getitem__)) for pair in networkx.max_weight_matching(graph, True)]
    return sorted(((pair[0], pair[1]) for pair in pairs), key=lambda pair: place[pair[0]])


def seated(tournament: Tournament, first: str, second: str) -> Pair:
    """Return two players with balanced seats: seat 1 goes to the one who had it less often, or not last."""

    def need(player: str) -> tuple[int, int]:
        newest = reversed(tournament.meetings_of.get(player, []))  # a ladder has many meetings: read only the last ones
        held = (meeting.first == player for meeting in newest if meeting.first != meeting.second)
        last_two = list(islice(held, 2))
        streak = 1 if last_two == [True, True] else -1 if last_two == [False, False] else 0
        return (streak, tournament.lead.get(player, 0))

    return Pair(first, second) if need(first) <= need(second) else Pair(second, first)


def forbidden(tournament: Tournament) -> frozenset[frozenset[str]]:
    """Return the pairs that must not meet."""
    return frozenset(frozenset(pair) for pair in tournament.spec.entry.forbidden)


def last_opponent(tournament: Tournament, player: str) -> str:
    """Return a player's last opponent, or ''."""
    for meeting in reversed(tournament.meetings_of[player]):
        if meeting.first != meeting.second:
            return meeting.second if meeting.first == player else meeting.first
    return ""
