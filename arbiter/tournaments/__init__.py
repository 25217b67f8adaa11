"""Tournament formats, pairing, standings and tie-breaks, without I/O."""
