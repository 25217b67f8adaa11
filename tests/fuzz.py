"""What fuzz tests of all packages share: the number of examples, and texts that are nearly correct.

The short form draws the same examples each time; with `--hypothesis-profile soak` it draws fresh ones, many more.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from arbiter.testing.laws import HOSTILE_TEXTS, mutated

SHORT = settings().max_examples <= 100  #: whether the suite runs in its short form


def effort(share: float = 1.0) -> settings:
    """Return the settings of a fuzz test that draws this share of the profile's examples."""
    return settings(
        max_examples=max(1, round(settings().max_examples * share)),
        deadline=None,
        derandomize=SHORT,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@st.composite
def near(draw: st.DrawFn, texts: Sequence[str], most: int = 4) -> str:
    """Draw one of some texts, changed in up to `most` places: mutated, cut in two, or joined with another."""

    def choose(size: int) -> int:
        return draw(st.integers(0, size - 1))

    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(0, most))):
        change = choose(8)
        if change == 0:
            text = text[: choose(len(text) + 1)]
        elif change == 1:
            other = draw(st.sampled_from(texts))
            text = text[: choose(len(text) + 1)] + other[choose(len(other) + 1) :]
        else:
            text = mutated(text, choose)
    return text


def texts(likely: Sequence[str] = ()) -> st.SearchStrategy[str]:
    """Return texts: some correct, some nearly correct, some arbitrary, some hostile."""
    anything = st.one_of(st.text(max_size=20), st.sampled_from(HOSTILE_TEXTS))
    return st.one_of(st.sampled_from(likely), near(likely), anything) if likely else anything


def sendable(text: str) -> str:
    """Return a text as UTF-8 can carry it: lone surrogates can't be in a message or a file."""
    return text.encode(errors="replace").decode()
