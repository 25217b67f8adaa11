"""Specification files of tournaments (TOML) as the Python client takes them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path

import arbiter_client as arb

from arbiter.cli.failure import Failure
from arbiter.matches import time_control
from arbiter.matches.policy import NoShow, Start, read_policy
from arbiter.tournaments.spec import Spec
from arbiter.tournaments.spec_text import read_spec


def read_file(path: Path) -> arb.TournamentSpec:
    """Return the specification in a file. Raises Failure for what is no TOML, Refusal for what is wrong in it."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(f"can't read {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Failure(f"{path} is no TOML file: {error}") from None
    return spec_value(read_spec(values, time_control.parse))


def spec_value(spec: Spec) -> arb.TournamentSpec:
    """Return a specification as the client takes it. Raises Failure or Refusal for a policy that no match can have."""
    lines = spec.openings.lines.items()
    return arb.TournamentSpec(
        name=spec.name,
        format=arb.TournamentFormat[spec.format.name],
        games=spec.games,
        time=spec.time,
        rated=spec.rated,
        paired=spec.paired,
        at_once=spec.at_once,
        options=arb.TournamentOptions(**asdict(spec.options)),
        openings=arb.Openings(
            spec.openings.plies,
            spec.openings.seed,
            tuple(arb.OpeningLine(game, line) for game, given in lines for line in given),
        ),
        entry=arb.EntryRules(
            spec.entry.capacity,
            spec.entry.invited,
            spec.entry.versions,
            tuple(arb.PlayerPair(*pair) for pair in spec.entry.forbidden),
        ),
        schedule=arb.Schedule(**asdict(spec.schedule)),
        adjudication=arb.Adjudication(**asdict(spec.adjudication)),
        tie_breaks=tuple(arb.TieBreak[tie_break.value.upper()] for tie_break in spec.tie_breaks),
        policy=_policy(spec.policy),
        time_odds=spec.time_odds,
    )


def _policy(values: Mapping[str, int | str]) -> arb.TournamentPolicy:
    """Return what differs from the server's policy."""
    known = [field.name for field in fields(arb.TournamentPolicy)]
    for name in values:
        if name not in known:
            raise Failure(f"policy.{name} is nothing that a tournament decides: it is one of {', '.join(known)}")
    read = read_policy(values)
    said: dict[str, object] = {name: getattr(read, name) for name in values}
    starts = {Start.WHEN_PRESENT: arb.StartRule.WHEN_PRESENT, Start.AT_ONCE: arb.StartRule.AT_ONCE}
    no_shows = {NoShow.FORFEIT: arb.NoShowRule.FORFEIT, NoShow.VOID: arb.NoShowRule.VOID}
    said |= {"start": starts[read.start]} if "start" in said else {}
    said |= {"no_show": no_shows[read.no_show]} if "no_show" in said else {}
    return arb.TournamentPolicy(**said)  # type: ignore[arg-type]
