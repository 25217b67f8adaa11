"""A plug-in whose import raises."""

raise RuntimeError("this package is broken")
