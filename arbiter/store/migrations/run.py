"""Brings the tables up to date."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError as CommandError
from sqlalchemy import Engine


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


def only_add(version: str, newest: str) -> bool:
    """Return whether all migrations after a version, up to another one, only add to the tables.

    Such a migration says so (`ONLY_ADDS = True`): servers of the version before it do not notice it, and go on beside
    servers of the version with it. Raises CommandError for a version that there never was.
    """
    steps = ScriptDirectory.from_config(_config()).iterate_revisions(newest, version)
    return all(getattr(step.module, "ONLY_ADDS", False) for step in steps)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    return config
