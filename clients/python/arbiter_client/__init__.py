"""Write a bot for an Arbiter server: one method, from a turn to a move."""
