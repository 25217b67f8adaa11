"""The matches of a tournament: how its games become matches, and how their ends become results.

The id of the request that creates a match contains the game's number and the attempt. So each match is created once,
even if a restart or a lost answer makes the driver repeat the request.
"""

from __future__ import annotations

import asyncio
from dataclasses import fields
from typing import Final, NamedTuple, cast

from arbiter.errors import Reason, Refusal, parameter_invalid
from arbiter.event_json.canonical import digest
from arbiter.games import registry
from arbiter.matches import adjudication, time_control
from arbiter.matches.adjudication import AdjudicationRules
from arbiter.matches.commands import Abort, Adjudicate, Create, ResultKind
from arbiter.matches.events import Cause, Ended
from arbiter.matches.match import Match
from arbiter.matches.policy import Policy, read_policy
from arbiter.matches.time_control import TimeControl
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.ports.journal import RETRY_MS
from arbiter.service.record.tournament_log import MAKER, maker
from arbiter.service.tournaments.adjudicators import NO_TABLES, Adjudicators
from arbiter.service.tournaments.rhythm import check_rhythm
from arbiter.tournaments.book_order import Opening
from arbiter.tournaments.commands import ReportResult
from arbiter.tournaments.game_ends import Winner
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import Spec
from arbiter.tournaments.tournament import Tournament

RETRY_S: Final = RETRY_MS / 1000
KNOWN: Final = frozenset({Reason.MATCH_NOT_ACTIVE, Reason.MATCH_NOT_FOUND, Reason.RECORD_DAMAGED})
OF_TABLES: Final = frozenset({"chess", "chess960"})  #: the games of Syzygy tables
DAMAGED: Final = "record damaged"  #: the reason why a game is void if the record of its match can't be read


class GameAttempt(NamedTuple):
    """The game that a match was created for, and the number of the attempt."""

    game: int
    attempt: int


def tournament_of(match: Match) -> str:
    """Return the id of the tournament that created a match, '' if none did."""
    creator = match.created.creator
    return creator.removeprefix(MAKER) if creator.startswith(MAKER) else ""


def occasion_of(match: Match) -> GameAttempt:
    """Return the game and the attempt that a tournament's match was created for."""
    game, attempt = map(int, match.created.request.split("/"))
    return GameAttempt(game, attempt)


def creation(tournament: Tournament, game: ScheduledGame, attempt: int, policy: Policy, opening: Opening) -> Create:
    """Return the command that creates the match of a game.

    policy: of the match, for all fields that the specification does not set.
    """
    spec = tournament.spec
    controls = controls_of(spec, game)
    return Create(
        game=game.game,
        players=(game.seat1, game.seat2),
        time=time_control.pair_text(controls),
        creator=maker(tournament.id),
        request=f"{game.number}/{attempt}",
        policy=policy_of(spec, policy),
        rated=spec.rated and game.seat1 != game.seat2 and controls[0] == controls[1],
        label=tournament.id,
        chosen=tuple(spec.policy),
        opening=opening.moves,
        position=opening.position,
        adjudication=rules_of(spec),
    )


def policy_of(spec: Spec, policy: Policy) -> Policy:
    """Return the policy of a tournament's matches. Raises Refusal PARAMETER_INVALID, which names an unknown field."""
    values = policy.json()
    known = {field.name for field in fields(Policy)} - {"credit"}
    for name in spec.policy:
        if name not in known:
            allowed = ", ".join(sorted(known))
            raise parameter_invalid(name, "policy", f"one of {allowed}", of="a tournament")
    return read_policy({**values, **spec.policy})


def check(spec: Spec, policy: Policy, judges: Adjudicators) -> None:
    """Raise Refusal PARAMETER_INVALID if no match could be created or adjudicated with a specification."""
    plugin, pieces = spec.adjudication.plugin, spec.adjudication.syzygy_pieces
    if plugin and plugin not in judges.names:
        known = ", ".join(sorted(judges.names)) or "none is installed"
        raise parameter_invalid(plugin, "adjudication.plugin", f"the name of an installed plug-in: {known}")
    if pieces and not judges.has_tables:
        raise parameter_invalid(pieces, "adjudication.syzygy_pieces", f"0, since {NO_TABLES}")
    if spec.schedule.every:
        check_rhythm(spec.schedule.every)
    policy_of(spec, policy)
    longest = sorted({spec.time, *spec.time_odds.values()}, key=len)[-2:]  # as a pair they are the longest text
    time_control.parse_pair(":".join(longest))
    for game in spec.games:
        adjudication.check(rules_of(spec), registry.game(game))
        if pieces and registry.game(game).facts.id not in OF_TABLES:
            raise parameter_invalid(pieces, "adjudication.syzygy_pieces", f"0 for {game}, of which there are no tables")


def rules_of(spec: Spec) -> AdjudicationRules:
    """Return the adjudication rules of a tournament's matches."""
    return AdjudicationRules(*(getattr(spec.adjudication, field.name) for field in fields(AdjudicationRules)))


def controls_of(spec: Spec, game: ScheduledGame) -> tuple[TimeControl, TimeControl]:
    """Return the time controls of a game's players, by seat."""
    first, second = (spec.time_odds.get(player, spec.time) for player in (game.seat1, game.seat2))
    return time_control.parse(first), time_control.parse(second)


def report(game: int, match: Match) -> ReportResult:
    """Return the command that reports the end of a match to its tournament."""
    ended = match.result
    assert isinstance(ended, Ended)
    winner = None if ended.result is ResultKind.VOID else cast("Winner", ended.winner)
    absent: tuple[int, ...] = ()
    if ended.cause is Cause.ABSENCE:
        absent = (1, 2) if ended.seat is None else (ended.seat,)
    moves = digest(" ".join(match.moves).encode())[:16]
    stopped = ended.by == match.created.creator  # by its tournament
    versions = match.versions if any(match.versions) else ()
    return ReportResult(game, match.id, winner, ended.reason, ended.cause.value, moves, absent, stopped, versions)


async def abort(matches: MatchRegistry, match_id: str, tournament_id: str) -> None:
    """End a match that its tournament does not need any more. Retries until the store has accepted it."""
    await _organise(
        matches, match_id, Abort(maker(tournament_id), "over", "its tournament has ended, or goes on without it")
    )


async def _organise(matches: MatchRegistry, match_id: str, command: Abort | Adjudicate) -> None:
    while True:
        try:
            await matches.act(match_id, command)
        except Refusal as refusal:
            if refusal.reason in KNOWN:
                return  # it has ended already, or can't continue
            await asyncio.sleep(RETRY_S)
        else:
            return
