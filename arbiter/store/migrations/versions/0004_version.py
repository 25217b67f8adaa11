"""The bot versions that a match counts for; result counts are grouped by them."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

NAME = sa.String(40).with_variant(sa.String(40, collation="C"), "postgresql")
LABEL = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")
VARIANT = sa.String(200).with_variant(sa.String(200, collation="C"), "postgresql")


def upgrade() -> None:
    """Add the versions. Existing records have none; from now on results are counted by version."""
    for column in ("version_1", "version_2"):
        op.add_column("match", sa.Column(column, LABEL, nullable=False, server_default=""))
    # Not every database can change a primary key, so the counts move to a table with another one.
    op.drop_index("tally_by_game", "tally")
    op.rename_table("tally", "tally_before")
    op.create_table(
        "tally",
        sa.Column("label", LABEL, primary_key=True),
        sa.Column("game", VARIANT, primary_key=True),
        sa.Column("rated", sa.Boolean, primary_key=True),
        sa.Column("player_1", NAME, primary_key=True),
        sa.Column("player_2", NAME, primary_key=True),
        sa.Column("result", sa.String(10), primary_key=True),
        sa.Column("winner", sa.Integer, primary_key=True),
        sa.Column("cause", sa.String(20), primary_key=True),
        sa.Column("games", sa.BigInteger, nullable=False),
        sa.Column("version_1", LABEL, primary_key=True),
        sa.Column("version_2", LABEL, primary_key=True),
    )
    op.create_index("tally_by_game", "tally", ["game", "rated"])
    op.execute(
        "INSERT INTO tally "
        "(label, game, rated, player_1, player_2, result, winner, cause, games, version_1, version_2) "
        "SELECT label, game, rated, player_1, player_2, result, winner, cause, games, '', '' FROM tally_before"
    )
    op.drop_table("tally_before")
