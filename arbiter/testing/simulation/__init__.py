"""The simulation: evenings of matches with faults, in one process and in virtual time, from one seed.

    outcome = simulate(seed=7, matches=40)     # arbiter.testing.simulation.outcome
    assert not outcome.violations, str(outcome)

`plan` draws from the seed what shall happen. `run` lets it happen: `server` (an arbiter's use cases that crash, drain
and start again, on the `disk`), `player` and `others` (organiser, observers) at the other end of the `network`, and the
`weather`, which brings the faults. Whoever sees something writes it into the `history`. The `invariants` judge the
history and the journal, and nothing else.

Whatever is drawn by chance is drawn from dice that the seed loads, a set of dice for each part, and nothing depends on
the order of a set or on an object's address: so a seed says everything, in any process. A seed that found a bug is kept
in `tests/simulation/test_seeds.py` with a line of what it was. It stands for a plan: whoever changes how plans are
drawn looks for another seed that finds the same bug, with the mending taken out.
"""
