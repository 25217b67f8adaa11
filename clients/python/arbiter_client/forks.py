"""Forked children of a bot, which have signals of their own.

The C code of Python writes each signal to a descriptor, by which asyncio's event loop wakes up and handles it
(https://docs.python.org/3.11/library/signal.html#signal.set_wakeup_fd). A forked child inherits this descriptor and the
handlers: without more, a signal for the child would be handled in the event loop of the bot.

The gRPC library starts its threads again in a child, unless an environment variable forbids it before the library is
loaded, so this module is the first that the package imports. With grpcio 1.85 and a stream under way, 4 to 39 of 100
forked children ended by a segmentation fault, none with the variable (https://github.com/grpc/grpc/issues/32992).
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class _Forks:
    """What this process does at a fork while its main thread handles signals in an event loop."""

    def __init__(self) -> None:
        self.handled = False
        self.registered = False
        self._before = threading.local()  # the signals that were blocked already, by the thread that forks

    def block(self) -> None:
        """Have signals for the child wait until it has handlers of its own."""
        if self.handled:
            self._before.blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    def unblock(self) -> None:
        """Let signals arrive as before."""
        blocked, self._before.blocked = getattr(self._before, "blocked", None), None
        if blocked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def part(self) -> None:
        """Give a child the handlers of a new process."""
        if self.handled:
            self.handled = False
            signal.set_wakeup_fd(-1)
            if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as in a shell's background jobs
                signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.unblock()


_forks: Final = _Forks()


@contextmanager
def apart() -> Iterator[None]:
    """Give children that are forked within this context the default signals, and no descriptor to wake up the parent.

    For the main thread, which alone can handle signals; elsewhere, and where nothing forks, it does nothing.
    """
    if not hasattr(os, "register_at_fork") or threading.current_thread() is not threading.main_thread():
        yield
        return
    if not _forks.registered:  # what is registered stays so until the process ends
        os.register_at_fork(before=_forks.block, after_in_parent=_forks.unblock, after_in_child=_forks.part)
        _forks.registered = True
    handled, _forks.handled = _forks.handled, True
    try:
        yield
    finally:
        _forks.handled = handled
