"""A column for the seal of each record, so that a record that was changed in the database is noticed."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column. It stays empty: only the server has the keys, and seals existing records at its next start."""
    op.add_column("event", sa.Column("seal", sa.LargeBinary))
