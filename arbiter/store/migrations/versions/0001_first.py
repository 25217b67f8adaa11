"""The journal, the list tables, and the directory."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
NAME = sa.String(40).with_variant(sa.String(40, collation="C"), "postgresql")
LABEL = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")
VARIANT = sa.String(200).with_variant(sa.String(200, collation="C"), "postgresql")


def upgrade() -> None:
    """Create the first tables."""
    op.create_table(
        "event",
        sa.Column("sequence", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("match_id", NAME, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("match_id", "revision", name="event_once"),
    )
    _create_match()
    _create_directory()


def _create_match() -> None:
    op.create_table(
        "match",
        sa.Column("match_id", NAME, primary_key=True),
        sa.Column("game", VARIANT, nullable=False),
        sa.Column("player_1", NAME, nullable=False),
        sa.Column("player_2", NAME, nullable=False),
        sa.Column("time_control", sa.String(40), nullable=False),
        sa.Column("rated", sa.Boolean, nullable=False),
        sa.Column("label", LABEL, nullable=False),
        sa.Column("creator", NAME, nullable=False),
        sa.Column("request_id", sa.String(100), nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("sequence", SEQUENCE, nullable=False),
        sa.Column("ended_sequence", SEQUENCE, nullable=False, server_default="0"),
        sa.Column("result", sa.String(10), nullable=False, server_default=""),
        sa.Column("winner", sa.Integer, nullable=False, server_default="0"),
        sa.Column("reason", sa.String(40), nullable=False, server_default=""),
        sa.Column("cause", sa.String(20), nullable=False, server_default=""),
        sa.Column("party", sa.String(20), nullable=False, server_default=""),
        sa.Column("seat", sa.Integer, nullable=False, server_default="0"),
        sa.Column("note", sa.Text, nullable=False, server_default=""),
        sa.Column("ended_ms", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("position", sa.Text, nullable=False, server_default=""),
        sa.Column("ply", sa.Integer, nullable=False, server_default="0"),
        sa.UniqueConstraint("creator", "request_id", name="match_of_request"),
    )
    op.create_index("match_by_sequence", "match", ["sequence"])
    op.create_index("match_by_player_1", "match", ["player_1", "ended_sequence"])
    op.create_index("match_by_player_2", "match", ["player_2", "ended_sequence"])
    op.create_index("match_by_label", "match", ["label", "sequence"])


def _create_directory() -> None:
    op.create_table(
        "player",
        sa.Column("name", NAME, primary_key=True),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("bot_name", sa.String(100), nullable=False),
        sa.Column("bot_version", sa.String(100), nullable=False),
        sa.Column("games", sa.Text, nullable=False),
        sa.Column("most_matches", sa.Integer, nullable=False),
        sa.Column("suspended", sa.Boolean, nullable=False),
        sa.Column("acknowledged", SEQUENCE, nullable=False),
    )
    op.create_table(
        "token",
        sa.Column("token_id", NAME, primary_key=True),
        sa.Column("player", NAME, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("scopes", sa.String(100), nullable=False),
        sa.Column("note", sa.String(100), nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("revoked", sa.Boolean, nullable=False),
    )
    op.create_index("token_by_player", "token", ["player", "token_id"])
    op.create_table("invitation", sa.Column("digest", sa.String(64), primary_key=True))
    op.create_table(
        "challenge",
        sa.Column("challenge_id", NAME, primary_key=True),
        sa.Column("challenger", NAME, nullable=False),
        sa.Column("opponent", NAME, nullable=False),
        sa.Column("game", VARIANT, nullable=False),
        sa.Column("time_control", sa.String(40), nullable=False),
        sa.Column("rated", sa.Boolean, nullable=False),
        sa.Column("seat", sa.Integer, nullable=False),
        sa.Column("request_id", sa.String(100), nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("match_id", NAME, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.UniqueConstraint("challenger", "request_id", name="challenge_of_request"),
    )
    op.create_index("challenge_open", "challenge", ["state", "opponent"])
