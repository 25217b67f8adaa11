"""Published events as messages on one Observe call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arbiter.rpc.writes import Then, Writes
from arbiter.service.record.published import Published


class LiveEvents:
    """Writes the published events of one call, in a form: with token or not, with record or not.

    make: makes an event in a form, for all readers who want it; it returns None if something must be read for that.
    """

    def __init__(
        self, writes: Writes, form: tuple[bool, bool], make: Callable[[Published, tuple[bool, bool]], bytes | None]
    ) -> None:
        self._writes = writes
        self._form = form
        self._make = make

    def write(self, events: Sequence[Published], then: Then) -> bool:
        """Begin to write events as one message, and return True; or return False if one of them can't be made now.

        then: called as by `Writes.begin`.
        """
        parts = list[bytes]()
        for event in events:
            part = event.forms.get(self._form)
            if part is None:
                part = self._make(event, self._form)
                if part is None:
                    return False
            parts.append(part)
        # Serialized messages with repeated fields can be concatenated: the result is one message with all items.
        self._writes.begin(parts[0] if len(parts) == 1 else b"".join(parts), then)
        return True
