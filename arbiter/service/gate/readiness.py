"""Whether a server is for clients: not if it drains, nor if it is cut off from a store that it shares."""

from __future__ import annotations

import asyncio

from arbiter.service.cut_off import CutOff
from arbiter.service.ports.journal import StoreFailed


class Readiness:
    """Whether the server is for clients, and whoever waits for a change of that. A change waits for nobody."""

    def __init__(self, cut_off: CutOff) -> None:
        self._cut_off = cut_off
        self._is_draining = False
        self._changed = asyncio.Event()

    def __bool__(self) -> bool:
        return not (self._is_draining or self._cut_off)

    def turn_away(self) -> None:
        """Note that clients have to go elsewhere from now on."""
        self._is_draining = True
        self._change()

    @property
    def changed(self) -> asyncio.Event:
        """An event that is set at the next change; after each change it is another one."""
        return self._changed

    def cut_off_changed(self, _refusal: StoreFailed | None = None) -> None:
        """Note that the server is cut off from its store, or no longer: a listener."""
        self._change()

    def _change(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
