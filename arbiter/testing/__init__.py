"""The public test kit: laws that every game obeys, virtual clock, in-memory server."""
