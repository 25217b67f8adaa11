"""The reference of the tournament file lists every field, its page is fresh, and its ranges are those that are
enforced."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

import arbiter_client as arb
import pytest
from arbiter_protos.v1 import tournament_pb2 as pb
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from arbiter.cli import tournament_reference as reference
from arbiter.cli.failure import Failure
from arbiter.cli.tournament_spec import read_all
from arbiter.matches.policy import Policy
from arbiter.options import UNSET, options_of
from arbiter.tournaments.groups import Groups
from arbiter.tournaments.league_rules import LeagueRules
from arbiter.tournaments.schedule import Schedule
from arbiter.tournaments.spec import Adjudication, EntryRules, Openings, Options, Spec
from tests.cli.command import Arbiter

PAGE = Path(__file__).parents[2] / "deploy" / "TOURNAMENT-FILE.md"
FILE = 'name = "Cup"\nformat = "{format}"\ngames = ["pods"]\ntime = "1m"\n'


CLASSES: Final[Mapping[str, tuple[type, type, type[Message]]]] = {
    "": (Spec, arb.TournamentSpec, pb.TournamentSpec),
    "options": (Options, arb.TournamentOptions, pb.TournamentOptions),
    "openings": (Openings, arb.Openings, pb.Openings),
    "entry": (EntryRules, arb.EntryRules, pb.EntryRules),
    "groups": (Groups, arb.PlayerGroups, pb.PlayerGroups),
    "league": (LeagueRules, arb.LeagueRules, pb.LeagueRules),
    "schedule": (Schedule, arb.Schedule, pb.Schedule),
    "adjudication": (Adjudication, arb.Adjudication, pb.Adjudication),
    "policy": (Policy, arb.TournamentPolicy, pb.TournamentPolicy),
}
"""Each part of a specification as the server, the Python client and the protocol have it."""

WIRE: Final = {
    int: {FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64},
    bool: {FieldDescriptor.CPPTYPE_BOOL},
    str: {FieldDescriptor.CPPTYPE_STRING},
}
TABLES: Final = {"credit"}  #: the server's alone


@pytest.mark.parametrize("part", CLASSES)
def test_an_option_is_the_same_in_the_file_in_the_protocol_and_in_the_client(part: str) -> None:
    ours, client, message = CLASSES[part]
    known = {each.name: each for each in fields(client)}
    assert known.keys() == {each.name for each in fields(ours)} - TABLES == set(message.DESCRIPTOR.fields_by_name)
    for name, option in options_of(ours).items():
        wire = message.DESCRIPTOR.fields_by_name[name]
        assert wire.cpp_type in WIRE.get(option.kind, {wire.cpp_type}), name
        if option.kind in WIRE and part != "policy" and option.default is not UNSET:
            assert known[name].default == option.default, name
            assert wire.has_presence or not option.default, f"{name}: absent on the wire, it would be {option.default}"
        if option.is_choice:
            assert wire.enum_type is not None
            prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", wire.enum_type.name).upper()
            words = {word.removeprefix(f"{prefix}_").lower() for word in wire.enum_type.values_by_name}
            assert words - {"unspecified"} == set(option.kind), name


def test_every_option_is_in_a_table_with_a_heading() -> None:
    assert reference.tables().keys() == reference.HEADINGS.keys()


def test_the_page_is_the_output_of_the_command(arbiter: Arbiter) -> None:
    """After a change: `arbiter tournament reference > deploy/TOURNAMENT-FILE.md`."""
    assert arbiter("tournament", "reference").out == PAGE.read_text(encoding="utf-8")


RANGES = [
    (f"{table}.{name}".lstrip("."), *option.range)
    for table, options in reference.tables().items()
    for name, option in options.items()
    if option.kind is int and table != "bots"
]


@pytest.mark.parametrize(("place", "low", "high"), RANGES, ids=[place for place, *_ in RANGES])
def test_a_value_out_of_range_is_refused_with_its_line(tmp_path: Path, place: str, low: int, high: int) -> None:
    section, _, name = place.rpartition(".")
    file = tmp_path / "cup.toml"
    for value in (low - 1, high + 1):
        header = f"[{section}]\n" if section else ""
        file.write_text(f"{FILE.format(format='round_robin')}{header}{name} = {value}\n")
        with pytest.raises(Failure, match=rf"cup\.toml, line {6 if section else 5} \({re.escape(place)}\)"):
            read_all(file)


def test_an_unknown_key_is_refused_with_its_name_and_line(tmp_path: Path) -> None:
    file = tmp_path / "cup.toml"
    for section in reference.tables().keys() - {"bots"}:
        header = f"[{section}]\n" if section else ""
        file.write_text(f"{FILE.format(format='round_robin')}{header}nonsense = 1\n")
        place = f"{section}.nonsense" if section else "nonsense"
        with pytest.raises(Failure, match=rf"cup\.toml, line {6 if section else 5} \({re.escape(place)}\)"):
            read_all(file)
