"""Formats and pairing without I/O; standings and tie-breaks."""
