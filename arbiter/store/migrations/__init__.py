"""Database migrations by Alembic: one file for each step in `STEPS`, which never changes after its release."""

from __future__ import annotations

from pathlib import Path

STEPS = Path(__file__).parent / "versions"
"""The folder of the steps. A step's file name begins with the version of the tables to which it leads: four digits."""
