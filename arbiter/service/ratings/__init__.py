"""Leaderboards, histories and comparisons."""
