"""The simulation: many matches with fault injection, in one process and in virtual time, from one seed.

    outcome = simulate(seed=7, matches=40)     # arbiter.testing.simulation.summary
    assert not outcome.violations, str(outcome)

    outcome = simulate(seed=7, matches=40, replicas=3)     # three servers that share a store

`plan` derives from the seed what shall happen. `run` executes it: `server` (an arbiter's use cases that crash, drain
and restart, on the `disk`), `player` and `others` (organiser, observers) at the other end of the `network`, and
`fault_injector`. Each part writes what it sees into the `observations`. The `invariants` judge the
observations and the journal, and nothing else.

Where several servers share a store, each is a process of `arbiter.testing.virtual_processes`: it can be killed between
any two steps, or stopped. `cluster` starts it as `arbiter serve` does, `store_line` connects it to the store, `address`
leads clients to one of them, `cluster_faults` strikes, and `watch` compares what the servers know. `log_lock` keeps all
of them from the log for a while. `organiser` runs tournaments, and `corrector` corrects some of them.

All randomness comes from generators seeded by that one seed, a separate one for each part, and nothing depends on the
order of a set or on an object's address. So a seed gives the same run in any process. A seed that found a bug is kept
in `tests/simulation/test_seeds.py` with a line that says what the bug was. A seed stands for a plan: if you change how
plans are derived, find another seed that shows the same bug when its fix is removed.
"""
