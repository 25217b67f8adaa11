"""`arbiter tournament run`: a tournament with its own arbiter and bots; also the parts that the demo shares with it."""
