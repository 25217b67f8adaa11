"""The model of what servers that share a PostgreSQL carry: its arithmetic and its limits."""

from __future__ import annotations

from math import ceil

import pytest

from tests.studies.capacity import (
    DESIGNS,
    FULL,
    GIB_A_CORE,
    Costs,
    Design,
    Limit,
    Load,
    carried,
    costs_of,
    demand,
    needed,
    predicted,
    remedy,
    strains,
)
from tests.studies.capacity_table import needed_rows, rows

COSTS = Costs(move=600, follow=200, database=250, read=50, deliver=40)
TARGET = Load(100_000, 0.1, 1_000_000)
TODAY = DESIGNS[0]


def test_a_demand_by_hand() -> None:
    """1,000 moves/s, 5 observers a match, 4 replicas: each decides 250 moves and follows 750."""
    taken = demand(Load(10_000, 0.1, 50_000), COSTS, TODAY, 4)
    assert taken.replica == pytest.approx((250 * 600 + 750 * 200 + 250 * 5 * 40) / 1e6)
    assert taken.replicas == pytest.approx(4 * taken.replica)
    assert taken.database == pytest.approx((1_000 * 250 + 3_000 * 50) / 1e6)
    assert taken.bus == 0
    assert taken.log == pytest.approx(1_000 / 9_000)
    assert taken.memory_gib == pytest.approx(10_000 * (4 * 27 + 124) / 2**20)
    assert taken.cores == pytest.approx(taken.replicas + taken.database)


def test_a_replica_that_follows_what_is_needed_follows_a_part_of_it() -> None:
    needed = Design("needed", everywhere=False, bus=True)
    assert needed.followed(1, 10) == 1
    assert needed.followed(2, 0) == pytest.approx(0.5), "the opponent is there in half of the matches"
    assert needed.followed(100, 1) == pytest.approx(1 - 0.99**2)
    taken = demand(Load(1_000, 1, 0), COSTS, needed, 2)
    assert taken.database == pytest.approx(1_000 * 250 / 1e6), "the bus tells what was read before"
    assert taken.bus == pytest.approx((1_000 + 2 * 500 * 0.5) * 42 / 1e6)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
@pytest.mark.parametrize("cores", [2, 8, 64])
def test_what_is_carried_uses_one_limit_up_and_exceeds_none(design: Design, cores: int) -> None:
    most = carried(TARGET, COSTS, design, cores)
    used = strains(most.demand, cores)
    assert used[most.limit] == pytest.approx(1, abs=1e-6)
    assert max(used.values()) <= 1 + 1e-6
    assert most.replicas <= cores
    assert most.load.moves == pytest.approx(most.share * TARGET.moves)
    assert carried(TARGET, COSTS, design, 2 * cores).share >= most.share - 1e-9


ADVISED = ("only the matches", "NATS", "by writer")
"""By design, after the first one: words of a remedy that is the design itself."""


@pytest.mark.parametrize("limit", Limit)
@pytest.mark.parametrize("number", range(len(DESIGNS)))
def test_a_remedy_is_nothing_that_the_design_has_already(number: int, limit: Limit) -> None:
    then = remedy(limit, DESIGNS[number])
    assert then
    assert [words for words in ADVISED[:number] if words in then] == []


def test_each_change_is_advised_where_its_limit_gives_out_first() -> None:
    assert ADVISED[0] in remedy(Limit.REPLICA, TODAY)
    assert ADVISED[0] in remedy(Limit.MEMORY, TODAY)
    assert ADVISED[2] in remedy(Limit.LOG, DESIGNS[2])
    assert "several databases" in remedy(Limit.LOG, DESIGNS[3])


@pytest.mark.long
@pytest.mark.parametrize(
    "costs", [COSTS, Costs(300, 100, 45, 20, bus=20, bus_follow=110, bus_writer=17)], ids=["slow", "fast"]
)
def test_no_row_advises_its_own_design(costs: Costs) -> None:
    found = [(row[1], row[-1]) for row in rows(TARGET, costs, (2, 8, 64, 256))]
    found += [(row[0], row[-1]) for row in needed_rows(TARGET, costs)]
    words = dict(zip((design.name for design in DESIGNS[1:]), ADVISED, strict=True))
    assert {design for design, _ in found} == {TODAY.name, *words}
    assert [row for row in found if row[0] in words and words[row[0]] in row[1]] == []


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_the_cores_that_carry_all_are_the_fewest(design: Design) -> None:
    load = Load(10_000, 0.1, 50_000)
    least = needed(load, COSTS, design)
    if not least.cores:
        assert least.share < 1
        assert carried(load, COSTS, design, 512).share <= least.share + 1e-9
        return
    assert least.load == load
    assert max(strains(least.demand, least.cores).values()) <= 1 + 1e-9
    cores = ceil(least.cores)
    assert carried(load, COSTS, design, cores).share >= 1 - 1e-9
    assert carried(load, COSTS, design, cores - 1).share < 1


@pytest.mark.long
def test_cores_by_hand_and_a_load_that_no_cores_carry() -> None:
    """A core carries 0.7 / 600 µs = 1,166 moves/s, and the log 9,000."""
    costs = Costs(move=600, follow=0, database=0, read=0, deliver=0, bus=0, match_kib=0, streams_kib=0)
    assert needed(Load(1_000, 1, 0), costs, TODAY).cores == 1
    assert needed(Load(8_500, 1, 0), costs, TODAY).cores == 8
    too_much = needed(Load(10_000, 1, 0), costs, TODAY)
    assert (too_much.cores, too_much.limit) == (0, Limit.LOG)
    assert too_much.load.matches == pytest.approx(9_000)
    assert needed(Load(10_000, 1, 0), costs, DESIGNS[3]).cores == 9
    needs_memory = needed(Load(1_000, 1, 0), Costs(600, 0, 0, 0, 0, streams_kib=2**20), TODAY)
    assert (needs_memory.cores, needs_memory.limit) == (ceil(1_000 / GIB_A_CORE) + 1, Limit.MEMORY)


def test_each_limit_gives_out_first_where_its_cost_is_the_largest() -> None:
    cheap = Costs(move=100, follow=0, database=0, read=0, deliver=0, match_kib=0, streams_kib=0)
    assert carried(Load(1, 1, 0), cheap, TODAY, 1).load.moves == pytest.approx(FULL * 10_000, rel=1e-3)
    assert carried(TARGET, cheap, TODAY, 64).limit is Limit.LOG
    assert carried(TARGET, Costs(100, 400, 0, 0, 0), TODAY, 64).limit is Limit.REPLICA
    assert carried(TARGET, Costs(100, 0, 8_000, 0, 0), TODAY, 64).limit is Limit.CORES
    large = carried(TARGET, Costs(1, 0, 1, 0, 0, streams_kib=2**20), TODAY, 4)
    assert large.limit is Limit.MEMORY
    assert large.load.matches == pytest.approx(4 * GIB_A_CORE, rel=0.02)


def test_costs_come_from_one_and_two_replicas_and_predict_others() -> None:
    costs = costs_of((600, 250), (800, 300))
    assert (costs.move, costs.follow, costs.database, costs.read) == (600, 200, 250, 50)
    assert predicted(costs, 1) == (600, 250, 0)
    assert predicted(costs, 2) == (800, 300, 0)
    assert predicted(costs, 4) == (1_200, 400, 0)
    with_bus = costs_of((600, 250), (800, 300), bus=20, bus_follow=100, bus_writer=10)
    assert predicted(with_bus, 4, bus=True) == (900, 280, 80)
    assert costs_of((600, 250), (590, 300)).follow == 0, "no cost is negative"
