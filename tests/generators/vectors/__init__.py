"""The shared test vectors, which the tests of every client read; generated from the arbiter's own code.

`python -m tests.generators.vectors clients/vectors` writes the files that differ; review the difference like code.
clients/vectors/README.md describes each file.
"""
