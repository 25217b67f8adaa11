"""Conversion between messages and domain values; the one table from refusals to status codes."""
