"""The web hooks in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from arbiter.service.ports.web_hooks import WebHook


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
