"""In-memory ports for the use cases: a journal, a directory, ids and rules, without threads and randomness.

They keep the contracts of `arbiter.service.ports` and pass the same tests as the adapters on a database.
"""

from arbiter.testing.memory.bus import MemoryBroker, MemoryBus
from arbiter.testing.memory.directory import MemoryDirectory
from arbiter.testing.memory.ids import CountingIds
from arbiter.testing.memory.journal import CallsBack, MemoryJournal, MemorySnapshots, lose_basis
from arbiter.testing.memory.replicas import MemoryReplicas
from arbiter.testing.memory.rules import PlainRules
from arbiter.testing.memory.signers import NoKeys, OneKey

__all__ = [
    "CallsBack",
    "CountingIds",
    "MemoryBroker",
    "MemoryBus",
    "MemoryDirectory",
    "MemoryJournal",
    "MemoryReplicas",
    "MemorySnapshots",
    "NoKeys",
    "OneKey",
    "PlainRules",
    "lose_basis",
]
