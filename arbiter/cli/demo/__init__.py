"""`arbiter demo`: a Swiss tournament and a ladder on one machine, to watch and to inspect."""

from arbiter.cli.demo.command import demo

__all__ = ["demo"]
