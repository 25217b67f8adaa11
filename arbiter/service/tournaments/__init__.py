"""Tournaments as they are driven."""
