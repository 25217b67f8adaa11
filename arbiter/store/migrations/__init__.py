"""Migrations of the database, by Alembic: one file a step in `versions`, never changed once released."""
