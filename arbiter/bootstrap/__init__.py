"""The composition root: the only package that names adapters. Each part can also be passed in as an argument."""

from arbiter.bootstrap.archiving import Archived, archive_store, count_archivable
from arbiter.bootstrap.backup import Copied, backup_store, restore_store
from arbiter.bootstrap.disk_growth import growth_of_logs
from arbiter.bootstrap.examination import examine
from arbiter.bootstrap.exporting import Exporting, open_export
from arbiter.bootstrap.findings import Finding, Grade
from arbiter.bootstrap.operator_tokens import create_token, create_tokens, replace_token
from arbiter.bootstrap.running_server import RunningServer, api_servers, gate_of, serving, started
from arbiter.bootstrap.store import (
    Store,
    check_store,
    migrate_store,
    open_record,
    open_store,
    rebuild_store,
    shown_store,
)
from arbiter.bootstrap.wiring import Arbiter, wire
from arbiter.bootstrap.world import NO_JUDGES, World, open_world
from arbiter.service.players.accounts import ADMIN

__all__ = [
    "ADMIN",
    "NO_JUDGES",
    "Arbiter",
    "Archived",
    "Copied",
    "Exporting",
    "Finding",
    "Grade",
    "RunningServer",
    "Store",
    "World",
    "api_servers",
    "archive_store",
    "backup_store",
    "check_store",
    "count_archivable",
    "create_token",
    "create_tokens",
    "examine",
    "gate_of",
    "growth_of_logs",
    "migrate_store",
    "open_export",
    "open_record",
    "open_store",
    "open_world",
    "rebuild_store",
    "replace_token",
    "restore_store",
    "serving",
    "shown_store",
    "started",
    "wire",
]
