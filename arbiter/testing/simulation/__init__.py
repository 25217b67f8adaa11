"""The simulation: whole evenings of matches with faults, in one process and in virtual time, from one seed."""
