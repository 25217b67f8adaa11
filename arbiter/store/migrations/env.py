"""Alembic's entry: runs the migrations on the connection that `arbiter.store.database` hands over."""

from alembic import context

from arbiter.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
