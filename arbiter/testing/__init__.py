"""The public test kit: laws that every game must obey, a virtual clock, an in-memory server, a network with faults."""
