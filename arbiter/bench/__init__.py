"""Benchmarks. Each prints its figures with the goals beside them.

Benchmarks of a whole server are commands: `arbiter bench moves`, `fanout`, `recovery`, `growth`, `clocks`. Those of
the rules and of ratings are modules: `python -m arbiter.bench games`, `python -m arbiter.bench ratings`.

The server is measured from outside. It runs in its own process (`server`), and so do the players (`players`), the
observers (`observers`) and the bare servers that it is compared with (`echo`, `bare`, `bare_fanout`). `processes`
starts them and reads their processor time and memory. `server_process` is a server with the players and matches that
a benchmark needs. `report` formats the results.
"""
