"""Organisers can have events of their tournaments delivered to web hooks.

A server of the version before delivers nothing.
"""

import sqlalchemy as sa
from alembic import op

from arbiter.store.tables import Name

revision = "0021"
down_revision = "0020"

BESIDE_SERVERS = True


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "web_hook",
        sa.Column("hook_id", Name, primary_key=True),
        sa.Column("tournament_id", Name, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("secret", sa.String(100), nullable=False),
        sa.Column("creator", Name, nullable=False),
        sa.Column("request_id", sa.String(100), nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("due_ms", sa.BigInteger, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("delivered_ms", sa.BigInteger, nullable=False),
        sa.Column("stopped", sa.Boolean, nullable=False),
        sa.UniqueConstraint("creator", "request_id", name="web_hook_of_request"),
    )
    op.create_index("web_hook_by_tournament", "web_hook", ["tournament_id"])
    op.create_index("web_hook_by_due", "web_hook", ["due_ms"])
