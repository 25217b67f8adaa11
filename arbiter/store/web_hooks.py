"""Web hooks in a relational database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, delete, func, or_, select, update

from arbiter.service.ports.web_hooks import WebHook
from arbiter.store import tables
from arbiter.store.reader import Reader
from arbiter.store.writer import Writer

_HOOK: Final = tables.web_hook.c
_PROGRESS: Final = ("revision", "tries", "due_ms", "error", "delivered_ms", "stopped")


class SqlWebHooks:
    """The web hooks; see `arbiter.service.ports.web_hooks` for the contract of each method.

    `claim`: the statements of the lock under which they are counted, where servers share the store.
    """

    def __init__(self, writer: Writer, reader: Reader, claim: Sequence[str] = ()) -> None:
        self._writer = writer
        self._reader = reader
        self._claim = claim

    async def add(self, hook: WebHook, most: int) -> WebHook | None:
        """Store a web hook, or return that of the same request; None if its tournament has too many."""
        same = select(tables.web_hook).where(_HOOK.creator == hook.creator, _HOOK.request_id == hook.request_id)
        of_tournament = _HOOK.tournament_id == hook.tournament_id
        count = select(func.count()).select_from(tables.web_hook).where(of_tournament)

        def write(connection: Connection) -> WebHook | None:
            for statement in self._claim:
                connection.exec_driver_sql(statement).close()
            earlier = connection.execute(same).first()
            if earlier is not None:
                return _hook(earlier)
            if connection.execute(count).scalar_one() >= most:
                return None
            connection.execute(tables.web_hook.insert(), asdict(hook))
            return hook

        return await self._writer.write(write)

    async def get(self, hook_id: str) -> WebHook | None:
        """Return a web hook."""
        found = await self._read(select(tables.web_hook).where(_HOOK.hook_id == hook_id))
        return found[0] if found else None

    async def of_tournament(self, tournament_id: str) -> list[WebHook]:
        return await self._read(select(tables.web_hook).where(_HOOK.tournament_id == tournament_id))

    async def active(self) -> list[WebHook]:
        return await self._read(select(tables.web_hook).where(~_HOOK.stopped))

    async def due(self, now_ms: int) -> list[WebHook]:
        """Return those whose next attempt may begin, after one that has begun or failed."""
        is_due = ~_HOOK.stopped, _HOOK.due_ms > 0, _HOOK.due_ms <= now_ms
        return await self._read(select(tables.web_hook).where(*is_due))

    async def unused_since(self, before_ms: int) -> list[WebHook]:
        times = _HOOK.created_ms, _HOOK.delivered_ms
        waits_for_none = or_(_HOOK.stopped, _HOOK.due_ms == 0)
        return await self._read(select(tables.web_hook).where(*(each < before_ms for each in times), waits_for_none))

    async def change(self, hook: WebHook, was: WebHook) -> bool:
        before = (getattr(_HOOK, name) == getattr(was, name) for name in _PROGRESS)
        change = update(tables.web_hook).where(_HOOK.hook_id == hook.hook_id, *before)
        values = {name: getattr(hook, name) for name in _PROGRESS}
        return await self._writer.write(lambda connection: connection.execute(change, values).rowcount == 1)

    async def remove(self, hook_id: str) -> None:
        removal = delete(tables.web_hook).where(_HOOK.hook_id == hook_id)
        await self._writer.write(lambda connection: connection.execute(removal).rowcount)

    async def _read(self, query: Select[Any]) -> list[WebHook]:
        ordered = query.order_by(_HOOK.hook_id)
        return await self._reader.read(lambda connection: [_hook(row) for row in connection.execute(ordered)])


def _hook(row: Row[Any]) -> WebHook:
    return WebHook(**row._mapping)
