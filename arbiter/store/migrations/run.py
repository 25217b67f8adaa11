"""Brings the tables up to date."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError as CommandError
from sqlalchemy import Engine

from arbiter.store import migrations


def upgrade(engine: Engine, begin: Sequence[str] = (), version: str = "head") -> None:
    """Run the migrations that a database lacks up to a version, all of them or none.

    `begin`: the statements with which this kind of database begins the transaction.
    """
    config = _config()
    with engine.begin() as connection:
        for statement in begin:
            connection.exec_driver_sql(statement)
        config.attributes["connection"] = connection
        command.upgrade(config, version)


def run_beside_servers(version: str, newest: str) -> bool:
    """Return whether all migrations after a version, up to another one, can run beside running servers.

    Such a migration says so (`BESIDE_SERVERS = True`): it only adds to the tables, or keeps every column under its name
    and in its type. So servers of the version before it go on beside servers of the version with it. Raises
    CommandError for a version that there never was.
    """
    steps = ScriptDirectory.from_config(_config()).iterate_revisions(newest, version)
    return all(getattr(step.module, "BESIDE_SERVERS", False) for step in steps)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("version_locations", str(migrations.STEPS))
    config.set_main_option("path_separator", "newline")
    return config
