"""The operating system: clock, ids, worker processes, logging."""
