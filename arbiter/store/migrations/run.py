"""Brings the tables up to date."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError as CommandError
from sqlalchemy import Engine


def upgrade(engine: Engine, begin: Sequence[str] = (), version: str = "head") -> None:
    """Run the migrations that a database lacks up to a version, all of them or none.

    `begin`: the statements with which this kind of database begins the transaction.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    with engine.begin() as connection:
        for statement in begin:
            connection.exec_driver_sql(statement)
        config.attributes["connection"] = connection
        command.upgrade(config, version)
