"""Bringing the tables up to date."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from arbiter.service.ports import StoreTooNew


def upgrade(engine: Engine) -> None:
    """Take the steps that a database lacks, all of them or none. Raises StoreTooNew."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    with engine.begin() as connection:
        # Said outright, because Python's driver begins no transaction for tables: a migration happens whole or not,
        # and two processes that start at once take turns.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        current = MigrationContext.configure(connection).get_current_revision()
        if current is not None and current not in known:
            raise StoreTooNew(
                f"the store {engine.url} is of a newer version ({current}): use the arbiter that wrote it"
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
