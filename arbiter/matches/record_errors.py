"""What is wrong with the record of a match. Other modules derive from these, so this one is not compiled."""

from __future__ import annotations


class RecordError(ValueError):
    """A match's record is not what the arbiter wrote."""


class MalformedRecordError(RecordError):
    """A record that is not canonical JSON, lacks a field, or has a field with a wrong value."""


class UnknownKindError(MalformedRecordError):
    """A record with an event of a kind that this version does not know."""
