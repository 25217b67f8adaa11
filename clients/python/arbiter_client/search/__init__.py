"""Monte-Carlo tree search in three parts: the tree, what a position is worth, how long to think.

Nothing here imports the engines: `rules.Rules` says what the search asks of a game, and any game that answers will do.
"""
