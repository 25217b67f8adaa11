"""A challenge may name the position that its match starts from.

A server of the version before that accepts such a challenge begins the match from the game's initial position.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

BESIDE_SERVERS = True


def upgrade() -> None:
    """Add the column."""
    op.add_column("challenge", sa.Column("position", sa.Text, nullable=False, server_default=""))
