"""The public test kit: laws that every game obeys, virtual clock, in-memory server, a network with faults."""
