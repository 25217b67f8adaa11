"""Ids as people write them: whole, shortened to a prefix that only one has, or `last` for the newest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import arbiter_client as arb
from cyclopts import Parameter

from arbiter.cli.failure import Failure

MatchId = Annotated[str, Parameter(help="The match: its id, the beginning of one, or `last`.")]
TournamentId = Annotated[str, Parameter(help="The tournament: its id, the beginning of one, or `last`.")]

NEWEST: Final = "last"
WHOLE: Final = 25  #: characters of an id, as the server makes them
MOST_SEARCHED: Final = 1_000  #: newest ones, among which a prefix is looked up
SHOWN: Final = 3


def match_id(client: arb.BlockingClient, given: str) -> str:
    """Return the id of the match that a person means. Raises Failure if nobody can say which one."""
    if given == NEWEST:
        return _newest([match.match_id for match in client.list_matches(most=1)], "match")
    if len(given) >= WHOLE:
        return given
    return _only([match.match_id for match in client.list_matches(most=MOST_SEARCHED)], given, "matches")


def tournament_id(client: arb.BlockingClient, given: str) -> str:
    """Return the id of the tournament that a person means. Raises Failure if nobody can say which one."""
    if given == NEWEST:
        return _newest([found.tournament_id for found in client.list_tournaments(most=1)], "tournament")
    if len(given) >= WHOLE:
        return given
    return _only([found.tournament_id for found in client.list_tournaments(most=MOST_SEARCHED)], given, "tournaments")


def _newest(found: Sequence[str], what: str) -> str:
    if not found:
        raise Failure(f"there is no {what} yet")
    return found[0]


def _only(found: Sequence[str], prefix: str, what: str) -> str:
    """Return the one id that begins with a prefix; the prefix itself if none does, which the server then refuses."""
    fitting = [each for each in found if each.startswith(prefix)]
    if len(fitting) > 1:
        shown = ", ".join(fitting[:SHOWN]) + (", …" if len(fitting) > SHOWN else "")
        raise Failure(f"{len(fitting)} {what} begin with {prefix} ({shown}): write more of the id")
    return fitting[0] if fitting else prefix
