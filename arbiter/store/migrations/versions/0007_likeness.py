"""A column for the look-alike form of a player's name, so that no new name can be mistaken for it."""

import re

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column, fill it for existing players even if two look alike, and index it."""
    op.add_column("player", sa.Column("likeness", sa.String(80), nullable=False, server_default=""))
    player = sa.table("player", sa.column("name", sa.String), sa.column("likeness", sa.String))
    connection = op.get_bind()
    for (name,) in connection.execute(sa.select(player.c.name)).all():
        marks = re.sub(r"[_.-]+", "-", name).strip("-")
        likeness = marks.replace("0", "o").replace("1", "l").replace("m", "rn")
        connection.execute(player.update().where(player.c.name == name).values(likeness=likeness))
    op.create_index("player_by_likeness", "player", ["likeness"])
