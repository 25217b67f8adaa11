"""A store that is empty or older than before is not taken for a new one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from arbiter.errors import OperatorError
from arbiter.keys.watermark import Watermark


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return tmp_path / "arbiter.keys"


def mark(ring: Path, store: str = "arbiter.db") -> Watermark:
    return Watermark(ring, f"sqlite:///{ring.parent}/{store}")


def test_the_first_start_and_later_ones_succeed(ring: Path) -> None:
    first = mark(ring)
    first.check(0, 0, keys_are_new=True)
    first.reached(0, 0)
    mark(ring).check(0, 0, keys_are_new=False)
    first.reached(7, 0)
    mark(ring).check(7, 0, keys_are_new=False)
    mark(ring).check(8, 0, keys_are_new=False)


def test_a_store_with_fewer_records_than_before_is_refused(ring: Path) -> None:
    mark(ring).reached(7, 0)
    for records in (0, 6):
        with pytest.raises(OperatorError, match=rf"holds {records} records, and has held 7 .* --new"):
            mark(ring).check(records, 0, keys_are_new=False)
    mark(ring).reached(3, 0, durably=True)  # an option of the operator allows it
    mark(ring).check(3, 0, keys_are_new=False)


def test_a_store_with_fewer_rulings_on_ratings_than_before_is_refused(ring: Path) -> None:
    mark(ring).reached(7, 2)
    mark(ring).check(7, 2, keys_are_new=False)
    with pytest.raises(OperatorError, match=r"holds 1 rulings on ratings, and has held 2 .* --new"):
        mark(ring).check(7, 1, keys_are_new=False)


def test_a_watermark_from_before_there_were_rulings_counts(ring: Path) -> None:
    (ring.parent / "arbiter.keys.mark").write_text('{"arbiter.db": {"records": 7, "sealed": true}}')
    mark(ring).check(7, 1, keys_are_new=False)
    assert mark(ring).sealed
    with pytest.raises(OperatorError, match="has held 7"):
        mark(ring).check(6, 1, keys_are_new=False)


def test_an_empty_store_beside_old_keys_is_refused(ring: Path) -> None:
    with pytest.raises(OperatorError, match=r"is empty, but its signing keys are not new.* --new"):
        mark(ring).check(0, 0, keys_are_new=False)
    mark(ring).check(5, 0, keys_are_new=False)  # keys from a version without watermarks


def test_stores_that_share_keys_have_separate_watermarks(ring: Path) -> None:
    mark(ring).reached(7, 0)
    mark(ring, "cup.db").reached(2, 0)
    mark(ring, "cup.db").check(2, 0, keys_are_new=False)
    with pytest.raises(OperatorError):
        mark(ring).check(2, 0, keys_are_new=False)


def test_keys_and_store_can_move_together(ring: Path, tmp_path: Path) -> None:
    mark(ring).reached(7, 0)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (tmp_path / "arbiter.keys.mark").rename(moved / "arbiter.keys.mark")
    with pytest.raises(OperatorError):
        mark(moved / "arbiter.keys").check(6, 0, keys_are_new=False)


@pytest.mark.parametrize(
    "content", ["", "[]", '{"arbiter.db": "7"}', '{"arbiter.db": {}}', '{"arbiter.db": {"records": 1}}', "[" * 100_000]
)
def test_a_malformed_watermark_is_named(ring: Path, content: str) -> None:
    (ring.parent / "arbiter.keys.mark").write_text(content)
    with pytest.raises(OperatorError, match="watermark"):
        mark(ring).check(1, 0, keys_are_new=False)


def test_a_watermark_from_before_there_were_seals_counts_and_has_no_seals(ring: Path) -> None:
    assert not mark(ring).sealed
    (ring.parent / "arbiter.keys.mark").write_text('{"arbiter.db": 7, "cup.db": 2}')
    assert not mark(ring).sealed
    with pytest.raises(OperatorError, match="has held 7"):
        mark(ring).check(6, 0, keys_are_new=False)
    mark(ring).reached(7, 0)
    assert mark(ring).sealed
    assert not mark(ring, "cup.db").sealed
    with pytest.raises(OperatorError, match="has held 2"):
        mark(ring, "cup.db").check(1, 0, keys_are_new=False)


@pytest.mark.long
def test_servers_of_one_machine_write_the_file_at_the_same_time(tmp_path: Path) -> None:
    marks = [Watermark(tmp_path / "arbiter.keys", f"postgresql://db.example/cup-{number}") for number in range(4)]

    def write(mark: Watermark) -> None:
        for records in range(50):
            mark.reached(records, 0)

    with ThreadPoolExecutor() as threads:
        list(threads.map(write, marks))
    assert [path.name for path in tmp_path.iterdir()] == ["arbiter.keys.mark"]
