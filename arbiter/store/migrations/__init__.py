"""Database migrations by Alembic: one file for each step in `versions`, which never changes after its release."""
