"""Rules: the interface of a game, one file per game, and the tools that work with every game."""
