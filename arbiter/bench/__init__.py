"""Benchmarks: what the parts cost on this machine, with the goals beside the figures.

Those of a whole server are commands: `arbiter bench moves`, `fanout`, `recovery`, `clocks`. Those of the rules and of
the bundled bots are run by their names: `python -m arbiter.bench games`, `python -m arbiter.bench strength`.

A server is measured from outside: it is a process of its own (`server`), and so are the players (`players`), observers
(`observers`) and the bare echo that it is compared with (`echo`). `parts` starts such processes and reads what they
cost; `venue` is a server with the players and matches that a benchmark needs; `report` shows what was found.
"""
