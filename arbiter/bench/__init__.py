"""Benchmarks: medians, side by side in one run."""
