"""Monte-Carlo tree search in two parts: the tree, and the evaluation of positions.

Nothing here imports the engines: `rules.Rules` is the interface of a game for the search, and any game with it will do.
"""
