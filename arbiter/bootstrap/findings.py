"""What `arbiter doctor` finds of one thing."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Grade(StrEnum):
    """How a finding is to be taken."""

    GOOD = "good"
    NOTE = "note"
    WRONG = "wrong"


class Finding(NamedTuple):
    """What was found of one thing. advice: what to do; '' where nothing is to be done."""

    subject: str
    grade: Grade
    text: str
    advice: str = ""
