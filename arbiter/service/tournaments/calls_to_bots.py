"""Messages on Play streams about tournaments that the bot plays in or may enter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from arbiter.service.play.connected_players import Connections
from arbiter.service.play.session import CallItem, Item, Session
from arbiter.service.ports.environment import Clock
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.tournaments import engine
from arbiter.tournaments import events as ev
from arbiter.tournaments.tournament import Tournament

PHASES: Final = (ev.Started, ev.Paused, ev.Continued, ev.Ended)  #: events that begin a phase
OPENINGS: Final = (ev.Created, ev.Withdrawn)  #: events after which another player may be able to enter


class TournamentCalls:
    """Informs every stream of its player's tournaments, and, if its hello asks for it, of those that it may enter."""

    def __init__(self, connections: Connections, tournaments: TournamentRegistry, clock: Clock) -> None:
        self._connections = connections
        self._tournaments = tournaments
        self._clock = clock

    def first_items(self, session: Session) -> Iterator[Item]:
        """Yield the items about tournaments that a Play stream gets when it opens."""
        for tournament in self._tournaments.open():
            if _plays(session.player, tournament):
                yield _call(session, tournament)
            else:
                yield from self._offer(session, tournament)

    def tournament_changed(self, tournament: Tournament, events: Sequence[ev.Event]) -> None:
        """Inform Play streams of a tournament's events that have just become durable."""
        concerned: dict[str, None] = {}  # players, in order
        for event in events:
            if isinstance(event, PHASES):
                concerned |= dict.fromkeys(tournament.players)
            elif isinstance(event, ev.Entered):
                concerned[event.player] = None
        for player in concerned:
            session = self._connections.of(player)
            if session is not None and _plays(player, tournament):
                session.put(_call(session, tournament))
        if any(isinstance(event, OPENINGS) for event in events):
            for session in self._connections:
                for item in self._offer(session, tournament):
                    session.put(item)

    def _offer(self, session: Session, tournament: Tournament) -> Iterable[Item]:
        """Return the call to a tournament that a bot may enter, once on each stream.

        A player who has been in the tournament before gets no call: it has withdrawn, and its bot would enter it again.
        """
        if not session.hello.tournaments or tournament.id in session.announced or session.player in tournament.entrants:
            return ()
        if not engine.may_enter(tournament, session.player, session.hello.bot_version, self._clock.now_ms()):
            return ()
        session.announced.add(tournament.id)
        return (_call(session, tournament),)


def _plays(player: str, tournament: Tournament) -> bool:
    entrant = tournament.entrants.get(player)
    return entrant is not None and not entrant.withdrawn


def _call(session: Session, tournament: Tournament) -> CallItem:
    return CallItem(session.player, tournament.created, tournament.phase, _plays(session.player, tournament))
