"""The clock that follows the clock of another machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.runtime.system_clock import FollowingClock
from arbiter.service.ports.environment import TimeReading

MS = 1_000_000
NOON_NS = 1_800_000_000_000 * MS


class Machine:
    """A machine's monotonic clock, with any start and a wrong rate (parts per million); the true time is known.

    `theirs_ns`: by how much the other machine's clock is ahead of the true time.
    """

    def __init__(self, begins_ns: int = 0, wrong_ppm: int = 0) -> None:
        self.true_ns = NOON_NS
        self.theirs_ns = 0
        self._begins_ns = begins_ns
        self._wrong_ppm = wrong_ppm

    def monotonic_ns(self) -> int:
        passed = self.true_ns - NOON_NS
        return self._begins_ns + passed + passed * self._wrong_ppm // 1_000_000

    def reading(self, there_ns: int, back_ns: int) -> TimeReading:
        """Ask the other machine for its time; the question and the answer take this long."""
        asked = self.monotonic_ns()
        self.true_ns += there_ns
        theirs = self.true_ns + self.theirs_ns
        self.true_ns += back_ns
        answered = self.monotonic_ns()
        return TimeReading(theirs, (asked + answered) // 2, answered - asked)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def off_ms(clock: FollowingClock, machine: Machine) -> float:
    return clock.now_ms() - (machine.true_ns + machine.theirs_ns) / MS


def test_the_reading_with_the_shortest_round_trip_counts(machine: Machine) -> None:
    readings = [machine.reading(90 * MS, 0), machine.reading(MS, MS), machine.reading(0, 70 * MS)]
    clock = FollowingClock(readings, machine.monotonic_ns)
    assert abs(off_ms(clock, machine)) <= 1


TRIPS = st.lists(st.tuples(st.integers(0, 40 * MS), st.integers(0, 40 * MS)), min_size=1, max_size=5)
LOOKS = st.lists(st.tuples(TRIPS, st.integers(0, 3_000 * MS)), min_size=1, max_size=30)


@pytest.mark.long
@given(looks=LOOKS, begins=st.integers(0, 10**18), ppm=st.integers(-100, 100))
def test_its_error_is_at_most_the_shortest_round_trip_and_it_never_goes_back(
    looks: list[tuple[list[tuple[int, int]], int]], begins: int, ppm: int
) -> None:
    machine = Machine(begins, ppm)
    shortest = 80 * MS
    clock, last = None, 0
    for trips, pause in looks:
        readings = [machine.reading(*trip) for trip in trips]
        if clock is None:
            clock = FollowingClock(readings, machine.monotonic_ns)
            shortest = min(reading.took_ns for reading in readings)
        else:
            assert clock.follow(readings) == 0
        for _ in range(3):
            assert clock.now_ms() >= last
            last = clock.now_ms()
            machine.true_ns += pause // 3
        assert abs(off_ms(clock, machine)) <= shortest / 2 / MS + 12  # 30 readings, 3 s apart, 100 ppm


def test_its_error_is_corrected_slowly(machine: Machine) -> None:
    clock = FollowingClock([machine.reading(0, 0)], machine.monotonic_ns)
    machine.theirs_ns = -100 * MS  # less than a step
    for _ in range(10):
        assert clock.follow([machine.reading(0, 0)]) == 0
        before = clock.now_ms()
        machine.true_ns += 1_000 * MS
        assert 994 <= clock.now_ms() - before <= 996
    assert round(off_ms(clock, machine)) == 50
    machine.true_ns += 20_000 * MS
    assert round(off_ms(clock, machine)) == 0


def test_it_jumps_forwards_but_never_back(machine: Machine) -> None:
    clock = FollowingClock([machine.reading(0, 0)], machine.monotonic_ns)
    machine.theirs_ns = 3_600_000 * MS
    assert clock.follow([machine.reading(0, MS)]) == pytest.approx(3_600_000, abs=2)
    assert abs(off_ms(clock, machine)) <= 1
    machine.theirs_ns = 0
    before = clock.now_ms()
    assert clock.follow([machine.reading(0, MS)]) == 0
    machine.true_ns += 1_000 * MS
    assert 994 <= clock.now_ms() - before <= 998


def test_machines_whose_clocks_are_wrong_show_the_same_time() -> None:
    clocks = []
    for begins, ppm in ((0, 80), (10**15, -80), (5 * 10**17, 0)):
        machine = Machine(begins, ppm)
        clock = FollowingClock([machine.reading(MS, MS // 2)], machine.monotonic_ns)
        for second in range(1, 601):
            machine.true_ns = NOON_NS + second * 1_000 * MS
            clock.follow([machine.reading(MS // 2, MS), machine.reading(20 * MS, MS)])
        machine.true_ns = NOON_NS + 601_000 * MS
        clocks.append(clock.now_ms())
    assert max(clocks) - min(clocks) <= 3
