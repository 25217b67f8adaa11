"""Start times: seconds are no milliseconds, and a start with too few players waits or cancels the tournament."""

from __future__ import annotations

from typing import Any

import pytest

from arbiter.errors import Refusal
from arbiter.tournaments import codec, engine
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.evolution import apply, replay
from arbiter.tournaments.schedule import Schedule, TooFew
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.spec_text import EARLIEST_MS, read_spec, write_spec
from arbiter.tournaments.tournament import Tournament, TournamentPhase

START_MS = 1_796_148_000_000  #: 1 December 2026, 18:00 UTC


def read(schedule: dict[str, Any], *, stored: bool = False) -> Schedule:
    values = {"name": "sp", "format": "round_robin", "games": ["hop-it"], "time": "1m", "schedule": schedule}
    return read_spec(values, lambda text: text, stored=stored).schedule


@pytest.mark.parametrize("name", ["start_ms", "entry_closes_ms"])
def test_a_number_that_can_only_be_seconds_is_refused(name: str) -> None:
    with pytest.raises(Refusal, match="not seconds: 1796148000000, or in a file") as caught:
        read({name: START_MS // 1_000})
    assert caught.value.facts["where"] == f"schedule.{name}"
    assert getattr(read({name: EARLIEST_MS}), name) == EARLIEST_MS
    assert getattr(read({name: 5}, stored=True), name) == 5  # what is stored was accepted before


@pytest.mark.parametrize("name", ["start_ms", "entry_closes_ms"])
def test_a_time_long_ago_is_refused_at_the_creation(name: str) -> None:
    def created(ago_ms: int) -> Tournament:
        given = START_MS - ago_ms
        schedule = Schedule(start_ms=given) if name == "start_ms" else Schedule(entry_closes_ms=given)
        spec = Spec("sp", Format.ROUND_ROBIN, ("hop-it",), "1m", schedule=schedule)
        return engine.create("t", spec, "org", "make", START_MS)[0]

    day_ms = 86_400_000
    assert [created(ago_ms).id for ago_ms in (-1, day_ms)] == ["t", "t"]
    with pytest.raises(Refusal, match=r"a time to come, or left out: it is 366 days ago") as caught:
        created(366 * day_ms)
    assert caught.value.facts["where"] == f"schedule.{name}"


def test_what_happens_with_too_few_players_is_read_and_written() -> None:
    assert read({"start_ms": START_MS}) == Schedule(START_MS)
    assert read({"start_ms": START_MS, "too_few": "cancel"}).too_few is TooFew.CANCEL
    with pytest.raises(Refusal, match="wait or cancel"):
        read({"too_few": "shrug"})
    spec = spec_of(TooFew.CANCEL)
    assert read_spec(write_spec(spec), lambda text: text) == spec


def spec_of(rule: TooFew, format_: Format = Format.ROUND_ROBIN) -> Spec:
    schedule = Schedule(START_MS, 0, rule)
    return Spec("sp", format_, ("hop-it",), "1m", schedule=schedule, options=Options(rounds=3, duration_ms=1_000))


class Waiting:
    """A tournament before its start time, and its log."""

    def __init__(self, spec: Spec) -> None:
        self.tournament, made = engine.create("t1", spec, "org", "make", 0)
        self.log: list[ev.Event] = list(made.events)

    def act(self, command: do.Command, at: int) -> tuple[ev.Event, ...]:
        events = engine.decide(self.tournament, command, at).events
        for event in events:
            apply(self.tournament, event)
        self.log += events
        return events

    def read_again(self) -> Tournament:
        """Return the tournament of the log as it is stored."""
        return replay(codec.read_event(codec.write_event(event)) for event in self.log)


def test_a_start_with_too_few_players_tells_its_organiser_once_and_waits() -> None:
    waiting = Waiting(spec_of(TooFew.WAIT))
    waiting.act(do.Enter("ann", "ann", "e"), 0)
    assert waiting.act(do.Tick(), START_MS - 1) == ()
    assert waiting.act(do.Tick(), START_MS) == (ev.StartMissed(START_MS, 1, 2),)
    assert waiting.act(do.Tick(), START_MS + 1_000) == ()
    assert waiting.read_again().missed == ev.StartMissed(START_MS, 1, 2)
    waiting.act(do.Enter("ben", "ben", "e"), START_MS + 2_000)
    [started] = waiting.act(do.Tick(), START_MS + 2_000)
    assert isinstance(started, ev.Started)
    assert violations(waiting.log) == []


def test_a_start_with_too_few_players_cancels_if_the_specification_says_so() -> None:
    waiting = Waiting(spec_of(TooFew.CANCEL))
    waiting.act(do.Enter("ann", "ann", "e"), 0)
    [ended] = waiting.act(do.Tick(), START_MS)
    assert isinstance(ended, ev.Ended)
    assert (ended.end, ended.note) == (
        ev.End.CANCELLED,
        "too few players at its start time: a round robin needs 2 players, and has 1",
    )
    assert waiting.read_again().phase is TournamentPhase.ENDED


@pytest.mark.parametrize("format_", list(Format))
@pytest.mark.parametrize("rule", list(TooFew))
def test_every_format_starts_by_itself_with_enough_players(format_: Format, rule: TooFew) -> None:
    waiting = Waiting(spec_of(rule, format_))
    for name in ("ann", "ben"):
        waiting.act(do.Enter(name, name, "e"), 0)
    assert [type(event) for event in waiting.act(do.Tick(), START_MS)] == [ev.Started]
