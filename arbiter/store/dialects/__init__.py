"""The databases that can hold a store. `dialect` lists what differs between them, the other modules say how."""

from typing import Final

from sqlalchemy import Engine

from arbiter.store.dialects.dialect import Dialect
from arbiter.store.dialects.postgres import Postgres
from arbiter.store.dialects.sqlite import Sqlite

SQLITE: Final = Sqlite()
POSTGRES: Final = Postgres()
DIALECTS: Final[dict[str, Sqlite | Postgres]] = {"sqlite": SQLITE, "postgresql": POSTGRES}
"""By SQLAlchemy's name of the database."""


def dialect_of(engine: Engine) -> Sqlite | Postgres:
    """Return the dialect of an engine's database."""
    return DIALECTS[engine.dialect.name]


__all__ = ["DIALECTS", "POSTGRES", "SQLITE", "Dialect", "Postgres", "Sqlite", "dialect_of"]
