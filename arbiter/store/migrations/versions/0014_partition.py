"""On PostgreSQL, the event log in partitions by match: to vacuum each alone, and to put them on several disks.

Servers of the version before may run: the table keeps its name and its columns. Their queries of the log wait while it
is copied.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

BESIDE_SERVERS = True
PARTITIONS = 8
NAME = sa.String(40, collation="C")


def upgrade() -> None:
    """Copy the log into a partitioned table, which takes room for both; SQLite keeps its table as it is."""
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute("ALTER TABLE event RENAME TO whole_event")
    op.execute("ALTER TABLE whole_event RENAME CONSTRAINT event_once TO whole_event_once")
    op.create_table(
        "event",
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("match_id", NAME, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("subject", sa.String(10), nullable=False, server_default="match"),
        sa.Column("seal", sa.LargeBinary),
        postgresql_partition_by="HASH (match_id)",
    )
    for part in range(PARTITIONS):
        op.execute(
            f"CREATE TABLE event_{part} PARTITION OF event FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part})"
        )
    columns = "sequence, match_id, revision, body, subject, seal"
    op.execute(f"INSERT INTO event ({columns}) SELECT {columns} FROM whole_event")
    op.drop_table("whole_event")
    op.create_unique_constraint("event_once", "event", ["match_id", "revision"])
    op.create_index("event_by_sequence", "event", ["sequence"])
