"""A column for whether a record belongs to a match or a tournament; until now its id had to tell."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column and fill it: until now the ids of tournaments, and no others, began with a "t"."""
    op.add_column("event", sa.Column("subject", sa.String(10), nullable=False, server_default="match"))
    op.execute("UPDATE event SET subject = 'tournament' WHERE substr(match_id, 1, 1) = 't'")
