"""The version of a player's bot that has passed the conformance kit."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the badge column. No player has a badge yet."""
    op.add_column("player", sa.Column("badge_version", sa.String(100), nullable=False, server_default=""))
    op.add_column("player", sa.Column("badge_ms", sa.BigInteger, nullable=False, server_default="0"))
