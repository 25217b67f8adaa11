"""What the use cases need from the outside world, as Protocols that adapters fill.

A class that stands around an implementation of a port, to watch or to disturb it, names every method of the port: some
are its own; what it passes on is an attribute that its constructor sets, `self.read: Final = journal.read`. So mypy
reports a method of the port that the class lacks or misspells, and subclasses that hide such an attribute.
"""
