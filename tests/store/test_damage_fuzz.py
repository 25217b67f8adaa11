"""Random damage of a store's files - bytes changed, cut off, files removed - is never served as if it were the record.

Each example changes a store in a few random places, and starts a server on it. The server serves only what was written;
each missing part is named, and `arbiter store check` finds it too.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz import effort
from tests.store.damage import Store
from tests.store.test_damage import UndamagedStore, faults_and_outcome

pytestmark = pytest.mark.long

COLUMNS: Final = ("sequence", "match_id", "revision", "body", "subject", "seal")
VALUES: Final = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=20), st.binary(max_size=40)
)
FILES: Final = ("arbiter.db", "arbiter.keys", "arbiter.keys.mark")


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> UndamagedStore:
    return UndamagedStore(tmp_path_factory.mktemp("fuzzed"))


def edit_a_record(data: st.DataObject, store: Store) -> None:
    """Change a value of a record, or bytes of its body or seal."""
    [(last,)] = store.ask("SELECT max(sequence) FROM event")
    place, column = data.draw(st.integers(1, int(str(last)))), data.draw(st.sampled_from(COLUMNS))
    [(old,)] = store.ask(f"SELECT {column} FROM event WHERE sequence = {place}")
    value = data.draw(VALUES)
    if isinstance(old, bytes) and data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(old) - 1))
        value = old[:at] + bytes([old[at] ^ data.draw(st.integers(1, 255))]) + old[at + 1 :]
    store.change(constraints=False)
    raw = sqlite3.connect(store.file)
    try:
        raw.execute(f"UPDATE event SET {column} = ? WHERE sequence = ?", (value, place))
        raw.commit()
    except sqlite3.IntegrityError:
        pass  # the number of another record
    finally:
        raw.close()


def remove_records(data: st.DataObject, store: Store) -> None:
    """Remove some consecutive records."""
    [(last,)] = store.ask("SELECT max(sequence) FROM event")
    first = data.draw(st.integers(1, int(str(last))))
    store.change(f"DELETE FROM event WHERE sequence BETWEEN {first} AND {first + data.draw(st.integers(0, 20))}")


def change_a_file(data: st.DataObject, store: Store) -> None:
    """Overwrite, cut off or remove a file."""
    file = store.folder / data.draw(st.sampled_from(FILES))
    content = bytearray(file.read_bytes())
    match data.draw(st.sampled_from(("overwritten", "cut off", "gone"))):
        case "gone":
            file.unlink()
        case "cut off":
            file.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
        case _:
            at = data.draw(st.integers(0, len(content) - 1))
            new = data.draw(st.binary(min_size=1, max_size=200))
            content[at : at + len(new)] = new
            file.write_bytes(content)


@given(data=st.data())
@effort(0.3)
def test_only_what_was_written_is_served(
    undamaged: UndamagedStore, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = Path(tmp_path_factory.mktemp("store")) / "copy"
    store = undamaged.store.copy(folder)
    try:
        harm = data.draw(st.sampled_from((edit_a_record, remove_records, change_a_file)))
        harm(data, store)
        faults, outcome = faults_and_outcome(undamaged, store)  # which asserts that only what was written is served
        missing = set(undamaged.matches) - outcome.served.keys()
        if missing and not outcome.refused:
            assert missing <= outcome.reasons.keys(), "whatever is not served has a reason"
        if outcome.refused or outcome.reasons:
            assert faults, "what is not served is found by the check"
    finally:
        shutil.rmtree(folder)
