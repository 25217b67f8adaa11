"""`arbiter demo`: a Swiss and a ladder on one machine, to see and to take apart."""

from arbiter.cli.demo.command import demo

__all__ = ["demo"]
