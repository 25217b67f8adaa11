"""The shared vectors: what the tests of every client read, made from the arbiter's own code.

`python -m arbiter.testing.vectors clients/vectors` writes what differs; the difference is reviewed like code.
clients/vectors/README.md says what each file is.
"""
