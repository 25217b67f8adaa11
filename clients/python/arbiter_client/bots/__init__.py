"""Bots to play against and to start from: `python -m arbiter_client.bots.random --help`."""
