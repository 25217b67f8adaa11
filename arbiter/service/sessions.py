"""Play streams: who is live, what each is told, and what each says."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import structlog

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import Seat
from arbiter.matches.commands import AnswerDraw, ClaimDraw, OfferDraw, Play, Resign, SeatRequest
from arbiter.matches.comments import Comment
from arbiter.matches.events import Created, DrawOffered, Ended, Moved, Resumed, Started
from arbiter.matches.match import Match, Phase
from arbiter.service.accounts import Accounts, Caller, Scope, invalid, shut_out
from arbiter.service.allowance import Allowance
from arbiter.service.backlog import Backlogs
from arbiter.service.feed import Published
from arbiter.service.hall import DRAINING, Hall
from arbiter.service.live import Answer, seat_of
from arbiter.service.ports import Challenge, Clock, Directory, Rules, StoreFailed
from arbiter.service.rows import end_of
from arbiter.service.session import (
    AnswerItem,
    EndedItem,
    Hello,
    Item,
    OfferItem,
    SeekItem,
    Session,
    StateItem,
    TurnItem,
    TurnListing,
)


class _Handed(NamedTuple):
    """When a turn was handed over, and on which stream: None if that was opened after the turn had begun.

    A turn is known by its ply and its beginning: many may begin in one millisecond.
    """

    ply: int
    since: int
    at: int
    session: Session | None


MOST_GAMES = 100  #: variants in a hello

WRONG_MOVES = frozenset(
    {
        Reason.PLY_MISMATCH,
        Reason.NOT_YOUR_TURN,
        Reason.MATCH_NOT_ACTIVE,
        Reason.REQUEST_ID_REUSED,
        Reason.ARGUMENT_INVALID,
    }
)
"""Refusals of moves that count towards a flood: their sender is confused. With illegal and malformed moves the match's
policy deals, and what the server can't take now is no fault of the sender's."""


class Sessions:
    """All live Play streams, one a player at most."""

    def __init__(
        self,
        hall: Hall,
        accounts: Accounts,
        directory: Directory,
        rules: Rules,
        clock: Clock,
        limits: Limits,
        listing_ms: int,
    ) -> None:
        self._hall = hall
        self._accounts = accounts
        self._directory = directory
        self._rules = rules
        self._clock = clock
        self._limits = limits
        self._listing_ms = listing_ms
        self._live: dict[str, Session] = {}
        self._in_turn: OrderedDict[Session, None] = OrderedDict()  # an ordered set: next to be pinged first
        self._to_ping = 0.0  # how many are due, and a part of the next
        self._handed: dict[str, _Handed] = {}  # by match
        self._attending: Counter[str] = Counter()  # streams by player that are not Play
        self._backlogs = Backlogs(hall, directory)
        self._openings = Allowance(limits.play_streams_a_minute)
        self._greetings: list[Callable[[Session], Iterable[Item]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._log = structlog.get_logger("arbiter.sessions")
        hall.listen(self._happened, self.is_present, self.version_of)
        accounts.on_shut_out(self._shut_out)

    def greet(self, greeting: Callable[[Session], Iterable[Item]]) -> None:
        """Have every stream told something more as it opens, before its turns; `greeting` makes it, there and then."""
        self._greetings.append(greeting)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._live.values())

    def of(self, player: str) -> Session | None:
        """Return a player's live Play stream, or None."""
        return self._live.get(player)

    def is_live(self, player: str) -> bool:
        """Say whether a player has a live Play stream."""
        return player in self._live

    def is_present(self, player: str) -> bool:
        """Say whether a player can be reached: by a Play stream, or by another one that it moves on."""
        return player in self._live or player in self._attending

    def version_of(self, player: str) -> str:
        """Return the version of a player's bot, as its live Play stream said; '' if it has none, or said none."""
        session = self._live.get(player)
        return session.hello.bot_version if session is not None else ""

    def room_for(self, player: str) -> int | None:
        """Return how many more matches a player takes, by what its bot said; None if it has no live Play stream."""
        session = self._live.get(player)
        if session is None:
            return None
        most = session.hello.most_matches or self._limits.open_matches_of_player
        return max(0, most - len(self._hall.live.of_player(player)))

    async def open(self, caller: Caller, hello: Hello) -> Session:
        """Make a player's live stream; the one it had before ends. What it is told first waits in it already.

        Raises Refusal SCOPE_MISSING, ARGUMENT_INVALID, GAME_UNKNOWN, PARAMETER_INVALID, RATE_LIMITED, DRAINING.
        """
        caller.require(Scope.PLAY)
        wait_ms = self._openings.take(caller.player, self._clock.now_ms())
        if wait_ms:  # each coming and going is an event in all its matches
            raise _too_often(self._limits.play_streams_a_minute, wait_ms)
        self._check(hello)
        player = await self._accounts.introduce(
            caller.player, hello.bot_name, hello.bot_version, hello.games, hello.most_matches
        )
        backlog = await self._backlogs.read(player, hello.seeks)
        # From here to the end nothing is awaited: what happens next is told on this stream.
        self._accounts.check(caller)
        if self._hall.draining:
            raise DRAINING
        session = Session(caller, hello, self._limits, self._clock.now_ms())
        before = self._live.get(caller.player)
        if before is not None:
            before.end(
                Refusal(
                    Reason.SESSION_SUPERSEDED,
                    f"a newer Play stream of {caller.player} has taken over from this",
                    resume_from="",
                )
            )
        self._live[caller.player] = session
        self._in_turn[session] = None
        session.ping()
        unfinished = self._hall.unfinished(caller.player)
        session.fill(StateItem(match) for match in unfinished)
        session.fill(backlog)
        for greeting in self._greetings:
            session.fill(greeting(session))
        for match in unfinished:
            session.shown[match.id] = _told(match)
            self._offer_turn(session, match)
        self._hall.present(caller.player)
        return session

    def close(self, session: Session) -> None:
        """Forget a stream that has ended, on whichever side."""
        self._in_turn.pop(session, None)
        if self._live.get(session.player) is session:
            del self._live[session.player]
            if not self.is_present(session.player):
                self._hall.absent(session.player)

    @contextmanager
    def attending(self, player: str) -> Iterator[None]:
        """Have a player count as present, by another stream than Play.

        If it has come too often in the last minute its matches are not told that it is here; its moves are theirs.
        """
        self._attending[player] += 1
        if not self._openings.take(player, self._clock.now_ms()):
            self._hall.present(player)
        try:
            yield
        finally:
            self._attending[player] -= 1
            if not self._attending[player]:
                del self._attending[player]
            if not self.is_present(player):
                self._hall.absent(player)

    def notify(self, player: str, item: Item) -> None:
        """Tell a player something, if it is there."""
        self._backlogs.noticed(player)
        session = self._live.get(player)
        if session is not None:
            session.put(item)

    def sought(self, seek: Challenge) -> None:
        """Tell all who want to know that somebody seeks an opponent."""
        self._backlogs.sought(seek)
        for session in self._live.values():
            if session.hello.seeks and session.player != seek.challenger:
                session.put(SeekItem(seek))

    def handed_over(self, session: Session, turn: TurnItem, now: int) -> None:
        """Note that a turn goes out at an instant.

        Only the first time counts, and only on a stream that was live before the turn began. What the turn has waited
        for behind writes that the bot held up is not the server's delay, and does not count.
        """
        match = turn.match
        if not self._hall.is_current(match):
            return  # over already: nothing is reckoned by it
        match_id, ply = match.created.match, len(match.moves)
        handed = self._handed.get(match_id)
        if handed is None or handed.ply != ply or handed.since != match.since:
            at = now - (session.held_up(now) - turn.held_up_ms)
            stream = session if session.opened_ms <= match.since else None
            self._handed[match_id] = _Handed(ply, match.since, at, stream)

    def sweep(self, share: float = 1.0) -> None:
        """Ask a share of the streams for a pong, in turn, and end those of them that have been silent too long.

        To be called regularly, with a small share: a thousand pongs that come at once would hold every match up, and
        each of them would be measured late.
        """
        now = self._clock.now_ms()
        self._to_ping = min(self._to_ping + share * len(self._live), len(self._live))
        while self._to_ping >= 1:
            session, _ = self._in_turn.popitem(last=False)
            if self._live.get(session.player) is not session:
                continue  # it is over
            self._in_turn[session] = None
            self._to_ping -= 1
            if now - session.heard_ms > self._limits.silence_ms:
                session.end(silent(self._limits.silence_ms))
            else:
                session.ping()

    def bear(self, outage_ms: int) -> None:
        """Hold it against no stream that nothing was heard while the server itself was held up."""
        for session in self._live.values():
            session.heard_ms += outage_ms

    def end_all(self, refusal: Refusal) -> None:
        """End every stream with a reason."""
        for session in list(self._live.values()):
            session.end(refusal)

    # -- what a bot says -----------------------------------------------------------------------------------------

    def play(
        self,
        session: Session,
        request_id: str,
        match_id: str,
        ply: int,
        move: str,
        arrived: int,
        comment: Comment | None = None,
    ) -> None:
        """Play a move that arrived at an instant; the answer is sent when it is durable.

        A move for any other than a live match of the player's counts towards a flood, before anything is looked up.
        """
        found = self._hall.seated(session.player, match_id)
        if found is None:
            self._count(session)
            if session.ended is None:
                unmeasured = partial(Play, request=request_id, ply=ply, move=move, arrived=arrived, comment=comment)
                self._request(session, request_id, match_id, unmeasured)
            return
        live, seat = found
        at, round_trip_ms = self._measured(session, live.newest, ply)
        session.asked()
        self._hall.play(
            session.player,
            live,
            Play(seat, request_id, ply, move, arrived, at, round_trip_ms, comment),
            partial(self._answer, session, request_id, match_id, False),
        )

    def _measured(self, session: Session, match: Match, ply: int) -> tuple[int | None, int | None]:
        """Return when the turn was handed over, and the round trip of the stream that took it; None earns no credit.

        Both belong to the stream that was live when the turn began and took it. So a bot that connects again in the
        middle of a turn earns nothing by it: on the new stream, what the server owes for its own delay stands, and the
        network is credited from the next turn on.
        """
        handed = self._handed.get(match.created.match)
        if handed is None or handed.session is None or handed.ply != ply or handed.since != match.turn_started:
            return None, None
        return handed.at, session.round_trip_ms if handed.session is session else None

    def offer_draw(self, session: Session, request_id: str, match_id: str) -> None:
        """Offer a draw."""
        self._request(session, request_id, match_id, lambda seat: OfferDraw(seat, request_id))

    def answer_draw(self, session: Session, request_id: str, match_id: str, accept: bool) -> None:
        """Accept or decline a draw offer."""
        self._request(session, request_id, match_id, lambda seat: AnswerDraw(seat, request_id, accept))

    def claim_draw(self, session: Session, request_id: str, match_id: str) -> None:
        """Claim a draw."""
        self._request(session, request_id, match_id, lambda seat: ClaimDraw(seat, request_id))

    def resign(self, session: Session, request_id: str, match_id: str) -> None:
        """Give a match up."""
        self._request(session, request_id, match_id, lambda seat: Resign(seat, request_id))

    def acknowledge(self, session: Session, cursor: str) -> None:
        """Note which results the bot has seen; a cursor beyond the last one told here is none of this server's."""
        if cursor.isascii() and cursor.isdigit() and len(cursor) <= 18 and int(cursor) <= session.last_result:
            self._spawn(self._acknowledge(session.player, int(cursor)))

    async def _acknowledge(self, player: str, cursor: int) -> None:
        with suppress(StoreFailed):  # then the results are told again
            await self._directory.acknowledge(player, cursor)

    def heard(self, session: Session, moves: bool, arrived: int) -> None:
        """Note that something arrived at an instant; a flood of acts that are no moves ends the stream."""
        session.heard_ms = arrived
        if not moves:
            self._count(session)

    def _request(
        self,
        session: Session,
        request_id: str,
        match_id: str,
        make: Callable[[Seat], SeatRequest],
    ) -> None:
        session.asked()
        answered = self._hall.request(session.player, match_id, make)
        answered.add_done_callback(lambda done: self._answer(session, request_id, match_id, True, done.result()))

    def _answer(self, session: Session, request_id: str, match_id: str, counted: bool, answer: Answer) -> None:
        session.answer(AnswerItem(request_id, match_id, answer))
        if not counted and isinstance(answer, Refusal) and answer.reason in WRONG_MOVES:
            self._count(session)

    def _count(self, session: Session) -> None:
        if session.count(self._clock.now_ms()):
            most = self._limits.acts_a_second
            session.end(
                Refusal(
                    Reason.RATE_LIMITED,
                    f"more than {most} acts a second that are no moves in live matches: slow down and connect again",
                    limit=most,
                    retry_after_ms=1_000,
                )
            )

    # -- what a bot is told --------------------------------------------------------------------------------------

    def _happened(self, match: Match, events: Sequence[Published]) -> None:
        """Tell the players of a match what has just become durable. `match` stands after the last event."""
        if len(events) == 1 and type(events[0].event) is Moved:  # as it mostly is: only the other has to be told
            session = self._live.get(match.created.players[match.turn - 1])
            if session is not None:
                self._offer_turn(session, match)
            return
        for player in match.holders:
            session, seat = self._live.get(player), seat_of(match, player)
            if match.phase is Phase.ENDED:
                self._backlogs.noticed(player)
            if session is not None and seat is not None:
                self._tell(session, match, seat, events)
        if match.phase is Phase.ENDED:
            self._handed.pop(match.id, None)

    def _tell(self, session: Session, match: Match, seat: Seat, events: Sequence[Published]) -> None:
        turns = False
        for published in events:
            match published.event:
                case Moved() | Resumed():
                    turns = True
                case Created() | Started():
                    if not turns:  # where it started as it was made, its state is told once
                        session.put(StateItem(match))
                        session.shown[match.id] = _told(match)
                    turns = True
                case DrawOffered(seat=offering) if offering != seat:
                    session.put(OfferItem(match.id, published.event.ply))
                case Ended() if not session.has_ended(match.id):
                    session.shown.pop(match.id, None)
                    own: Seat = 1 if match.is_self_play else seat
                    opponent = match.players[2 - own]
                    session.put(
                        EndedItem(match.id, match.created.game, own, opponent, end_of(match), published.sequence)
                    )
        if turns and seat == match.turn:
            self._offer_turn(session, match)

    def _offer_turn(self, session: Session, match: Match) -> None:
        """Send the turn, if the match is at a turn of the session's player."""
        seat = seat_of(match, session.player)
        if match.phase is not Phase.ACTIVE or seat != match.turn:
            return
        extras = session.hello.extras
        if not extras.legal_move_count and not extras.legal_moves_up_to:
            self._put_turn(session, match, seat, None)
        else:
            self._spawn(self._offer_with_moves(session, match, seat))

    async def _offer_with_moves(self, session: Session, match: Match, seat: Seat) -> None:
        extras, listed = session.hello.extras, None
        try:
            # A list that takes longer than the clock forgives is left out: the bot asks for it if it wants it.
            async with asyncio.timeout(self._listing_ms / 1000):
                listing = await self._rules.legal_moves(
                    f"turn {match.id}", match.created.game, "", match.moves, extras.steps
                )
        except (TimeoutError, Refusal):
            pass
        except Exception:  # the arbiter's own mistake must not cost the player its turn
            self._log.exception("turn_not_listed", match=match.id, ply=match.ply)
        else:
            most = min(extras.legal_moves_up_to, self._limits.turn_moves)
            sent = tuple(move for chunk in listing.chunks for move in chunk) if listing.total <= most else ()
            listed = TurnListing(listing.total, sent)
        if self._hall.is_current(match):  # it may have ended meanwhile, or been interrupted
            self._put_turn(session, match, seat, listed)

    def _put_turn(self, session: Session, match: Match, seat: Seat, listing: TurnListing | None) -> None:
        """Have a turn sent, with the moves since the last one that was; a turn that was dropped has shown none."""
        held_up_ms = session.held_up(self._clock.now_ms())
        session.put(TurnItem(match, seat, session.shown.get(match.id, 0), listing, held_up_ms))
        session.shown[match.id] = match.ply

    # -- within --------------------------------------------------------------------------------------------------

    def _check(self, hello: Hello) -> None:
        if len(hello.games) > MOST_GAMES:
            raise invalid(f"{len(hello.games)} games", "hello.games", f"at most {MOST_GAMES}")
        for game in hello.games:
            registry.game(game)
        if not 0 <= hello.most_matches <= self._limits.open_matches_of_player:
            raise invalid(hello.most_matches, "hello.most_matches", f"0 to {self._limits.open_matches_of_player}")

    def _shut_out(self, player: str, token_id: str) -> None:
        session = self._live.get(player)
        if session is None or (token_id and session.caller.token_id != token_id):
            return
        session.end(shut_out(player, token_id))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def silent(limit_ms: int) -> Refusal:
    """Return the refusal that ends a stream on which nothing was heard for too long."""
    return Refusal(
        Reason.SESSION_SILENT, f"nothing was heard on this stream for {limit_ms} ms: connect again", limit=limit_ms
    )


def _too_often(most: int, wait_ms: int) -> Refusal:
    return Refusal(
        Reason.RATE_LIMITED,
        f"more than {most} streams of one player were opened in a minute: connect again in {wait_ms} ms",
        limit=most,
        retry_after_ms=wait_ms,
    )


def _told(match: Match) -> int:
    """Return the ply up to which the moves of a match that is told as it stands go without saying.

    An opening does not: it comes with the first turn.
    """
    return 0 if match.ply == len(match.created.opening) else match.ply
