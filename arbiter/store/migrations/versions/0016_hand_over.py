"""A table for when a turn was handed over by a server that its player has left meanwhile.

Servers of the version before neither write nor read it: a player who goes to or from them loses this credit, as before.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

BESIDE_SERVERS = True
NAME = sa.String(40).with_variant(sa.String(40, collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "hand_over",
        sa.Column("player", NAME, primary_key=True),
        sa.Column("match_id", NAME, primary_key=True),
        sa.Column("ply", sa.Integer, nullable=False),
        sa.Column("started_ms", sa.BigInteger, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
