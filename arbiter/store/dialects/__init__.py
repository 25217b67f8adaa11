"""The databases that can hold a store. `dialect` lists what differs between them, the other modules say how."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from sqlalchemy import Engine

from arbiter.store.dialects.dialect import FORMS, Dialect
from arbiter.store.dialects.sqlite import Sqlite

if TYPE_CHECKING:
    from arbiter.store.dialects.postgres import Postgres

SQLITE: Final = Sqlite()


@cache
def postgresql() -> Postgres:
    """Return the dialect of PostgreSQL."""
    from arbiter.store.dialects.postgres import Postgres  # with its driver it takes a tenth of a start with SQLite

    return Postgres()


def dialect_named(name: str) -> Sqlite | Postgres:
    """Return a dialect by SQLAlchemy's name of its database, which is in `FORMS`."""
    return SQLITE if name == "sqlite" else postgresql()


def dialect_of(engine: Engine) -> Sqlite | Postgres:
    """Return the dialect of an engine's database."""
    return dialect_named(engine.dialect.name)


__all__ = ["FORMS", "SQLITE", "Dialect", "Sqlite", "dialect_named", "dialect_of", "postgresql"]
