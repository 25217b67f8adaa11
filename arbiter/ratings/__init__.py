"""Rating arithmetic: a pure function of the record of games."""
