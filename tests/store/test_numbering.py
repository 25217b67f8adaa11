"""The rows of a transaction, and what stands in them for each append."""

from __future__ import annotations

import pytest

from arbiter.service.ports.journal import Append, AppendBase, JournalConflict, MatchEnd, Record, Subject
from arbiter.store.numbering import numbered

END = MatchEnd("draw", 0, "agreed", "agreement", "", 0, "", 1, "", 4)
BEFORE = 40  #: the last number before


def seal(sequence: int, match_id: str, revision: int, body: bytes, subject: str) -> bytes:
    return f"{sequence} {match_id} {revision} {body.decode()} {subject}".encode()


def records(match_id: str, *revisions: int, subject: Subject = Subject.MATCH) -> tuple[Record, ...]:
    return tuple(Record(match_id, revision, b"body", subject) for revision in revisions)


def test_rows_are_numbered_and_sealed_in_the_order_of_the_appends() -> None:
    appends = [Append(records("a", 7, 8)), Append(records("t", 3, subject=Subject.TOURNAMENT))]
    rows, places, listed = numbered(appends, BEFORE, seal)
    assert rows == [
        (41, "a", 7, b"body", "match", False, b"41 a 7 body match"),
        (42, "a", 8, b"body", "match", True, b"42 a 8 body match"),
        (43, "t", 3, b"body", "tournament", False, b"43 t 3 body tournament"),
    ]
    assert places == [42, 43]
    assert listed == []


def test_a_previous_revision_is_known_if_it_is_in_the_same_transaction_or_there_is_none() -> None:
    appends = [Append(records("a", 1)), Append(records("b", 2)), Append(records("a", 2)), Append(records("a", 4))]
    rows, _, _ = numbered(appends, BEFORE, seal)
    assert [(row[1], row[2], row[5]) for row in rows] == [
        ("a", 1, True),
        ("b", 2, False),
        ("a", 2, True),
        ("a", 4, False),
    ]


def test_appends_that_change_a_list_are_named_with_their_last_numbers() -> None:
    ends = Append(records("b", 2, 3), closed=END)
    assert numbered([Append(records("a", 2)), ends], BEFORE, seal)[2] == [(ends, 43)]


def test_an_append_that_builds_on_a_failed_one_is_refused() -> None:
    basis = AppendBase()
    basis.lost = True
    with pytest.raises(JournalConflict, match="to a on which it builds"):
        numbered([Append(records("b", 2)), Append(records("a", 2), basis=basis)], BEFORE, seal)
