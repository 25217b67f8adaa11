"""Adapters to databases: the event log, players and tokens."""
