"""The tables. What the migrations build is compared with these in a test."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

Sequence = BigInteger().with_variant(Integer, "sqlite")  # SQLite makes only INTEGER keys the row's own number

event = Table(
    "event",
    metadata,
    Column("sequence", Sequence, primary_key=True, autoincrement=False),
    Column("match_id", String(40), nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    UniqueConstraint("match_id", "revision", name="event_once"),
)

match = Table(
    "match",
    metadata,
    Column("match_id", String(40), primary_key=True),
    Column("game", String(200), nullable=False),
    Column("player_1", String(40), nullable=False),
    Column("player_2", String(40), nullable=False),
    Column("time_control", String(40), nullable=False),
    Column("rated", Boolean, nullable=False),
    Column("label", String(100), nullable=False),
    Column("creator", String(40), nullable=False),
    Column("request_id", String(100), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("sequence", Sequence, nullable=False),
    Column("ended_sequence", Sequence, nullable=False, server_default="0"),
    Column("result", String(10), nullable=False, server_default=""),
    Column("winner", Integer, nullable=False, server_default="0"),
    Column("reason", String(40), nullable=False, server_default=""),
    Column("cause", String(20), nullable=False, server_default=""),
    Column("party", String(20), nullable=False, server_default=""),
    Column("seat", Integer, nullable=False, server_default="0"),
    Column("note", Text, nullable=False, server_default=""),
    Column("ended_ms", BigInteger, nullable=False, server_default="0"),
    Column("position", Text, nullable=False, server_default=""),
    Column("ply", Integer, nullable=False, server_default="0"),
    UniqueConstraint("creator", "request_id", name="match_of_request"),
    Index("match_by_sequence", "sequence"),
    Index("match_by_player_1", "player_1", "ended_sequence"),
    Index("match_by_player_2", "player_2", "ended_sequence"),
    Index("match_by_label", "label", "sequence"),
)

player = Table(
    "player",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("about", Text, nullable=False),
    Column("bot_name", String(100), nullable=False),
    Column("bot_version", String(100), nullable=False),
    Column("games", Text, nullable=False),
    Column("most_matches", Integer, nullable=False),
    Column("suspended", Boolean, nullable=False),
    Column("acknowledged", Sequence, nullable=False),
)

token = Table(
    "token",
    metadata,
    Column("token_id", String(40), primary_key=True),
    Column("player", String(40), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scopes", String(100), nullable=False),
    Column("note", String(100), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("revoked", Boolean, nullable=False),
    Index("token_by_player", "player", "token_id"),
)

invitation = Table("invitation", metadata, Column("digest", String(64), primary_key=True))

challenge = Table(
    "challenge",
    metadata,
    Column("challenge_id", String(40), primary_key=True),
    Column("challenger", String(40), nullable=False),
    Column("opponent", String(40), nullable=False),
    Column("game", String(200), nullable=False),
    Column("time_control", String(40), nullable=False),
    Column("rated", Boolean, nullable=False),
    Column("seat", Integer, nullable=False),
    Column("request_id", String(100), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("state", String(10), nullable=False),
    Column("match_id", String(40), nullable=False),
    Column("reason", Text, nullable=False),
    UniqueConstraint("challenger", "request_id", name="challenge_of_request"),
    Index("challenge_open", "state", "opponent"),
)
