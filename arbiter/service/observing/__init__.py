"""Streams of events for observers."""
