"""A table for the ids of the signing keys of servers that share a store: each of them must have all of these keys."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

NAME = sa.String(40).with_variant(sa.String(40, collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table. It is empty: the next server that starts enters its keys."""
    op.create_table("signing_key", sa.Column("key_id", NAME, primary_key=True))
