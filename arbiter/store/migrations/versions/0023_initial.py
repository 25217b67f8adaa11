"""The tables of the first release, which `arbiter.store.tables` makes in an empty store.

Every step of a later release leads on from here. The numbers before were versions that nobody has been given.
"""

revision = "0023"
down_revision = None


def upgrade() -> None:
    """Do nothing: a store is never of an earlier version."""
