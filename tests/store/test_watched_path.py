from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arbiter.store import watched_path
from arbiter.store.watched_path import FoundFile, WatchedPath

Look = Callable[[Path], FoundFile]


@pytest.fixture(params=["statx", "stat"])
def look(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Look:
    if request.param == "stat":
        monkeypatch.setattr(watched_path, "_STATX", None)
    else:
        assert watched_path._STATX is not None
    return lambda path: WatchedPath(path).look()


def test_a_file_is_identified_as_the_system_does(look: Look, tmp_path: Path) -> None:
    path = tmp_path / "ä file"
    path.write_bytes(b"x" * 5_000)
    status = path.stat()
    assert look(path) == FoundFile((status.st_dev, status.st_ino), 5_000)
    (tmp_path / "link").symlink_to(path)
    assert look(tmp_path / "link") == look(path)
    null = Path("/dev/null")
    assert look(null).identity == (null.stat().st_dev, null.stat().st_ino)


def test_a_replaced_file_is_another_one(look: Look, tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    path.touch()
    other.touch()
    before = look(path)
    other.rename(path)
    assert look(path).identity != before.identity


def test_a_missing_file_is_an_error(look: Look, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        look(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        look(tmp_path / "file" / "below")


def test_a_path_can_be_looked_at_again(look: Look, tmp_path: Path) -> None:
    watched = WatchedPath(tmp_path / "file")
    for size in (1, 1 << 20, 0):
        (tmp_path / "file").write_bytes(bytes(size))
        assert watched.look().size == size
    (tmp_path / "file").unlink()
    with pytest.raises(FileNotFoundError):
        watched.look()
