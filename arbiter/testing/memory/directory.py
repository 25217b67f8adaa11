"""The directory of players, tokens and challenges in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from arbiter.service.ports.directory import (
    SHOWING,
    AlreadyThere,
    Challenge,
    Player,
    Profile,
    Token,
    erased,
    is_unusual,
    likeness,
    profile_of,
)
from arbiter.service.ports.notices import SHOWN, Notice, NoticeKind
from arbiter.service.ports.web_hooks import WebHook

T = TypeVar("T")


class MemoryDirectory:
    """The directory (`arbiter.service.ports.Directory`) as dictionaries."""

    def __init__(self) -> None:
        self._players: dict[str, Player] = {}
        self._likenesses: dict[str, str] = {}  # names of players
        self._names: dict[str, str] = {}  # the player of each further name
        self._tokens: dict[str, Token] = {}
        self._invitations: set[str] = set()
        self._challenges: dict[str, Challenge] = {}
        self._notices: list[Notice] = []
        self.web_hooks: Final = MemoryWebHooks(self.before)

    async def before(self) -> None:
        """Run before every operation: yield to the event loop once, as real directories do. May raise StoreFailed."""
        await asyncio.sleep(0)

    async def add_player(self, player: Player, token: Token | None, invitation: str = "") -> bool:
        await self.before()
        if invitation and invitation not in self._invitations:
            return False
        like = likeness(player.name)
        if like in self._likenesses:
            raise AlreadyThere(self._likenesses[like])
        self._invitations.discard(invitation)
        self._likenesses[like] = player.name
        self._players[player.name] = player
        if token is not None:
            self._tokens[token.token_id] = token
        return True

    async def player(self, name: str) -> Player | None:
        """Return a player."""
        await self.before()
        return self._players.get(name)

    async def players(self, after: str, most: int) -> list[Player]:
        await self.before()
        return _page(self._players, after, most)

    async def change_player(self, name: str, **changes: Any) -> Player | None:
        await self.before()
        if name in self._players:
            self._players[name] = replace(self._players[name], **changes)
            if changes.get("suspended"):
                self._note(NoticeKind.SHUT_OUT, "", name)
            elif SHOWING.intersection(changes):
                self._note(NoticeKind.SHUT_OUT, SHOWN, name)
        return self._players.get(name)

    async def rename_player(self, name: str, new: str, most: int) -> Player | None:
        await self.before()
        there = self._likenesses.get(likeness(new))
        if there is not None and self._names.get(there, there) != name:
            raise AlreadyThere(there)
        if new not in self._names and new != name:
            if sum(player == name for player in self._names.values()) >= most:
                return None
            self._names[new] = name
            self._likenesses.setdefault(likeness(new), new)
        self._players[name] = replace(self._players[name], current_name="" if new == name else new)
        self._note(NoticeKind.SHUT_OUT, SHOWN, name)
        return self._players[name]

    async def delete_player(self, name: str, neutral: str) -> Player | None:
        await self.before()
        if name not in self._players:
            return None
        further = [held for held, player in self._names.items() if player == name]
        self._likenesses = {like: held for like, held in self._likenesses.items() if held not in further}
        for held in further:
            del self._names[held]
        self._tokens = {key: each for key, each in self._tokens.items() if each.player != name}
        self._challenges = {
            key: each
            for key, each in self._challenges.items()
            if name not in (each.challenger, each.opponent) or each.state == "accepting"
        }
        self.web_hooks.forget_player(name)
        player = self._players[name]
        self._players[name] = Player(name, player.created_ms, acknowledged=player.acknowledged, **erased(neutral))
        self._note(NoticeKind.SHUT_OUT, "", name)
        return self._players[name]

    async def profiles(self, name: str = "") -> list[Profile]:
        """Return the profiles of unusual players, or of one."""
        await self.before()
        found = []
        for player in self._players.values():
            others = [held for held, owner in self._names.items() if owner == player.name]
            profile = profile_of(player, others)
            if player.name == name or (not name and is_unusual(profile)):
                found.append(profile)
        return found

    async def acknowledge(self, name: str, sequence: int) -> None:
        await self.before()
        player = self._players[name]
        self._players[name] = replace(player, acknowledged=max(player.acknowledged, sequence))

    async def add_token(self, token: Token, most: int) -> bool:
        """Store a token or a session, unless its player has too many of this kind."""
        await self.before()
        mine = [held for held in self._tokens.values() if held.player == token.player and not held.revoked]
        if sum(held.session == token.session for held in mine) >= most:
            return False
        self._tokens[token.token_id] = token
        return True

    async def token(self, token_id: str) -> Token | None:
        """Return a token."""
        await self.before()
        return self._tokens.get(token_id)

    async def token_of_digest(self, digest: str) -> Token | None:
        await self.before()
        return next((token for token in self._tokens.values() if token.digest == digest), None)

    async def tokens(self, player: str, after: str, most: int) -> list[Token]:
        await self.before()
        mine = {key: each for key, each in self._tokens.items() if each.player == player and not each.session}
        return _page(mine, after, most)

    async def sessions(self, player: str) -> list[Token]:
        await self.before()
        mine = [each for each in self._tokens.values() if each.player == player and each.session and not each.revoked]
        return sorted(mine, key=lambda each: (each.used_ms, each.token_id))

    async def use_session(self, token_id: str, used_ms: int) -> None:
        await self.before()
        self._tokens[token_id] = replace(self._tokens[token_id], used_ms=used_ms)

    async def revoke_token(self, token_id: str) -> None:
        await self.before()
        if token_id in self._tokens:
            self._tokens[token_id] = replace(self._tokens[token_id], revoked=True)
            self._note(NoticeKind.SHUT_OUT, token_id, self._tokens[token_id].player)

    async def add_invitation(self, digest: str, most: int) -> bool:
        await self.before()
        if len(self._invitations) >= most:
            return False
        self._invitations.add(digest)
        return True

    async def add_challenge(self, challenge: Challenge, most: int) -> Challenge | None:
        """Store a challenge, unless its request id is already stored or the challenger has too many."""
        await self.before()
        mine = [held for held in self._challenges.values() if held.challenger == challenge.challenger]
        for held in mine:
            if held.request_id == challenge.request_id:
                return held
        if sum(held.state in ("open", "accepting") for held in mine) >= most:
            return None
        self._challenges[challenge.challenge_id] = challenge
        self._note(NoticeKind.CHALLENGE, challenge.challenge_id, challenge.opponent)
        return challenge

    async def challenge(self, challenge_id: str) -> Challenge | None:
        await self.before()
        return self._challenges.get(challenge_id)

    async def challenges(self, player: str, after: str, most: int) -> list[Challenge]:
        await self.before()
        wanted = {
            key: held
            for key, held in self._challenges.items()
            if held.state == "open" and (held.opponent in ("", player) or held.challenger == player)
        }
        return _page(wanted, after, most)

    async def challenges_being_accepted(self) -> list[Challenge]:
        await self.before()
        return [held for held in self._challenges.values() if held.state == "accepting"]

    async def change_challenge(self, challenge: Challenge, was: Sequence[str], tell: str = "") -> bool:
        await self.before()
        held = self._challenges.get(challenge.challenge_id)
        if held is None or held.state not in was:
            return False
        self._challenges[held.challenge_id] = replace(
            held, state=challenge.state, match_id=challenge.match_id, reason=challenge.reason
        )
        if tell:
            self._note(NoticeKind.CHALLENGE, challenge.challenge_id, tell, challenge.match_id)
        return True

    async def forget(self, tokens_before_ms: int, challenges_before_ms: int, sessions_before_ms: int) -> int:
        await self.before()
        tokens = [
            held
            for held in self._tokens.values()
            if (held.revoked and held.created_ms < tokens_before_ms)
            or (held.session and held.used_ms < sessions_before_ms)
        ]
        challenges = [
            held
            for held in self._challenges.values()
            if held.state not in ("open", "accepting") and held.created_ms < challenges_before_ms
        ]
        for token in tokens:
            del self._tokens[token.token_id]
        for challenge in challenges:
            del self._challenges[challenge.challenge_id]
        return len(tokens) + len(challenges)

    async def notices(self, after: int, most: int) -> list[Notice]:
        await self.before()
        return self._notices[after : after + most]

    async def last_notice(self) -> int:
        await self.before()
        return len(self._notices)

    def _note(self, kind: NoticeKind, subject: str, receiver: str, detail: str = "") -> None:
        self._notices.append(Notice(len(self._notices) + 1, kind, subject, receiver, detail))


def _page(entries: dict[str, T], after: str, most: int) -> list[T]:
    return [entry for key, entry in sorted(entries.items()) if key > after][:most]


class MemoryWebHooks:
    """The web hooks (`arbiter.service.ports.web_hooks`) as a dictionary. before: runs before every operation."""

    def __init__(self, before: Callable[[], Awaitable[None]]) -> None:
        self._before = before
        self._hooks: dict[str, WebHook] = {}

    async def add(self, hook: WebHook, most: int) -> WebHook | None:
        """Store a web hook, or return that of the same request; None if its tournament has too many."""
        await self._before()
        made_by = hook.creator, hook.request_id
        earlier = (each for each in self._hooks.values() if (each.creator, each.request_id) == made_by)
        found = next(earlier, None)
        if found is not None:
            return found
        if sum(each.tournament_id == hook.tournament_id for each in self._hooks.values()) >= most:
            return None
        self._hooks[hook.hook_id] = hook
        return hook

    async def get(self, hook_id: str) -> WebHook | None:
        """Return a web hook."""
        await self._before()
        return self._hooks.get(hook_id)

    async def of_tournament(self, tournament_id: str) -> list[WebHook]:
        await self._before()
        return self._those(lambda hook: hook.tournament_id == tournament_id)

    async def active(self) -> list[WebHook]:
        await self._before()
        return self._those(lambda hook: not hook.stopped)

    async def due(self, now_ms: int) -> list[WebHook]:
        """Return those whose next attempt may begin, after one that has begun or failed."""
        await self._before()
        return self._those(lambda hook: not hook.stopped and 0 < hook.due_ms <= now_ms)

    async def unused_since(self, before_ms: int) -> list[WebHook]:
        await self._before()
        return self._those(
            lambda hook: max(hook.created_ms, hook.delivered_ms) < before_ms and (hook.stopped or not hook.due_ms)
        )

    async def change(self, hook: WebHook, was: WebHook) -> bool:
        await self._before()
        is_so = self._hooks.get(hook.hook_id) == was
        if is_so:
            self._hooks[hook.hook_id] = hook
        return is_so

    async def remove(self, hook_id: str) -> None:
        await self._before()
        self._hooks.pop(hook_id, None)

    def forget_player(self, name: str) -> None:
        """Remove the web hooks that a player has made."""
        self._hooks = {key: hook for key, hook in self._hooks.items() if hook.creator != name}

    def _those(self, wanted: Callable[[WebHook], bool]) -> list[WebHook]:
        return sorted((hook for hook in self._hooks.values() if wanted(hook)), key=lambda hook: hook.hook_id)
