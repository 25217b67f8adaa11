"""A table for the records of old finished matches, compressed."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

NAME = sa.String(40).with_variant(sa.String(40, collation="C"), "postgresql")
SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the table. It is empty: `arbiter archive` fills it."""
    op.create_table(
        "archived_match",
        sa.Column("match_id", NAME, primary_key=True),
        sa.Column("first_sequence", SEQUENCE, nullable=False),
        sa.Column("span", SEQUENCE, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("entry", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary),
        sa.Column("records", sa.LargeBinary, nullable=False),
    )
    op.create_index("archived_match_by_sequence", "archived_match", ["first_sequence"])
    op.create_index("archived_match_by_span", "archived_match", ["span"])
