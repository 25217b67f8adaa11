"""Parses specification files of tournaments (TOML): the tournament in the form of the Python client, and its bots.

An error message names the file, the line, the field, and the values that are allowed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import date, datetime, time
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import arbiter_client as arb

from arbiter.cli.failure import Failure
from arbiter.cli.opening_file import with_lines
from arbiter.cli.tournament_bots import BOTS, ENGINE, BotEntry, read_bots, read_engines
from arbiter.errors import OperatorError, Reason, Refusal, parameter_invalid
from arbiter.matches import time_control
from arbiter.matches.policy import ClockStart, NoShow, read_policy
from arbiter.sandbox.limits import BOUNDS, ResourceLimits
from arbiter.text_files import text_of
from arbiter.toml_lines import line_of, places
from arbiter.tournaments import formats
from arbiter.tournaments.groups import Named
from arbiter.tournaments.spec import MOST_PIECES, Options, Spec
from arbiter.tournaments.spec_text import read_spec
from arbiter.workers.syzygy import table_folder

SANDBOX: Final = "sandbox"  #: the table of each bot's resource limits
HYPOTHESES: Final = ("elo0", "elo1")  #: of a trial
ELO_PARTS: Final = (10, 100)  #: of a hypothesis with one decimal or two
MOST_PARTS: Final = 1_000  #: of a hypothesis
ADJUDICATION: Final = "adjudication"
TABLES: Final = "syzygy"  #: the folder of the tables, in that section
_invalid: Final = partial(parameter_invalid, of="a tournament")


class File(NamedTuple):
    """A specification file: the tournament, and the bots that `arbiter tournament run` starts, with their limits.

    cautions: warnings for the organiser before the start, a sentence each: about the specification, and about a field
    of these bots. tables: the folder of Syzygy tables for these games.
    """

    path: Path
    tournament: arb.TournamentSpec
    bots: tuple[BotEntry, ...]
    limits: ResourceLimits
    cautions: tuple[str, ...] = ()
    tables: Path | None = None


def read_all(path: Path, elsewhere: set[str] | None = None, *, to_play: bool = False) -> File:
    """Return the whole content of a file. Raises Failure, which names the file, the line, the field and what to do.

    elsewhere: takes the games whose rules are not here; without it they are refused. to_play: the games are played on
    this machine, which must have what the file names for that.
    """
    try:
        text = text_of(path.read_bytes())
        values = tomllib.loads(text)
    except OSError as error:
        raise Failure(f"can't read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise Failure(f"{path} is no TOML file: {error}") from None
    bots, limits, engines = values.pop(BOTS, []), values.pop(SANDBOX, {}), values.pop(ENGINE, {})
    try:
        values, tables = _with_tables(with_decimals(with_instants(with_lines(values, path.parent))), path.parent)
        spec = read_spec(values, time_control.parse, elsewhere=elsewhere)
        if to_play and spec.adjudication.syzygy_pieces:
            if tables is None:
                raise _invalid("", f"{ADJUDICATION}.{TABLES}", "the folder of the tables")
            table_folder(tables)
        bots = read_bots(bots, path.parent, read_engines(engines))
        pairer = formats.of(spec)
        cautions = (pairer.caution(spec), pairer.field_caution(spec, len(bots)))
        return File(path, spec_value(spec), bots, _limits(limits), tuple(filter(None, cautions)), tables)
    except Refusal as refusal:
        raise Failure(f"{_location(path, text, refusal)}{refusal.message}") from None
    except OperatorError as error:
        line = line_of(places(text), f"{ADJUDICATION}.{TABLES}")
        raise Failure(f"{path}, line {line} ({ADJUDICATION}.{TABLES}): {error}") from None


def _location(path: Path, text: str, refusal: Refusal) -> str:
    """Return the location of a refusal: `cup.toml, line 7 (options.rounds): `."""
    what, where = refusal.facts.get("what", ""), refusal.facts.get("where", "")
    if refusal.reason is Reason.GAME_UNKNOWN:
        where = "games"
    found = places(text)
    unknown = (f"{where}.{what}", what)  # for an unknown field, the error names the table that contains it
    field = next((name for name in unknown if name in found), where)
    line = line_of(found, field)
    if line:
        return f"{path}, line {line} ({field}): "
    return f"{path} ({field}): " if field else f"{path}: "


def with_decimals(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a specification with whole hypotheses of a trial: `elo1 = 1.75` is 175 of 100 parts.

    Raises Refusal PARAMETER_INVALID for one with too many digits, and for one beside `elo_parts`.
    """
    options = values.get("options")
    if not isinstance(options, dict) or not any(isinstance(options.get(name), float) for name in HYPOTHESES):
        return dict(values)
    if "elo_parts" in options:
        raise _invalid(options["elo_parts"], "options.elo_parts", "nothing beside a hypothesis with decimals")
    given = {name: options.get(name, getattr(Options(), name)) for name in HYPOTHESES}
    for parts in ELO_PARTS:
        whole = {name: _in_parts(elo, parts) for name, elo in given.items()}
        wrong = [name for name, number in whole.items() if number is None]
        if not wrong:
            return {**values, "options": options | whole | {"elo_parts": parts}}
    raise _invalid(
        given[wrong[0]],
        f"options.{wrong[0]}",
        "a whole number, or one with one decimal from -100 to 100, or, if a hypothesis has two, from -10 to 10",
    )


def _in_parts(elo: object, parts: int) -> int | None:
    """Return a hypothesis in parts of a point; None if it is no whole number of them, or too many."""
    if not isinstance(elo, int | float) or not abs(elo) * parts <= MOST_PARTS:
        return None
    return round(elo * parts) if abs(elo * parts - round(elo * parts)) < 1e-6 else None


def _with_tables(values: dict[str, Any], folder: Path) -> tuple[dict[str, Any], Path | None]:
    """Return the values of a specification, and the folder of the Syzygy tables, whose path is relative to its own.

    All tables are used if the values do not say for how many pieces. Raises Refusal PARAMETER_INVALID.
    """
    rules = values.get(ADJUDICATION)
    if not isinstance(rules, dict) or TABLES not in rules:
        return values, None
    name = rules[TABLES]
    if not isinstance(name, str) or not name:
        raise _invalid(name, f"{ADJUDICATION}.{TABLES}", "the path of a folder")
    others = {key: value for key, value in rules.items() if key != TABLES}
    return {**values, ADJUDICATION: {"syzygy_pieces": MOST_PIECES, **others}}, (folder / name).resolve()


def spec_value(spec: Spec) -> arb.TournamentSpec:
    """Return a specification as the client takes it. Raises Refusal for a policy that no match can have."""
    lines = spec.openings.lines.items()
    return arb.TournamentSpec(
        name=spec.name,
        format=arb.TournamentFormat[spec.format.name],
        games=spec.games,
        time=spec.time,
        rated=spec.rated,
        paired=spec.paired,
        at_once=spec.at_once,
        attempts=spec.attempts,
        options=arb.TournamentOptions(**asdict(spec.options)),
        openings=arb.Openings(
            **(
                asdict(spec.openings)
                | {
                    "lines": tuple(arb.OpeningLine(game, line) for game, given in lines for line in given),
                    "order": arb.OpeningOrder[spec.openings.order.name],
                }
            )
        ),
        entry=arb.EntryRules(
            **(asdict(spec.entry) | {"forbidden": tuple(arb.PlayerPair(*pair) for pair in spec.entry.forbidden)})
        ),
        groups=arb.PlayerGroups(
            **(
                asdict(spec.groups)
                | {"categories": _groups(spec.groups.categories), "authors": _groups(spec.groups.authors)}
            )
        ),
        schedule=arb.Schedule(**(asdict(spec.schedule) | {"too_few": arb.TooFewRule[spec.schedule.too_few.name]})),
        series=arb.SeriesRules(**asdict(spec.series)),
        league=arb.LeagueRules(**asdict(spec.league)),
        adjudication=arb.Adjudication(**asdict(spec.adjudication)),
        tie_breaks=tuple(arb.TieBreak[tie_break.value.upper()] for tie_break in spec.tie_breaks),
        policy=_policy(spec.policy),
        time_odds=spec.time_odds,
    )


def _groups(named: Named) -> tuple[arb.PlayerGroup, ...]:
    return tuple(arb.PlayerGroup(name, players) for name, players in named.items())


def _policy(values: Mapping[str, int | str]) -> arb.TournamentPolicy:
    """Return the differences from the server's policy."""
    known = [field.name for field in fields(arb.TournamentPolicy)]
    for name in values:
        if name not in known:
            where, allowed = f"policy.{name}", ", ".join(known)
            raise _invalid(name, where, f"one of {allowed}")
    read = read_policy(values)
    said: dict[str, object] = {name: getattr(read, name) for name in values}
    starts = {ClockStart.WHEN_PRESENT: arb.StartRule.WHEN_PRESENT, ClockStart.AT_ONCE: arb.StartRule.AT_ONCE}
    no_shows = {NoShow.FORFEIT: arb.NoShowRule.FORFEIT, NoShow.VOID: arb.NoShowRule.VOID}
    said |= {"start": starts[read.start]} if "start" in said else {}
    said |= {"no_show": no_shows[read.no_show]} if "no_show" in said else {}
    return arb.TournamentPolicy(**said)  # type: ignore[arg-type]


# Limits


def _limits(values: Any) -> ResourceLimits:
    """Return the resource limits of a bot. Raises Refusal PARAMETER_INVALID."""
    if not isinstance(values, dict):
        raise _invalid(values, SANDBOX, "a table [sandbox]")
    for name, value in values.items():
        if name not in BOUNDS:
            raise _invalid(name, SANDBOX, f"one of {', '.join(BOUNDS)}")
        least, most = BOUNDS[name]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise _invalid(value, f"{SANDBOX}.{name}", f"a whole number from {least} to {most}")
    return ResourceLimits(**values)


# Dates and times

_SCHEDULE: Final = "schedule"
_INSTANTS: Final = ("start", "entry_closes")
_INSTANT: Final = "a date and time with an offset, without quotes, as 2026-12-01T18:00:00Z or 2026-12-01T19:00:00+01:00"


def with_instants(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a specification with each date and time of its schedule in milliseconds since 1970.

    `start` and `start_ms` both take a date and time. Raises Refusal PARAMETER_INVALID for one without an offset, whose
    instant nobody knows, and if both are there.
    """
    schedule = values.get(_SCHEDULE)
    if not isinstance(schedule, dict):
        return dict(values)
    read = dict(schedule)
    for name in _INSTANTS:
        for key in (name, f"{name}_ms"):
            if key == name and name in read and f"{name}_ms" in read:
                raise parameter_invalid(str(read[name]), f"{_SCHEDULE}.{name}", f"either {name} or {name}_ms")
            if (key == name and name in read) or isinstance(read.get(key), date | time):
                read[f"{name}_ms"] = _milliseconds(read.pop(key), f"{_SCHEDULE}.{key}")
    return {**values, _SCHEDULE: read}


def _milliseconds(given: Any, where: str) -> int:
    if isinstance(given, datetime) and given.tzinfo is not None:
        return round(given.timestamp() * 1_000)
    local = ": this one has none, and is another instant in each time zone" if isinstance(given, datetime) else ""
    raise parameter_invalid(str(given), where, f"{_INSTANT}{local}", of="a tournament")
