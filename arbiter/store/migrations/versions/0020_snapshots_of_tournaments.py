"""Tournaments have snapshots, from which a start goes on.

A server of the version before does not look at them.
"""

import sqlalchemy as sa
from alembic import op

from arbiter.store.tables import Name

revision = "0020"
down_revision = "0019"

BESIDE_SERVERS = True


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "tournament_snapshot",
        sa.Column("tournament_id", Name, primary_key=True),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("code", sa.String(64), nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
    )
