"""The operating system: clock, ids, the event loop, sockets, child processes."""
