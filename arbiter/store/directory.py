"""Players, tokens, invitations and challenges in a relational database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, bindparam, delete, func, or_, select, type_coerce, update
from sqlalchemy.types import NullType

from arbiter.service.ports.directory import (
    SHOWING,
    AlreadyThere,
    Challenge,
    Player,
    Profile,
    Token,
    erased,
    likeness,
    profile_of,
)
from arbiter.service.ports.notices import SHOWN, Notice, NoticeKind
from arbiter.store import tables
from arbiter.store.reader import Reader
from arbiter.store.web_hooks import SqlWebHooks
from arbiter.store.writer import Writer

NOTICES_KEPT: Final = 10_000
_ACKNOWLEDGE: Final = (
    update(tables.player)
    .where(tables.player.c.name == bindparam("whose"), tables.player.c.acknowledged < bindparam("up_to"))
    .values(acknowledged=bindparam("up_to"))
)
_LAST_NOTICE: Final = select(func.max(tables.notice.c.number))


class SqlDirectory:
    """The directory; see `arbiter.service.ports.Directory` for the contract of each method.

    `claim`: the statements of the lock under which servers that share a store count and number; a store that is for one
    server alone has none, and no notices.
    """

    def __init__(self, writer: Writer, reader: Reader, claim: Sequence[str] = ()) -> None:
        self._writer = writer
        self._reader = reader
        self._claim = claim
        self.web_hooks: Final = SqlWebHooks(writer, reader, claim)

    def _lock(self, connection: Connection) -> None:
        """Keep other servers from counting or numbering until this transaction is over."""
        for statement in self._claim:
            connection.exec_driver_sql(statement).close()

    def _note(self, connection: Connection, kind: NoticeKind, subject: str, receiver: str, detail: str = "") -> None:
        if not self._claim:
            return
        self._lock(connection)
        number = int(connection.execute(_LAST_NOTICE).scalar() or 0) + 1
        row = Notice(number, kind, subject, receiver, detail)
        connection.execute(tables.notice.insert(), row._asdict())
        if number % NOTICES_KEPT == 0:
            connection.execute(delete(tables.notice).where(tables.notice.c.number < number - NOTICES_KEPT))

    async def add_player(self, player: Player, token: Token | None, invitation: str = "") -> bool:
        def write(connection: Connection) -> bool:
            used = delete(tables.invitation).where(tables.invitation.c.digest == invitation)
            self._lock(connection)
            if invitation and connection.execute(used).rowcount == 0:
                return False
            there = _like(connection, player.name, "")
            if there:
                raise AlreadyThere(there)
            connection.execute(tables.player.insert(), player_columns(player))
            if token is not None:
                connection.execute(tables.token.insert(), _token_columns(token))
            return True

        return await self._writer.write(write)

    async def player(self, name: str) -> Player | None:
        """Return a player."""
        query = select(tables.player).where(tables.player.c.name == name)
        return await self._reader.read(lambda connection: _player(connection.execute(query).first()))

    async def players(self, after: str, most: int) -> list[Player]:
        names = tables.player.c.name
        query = select(tables.player).where(names > after).order_by(names).limit(most)
        return await self._reader.read(
            lambda connection: [found for row in connection.execute(query) if (found := _player(row))]
        )

    async def change_player(self, name: str, **changes: Any) -> Player | None:
        values = {**changes, "games": json.dumps(changes["games"])} if "games" in changes else changes
        change = update(tables.player).where(tables.player.c.name == name)
        query = select(tables.player).where(tables.player.c.name == name)

        def write(connection: Connection) -> Player | None:
            changed = connection.execute(change, values).rowcount
            if changed and changes.get("suspended"):
                self._note(connection, NoticeKind.SHUT_OUT, "", name)
            elif changed and SHOWING.intersection(changes):
                self._note(connection, NoticeKind.SHUT_OUT, SHOWN, name)
            return _player(connection.execute(query).first())

        return await self._writer.write(write)

    async def rename_player(self, name: str, new: str, most: int) -> Player | None:
        further, held = tables.player_name, tables.player_name.c
        change = update(tables.player).where(tables.player.c.name == name)
        count = select(func.count()).select_from(further).where(held.player == name)

        def write(connection: Connection) -> Player | None:
            self._lock(connection)
            there = _like(connection, new, name)
            if there:
                raise AlreadyThere(there)
            if new != name and connection.execute(select(held.name).where(held.name == new)).first() is None:
                if connection.execute(count).scalar_one() >= most:
                    return None
                row = {"name": new, "player": name, "likeness": likeness(new)}
                connection.execute(further.insert(), row)
            connection.execute(change, {"current_name": "" if new == name else new})
            self._note(connection, NoticeKind.SHUT_OUT, SHOWN, name)
            return _player(connection.execute(select(tables.player).where(tables.player.c.name == name)).first())

        return await self._writer.write(write)

    async def delete_player(self, name: str, neutral: str) -> Player | None:
        query = select(tables.player).where(tables.player.c.name == name)
        change = update(tables.player).where(tables.player.c.name == name)
        challenges = tables.challenge.c
        removals = (
            delete(tables.player_name).where(tables.player_name.c.player == name),
            delete(tables.token).where(tables.token.c.player == name),
            delete(tables.web_hook).where(tables.web_hook.c.creator == name),
            delete(tables.challenge).where(
                or_(challenges.challenger == name, challenges.opponent == name), challenges.state != "accepting"
            ),
            update(tables.play_session).where(tables.play_session.c.player == name).values(bot_version=""),
        )

        def write(connection: Connection) -> Player | None:
            player = _player(connection.execute(query).first())
            if player is None:
                return None
            for removal in removals:
                connection.execute(removal)
            left = Player(name, player.created_ms, acknowledged=player.acknowledged, **erased(neutral))
            connection.execute(change, player_columns(left))
            self._note(connection, NoticeKind.SHUT_OUT, "", name)
            return left

        return await self._writer.write(write)

    async def profiles(self, name: str = "") -> list[Profile]:
        """Return the profiles of unusual players, or of one."""
        held, further = tables.player.c, tables.player_name.c
        unusual = or_(held.current_name != "", held.retired, held.hidden, held.suspended, held.deleted)
        players = select(tables.player).where(held.name == name if name else unusual)
        names = select(tables.player_name).where(further.player == name) if name else select(tables.player_name)

        def read(connection: Connection) -> list[Profile]:
            others: dict[str, list[str]] = {}
            for row in connection.execute(names):
                others.setdefault(row.player, []).append(row.name)
            found = {row.name: _player(row) for row in connection.execute(players)}
            for key in others.keys() - found.keys():  # they have their first name again
                found[key] = _player(connection.execute(select(tables.player).where(held.name == key)).first())
            return [profile_of(player, others.get(player.name, ())) for player in found.values() if player is not None]

        return await self._reader.read(read)

    async def acknowledge(self, name: str, sequence: int) -> None:
        values = {"whose": name, "up_to": sequence}
        await self._writer.write(lambda connection: connection.execute(_ACKNOWLEDGE, values).rowcount)

    async def add_token(self, token: Token, most: int) -> bool:
        """Store a token or a session and return True; return False if its player has too many of this kind."""
        held = tables.token.c
        mine = held.player == token.player, ~held.revoked, held.session == token.session
        count = select(func.count()).select_from(tables.token).where(*mine)

        def write(connection: Connection) -> bool:
            self._lock(connection)
            if connection.execute(count).scalar_one() >= most:
                return False
            connection.execute(tables.token.insert(), _token_columns(token))
            return True

        return await self._writer.write(write)

    async def token(self, token_id: str) -> Token | None:
        """Return a token."""
        query = select(tables.token).where(tables.token.c.token_id == token_id)
        return await self._reader.read(lambda connection: _token(connection.execute(query).first()))

    async def token_of_digest(self, digest: str) -> Token | None:
        query = select(tables.token).where(tables.token.c.digest == digest)
        return await self._reader.read(lambda connection: _token(connection.execute(query).first()))

    async def tokens(self, player: str, after: str, most: int) -> list[Token]:
        token = tables.token.c
        query = (
            select(tables.token)
            .where(token.player == player, ~token.session, token.token_id > after)
            .order_by(token.token_id)
            .limit(most)
        )
        return await self._reader.read(
            lambda connection: [found for row in connection.execute(query) if (found := _token(row))]
        )

    async def sessions(self, player: str) -> list[Token]:
        token = tables.token.c
        mine = token.player == player, token.session, ~token.revoked
        query = select(tables.token).where(*mine).order_by(token.used_ms, token.token_id)
        return await self._reader.read(
            lambda connection: [found for row in connection.execute(query) if (found := _token(row))]
        )

    async def use_session(self, token_id: str, used_ms: int) -> None:
        change = update(tables.token).where(tables.token.c.token_id == token_id)
        await self._writer.write(lambda connection: connection.execute(change, {"used_ms": used_ms}).rowcount)

    async def revoke_token(self, token_id: str) -> None:
        mine = tables.token.c.token_id == token_id
        change, whose = update(tables.token).where(mine), select(tables.token.c.player).where(mine)

        def write(connection: Connection) -> None:
            if connection.execute(change, {"revoked": True}).rowcount:
                self._note(connection, NoticeKind.SHUT_OUT, token_id, connection.execute(whose).scalar_one())

        await self._writer.write(write)

    async def add_invitation(self, digest: str, most: int) -> bool:
        count = select(func.count()).select_from(tables.invitation)

        def write(connection: Connection) -> bool:
            self._lock(connection)
            if connection.execute(count).scalar_one() >= most:
                return False
            connection.execute(tables.invitation.insert(), {"digest": digest})
            return True

        return await self._writer.write(write)

    async def add_challenge(self, challenge: Challenge, most: int) -> Challenge | None:
        """Store a challenge and return it.

        Return the stored one if its request id exists already, None if the challenger has too many.
        """
        held = tables.challenge.c
        mine = held.challenger == challenge.challenger
        same = select(tables.challenge).where(mine, held.request_id == challenge.request_id)
        count = select(func.count()).select_from(tables.challenge).where(mine, held.state.in_(("open", "accepting")))

        def write(connection: Connection) -> Challenge | None:
            self._lock(connection)
            there = connection.execute(same).first()
            if there is not None:
                return Challenge(**there._mapping)
            if connection.execute(count).scalar_one() >= most:
                return None
            connection.execute(tables.challenge.insert(), asdict(challenge))
            self._note(connection, NoticeKind.CHALLENGE, challenge.challenge_id, challenge.opponent)
            return challenge

        return await self._writer.write(write)

    async def challenge(self, challenge_id: str) -> Challenge | None:
        query = select(tables.challenge).where(tables.challenge.c.challenge_id == challenge_id)

        def read(connection: Connection) -> Challenge | None:
            row = connection.execute(query).first()
            return Challenge(**row._mapping) if row else None

        return await self._reader.read(read)

    async def challenges(self, player: str, after: str, most: int) -> list[Challenge]:
        held = tables.challenge.c
        mine = or_(held.opponent == player, held.opponent == "", held.challenger == player)
        query = (
            select(tables.challenge)
            .where(and_(held.state == "open", mine, held.challenge_id > after))
            .order_by(held.challenge_id)
            .limit(most)
        )
        return await self._reader.read(
            lambda connection: [Challenge(**row._mapping) for row in connection.execute(query)]
        )

    async def challenges_being_accepted(self) -> list[Challenge]:
        query = select(tables.challenge).where(tables.challenge.c.state == "accepting")
        return await self._reader.read(
            lambda connection: [Challenge(**row._mapping) for row in connection.execute(query)]
        )

    async def change_challenge(self, challenge: Challenge, was: Sequence[str], tell: str = "") -> bool:
        held = tables.challenge.c
        change = update(tables.challenge).where(held.challenge_id == challenge.challenge_id, held.state.in_(was))
        values = {"state": challenge.state, "match_id": challenge.match_id, "reason": challenge.reason}

        def write(connection: Connection) -> bool:
            changed = connection.execute(change, values).rowcount > 0
            if changed and tell:
                self._note(connection, NoticeKind.CHALLENGE, challenge.challenge_id, tell, challenge.match_id)
            return changed

        return await self._writer.write(write)

    async def forget(self, tokens_before_ms: int, challenges_before_ms: int, sessions_before_ms: int) -> int:
        tokens, challenges = tables.token.c, tables.challenge.c
        closed = challenges.state.not_in(("open", "accepting"))
        removals = (
            delete(tables.token).where(tokens.revoked, tokens.created_ms < tokens_before_ms),
            delete(tables.token).where(tokens.session, tokens.used_ms < sessions_before_ms),
            delete(tables.challenge).where(closed, challenges.created_ms < challenges_before_ms),
        )
        return await self._writer.write(
            lambda connection: sum(connection.execute(removal).rowcount for removal in removals)
        )

    async def notices(self, after: int, most: int) -> list[Notice]:
        number = tables.notice.c.number
        query = select(tables.notice).where(number > after).order_by(number).limit(most)
        return await self._reader.read(
            lambda connection: [
                Notice(row.number, NoticeKind(row.kind), row.subject, row.receiver, row.detail)
                for row in connection.execute(query)
            ]
        )

    async def last_notice(self) -> int:
        return await self._reader.read(lambda connection: int(connection.execute(_LAST_NOTICE).scalar() or 0))


def unreadable(connection: Connection) -> Iterator[str]:
    """Yield a sentence for each player, token and challenge that can't be read."""
    for table, read in ((tables.player, _player), (tables.token, _token), (tables.challenge, _challenge)):
        key = type_coerce(table.primary_key.columns[0], NullType())
        for (name,) in connection.execute(select(key)).all():
            try:
                row = connection.execute(select(table).where(table.primary_key.columns[0] == name)).first()
                if row is not None:
                    read(row)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                yield f"{table.name} {name} can't be read: {error}"


def _like(connection: Connection, name: str, own: str) -> str:
    """Return a name that looks like another, of any player but `own`; '' if there is none."""
    held, further, like = tables.player.c, tables.player_name.c, likeness(name)
    players = select(held.name).where(held.likeness == like, held.name != own)
    names = select(further.name).where(further.likeness == like, further.player != own)
    there = connection.execute(players).first() or connection.execute(names).first()
    return str(there.name) if there is not None else ""


def player_columns(player: Player) -> dict[str, Any]:
    """Return a player's columns."""
    return {**asdict(player), "games": json.dumps(player.games), "likeness": likeness(player.name)}


def _player(row: Row[Any] | None) -> Player | None:
    if row is None:
        return None
    values = {name: value for name, value in row._mapping.items() if name != "likeness"}
    return Player(**{**values, "games": tuple(json.loads(values["games"]))})


def _token_columns(token: Token) -> dict[str, Any]:
    return {**asdict(token), "scopes": " ".join(token.scopes)}


def _challenge(row: Row[Any]) -> Challenge:
    return Challenge(**row._mapping)


def _token(row: Row[Any] | None) -> Token | None:
    return Token(**{**row._mapping, "scopes": tuple(row._mapping["scopes"].split())}) if row else None
