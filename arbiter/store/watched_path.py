"""Looks at a file while this thread keeps the interpreter's lock.

`os.stat` gives up the lock for a call of two microseconds. Where another thread is busy, to get it back takes until
that thread's turn is over (`arbiter.runtime.loop.SWITCH_S`), and the writer looks at its files after every commit. So
on Linux `statx` is called directly. Its structure is the same on every processor (linux/stat.h). Elsewhere, and where
the C library has no `statx`, this is `os.stat`.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

_AT_FDCWD: Final = -100
_INODE_AND_SIZE: Final = 0x100 | 0x200  #: STATX_INO, STATX_SIZE: the requested fields besides the device
_SIZE: Final = 256  #: bytes of struct statx
_PLACES: Final = struct.Struct("<32x QQ 88x II" if struct.pack("=H", 1)[0] else ">32x QQ 88x II")
"""Of struct statx: stx_ino, stx_size, stx_dev_major, stx_dev_minor."""


class FoundFile(NamedTuple):
    """A file as it was found: which one it is, and its size in bytes."""

    identity: tuple[int, int]
    size: int


def _statx() -> Callable[..., int] | None:
    """Return the C library's `statx`, called with the interpreter's lock, or None if there is none."""
    try:
        function: Any = ctypes.PyDLL(None, use_errno=True).statx
    except (AttributeError, OSError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p)
    function.restype = ctypes.c_int
    called: Callable[..., int] = function
    return called


_STATX: Final = _statx()


class WatchedPath:
    """A path that is looked at often: its name and the memory for what is found there are made once.

    Any thread may look. Two threads at once may both get what the later one finds.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = os.fsencode(path)
        self._found = ctypes.create_string_buffer(_SIZE)

    def look(self) -> FoundFile:
        """Return the file at the path, behind symbolic links. Raises OSError."""
        if _STATX is None:
            found = self._path.stat()
            return FoundFile((found.st_dev, found.st_ino), found.st_size)
        if _STATX(_AT_FDCWD, self._name, 0, _INODE_AND_SIZE, self._found):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), str(self._path))
        inode, size, major, minor = _PLACES.unpack_from(self._found)
        return FoundFile((os.makedev(major, minor), inode), size)
