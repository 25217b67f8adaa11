"""Pages for browsers: rendered on the server, and kept current by streams of events."""
