"""A table for what servers that share a store tell each other of players and challenges."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

NAME = sa.String(40).with_variant(sa.String(40, collation="C"), "postgresql")
SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the table. It is empty: no server shares its store yet."""
    op.create_table(
        "notice",
        sa.Column("number", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("subject", NAME, nullable=False),
        sa.Column("receiver", NAME, nullable=False),
        sa.Column("detail", NAME, nullable=False),
    )
