"""Steps of a migration, for tests, and a store of the first version."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from arbiter.store import migrations
from arbiter.store.database import engine_of, place_of
from arbiter.store.dialects import dialect_of

FIRST = "0023"
INITIAL = Path(__file__).parents[1] / "golden" / "tables"
"""The statements that made the tables of the version FIRST, on each kind of database. They never change."""

STEP = '''"""A step of a test."""

import sqlalchemy as sa
from alembic import op

revision = "{version:04}"
down_revision = "{before:04}"

BESIDE_SERVERS = {beside}


def upgrade() -> None:
    """Add a column and a table."""
    op.add_column("event", sa.Column("extra_{version}", sa.Integer))
    op.create_table("more_{version}", sa.Column("key", sa.Integer, primary_key=True))
    op.create_index("more_{version}_by_key", "more_{version}", ["key"])
'''


def add_steps(folder: Path, *beside: bool) -> str:
    """Add steps to a folder of steps, each of which can run beside servers or not; return the newest version."""
    newest = int(max(step.name[:4] for step in folder.glob("[0-9]*.py")))
    for version, each in enumerate(beside, newest + 1):
        step = STEP.format(version=version, before=version - 1, beside=each)
        (folder / f"{version:04}_of_a_test.py").write_text(step)
    return f"{newest + len(beside):04}"


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the folder of the steps, which this process uses instead, to add some."""
    folder = tmp_path / "steps"
    shutil.copytree(migrations.STEPS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(migrations, "STEPS", folder)
    return folder


def first_store(url: str) -> Engine:
    """Make an empty store of the first version."""
    engine = engine_of(place_of(url))
    dialect = dialect_of(engine)
    with engine.begin() as connection:
        for statement in dialect.begin:
            connection.exec_driver_sql(statement)
        for statement in (INITIAL / f"{engine.dialect.name}.sql").read_text().split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement)
        connection.execute(text("INSERT INTO alembic_version VALUES (:version)"), {"version": FIRST})
    return engine
