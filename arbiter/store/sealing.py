"""Seals records that have no seal, or that are sealed by keys that were lost."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Engine, bindparam, select

from arbiter.service.ports.journal import Seals
from arbiter.store import archive, records, ruling_table, tables
from arbiter.store.dialects import dialect_of

_AT_ONCE: Final = 2_000  #: records in one transaction


def seal_records(engine: Engine, seals: Seals, everything: bool) -> int:
    """Seal the records that have no seal, or (`everything`) all as they stand; return how many.

    With `everything`, the archived ones too. They are written in several transactions. If it is interrupted, the next
    call goes on. Raises RecordDamaged, SQLAlchemyError.
    """
    event = tables.event
    query = (
        select(*records.COLUMNS).where(event.c.sequence > bindparam("after")).order_by(event.c.sequence).limit(_AT_ONCE)
    )
    if not everything:
        query = query.where(event.c.seal.is_(None))
    change = event.update().where(event.c.sequence == bindparam("place")).values(seal=bindparam("mark"))
    after = sealed = 0
    while True:
        with engine.begin() as connection:
            for statement in dialect_of(engine).begin:
                connection.exec_driver_sql(statement).close()
            found = [records.stored(None, row) for row in connection.execute(query, {"after": after})]
            if not found:
                break
            seal = seals.sealer()
            connection.execute(change, [{"place": record.sequence, "mark": seal(*record)} for record in found])
        after = found[-1].sequence
        sealed += len(found)
    sealed += _seal_rulings(engine, seals, everything)
    return sealed + archive.seal_again(engine, seals) if everything else sealed


def _seal_rulings(engine: Engine, seals: Seals, everything: bool) -> int:
    """Seal the rulings on ratings that have no seal, or all; return how many."""
    ruling = tables.rating_ruling
    change = ruling.update().where(ruling.c.number == bindparam("place")).values(seal=bindparam("mark"))
    with engine.begin() as connection:
        unsealed = {row.number for row in connection.execute(select(ruling)) if everything or row.seal is None}
        found = [each for each in ruling_table.stored(connection, None) if each.sequence in unsealed]
        seal = seals.sealer()
        if found:
            connection.execute(change, [{"place": record.sequence, "mark": seal(*record)} for record in found])
    return len(found)
