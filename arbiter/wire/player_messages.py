"""Players, tokens and challenges as messages."""

from __future__ import annotations

from collections.abc import Iterable

from arbiter_protos.v1 import player_pb2 as pb

from arbiter.service.gate.account_calls import AccountChange
from arbiter.service.gate.player_calls import PlayerView
from arbiter.service.play.challenges import Terms
from arbiter.service.players.accounts import Scope
from arbiter.service.ports.directory import Challenge, Token
from arbiter.wire.copied_fields import copied

_SCOPES = {
    Scope.PLAY: pb.SCOPE_PLAY,
    Scope.ORGANISE: pb.SCOPE_ORGANISE,
    Scope.OBSERVE: pb.SCOPE_OBSERVE,
    Scope.ADMIN: pb.SCOPE_ADMIN,
}


def player_message(view: PlayerView) -> pb.Player:
    """Return a player."""
    player, online, _, unpaired = view
    return pb.Player(
        name=player.shown if player.deleted else player.name,
        about=player.about,
        bot_name=player.bot_name,
        bot_version=player.bot_version,
        games=player.games,
        most_matches=player.most_matches,
        online=online,
        suspended=player.suspended,
        created_ms=player.created_ms,
        badge_version=player.badge_version,
        badge_ms=player.badge_ms,
        current_name=player.shown,
        retired=player.retired,
        hidden=player.hidden,
        deleted=player.deleted,
        unpaired=[
            pb.Unpaired(tournament_id=each.tournament_id, tournament=each.tournament, why=each.why, text=each.text)
            for each in unpaired
        ],
    )


def change_of(request: pb.ChangePlayerRequest) -> AccountChange:
    """Return what is to change about a player."""
    return AccountChange(
        request.new_name if request.HasField("new_name") else None,
        request.retired if request.HasField("retired") else None,
        request.hidden if request.HasField("hidden") else None,
    )


def scope_messages(scopes: Iterable[str]) -> list[pb.Scope.ValueType]:
    """Return scopes, in the order of the wire."""
    return sorted(_SCOPES[Scope(scope)] for scope in scopes)


def scopes_of(messages: Iterable[int]) -> list[Scope | int]:
    """Return the scopes of a request; an unknown one stays a number."""
    known = {int(number): scope for scope, number in _SCOPES.items()}
    return [known.get(number, number) for number in messages]


def token_message(token: Token) -> pb.Token:
    """Return a token without its secret."""
    return copied(pb.Token, token, scopes=scope_messages(token.scopes))


def challenge_message(challenge: Challenge) -> pb.Challenge:
    """Return a challenge or a seek."""
    return copied(pb.Challenge, challenge, terms=copied(pb.Terms, challenge))


def terms_of(message: pb.Terms) -> Terms:
    """Return the terms that a challenge proposes."""
    abandon_ms = message.abandon_ms if message.HasField("abandon_ms") else None
    return Terms(message.game, message.time_control, message.rated, message.seat, message.position, abandon_ms)
