"""An index of the matches that have not ended: among a million others, a list of them took a second."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

BESIDE_SERVERS = True


def upgrade() -> None:
    """Add the index."""
    under_way = sa.text("ended_sequence = 0")
    op.create_index("match_under_way", "match", ["sequence"], sqlite_where=under_way, postgresql_where=under_way)
