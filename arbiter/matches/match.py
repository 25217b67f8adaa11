"""A match: a value that follows from its events alone, and functions that read it.

`arbiter.matches.transitions` decides what a command does to it; `arbiter.matches.evolution` computes the next value
from an event. Only `evolve` there and `with_position` here write to a match, and only to the copy that each has just
made: `dataclasses.replace` takes twenty times as long as such a copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Any, Final, NamedTuple

from arbiter.errors import RulesAwaited, RulesFailed
from arbiter.games.contract import AnyGame, Seat
from arbiter.games.line import along
from arbiter.matches.adjudication import Lead, lead_after
from arbiter.matches.clock import Ledger, SeatClock, after_move, available, credit, most_credit
from arbiter.matches.events import Arrived, Clocks, Created, Ended, Event, Moved
from arbiter.matches.requests import Requests
from arbiter.matches.time_control import TimeControl


class Versions(NamedTuple):
    """The versions of both players' bots, by seat: on their last arrival, and at their first move.

    A bot sends its version in the hello of its stream. After a reconnect the version may differ; the record holds each
    one (`Arrived`). For each player a match counts for the version that played that player's first move; if the player
    never moved, for the version that arrived last. '' is an unknown version: the bot sent none, plays without a Play
    stream, or never came.
    """

    arrived: tuple[str, str] = ("", "")
    moved: tuple[str | None, str | None] = (None, None)

    def after(self, event: Event) -> Versions:
        """Return the versions after an event of the match."""
        match event:
            case Arrived(seat=seat, version=version):
                return self._replace(arrived=_set(self.arrived, seat, version))
            case Moved(seat=seat) if self.moved[seat - 1] is None:
                return self._replace(moved=_set(self.moved, seat, self.arrived[seat - 1]))
            case _:
                return self

    @property
    def counted(self) -> tuple[str, str]:
        """The versions for which the match counts."""
        first, second = (
            arrived if moved is None else moved for arrived, moved in zip(self.arrived, self.moved, strict=True)
        )
        return first, second


class Phase(StrEnum):
    """The phase of a match."""

    PENDING = "pending"  #: waiting for both players to be present
    ACTIVE = "active"  #: the clock of the seat to move runs
    PAUSED = "paused"  #: interrupted: no clock runs until the player to move is back, or the time to come back is over
    ENDED = "ended"


LIVE: Final = (Phase.PENDING, Phase.ACTIVE, Phase.PAUSED)


class Offer(NamedTuple):
    """An open draw offer."""

    seat: Seat
    ply: int


@dataclass(init=False, slots=True)
class Match:
    """A match after its event number `revision`.

    Pairs hold a value for seat 1 and one for seat 2. Instants are UTC epoch milliseconds.
    created: the event that created it, with its id, players, policy and label.
    controls: the time controls, which differ in a match with time odds.
    digest: SHA-256 of the bytes of the last event. at: the instant of the last event.
    position: the rules' position, or None if the moves have not been played yet (see `with_position`); text: its text.
    moves: the moves played, the opening first; turns: for each move, the seat to move.
    banks: the network credit that is left, in milliseconds.
    since: when the turn's clock started (active), the match began to wait (pending), was interrupted (paused), or
    ended.
    present: who is present. away: since when a player that was present before is away, else None.
    led: who is ahead in material and for how long, if a rule needs it.
    bots: the versions of the players' bots, on arrival and at the first move.
    strikes: illegal and malformed moves so far. rejected: recorded refusals that are no strikes.
    comments: the plies of moves with a comment, and the encrypted comments.
    secret: the key of the comments, if it is known here; part of the record only once the match has ended.
    offered: the ply of each player's last draw offer, -1 for none.
    """

    created: Created
    game: AnyGame
    controls: tuple[TimeControl, TimeControl]
    phase: Phase
    revision: int
    digest: str
    at: int
    position: Any
    text: str
    moves: tuple[str, ...]
    turns: bytes
    turn: Seat
    clocks: Clocks
    banks: tuple[int, int]
    since: int
    present: tuple[bool, bool]
    away: tuple[int | None, int | None]
    strikes: tuple[int, int]
    rejected: tuple[int, int]
    offer: Offer | None
    offered: tuple[int, int]
    requests: Requests
    result: Ended | None
    comments: tuple[tuple[int, str], ...]
    secret: bytes
    bots: Versions
    led: Lead

    def __init__(
        self,
        created: Created,
        game: AnyGame,
        controls: tuple[TimeControl, TimeControl],
        phase: Phase,
        revision: int,
        digest: str,
        at: int,
        position: Any,
        text: str,
        moves: tuple[str, ...],
        turns: bytes,
        turn: Seat,
        clocks: Clocks,
        banks: tuple[int, int],
        since: int,
        present: tuple[bool, bool],
        away: tuple[int | None, int | None],
        strikes: tuple[int, int],
        rejected: tuple[int, int],
        offer: Offer | None,
        offered: tuple[int, int],
        requests: Requests,
        result: Ended | None,
        comments: tuple[tuple[int, str], ...],
        secret: bytes,
        bots: Versions,
        led: Lead,
    ) -> None:
        self.created = created
        self.game = game
        self.controls = controls
        self.phase = phase
        self.revision = revision
        self.digest = digest
        self.at = at
        self.position = position
        self.text = text
        self.moves = moves
        self.turns = turns
        self.turn = turn
        self.clocks = clocks
        self.banks = banks
        self.since = since
        self.present = present
        self.away = away
        self.strikes = strikes
        self.rejected = rejected
        self.offer = offer
        self.offered = offered
        self.requests = requests
        self.result = result
        self.comments = comments
        self.secret = secret
        self.bots = bots
        self.led = led

    def copy(self) -> Match:
        """Return an equal match, for its maker to change before anybody else has it."""
        return Match(
            self.created,
            self.game,
            self.controls,
            self.phase,
            self.revision,
            self.digest,
            self.at,
            self.position,
            self.text,
            self.moves,
            self.turns,
            self.turn,
            self.clocks,
            self.banks,
            self.since,
            self.present,
            self.away,
            self.strikes,
            self.rejected,
            self.offer,
            self.offered,
            self.requests,
            self.result,
            self.comments,
            self.secret,
            self.bots,
            self.led,
        )

    @property
    def id(self) -> str:
        """The match's id."""
        return self.created.match

    @property
    def players(self) -> tuple[str, str]:
        """The players' ids, by seat."""
        return self.created.players

    @property
    def holders(self) -> tuple[str, ...]:
        """The players' ids without duplicates: both seats may belong to one player."""
        first, second = self.created.players
        return (first, second) if first != second else (first,)

    @property
    def is_self_play(self) -> bool:
        """Whether both seats belong to one player."""
        first, second = self.created.players
        return first == second

    @property
    def versions(self) -> tuple[str, str]:
        """The versions of the players' bots for which the match counts, by seat; '' if unknown."""
        return self.bots.counted

    @property
    def ply(self) -> int:
        """The number of moves played, including the opening."""
        return len(self.moves)

    @property
    def turn_started(self) -> int | None:
        """When the clock of the seat to move started, or None if none runs."""
        return self.since if self.phase is Phase.ACTIVE else None


@dataclass(init=False, slots=True)
class Judgement:
    """The clock's result for a move: its ledger, the mover's clock and bank afterwards. No clock if the flag fell."""

    ledger: Ledger
    clock: SeatClock | None
    bank: int

    def __init__(self, ledger: Ledger, clock: SeatClock | None, bank: int) -> None:
        self.ledger = ledger
        self.clock = clock
        self.bank = bank


def other(seat: Seat) -> Seat:
    """Return the opponent's seat."""
    return 2 if seat == 1 else 1


def available_ms(match: Match, seat: Seat) -> int:
    """Return how long a player may think on its next move before its flag falls: its clock, or the cap on a move."""
    index = seat - 1
    return min(available(match.controls[index], match.clocks[index]), match.created.policy.move_cap_ms)


def judge(match: Match, arrived: int, handed_over: int | None, round_trip_ms: int | None) -> Judgement:
    """Compute the clock for a move of the seat to move; the match must be active.

    Arguments are as in `Play`. The flag has fallen if the charged time is the available time or more.
    """
    seat, rules = match.turn, match.created.policy.credit
    credited, bank = credit(rules, match.banks[seat - 1], match.since, handed_over, arrived, round_trip_ms)
    charged = max(0, arrived - match.since) - credited
    left = max(0, available_ms(match, seat) - charged)
    clock = after_move(match.controls[seat - 1], match.clocks[seat - 1], charged) if left else None
    ledger = Ledger(match.since, handed_over, arrived, round_trip_ms, credited, charged, left)
    return Judgement(ledger, clock, bank)


def flag_instant(match: Match) -> int:
    """Return the instant from which every move of this turn is too late, even with maximum credit; match active."""
    bank = match.banks[match.turn - 1]
    return match.since + available_ms(match, match.turn) + most_credit(match.created.policy.credit, bank)


def gone_since(match: Match) -> tuple[int | None, int | None]:
    """Return since when each player of an active match is not there; None for a player who is.

    A player who has never come is not there either, from the creation on: a match may start without waiting for its
    players. A player who moves without a stream is there, as long as it has not left one.
    """
    if match.away == (None, None):
        return match.away  # nobody has left: a player that has never come loses by the clock
    played = match.turns[len(match.created.opening) :]
    first, second = (
        since if since is not None or there or bytes((seat,)) in played else match.created.at
        for seat, (since, there) in enumerate(zip(match.away, match.present, strict=True), start=1)
    )
    return first, second


def abandonment_instant(match: Match) -> int | None:
    """Return the instant at which an active match is abandoned, or None.

    One player has then been away for too long while the other is there, or both have.
    """
    limit = match.created.policy.abandon_ms
    if match.away == (None, None) or not limit:
        return None
    return max(since for since in gone_since(match) if since is not None) + limit


def deadline(match: Match) -> int | None:
    """Return the instant from which `Tick` has something to do, or None once the match has ended.

    That is when the match stops waiting for its players (pending), when the flag falls or a player has been away too
    long (active), or when the match stops waiting for the player to move (paused). The flag includes all the credit
    that the seat to move may still get: the ledger of an arriving move decides, not the timer. Decide commands that
    arrived before the deadline before `Tick`.
    """
    policy = match.created.policy
    match match.phase:
        case Phase.PENDING:
            return match.since + policy.no_show_ms
        case Phase.ACTIVE:
            flag, abandoned = flag_instant(match), abandonment_instant(match)
            return flag if abandoned is None else min(flag, abandoned)
        case Phase.PAUSED:
            return match.since + policy.resume_ms
        case _:
            return None


def with_position(match: Match, before: Match | None = None) -> Match:
    """Return the match with its position. This plays the moves if that has not been done yet.

    before: an earlier state of the match. If it has its position, only the moves since then are played.

    A match that was read from the log with `trust` has the text of its position, but not the position itself, which
    also holds the history for rules about repetition. Commands that need it call this first.
    """
    if match.position is not None:
        return match
    rules, opening = match.created.adjudication, len(match.created.opening)
    if before is not None and before.position is not None:
        position, led, played = before.position, before.led, len(before.moves)
    else:
        position, led, played = match.game.start(match.created.position), Lead(), 0
    known = position
    for ply, position in enumerate(along(match.game, known, match.moves[played:]), played):
        if rules is not None and rules.material and ply >= opening:
            led = lead_after(rules, led, match.game, position)
    after = match.copy()
    after.position, after.led = position, led
    return after


def claimable(match: Match) -> str | None:
    """Return the reason for which the seat to move may claim a draw now, or None.

    None also while rules that run elsewhere do not answer: to claim is still possible.
    """
    if match.phase not in (Phase.ACTIVE, Phase.PAUSED):
        return None
    try:
        return match.game.claim(with_position(match).position)
    except (RulesAwaited, RulesFailed):
        return None


def versions_of(events: Iterable[Event]) -> tuple[str, str]:
    """Return the versions for which a match counts, from its events so far."""
    return reduce(Versions.after, events, Versions()).counted


def _set(pair: tuple[Any, Any], seat: Seat, value: str) -> tuple[Any, Any]:
    return (value, pair[1]) if seat == 1 else (pair[0], value)
