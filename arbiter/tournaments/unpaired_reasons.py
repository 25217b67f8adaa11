"""Why a player of a tournament has no game just now, in words for its page."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class Why(StrEnum):
    """Why a player who has entered a tournament is not paired, or its game has not begun."""

    NOT_STARTED = "not_started"
    PAUSED = "paused"
    AWAY = "away"  #: it has no live Play stream
    FULL = "full"  #: it has as many matches as its bot accepts
    SERVER_FULL = "server_full"  #: the tournaments of the server have as many games as the server allows
    OPPONENT = "opponent"  #: it is paired, and its opponent still plays another game
    BYE = "bye"
    ROUND = "round"  #: the round goes on
    OUT = "out"  #: of a knockout
    DONE = "done"  #: it has played all its games
    NOBODY = "nobody"  #: nobody else is free
    FORBIDDEN = "forbidden"  #: only players are free whom it must not meet
    JUST_MET = "just_met"  #: only players are free whom it met last
    AHEAD = "ahead"  #: it has played more games than others
    RARER = "rarer"  #: players whom it has met less often will soon be free
    VALIDATION = "validation"  #: it has not yet finished a game against itself
    FAILED_VALIDATION = "failed_validation"
    NEXT = "next"  #: nothing keeps it: its game begins


WORDS: Final[dict[Why, str]] = {
    Why.NOT_STARTED: "the tournament has not started",
    Why.PAUSED: "the tournament is paused",
    Why.AWAY: "the bot is not connected",
    Why.FULL: "the bot plays as many matches as it accepts at once",
    Why.SERVER_FULL: "the server has as many tournament games as its limit allows",
    Why.OPPONENT: "its opponent still plays another game",
    Why.BYE: "it has a bye in this round",
    Why.ROUND: "games of this round are still under way",
    Why.OUT: "it is out of the knockout",
    Why.DONE: "it has played all its games",
    Why.NOBODY: "nobody else is free",
    Why.FORBIDDEN: "only players are free whom it must not meet",
    Why.JUST_MET: "only players are free whom it has just met: it waits a little for others",
    Why.AHEAD: "it has played more games than others, who come first",
    Why.RARER: "players whom it has met less often will soon be free",
    Why.VALIDATION: "it first plays a game against itself",
    Why.FAILED_VALIDATION: "it made a fault in each of its games against itself: withdraw it, mend it, enter it again",
    Why.NEXT: "its next game is about to begin",
}


class Unpaired(NamedTuple):
    """Why a player has no game in one of its tournaments."""

    tournament_id: str
    tournament: str
    why: Why

    @property
    def text(self) -> str:
        """The reason as a clause for people."""
        return WORDS[self.why]
