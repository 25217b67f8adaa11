"""Decides what the creation of a match records: the first events, or why there can be no such match."""

from __future__ import annotations

from typing import Final

from arbiter.errors import argument_invalid
from arbiter.games.contract import AnyGame
from arbiter.games.registry import Code
from arbiter.games.registry import game as registered_game
from arbiter.matches import adjudication, time_control
from arbiter.matches.answers import Decision
from arbiter.matches.commands import Create
from arbiter.matches.events import Created, EventKind, Started
from arbiter.matches.evolution import Games, begin, opening_played
from arbiter.matches.policy import ClockStart
from arbiter.matches.requests import Receipt, check_request_id
from arbiter.plain_text import check_plain

LONGEST_LABEL: Final = 100  #: characters


def create(
    match_id: str, command: Create, now: int, games: Games = registered_game, code: Code | None = None
) -> Decision:
    """Return the events that create a match, and the receipt. code: that of the rules, for the record.

    Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID, ARGUMENT_INVALID, POSITION_MALFORMED, and for the opening
    MOVE_MALFORMED, MOVE_ILLEGAL.
    """
    check_request_id(command.request)
    for name, text, most in (("match id", match_id, 100), ("creator", command.creator, 100)):
        check_plain(text, name, most, least=1)
    check_plain(command.label, "label", LONGEST_LABEL)
    for player in command.players:
        check_plain(player, "player", 100, least=1)
    if command.rated and command.players[0] == command.players[1]:
        raise argument_invalid("true", "rated", "false for a match of a player against itself")
    controls = time_control.parse_pair(command.time)
    if command.rated and controls[0] != controls[1]:
        raise argument_invalid("true", "rated", "false for a match with time odds")
    game = games(command.game)
    first = tuple(map(game.canonical, command.opening))
    opening_played(game, first, command.position)
    if command.adjudication:
        adjudication.check(command.adjudication, game)
    created = Created(
        at=now,
        match=match_id,
        game=game.variant,
        players=command.players,
        time=time_control.pair_text(controls),
        policy=command.policy,
        rated=command.rated,
        label=command.label,
        creator=command.creator,
        request=command.request,
        opening=first,
        position=start_text(game, command.position),
        adjudication=command.adjudication or None,
        code=code,
    )
    receipt = Receipt(1, EventKind.CREATED, len(command.opening))
    if command.policy.start is ClockStart.WHEN_PRESENT:
        return Decision((created,), receipt)
    match = begin(created, games)
    started = Started(now, match.turn, match.text, match.clocks)
    return Decision((created, started), receipt)


def start_text(game: AnyGame, position: str) -> str:
    """Return a start position as the record has it: as the game writes it, and '' for the game's initial position.

    Raises Refusal POSITION_MALFORMED.
    """
    text = game.text(game.start(position))
    return "" if text == game.text(game.initial()) else text
