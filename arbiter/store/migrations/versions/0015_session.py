"""The session by which each server holds a shared store: the database ends it as soon as the server is killed."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

BESIDE_SERVERS = True


def upgrade() -> None:
    """Add the column. A server of the version before leaves it 0, and counts as dead only by its silence."""
    op.add_column("replica", sa.Column("session", sa.Integer, nullable=False, server_default="0"))
