"""The validators of streams: they accept a correct stream, and name the guarantee that another one violates."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from arbiter.testing.guarantees import (
    Bookmarked,
    Broken,
    Received,
    bookmarked,
    gap_free,
    kept,
    ordered,
    resumable,
    unique,
)

A = tuple(Received("a", revision) for revision in range(5))  #: by revision; nothing has revision 0
B = tuple(Received("b", revision) for revision in range(5))
MARK = tuple(Bookmarked(place) for place in range(10))
TOKENS = {("a", 1): 2, ("a", 2): 4, ("b", 1): 5}


def test_a_correct_stream_is_accepted() -> None:
    kept([A[1], B[1], A[2], B[2], A[3]])
    kept([A[3], B[1], A[4]], {"a": 2})
    kept([])
    resumable([A[1], A[2], A[3]], [[A[1]], [], [A[2], A[3]]])
    bookmarked([MARK[0], A[1], A[2], MARK[2], MARK[2]])
    bookmarked([A[3], MARK[3]], after=2)
    bookmarked([MARK[1], A[1], MARK[2], MARK[3], A[2], B[1], MARK[9]], tokens=TOKENS)


@pytest.mark.parametrize(
    ("promise", "broken"),
    [
        ("Ordered", partial(ordered, [A[2], B[1], A[1]])),
        ("Unique", partial(unique, [A[1], B[1], A[1]])),
        ("Gap-free", partial(gap_free, [A[1], B[1], A[3]])),
        ("Gap-free", partial(gap_free, [A[2]])),
        ("Gap-free", partial(gap_free, [A[4]], {"a": 2})),
        ("Resumable", partial(resumable, [A[1], A[2]], [[A[1]]])),
        ("Resumable", partial(resumable, [A[1], A[2]], [[A[1]], [A[1], A[2]]])),
        ("Resumable", partial(resumable, [A[1]], [[A[1]], [A[2]]])),
        ("Resumable", partial(resumable, [A[1]], [[A[1]._replace(body="other")]])),
        ("Bookmarked", partial(bookmarked, [A[1], A[2]])),
        ("Bookmarked", partial(bookmarked, [A[1], MARK[2]])),
        ("Bookmarked", partial(bookmarked, [A[1], A[2], MARK[1]])),
        ("Bookmarked", partial(bookmarked, [MARK[0]], 2)),
        (
            "Bookmarked",
            partial(bookmarked, [MARK[2], A[1]], tokens=TOKENS),
        ),  # the event counts as sent
        ("Bookmarked", partial(bookmarked, [A[2], MARK[3]], tokens=TOKENS)),
        ("Bookmarked", partial(bookmarked, [MARK[3], MARK[1]], tokens=TOKENS)),
        ("Bookmarked", partial(bookmarked, [A[1], A[2]], tokens=TOKENS)),
    ],
)
def test_a_violated_guarantee_is_named(promise: str, broken: Callable[[], None]) -> None:
    with pytest.raises(Broken, match=f"^{promise} is broken at ") as caught:
        broken()
    assert caught.value.promise == promise
