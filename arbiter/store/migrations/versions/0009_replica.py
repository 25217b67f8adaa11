"""Tables for servers that share a store: which of them are alive, and on which each player has its Play stream."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

NAME = sa.String(40).with_variant(sa.String(40, collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables. They are empty: no server shares its store yet."""
    op.create_table(
        "replica",
        sa.Column("replica", NAME, primary_key=True),
        sa.Column("seen_ms", sa.BigInteger, nullable=False),
        sa.Column("heir", NAME, nullable=False),
    )
    op.create_table(
        "play_session",
        sa.Column("player", NAME, primary_key=True),
        sa.Column("replica", NAME, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("bot_version", sa.String(100), nullable=False),
        sa.Column("most_matches", sa.Integer, nullable=False),
        sa.Column("taken_ms", sa.BigInteger, nullable=False),
        sa.Column("previous", NAME, nullable=False),
    )
