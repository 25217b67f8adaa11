"""Sessions of browsers become tokens of their own kind, which note when they were used.

Servers of the version before take a session for a token, as they did with those that they have made.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

BESIDE_SERVERS = True


def upgrade() -> None:
    """Add the columns. A session of before stays a token, until it is revoked."""
    op.add_column("token", sa.Column("session", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("token", sa.Column("used_ms", sa.BigInteger, nullable=False, server_default="0"))
