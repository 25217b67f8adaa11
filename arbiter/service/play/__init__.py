"""Play streams: sessions, turns, presence, challenges."""
