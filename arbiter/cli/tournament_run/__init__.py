"""`arbiter tournament run`: a tournament with an arbiter and bots of its own; and what the demo shares with it."""
