"""Arbiter: a game arbiter for bots, over gRPC."""

__version__ = "0.1.0"
