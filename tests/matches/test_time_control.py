"""The notation of time controls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.matches.time_control import (
    LONGEST_MS,
    BronsteinDelay,
    ByoYomi,
    FixedMove,
    Increment,
    MainTime,
    MovesPerPeriod,
    SimpleDelay,
    TimeControl,
    Unlimited,
    pair_text,
    parse,
    parse_pair,
)
from tests.refusals import refusing

TIMES = st.integers(1, LONGEST_MS)
SMALL_TIMES = st.integers(1, 5_000)
CONTROLS: st.SearchStrategy[TimeControl] = st.one_of(
    st.just(Unlimited()),
    *(
        st.one_of(
            st.builds(MainTime, times),
            st.builds(Increment, times, times),
            st.builds(SimpleDelay, times, times),
            st.builds(BronsteinDelay, times, times),
            st.builds(FixedMove, times, st.just(0) | times),
            st.builds(ByoYomi, times, st.integers(1, 100), times),
            st.builds(MovesPerPeriod, st.integers(1, 1000), times),
        )
        for times in (TIMES, SMALL_TIMES)
    ),
)


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("none", Unlimited()),
        ("5m", MainTime(300_000)),
        ("5m+3s", Increment(300_000, 3_000)),
        ("5m+3sd", SimpleDelay(300_000, 3_000)),
        ("5m+3sb", BronsteinDelay(300_000, 3_000)),
        ("300ms/move", FixedMove(300)),
        ("300ms/move+10s", FixedMove(300, 10_000)),
        ("1m+3x10s", ByoYomi(60_000, 3, 10_000)),
        ("40/30m", MovesPerPeriod(40, 1_800_000)),
        ("1500ms+1ms", Increment(1_500, 1)),
        ("168h", MainTime(LONGEST_MS)),
    ],
)
def test_examples(text: str, control: TimeControl) -> None:
    assert parse(text) == control
    assert str(control) == text


@pytest.mark.parametrize(
    ("text", "canonical"), [("90s", "90s"), ("120s", "2m"), ("60m+1000ms", "1h+1s"), ("3600s/move+60s", "1h/move+1m")]
)
def test_a_duration_is_shown_in_the_largest_unit_that_divides_it(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical


@given(CONTROLS)
def test_every_control_is_read_as_it_is_written(control: TimeControl) -> None:
    assert parse(str(control)) == control


@pytest.mark.parametrize(
    "text",
    [
        "", "5", "m", "0s", "05m", "5m+", "5m+0s", "+3s", "5m+3", "5m+3se", "5 m", "5m ", "5M", "1m30s", "1.5s", "-5m",
        "5m+3x", "5m+0x10s", "5m+101x10s", "0/30m", "1001/30m", "40/", "300ms/moves", "/move", "none+3s", "169h",
        "604800001ms", "5m+169h", "٣m", "5m\n", "9999999999ms", "5m+3s" + " " * 50, "1" * 100_000,
    ],
)  # fmt: skip
def test_malformed_controls(text: str) -> None:
    with refusing(Reason.PARAMETER_INVALID) as caught:
        parse(text)
    assert caught.value.facts["where"] == "time"
    assert len(caught.value.message) < 300


@given(st.text("0123456789hms+x/dbmove", max_size=12))
def test_any_text_is_a_control_or_refused(text: str) -> None:
    try:
        control = parse(text)
    except Refusal:
        return
    assert parse(str(control)) == control


@pytest.mark.parametrize(
    ("text", "pair", "canonical"),
    [
        ("5m", (MainTime(300_000), MainTime(300_000)), "5m"),
        ("5m:60s", (MainTime(300_000), MainTime(60_000)), "5m:1m"),
        ("none:300ms/move", (Unlimited(), FixedMove(300)), "none:300ms/move"),
        ("60s:1m", (MainTime(60_000), MainTime(60_000)), "1m"),
    ],
)
def test_time_odds(text: str, pair: tuple[TimeControl, TimeControl], canonical: str) -> None:
    assert parse_pair(text) == pair
    assert pair_text(pair) == canonical
    assert parse_pair(canonical) == pair


@given(CONTROLS, CONTROLS)
def test_odds_read_as_they_are_written(first: TimeControl, second: TimeControl) -> None:
    text = pair_text((first, second))
    if len(text) <= 40:
        assert parse_pair(text) == (first, second)
    else:
        with pytest.raises(Refusal, match="at most 40 characters together"):
            parse_pair(text)


@pytest.mark.parametrize("text", ["5m:", ":5m", "5m:5m:5m", "5m;1m", "5m :1m", "5m:soon", ""])
def test_malformed_odds(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_pair(text)
    assert (caught.value.reason, caught.value.facts["where"]) == (Reason.PARAMETER_INVALID, "time")
