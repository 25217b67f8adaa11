"""Opens a database: URL, lock and migrations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Final

from sqlalchemy import Engine, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from arbiter.errors import OperatorError
from arbiter.service.ports.journal import StoreTooNew
from arbiter.store import database_errors, migrations, tables
from arbiter.store.dialects import FORMS, dialect_named, dialect_of

WRONG_VALUE: Final = (LookupError, TypeError, ValueError, AttributeError)
"""What is raised for a value in the database that is not of its column's type."""
_PATIENCE: Final = 5  #: how often a server that starts asks for the store alone, while the tables are not up to date
_FORMS: Final = " or ".join(FORMS.values())


@contextmanager
def opened(url: str, alone: bool = False, existing: bool = False, shared: bool = False) -> Iterator[Engine]:
    """Open a store and bring its tables up to date; close it at the end of the context.

    `sqlite:///FILE` keeps everything in one file; `postgresql://USER@HOST/DATABASE` takes libpq's other parameters
    after a `?`. `alone` locks out other servers, which would otherwise take over this server's matches; `shared` locks
    out whoever needs the store alone, and lets in other servers (see `may_be_shared`). Both check at once that the
    store is writable. Tables are migrated only while nobody else holds the store, unless the migrations can
    run beside servers and the store may be shared. `existing` refuses to create a new store.

    Raises OperatorError for a store that cannot be used, StoreTooNew for one that a newer arbiter has written.
    """
    place = place_of(url)
    with ExitStack() as stack:
        engine = engine_of(place)
        dialect = dialect_of(engine)
        stack.callback(engine.dispose)
        with named(place):
            if existing and not (dialect.is_there(engine) and version_of(engine)):
                raise OperatorError(f"there is no store at {_shown(place)}: name another, or `arbiter serve` makes one")
            if alone:
                stack.enter_context(dialect.held(engine))
            for patience in reversed(range(_PATIENCE if shared else 1)):
                if version_of(engine) == newest():
                    break
                try:
                    with (
                        nullcontext() if alone else dialect.held(engine, shared=_may_be_changed_beside_servers(engine))
                    ):
                        _bring_up_to_date(engine)
                except database_errors.HeldElsewhere:  # maybe by a server that starts too, and does the same
                    if not patience and version_of(engine) != newest():
                        raise
            if shared:
                stack.enter_context(dialect.held(engine, shared=True))
                version_of(engine)  # a newer arbiter may have been quicker
            if alone or shared:
                _check_writable(engine)
        yield engine


def engine_of(place: URL) -> Engine:
    """Return an engine for a store, which connects only when it is used. Raises OperatorError."""
    return dialect_named(place.get_backend_name()).engine(place)


def may_be_shared(url: str) -> bool:
    """Return whether several servers may use a store at the same time. Raises OperatorError."""
    return dialect_named(place_of(url).get_backend_name()).shared


def shown(url: str) -> str:
    """Return a store's URL without its password, for display. Raises OperatorError."""
    return _shown(place_of(url))


def shown_engine(engine: Engine) -> str:
    """Return the URL of an engine's store without its password, for display."""
    return _shown(engine.url)


def place_of(url: str) -> URL:
    """Return a store's URL in its parts. Raises OperatorError."""
    try:
        place = make_url(url)
        kind = place.get_backend_name()
    except (ArgumentError, ValueError):
        raise OperatorError(f"{url!r} is not a store: write {_FORMS}") from None
    if kind not in FORMS:
        raise OperatorError(f"{kind!r} is not a store that this arbiter knows: write {_FORMS}")
    return place


def _shown(place: URL) -> str:
    secret = [name for name in place.query if "password" in name]
    return place.difference_update_query(secret).render_as_string(hide_password=True)


@contextmanager
def named(place: URL) -> Iterator[None]:
    """Turn database errors into OperatorError, which names the store and says what to do."""
    try:
        yield
    except DBAPIError as error:
        advice = database_errors.advice(error)
        said = " ".join(database_errors.whole(error).split())
        detail = f" ({said})" if said != database_errors.reason(error) else ""
        raise OperatorError(
            f"the store {_shown(place)} can't be used: {database_errors.reason(error)}{detail}"
            + (f": {advice}" if advice else "")
        ) from None
    except database_errors.HeldElsewhere as error:
        if str(error) == database_errors.IN_USE_ALONE:
            raise OperatorError(
                f"another program needs the store {_shown(place)} for itself (a migration, a rebuild, a restore, or an "
                "arbiter of a version that shares no store): let it end, or use another store"
            ) from None
        remote = place.get_backend_name() != "sqlite"
        hint = " (if its machine is gone, the store is free again after half a minute)" if remote else ""
        raise OperatorError(
            f"another arbiter serves the store {_shown(place)}: stop it first, or use another store{hint}"
        ) from None
    except SQLAlchemyError as error:
        raise OperatorError(f"the store {_shown(place)} can't be used: {error}") from None
    except WRONG_VALUE as error:  # such as a message of SQLite's about damaged text, which is no UTF-8
        raise OperatorError(
            f"the store {_shown(place)} can't be used: it is damaged ({error!r:.200}): {database_errors.DAMAGED_ADVICE}"
        ) from None


def version_of(engine: Engine) -> str | None:
    """Return the version of the tables; None for a database without any. Raises OperatorError, StoreTooNew."""
    shown_place = _shown(engine.url)
    # A busy server may pause for too long in a transaction: see `postgres_locks.STOOD_STILL_MS`.
    with engine.connect().execution_options(**dialect_of(engine).lone_reads) as connection:
        found = set(inspect(connection).get_table_names())
        version = text("SELECT version_num FROM alembic_version")
        current = connection.execute(version).scalar() if "alembic_version" in found else None
    if current is None:
        # An SQLite file must be empty. A PostgreSQL database may be shared, but may not have tables with our names.
        strangers = found if engine.dialect.name == "sqlite" else found & set(tables.metadata.tables)
        if strangers - {"alembic_version"}:
            raise OperatorError(
                f"the store {shown_place} holds tables of another program ({min(strangers)}): name another"
            )
    elif current > newest():
        raise StoreTooNew(f"the store {shown_place} is of a newer version ({current}): use the arbiter that wrote it")
    elif current < _versions()[0]:
        raise OperatorError(
            f"the store {shown_place} is of version {current}, from before the first release ({_versions()[0]}), and "
            "can't be brought up to date: use the arbiter that wrote it, or begin a new store elsewhere"
        )
    return current


def _check_writable(engine: Engine) -> None:
    # only a writing statement shows it: SQLite can begin a transaction on a read-only file
    with engine.connect() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = version_num"))
        connection.rollback()


def _may_be_changed_beside_servers(engine: Engine) -> bool:
    """Return whether the tables can be brought up to date beside running servers."""
    version = version_of(engine)
    if version is None or not dialect_of(engine).shared:
        return False
    from arbiter.store.migrations.run import run_beside_servers

    with _named_version(engine):
        return run_beside_servers(version, newest())


def _bring_up_to_date(engine: Engine) -> None:
    if version_of(engine) is None:
        _create(engine)
    else:
        _upgrade(engine)


def _create(engine: Engine) -> None:
    """Create the tables of an empty database as they are now, and note their version as Alembic does.

    Tables of an earlier version, brought up to date, are the same, which a test compares.
    """
    with engine.begin() as connection:
        for statement in dialect_of(engine).begin:
            connection.exec_driver_sql(statement).close()
        tables.metadata.create_all(connection)
        connection.exec_driver_sql(
            "CREATE TABLE IF NOT EXISTS alembic_version "
            "(version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        ).close()
        connection.execute(text("INSERT INTO alembic_version VALUES (:version)"), {"version": newest()})


def _upgrade(engine: Engine) -> None:
    # importing Alembic takes half a second, and is seldom needed
    from arbiter.store.migrations.run import upgrade

    with _named_version(engine), dialect_of(engine).starting(engine):
        if version_of(engine) != newest():  # else another server that starts has been quicker
            upgrade(engine, dialect_of(engine).migration, newest())


@contextmanager
def _named_version(engine: Engine) -> Iterator[None]:
    """Turn the error for a version that there never was into OperatorError."""
    from arbiter.store.migrations.run import CommandError

    try:
        yield
    except CommandError as error:
        raise OperatorError(
            f"the store {_shown(engine.url)} has a version that no arbiter knows ({error}): "
            f"{database_errors.DAMAGED_ADVICE}"
        ) from None


def newest() -> str:
    """Return the newest version of the tables."""
    return _versions()[-1]


def _versions() -> list[str]:
    """Return every version of the tables to which or from which a step leads, in order."""
    return sorted(step.name[:4] for step in migrations.STEPS.glob("[0-9]*.py"))
