"""A table for the replicas that a player has left while nobody knew whether they were dead.

The columns `previous` and `taken_ms` of `play_session` remember only the last of them. They stay, because servers of
the version before use them, and may run beside servers of this one.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

BESIDE_SERVERS = True
NAME = sa.String(40).with_variant(sa.String(40, collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table. It is empty: a server enters each player who leaves another one from now on."""
    op.create_table(
        "left_replica",
        sa.Column("player", NAME, primary_key=True),
        sa.Column("replica", NAME, primary_key=True),
        sa.Column("left_ms", sa.BigInteger, nullable=False),
        sa.Column("taken_ms", sa.BigInteger, nullable=False),
    )
