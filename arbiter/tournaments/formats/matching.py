"""Pairing whoever is free: a matching of as many pairs as there can be, of the greatest weight among those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, islice

from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.tournament import Tournament

FEW = 8  #: players that are matched in about a millisecond
NEIGHBOURS = 12  #: of a player in a large field, in the order given, that it can be matched with


def matched(players: Sequence[str], weight: Callable[[str, str], float | None]) -> list[tuple[str, str]]:
    """Return the pairs of a maximum-weight matching among those with the most pairs (Edmonds' blossoms, networkx).

    weight: of two players, None if they must not meet. In a field of more than twice `NEIGHBOURS` players only those
    near to each other in the order given are tried, so the order should be that of who suits whom.
    """
    # Imported here: it takes half a second to load, and most servers never pair an arena.
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
    """Return two players with seats that keep both balanced: who has held seat 1 less often, or not last, gets it."""

    def need(player: str) -> tuple[int, int]:
        newest = reversed(tournament.meetings_of.get(player, []))  # a ladder has many: only the last ones are read
        held = (meeting.first == player for meeting in newest if meeting.first != meeting.second)
        last_two = list(islice(held, 2))
        streak = 1 if last_two == [True, True] else -1 if last_two == [False, False] else 0
        return (streak, tournament.lead.get(player, 0))

    return Pair(first, second) if need(first) <= need(second) else Pair(second, first)


def forbidden(tournament: Tournament) -> frozenset[frozenset[str]]:
    """Return the pairs that must not meet."""
    return frozenset(frozenset(pair) for pair in tournament.spec.entry.forbidden)


def last_opponent(tournament: Tournament, player: str) -> str:
    """Return whom a player met last, or ''."""
    for meeting in reversed(tournament.meetings_of[player]):
        if meeting.first != meeting.second:
            return meeting.second if meeting.first == player else meeting.first
    return ""
