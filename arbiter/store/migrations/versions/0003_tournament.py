"""The list table of tournaments."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
NAME = sa.String(40).with_variant(sa.String(40, collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table. It is empty, because there are no tournaments yet."""
    op.create_table(
        "tournament",
        sa.Column("tournament_id", NAME, primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("format", sa.String(20), nullable=False),
        sa.Column("phase", sa.String(10), nullable=False),
        sa.Column("creator", NAME, nullable=False),
        sa.Column("request_id", sa.String(100), nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("started_ms", sa.BigInteger, nullable=False),
        sa.Column("ended_ms", sa.BigInteger, nullable=False),
        sa.Column("sequence", SEQUENCE, nullable=False),
        sa.Column("ended_sequence", SEQUENCE, nullable=False),
        sa.UniqueConstraint("creator", "request_id", name="tournament_of_request"),
    )
    op.create_index("tournament_by_sequence", "tournament", ["sequence"])
