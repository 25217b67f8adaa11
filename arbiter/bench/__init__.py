"""Benchmarks: what the parts cost on this machine, with the goals beside the figures.

Run one by its name: `python -m arbiter.bench games`.
"""
