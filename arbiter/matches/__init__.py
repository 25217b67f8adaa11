"""One match without I/O: commands in, events out; clocks as arithmetic; transcript and hash chain."""
