"""Challenges between players, and seeks. A seek is a challenge that the first player to answer may accept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, NoReturn

from arbiter.errors import Reason, Refusal, argument_invalid, limit_reached, shortened
from arbiter.games import registry
from arbiter.matches import time_control
from arbiter.matches.commands import Create
from arbiter.matches.creation import start_text
from arbiter.matches.events import Created
from arbiter.matches.evolution import opening_played
from arbiter.matches.match import Match
from arbiter.matches.policy import Policy
from arbiter.matches.requests import check_request_id
from arbiter.plain_text import check_plain
from arbiter.service.alone import OtherServers
from arbiter.service.lookup import findable
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.play.session import ChallengeClosedItem, ChallengeItem
from arbiter.service.play.sessions import Sessions
from arbiter.service.players.accounts import Accounts, Caller, check_not_suspended, check_plays, place
from arbiter.service.ports.directory import Challenge, Directory
from arbiter.service.ports.environment import Environment
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.ports.log import Logger
from arbiter.service.ports.notices import Notice, NoticeKind
from arbiter.service.shielding import Shielded
from arbiter.service.token_bucket import MINUTE_MS, TokenBuckets

LONGEST_REASON = 200  #: characters of a reason for declining
COMPLETES_S: Final = 3.0  #: between two looks for accepted challenges whose match was never created
OPEN, ACCEPTING, ACCEPTED, DECLINED = "open", "accepting", "accepted", "declined"  #: states of a challenge
LATER: Final = (Reason.STORE_UNAVAILABLE, Reason.DRAINING)  #: refusals of a match that may be created later
REQUEST = "challenge "  #: the request id of a match from a challenge begins with it


class Terms(NamedTuple):
    """The terms of a challenge. seat: the challenger's, 1 or 2, or 0 for one drawn by lot.

    position: that the match starts from; '' is the game's initial one. abandon_ms: how long a player may be absent;
    None is the server's own.
    """

    game: str
    time_control: str
    rated: bool
    seat: int
    position: str = ""
    abandon_ms: int | None = None


class Challenges:
    """Creates, accepts, declines and withdraws challenges and seeks.

    others: of the store. All servers `hear` notices of challenges, and inform the players who are there.
    """

    def __init__(
        self,
        directory: Directory,
        accounts: Accounts,
        matches: MatchRegistry,
        sessions: Sessions,
        others: OtherServers,
        environment: Environment,
        log: Logger,
    ) -> None:
        self._directory = directory
        self._accounts = accounts
        self._matches = matches
        self._sessions = sessions
        self._others = others
        self._clock, self._ids, self._limits, self._policy = environment
        self._seeking = TokenBuckets(environment.limits.seeks_a_minute, MINUTE_MS, "seeks of one player in a minute")
        self._shielded = Shielded()
        self._log = log

    async def challenge(self, caller: Caller, request_id: str, opponent: str, terms: Terms) -> Challenge:
        """Challenge a player. A repeated request returns the challenge that it has created before.

        Raises Refusal PLAYER_NOT_FOUND, PLAYER_SUSPENDED, GAME_UNKNOWN, PARAMETER_INVALID, POSITION_MALFORMED,
        ARGUMENT_INVALID, RATE_LIMITED, REQUEST_ID_REUSED.
        """
        opponent = self._accounts.names.key(opponent)
        if opponent == caller.player:
            raise argument_invalid(opponent, "opponent", "another player")
        wanted = self._wanted(caller, request_id, opponent, terms)
        made = await self._directory.add_challenge(wanted, 0)  # only looks for a challenge of the same request
        if made is None:
            check_plays(await self._accounts.player(opponent))
            made = await self._add(wanted)
            if made is wanted:
                self._others.noted(partial(self._sessions.notify, opponent, ChallengeItem(made)))
        return _same(made, wanted, terms.seat)

    async def seek(self, caller: Caller, request_id: str, terms: Terms) -> Challenge:
        """Create a seek. Raises as `challenge` does."""
        wanted = self._wanted(caller, request_id, "", terms)
        made = await self._directory.add_challenge(wanted, 0)  # only looks for a challenge of the same request
        if made is None:
            self._seeking.use(caller.player, self._clock.now_ms())
            made = await self._add(wanted)
            if made is wanted:
                self._others.noted(partial(self._sessions.announce_seek, made))
        return _same(made, wanted, terms.seat)

    async def accept(self, caller: Caller, challenge_id: str) -> Match:
        """Accept a challenge to the caller, or another player's seek; return the match.

        A repeated call returns the same match. If no match can be created, the challenge is open again. Raises Refusal
        CHALLENGE_NOT_FOUND, PLAYER_SUSPENDED (the challenger is suspended), and as `MatchRegistry.create` does.
        """
        return await self._shielded.run(self._accept(caller, challenge_id))

    async def _accept(self, caller: Caller, challenge_id: str) -> Match:
        challenge = await self._directory.challenge(challenge_id) if findable(challenge_id) else None
        if challenge is None or challenge.challenger == caller.player or challenge.opponent not in ("", caller.player):
            raise _not_open(challenge_id)
        if challenge.state == OPEN:
            check_not_suspended(await self._accounts.player(challenge.challenger))
            # First take it, so that only one of two players who accept a seek at once gets it: `reason` names it.
            taken = replace(challenge, state=ACCEPTING, reason=caller.player)
            was_open = await self._directory.change_challenge(taken, (OPEN,))
            # Another player, or the same request sent twice, may have taken it just now.
            challenge = taken if was_open else await self._directory.challenge(challenge_id) or challenge
        if challenge.state not in (ACCEPTING, ACCEPTED) or challenge.reason != caller.player:
            raise _not_open(challenge_id)
        return await self._complete(challenge)

    async def _complete(self, challenge: Challenge) -> Match:
        """Return the match of a challenge that was accepted; create it, and inform the challenger, if nobody has yet.

        Any number of servers may do so at once. Raises Refusal.
        """
        try:
            match = await self._matches.create(self._command(challenge, challenge.reason))
        except Refusal as refusal:
            if refusal.reason not in LATER:
                await self._directory.change_challenge(replace(challenge, state=OPEN, reason=""), (ACCEPTING,))
            raise
        accepted = replace(challenge, state=ACCEPTED, match_id=match.id)
        # It may be open again, if another server was refused the match just before. The match is what counts.
        await self._change(accepted, (OPEN, ACCEPTING), challenge.challenger)
        return match

    async def _change(self, changed: Challenge, was: Sequence[str], tell: str) -> bool:
        """Store the state of a challenge, and inform a player on whichever server, if the state was one of `was`."""
        done = await self._directory.change_challenge(changed, was, tell)
        if done:
            self._others.noted(partial(self._sessions.notify, tell, ChallengeClosedItem(_told(changed))))
        return done

    async def complete_always(self) -> NoReturn:
        """Complete what others have left, until cancelled: a server that accepts may die before it creates the match.

        Every server does so. What has been in this state for one pause is taken for left.
        """
        before: list[Challenge] = []
        while True:
            await asyncio.sleep(COMPLETES_S)
            try:
                before = await self._complete_left(before)
            except Exception:  # our code has an error; the other challenges wait no longer than until the next time
                self._log.exception("challenges_not_completed")

    async def _complete_left(self, before: Sequence[Challenge]) -> list[Challenge]:
        """Complete those of the challenges that are still in this state; return all that are."""
        with suppress(StoreFailed):
            accepting = await self._directory.challenges_being_accepted()
            for challenge in accepting:
                if challenge in before:
                    with suppress(Refusal):  # then it is open again, or this is tried again
                        await self._complete(challenge)
            return accepting
        return []

    async def hear(self, notice: Notice) -> None:
        """Inform players with a stream here of a challenge that was changed on any server. Raises StoreFailed."""
        if notice.kind is not NoticeKind.CHALLENGE:
            return
        challenge = await self._directory.challenge(notice.subject)
        if challenge is None:
            return
        if notice.detail:
            closed = replace(challenge, state=ACCEPTED, match_id=notice.detail)
            self._sessions.notify(notice.receiver, ChallengeClosedItem(_told(closed)))
        elif challenge.state == DECLINED:
            self._sessions.notify(notice.receiver, ChallengeClosedItem(challenge))
        elif challenge.state == OPEN and challenge.opponent:
            self._sessions.notify(challenge.opponent, ChallengeItem(challenge))
        elif challenge.state == OPEN:
            self._sessions.announce_seek(challenge)

    async def decline(self, caller: Caller, challenge_id: str, reason: str) -> None:
        """Decline a challenge to the caller, or withdraw one of the caller's own. A repeated call changes nothing.

        Raises Refusal CHALLENGE_NOT_FOUND, ARGUMENT_INVALID.
        """
        check_plain(reason, "reason", LONGEST_REASON)
        challenge = await self._directory.challenge(challenge_id) if findable(challenge_id) else None
        if challenge is None or caller.player not in (challenge.challenger, challenge.opponent):
            raise _not_open(challenge_id)
        withdrawn = challenge.challenger == caller.player
        closed = replace(challenge, state=DECLINED, reason="withdrawn" if withdrawn else reason)
        other = challenge.opponent if withdrawn else challenge.challenger
        if not await self._change(closed, (OPEN,), other):
            held = await self._directory.challenge(challenge_id)
            if held is None or (held.state, held.reason) != (closed.state, closed.reason):
                raise _not_open(challenge_id)

    async def open(self, caller: Caller, after: str, most: int) -> list[Challenge]:
        """Return the open challenges to and by the caller, and all open seeks."""
        return await self._directory.challenges(caller.player, place(after), most)

    def _wanted(self, caller: Caller, request_id: str, opponent: str, terms: Terms) -> Challenge:
        """Return the challenge that a request describes. Raises Refusal."""
        check_request_id(request_id)
        if terms.seat not in (0, 1, 2):
            raise argument_invalid(terms.seat, "terms.seat", "1, 2 or 0")
        game = registry.game(terms.game)
        position = start_text(game, terms.position)
        if position and terms.rated:
            raise argument_invalid("true", "terms.rated", "false for a match from a position")
        opening_played(game, (), position)
        self._policy_of(terms.abandon_ms)
        return Challenge(
            challenge_id=self._ids.new("c"),
            challenger=caller.player,
            opponent=opponent,
            game=game.variant,
            time_control=str(time_control.parse(terms.time_control)),
            rated=terms.rated,
            seat=terms.seat or self._ids.lot(2) + 1,
            request_id=request_id,
            created_ms=self._clock.now_ms(),
            position=position,
            abandon_ms=terms.abandon_ms,
        )

    def _policy_of(self, abandon_ms: int | None) -> Policy:
        """Return the policy of a match. Raises Refusal PARAMETER_INVALID."""
        return self._policy if abandon_ms is None else replace(self._policy, abandon_ms=abandon_ms)

    async def _add(self, wanted: Challenge) -> Challenge:
        """Store a challenge; return it, or the one that its request has created before. Raises Refusal RATE_LIMITED."""
        most = self._limits.open_challenges_of_player
        made = await self._directory.add_challenge(wanted, most)
        if made is None:
            raise limit_reached(f"{most} of your challenges are open, the maximum: withdraw some first", most)
        return made

    def _command(self, challenge: Challenge, opponent: str) -> Create:
        pair = (challenge.challenger, opponent)
        return Create(
            game=challenge.game,
            players=pair if challenge.seat == 1 else (pair[1], pair[0]),
            time=challenge.time_control,
            creator=challenge.challenger,
            request=f"{REQUEST}{challenge.challenge_id}",
            policy=self._policy_of(challenge.abandon_ms),
            rated=challenge.rated,
            position=challenge.position,
            chosen=() if challenge.abandon_ms is None else ("abandon_ms",),
        )


def _told(closed: Challenge) -> Challenge:
    """Return a closed challenge in the form in which a player is informed of it."""
    return replace(closed, reason="") if closed.state == ACCEPTED else closed


def is_challenge(created: Created) -> bool:
    """Return whether a match comes from a challenge.

    The form of its request id decides this, even if a client chose that id.
    """
    return created.request.startswith(REQUEST)


def _same(made: Challenge, wanted: Challenge, seat: int) -> Challenge:
    """Return the challenge of a request. Raises Refusal REQUEST_ID_REUSED if the request created a different one."""
    if _asked(made, seat) != _asked(wanted, seat):
        raise Refusal(
            Reason.REQUEST_ID_REUSED,
            f"request id {wanted.request_id!r} has created another challenge: choose a new one",
            request_id=wanted.request_id,
        )
    return made


def _asked(challenge: Challenge, seat: int) -> tuple[object, ...]:
    """Return the terms that a request named. seat: in the request; 0, for a drawn seat, matches every seat."""
    made = challenge
    chosen = (made.opponent, made.game, made.time_control, made.rated, made.position, made.abandon_ms)
    return *chosen, made.seat if seat else 0


def _not_open(challenge_id: str) -> Refusal:
    name = shortened(challenge_id)
    return Refusal(
        Reason.CHALLENGE_NOT_FOUND,
        f"there is no open challenge {name!r} for you: it may have been accepted or withdrawn",
        id=name,
    )
