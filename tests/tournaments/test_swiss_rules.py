"""A Swiss says on record by which edition of which rules it was paired, and with which library."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from importlib.metadata import version

import pytest

from arbiter.testing.tournaments import TournamentRun
from arbiter.tournaments import codec
from arbiter.tournaments import events as ev
from arbiter.tournaments.formats.swiss import RULES
from arbiter.tournaments.spec import Format, Options, Spec


def started(format_: Format) -> ev.Started:
    spec = Spec("test", format_, ("hop-it",), "1s", options=Options(rounds=3, duration_ms=1_000))
    log = TournamentRun(spec, 2, random.Random(1)).log
    return next(event for event in log if isinstance(event, ev.Started))


def test_the_library_is_the_one_that_the_record_names() -> None:
    assert RULES.endswith("py4swiss 0.3")
    assert version("py4swiss").startswith("0.3."), "with another version, see which edition it follows, and say so"


@pytest.mark.parametrize("format_", list(Format))
def test_the_edition_stands_on_record(format_: Format) -> None:
    event = started(format_)
    assert event.rules == (RULES if format_ is Format.SWISS else "")
    values = json.loads(json.dumps(codec.write_event(event)))
    assert ("rules" in values) is (format_ is Format.SWISS)
    assert codec.read_event(values) == event


def test_a_record_without_an_edition_is_read_and_written_as_it_was() -> None:
    old = codec.write_event(replace(started(Format.SWISS), rules=""))
    assert "rules" not in old
    assert codec.write_event(codec.read_event(old)) == old
