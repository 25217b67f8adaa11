"""Monte-Carlo tree search in three parts: the tree, the evaluation of positions, and the time for each move.

Nothing here imports the engines: `rules.Rules` is the interface of a game for the search, and any game with it will do.
"""
