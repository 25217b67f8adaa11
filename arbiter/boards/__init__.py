"""Geometry: cells, their names, neighbours and places on the paper."""
