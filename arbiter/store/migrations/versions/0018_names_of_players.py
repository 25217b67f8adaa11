"""Players can be renamed, retired, hidden and deleted.

Servers of the version before show every player under its first name, and list all of them. Their registrations do not
look at the further names: one of these may be registered while such a server runs.
"""

import sqlalchemy as sa
from alembic import op

from arbiter.store.tables import Name

revision = "0018"
down_revision = "0017"

BESIDE_SERVERS = True


def upgrade() -> None:
    """Add the columns, and the table of further names."""
    op.add_column("player", sa.Column("current_name", Name, nullable=False, server_default=""))
    for flag in ("retired", "hidden", "deleted"):
        op.add_column("player", sa.Column(flag, sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "player_name",
        sa.Column("name", Name, primary_key=True),
        sa.Column("player", Name, nullable=False),
        sa.Column("likeness", sa.String(80), nullable=False),
    )
    op.create_index("player_name_by_likeness", "player_name", ["likeness"])
    op.create_index("player_name_by_player", "player_name", ["player"])
