"""The code of protos/TRANSCRIPT.md runs as printed: people write verifiers from that page."""

from __future__ import annotations

import re
from hashlib import shake_256

from hypothesis import given
from hypothesis import strategies as some

from arbiter.matches.clock import CreditRules, credit
from arbiter.matches.comments import Comment, unseal
from tests.documents import block

PAGE = "protos/TRANSCRIPT.md"
SECOND = some.integers(0, 1_000)


def page_credit(**values: int | None) -> dict[str, int]:
    """Return what the page's lines, run as Python, compute from these values."""
    lines = re.sub(r"\(after the move\)", "", block(PAGE, "own = network = 0").replace("−", "-"))
    names: dict[str, int] = dict(values)  # type: ignore[arg-type]
    exec(lines.replace("is there", "is not None"), {"__builtins__": {"min": min, "max": max}}, names)
    return names


@given(
    rules=some.builds(CreditRules, SECOND, SECOND, SECOND, SECOND),
    bank=SECOND,
    handed_over=some.none() | SECOND,
    arrived=SECOND,
    round_trip=some.none() | some.integers(-10, 1_000),
)
def test_the_credit_is_computed_as_the_page_says(
    rules: CreditRules, bank: int, handed_over: int | None, arrived: int, round_trip: int | None
) -> None:
    started = 500
    inputs = {
        "bank": bank,
        "started": started,
        "handed_over": handed_over,
        "arrived": arrived,
        "round_trip": round_trip,
    }
    said = page_credit(**inputs, **rules._asdict(), available=10_000, move_cap_ms=5_000)
    assert (said["credited"], said["bank"]) == credit(rules, bank, started, handed_over, arrived, round_trip)
    assert said["charged"] == max(0, arrived - started) - said["credited"]
    assert said["left"] == 5_000 - said["charged"]


def test_a_comment_is_decrypted_as_the_page_says() -> None:
    sealed = block(PAGE, "5d96d7940fdb7a84").strip()
    key = bytes(32)
    stream = shake_256(key + b"\n0").digest(len(sealed) // 2)
    text = bytes(a ^ b for a, b in zip(bytes.fromhex(sealed), stream, strict=True)).decode()
    assert text.rstrip(" ") == '{"evaluation":612,"line":["a1","b2"]}'
    assert unseal(sealed, key, 0) == Comment(612, ("a1", "b2"))
