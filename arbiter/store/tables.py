"""The tables of a new store. A test compares them with those of the first version, brought up to date."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Enum,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    literal_column,
)
from sqlalchemy.event import listen, listens_for

from arbiter.service.ports.journal import Subject

metadata = MetaData()

Sequence = BigInteger().with_variant(Integer, "sqlite")  # SQLite only makes INTEGER keys an alias of the row id
# Sort keys compare by bytes on every database: PostgreSQL's default collation would sort by words.
Name = String(40).with_variant(String(40, collation="C"), "postgresql")
Label = String(100).with_variant(String(100, collation="C"), "postgresql")
Variant = String(200).with_variant(String(200, collation="C"), "postgresql")

Subjects = Enum(Subject, native_enum=False, length=10, values_callable=lambda kind: [one.value for one in kind])

PARTITIONS: Final = 8
"""Parts of the table `event` on PostgreSQL, by the hash of the match: all records of a match are in the same part.

Each part can be on a disk of its own, and be vacuumed alone. A unique key of a partitioned table must contain
`match_id`, so `sequence` has an ordinary index there. NUMBERING in `dialects.postgres` keeps numbers unique.
"""

event = Table(
    "event",
    metadata,
    Column("sequence", Sequence, nullable=False, autoincrement=False),
    Column("match_id", Name, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    # The default is for records from before the column existed; new records always set it.
    Column("subject", Subjects, nullable=False, server_default=Subject.MATCH.value),
    # See `arbiter.service.ports.journal.Seals`. Null for records from before the column existed, until they are sealed.
    Column("seal", LargeBinary),
    UniqueConstraint("match_id", "revision", name="event_once"),
    PrimaryKeyConstraint("sequence").ddl_if(dialect="sqlite"),
    Index("event_by_sequence", "sequence").ddl_if(dialect="postgresql"),
)


@listens_for(event, "before_create")
def _partition(table: Table, connection: Connection, **_: object) -> None:
    """Partition the table on PostgreSQL. An option of the table itself would load that dialect on every database."""
    if connection.dialect.name == "postgresql":
        table.dialect_options["postgresql"]["partition_by"] = "HASH (match_id)"


for _part in range(PARTITIONS):
    _statement = (
        f"CREATE TABLE event_{_part} PARTITION OF event FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {_part})"
    )
    listen(event, "after_create", DDL(_statement).execute_if(dialect="postgresql"))  # type: ignore[no-untyped-call]

Numbered = tuple[int, str, int, bytes, str, bool, bytes | None]
"""A record to store: sequence number, match, revision, body, subject, whether the previous revision exists, and seal.

It surely exists if the record is the first one, or if the previous one is in the same statement. A record is stored
only after the one before it. So if it is not sure, the insert looks for the previous revision. The unique key ensures
that only one first record exists.
"""

Statement = tuple[str, tuple[int | str | bytes | None, ...]]
"""A statement in the driver's own form, with its values in order."""

#: The records of a match that ended long ago; see `arbiter.store.archive`. span: last sequence number minus the first.
#: size: how many records. entry: which sequence numbers they have, sealed like a record. records: compressed.
archived_match = Table(
    "archived_match",
    metadata,
    Column("match_id", Name, primary_key=True),
    Column("first_sequence", Sequence, nullable=False),
    Column("span", Sequence, nullable=False),
    Column("size", Integer, nullable=False),
    Column("entry", LargeBinary, nullable=False),
    Column("seal", LargeBinary),
    Column("records", LargeBinary, nullable=False),
    Index("archived_match_by_sequence", "first_sequence"),
    Index("archived_match_by_span", "span"),
)

match = Table(
    "match",
    metadata,
    Column("match_id", Name, primary_key=True),
    Column("game", Variant, nullable=False),
    Column("player_1", Name, nullable=False),
    Column("player_2", Name, nullable=False),
    Column("time_control", String(40), nullable=False),
    Column("rated", Boolean, nullable=False),
    Column("label", Label, nullable=False),
    Column("creator", Name, nullable=False),
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
    Column("version_1", Label, nullable=False, server_default=""),
    Column("version_2", Label, nullable=False, server_default=""),
    Column("ruling", BigInteger, nullable=False, server_default="0"),
    UniqueConstraint("creator", "request_id", name="match_of_request"),
    Index("match_by_sequence", "sequence"),
    Index("match_by_player_1", "player_1", "ended_sequence"),
    Index("match_by_player_2", "player_2", "ended_sequence"),
    Index("match_by_label", "label", "sequence"),
    Index("match_by_end", "ended_ms"),
)
#: Of a match that has not ended. Without a parameter, so that both databases use the index.
UNDER_WAY: Final = match.c.ended_sequence == literal_column("0")
_index_under_way = Index("match_under_way", match.c.sequence)


@listens_for(_index_under_way, "before_create")
def _restrict(index: Index, connection: Connection, **_: object) -> None:
    """Index these matches alone. An option of the index itself would load both dialects on every database."""
    index.dialect_options[connection.dialect.name]["where"] = UNDER_WAY


#: How often a pairing ended in one way. Standings and ratings are functions of these counts.
tally = Table(
    "tally",
    metadata,
    Column("label", Label, primary_key=True),
    Column("game", Variant, primary_key=True),
    Column("rated", Boolean, primary_key=True),
    Column("player_1", Name, primary_key=True),
    Column("player_2", Name, primary_key=True),
    Column("result", String(10), primary_key=True),
    Column("winner", Integer, primary_key=True),
    Column("cause", String(20), primary_key=True),
    Column("games", BigInteger, nullable=False),
    Column("version_1", Label, primary_key=True),
    Column("version_2", Label, primary_key=True),
    Index("tally_by_game", "game", "rated"),
)

#: The rulings on ratings: a log of their own, since nobody who observes matches needs their numbers.
rating_ruling = Table(
    "rating_ruling",
    metadata,
    Column("number", Sequence, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
    Column("seal", LargeBinary),
)

tournament = Table(
    "tournament",
    metadata,
    Column("tournament_id", Name, primary_key=True),
    Column("name", String(100), nullable=False),
    Column("format", String(20), nullable=False),
    Column("phase", String(10), nullable=False),
    Column("creator", Name, nullable=False),
    Column("request_id", String(100), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("started_ms", BigInteger, nullable=False),
    Column("ended_ms", BigInteger, nullable=False),
    Column("sequence", Sequence, nullable=False),
    Column("ended_sequence", Sequence, nullable=False),
    UniqueConstraint("creator", "request_id", name="tournament_of_request"),
    Index("tournament_by_sequence", "sequence"),
)

#: The newest snapshot of each long tournament; see `arbiter.service.ports.snapshots`. seal: like that of a record.
tournament_snapshot = Table(
    "tournament_snapshot",
    metadata,
    Column("tournament_id", Name, primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("code", String(64), nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("seal", LargeBinary, nullable=False),
)

player = Table(
    "player",
    metadata,
    Column("name", Name, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("about", Text, nullable=False),
    Column("bot_name", String(100), nullable=False),
    Column("bot_version", String(100), nullable=False),
    Column("games", Text, nullable=False),
    Column("most_matches", Integer, nullable=False),
    Column("suspended", Boolean, nullable=False),
    Column("acknowledged", Sequence, nullable=False),
    Column("badge_version", String(100), nullable=False, server_default=""),
    Column("badge_ms", BigInteger, nullable=False, server_default="0"),
    Column("likeness", String(80), nullable=False, server_default=""),
    Column("current_name", Name, nullable=False, server_default=""),
    Column("retired", Boolean, nullable=False, server_default=false()),
    Column("hidden", Boolean, nullable=False, server_default=false()),
    Column("deleted", Boolean, nullable=False, server_default=false()),
    Index("player_by_likeness", "likeness"),
)

#: The names that players have or had beside their first one, which is that of the records.
player_name = Table(
    "player_name",
    metadata,
    Column("name", Name, primary_key=True),
    Column("player", Name, nullable=False),
    Column("likeness", String(80), nullable=False),
    Index("player_name_by_likeness", "likeness"),
    Index("player_name_by_player", "player"),
)

token = Table(
    "token",
    metadata,
    Column("token_id", Name, primary_key=True),
    Column("player", Name, nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scopes", String(100), nullable=False),
    Column("note", String(100), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("revoked", Boolean, nullable=False),
    Column("session", Boolean, nullable=False, server_default=false()),
    Column("used_ms", BigInteger, nullable=False, server_default="0"),
    Index("token_by_player", "player", "token_id"),
)

invitation = Table("invitation", metadata, Column("digest", String(64), primary_key=True))

challenge = Table(
    "challenge",
    metadata,
    Column("challenge_id", Name, primary_key=True),
    Column("challenger", Name, nullable=False),
    Column("opponent", Name, nullable=False),
    Column("game", Variant, nullable=False),
    Column("time_control", String(40), nullable=False),
    Column("rated", Boolean, nullable=False),
    Column("seat", Integer, nullable=False),
    Column("request_id", String(100), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("state", String(10), nullable=False),
    Column("match_id", Name, nullable=False),
    Column("reason", Text, nullable=False),
    Column("position", Text, nullable=False, server_default=""),
    Column("abandon_ms", BigInteger),
    UniqueConstraint("challenger", "request_id", name="challenge_of_request"),
    Index("challenge_open", "state", "opponent"),
)

#: Where events of a tournament are delivered, and how far that has come; see `arbiter.service.ports.web_hooks`.
web_hook = Table(
    "web_hook",
    metadata,
    Column("hook_id", Name, primary_key=True),
    Column("tournament_id", Name, nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", String(100), nullable=False),
    Column("creator", Name, nullable=False),
    Column("request_id", String(100), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("due_ms", BigInteger, nullable=False),
    Column("error", Text, nullable=False),
    Column("delivered_ms", BigInteger, nullable=False),
    Column("stopped", Boolean, nullable=False),
    UniqueConstraint("creator", "request_id", name="web_hook_of_request"),
    Index("web_hook_by_tournament", "tournament_id"),
    Index("web_hook_by_due", "due_ms"),
)

#: A server that shares the store. seen_ms: when it said so last, in the database's time; heir: who deals with its end;
#: session: the database's process id of the session that holds the store for it, 0 for a server of a version before.
replica = Table(
    "replica",
    metadata,
    Column("replica", Name, primary_key=True),
    Column("seen_ms", BigInteger, nullable=False),
    Column("heir", Name, nullable=False),
    Column("session", Integer, nullable=False, server_default="0"),
)

#: The Play stream of each player, on whichever replica. previous: the replica of the stream that it has replaced at
#: taken_ms; both are for servers of the version before.
play_session = Table(
    "play_session",
    metadata,
    Column("player", Name, primary_key=True),
    Column("replica", Name, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("bot_version", String(100), nullable=False),
    Column("most_matches", Integer, nullable=False),
    Column("taken_ms", BigInteger, nullable=False),
    Column("previous", Name, nullable=False),
)

#: Replicas that a player has left for another, while nobody knows whether they are alive. left_ms: when, in the
#: arbiter's time; taken_ms: when, in the database's.
left_replica = Table(
    "left_replica",
    metadata,
    Column("player", Name, primary_key=True),
    Column("replica", Name, primary_key=True),
    Column("left_ms", BigInteger, nullable=False),
    Column("taken_ms", BigInteger, nullable=False),
)

#: When servers handed over turns whose players have left them meanwhile, until another server has taken note of it.
#: ply, started_ms: say which turn; at_ms: in the arbiter's time, as started_ms.
hand_over = Table(
    "hand_over",
    metadata,
    Column("player", Name, primary_key=True),
    Column("match_id", Name, primary_key=True),
    Column("ply", Integer, nullable=False),
    Column("started_ms", BigInteger, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
)

#: The ids of the signing keys of servers that share the store: each of them must have all of these keys.
signing_key = Table("signing_key", metadata, Column("key_id", Name, primary_key=True))

#: Notices between servers that share the store; only the last ones are kept.
notice = Table(
    "notice",
    metadata,
    Column("number", Sequence, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("subject", Name, nullable=False),
    Column("receiver", Name, nullable=False),
    Column("detail", Name, nullable=False),
)
