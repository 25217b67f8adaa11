"""Rules: what a game must answer, one file a game, and what every game gets for free."""
