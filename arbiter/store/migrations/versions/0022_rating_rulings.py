"""Rulings on ratings: their log, and which matches do not count by them.

A server of the version before computes leaderboards from counts that follow the rulings, and histories without them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

BESIDE_SERVERS = True


def upgrade() -> None:
    """Add the table and the column."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "rating_ruling",
        sa.Column("number", number, primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary),
    )
    op.add_column("match", sa.Column("ruling", sa.BigInteger, nullable=False, server_default="0"))
