"""Counts of results by pairing and kind of end."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

NAME = sa.String(40).with_variant(sa.String(40, collation="C"), "postgresql")
LABEL = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")
VARIANT = sa.String(200).with_variant(sa.String(200, collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table of counts, and count the matches that have ended."""
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
    )
    op.create_index("tally_by_game", "tally", ["game", "rated"])
    op.execute(
        "INSERT INTO tally (label, game, rated, player_1, player_2, result, winner, cause, games) "
        "SELECT label, game, rated, player_1, player_2, result, winner, cause, count(*) "
        'FROM "match" WHERE ended_sequence > 0 '
        "GROUP BY label, game, rated, player_1, player_2, result, winner, cause"
    )
