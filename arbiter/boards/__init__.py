"""Geometry: cells, their names, neighbours and coordinates."""
