"""Which signing keys the servers of a store have: without one of them, a server could not check what others seal."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, Engine, text

from arbiter.service.ports.journal import StoreFailed

_KNOWN = text("SELECT key_id FROM signing_key")
_ADD = text("INSERT INTO signing_key (key_id) VALUES (:key_id) ON CONFLICT (key_id) DO NOTHING")
_FORGET = text("DELETE FROM signing_key")


class SharedKeys:
    """The ids of all keys that the servers of a store have, or have had. Calls block, and raise SQLAlchemyError."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def known(self) -> set[str]:
        """Return the ids."""
        with self._engine.connect() as connection:
            return _known(connection)

    def agree(self, own: Iterable[str]) -> None:
        """Enter the keys of this server. Raises StoreFailed if it lacks one that another server has entered."""
        mine = set(own)
        with self._engine.begin() as connection:
            known = _known(connection)
            lacking = known - mine
            if lacking:
                raise StoreFailed(
                    f"other servers use signing key {min(lacking)}, which this one lacks: the operator has to "
                    "copy their file of keys"
                )
            for key_id in sorted(mine - known):
                connection.execute(_ADD, {"key_id": key_id})

    def forget(self) -> None:
        """Forget all keys: they are lost, and no other server runs."""
        with self._engine.begin() as connection:
            connection.execute(_FORGET)


def _known(connection: Connection) -> set[str]:
    return set(connection.execute(_KNOWN).scalars())
