"""Find the matches that ended after some time without reading all of them."""

from alembic import op

revision = "0024"
down_revision = "0023"

BESIDE_SERVERS = True


def upgrade() -> None:
    """Add the index."""
    op.create_index("match_by_end", "match", ["ended_ms"])
