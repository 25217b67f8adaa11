"""Everything that a tournament's file may say, with defaults: `arbiter tournament reference`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from typing import Any, Final

from rich.markdown import Markdown

from arbiter.cli import instants
from arbiter.cli.terminal import console, on_terminal, write_text
from arbiter.cli.tournament_spec import BOT_FIELDS
from arbiter.matches import policy
from arbiter.sandbox import limits
from arbiter.tournaments.spec import (
    Adjudication,
    EntryRules,
    Format,
    OpeningOrder,
    Openings,
    Options,
    Schedule,
    Spec,
    TieBreak,
    TooFew,
)
from arbiter.tournaments.spec_text import DATE, NUMBERS

SECTIONS: Final[Mapping[str, type]] = {
    "options": Options,
    "openings": Openings,
    "entry": EntryRules,
    "schedule": Schedule,
    "adjudication": Adjudication,
}

HEADINGS: Final = {
    "": "The file itself",
    "options": "[options]: what only some formats have",
    "openings": "[openings]: how games start",
    "entry": "[entry]: who may enter",
    "schedule": "[schedule]: when things happen",
    "adjudication": "[adjudication]: when the arbiter ends a game",
    "policy": "[policy]: what matches do otherwise than the server's policy says",
    "bots": "[[bots]]: the bots of `arbiter tournament run`, a table each",
    "sandbox": "[sandbox]: what each bot of `arbiter tournament run` may take",
}

_TEXT: Final = "a text"
_NAMES: Final = "a list of texts"
_DATE: Final = f"a date and time, as `{DATE}`"
_INSTANT: Final = "milliseconds since 1970, UTC"

MEANINGS: Final[Mapping[str, str]] = {
    "name": "The tournament's name, for people.",
    "format": "Who meets whom, and when: deploy/examples has a file for each.",
    "games": "The variants, such as `pods(size=5)`; each meeting plays all of them.",
    "time": "The time control, such as `1m+1s`, `300ms/move+10s`, `40/30m`, `none`.",
    "rated": "Whether the games count for ratings.",
    "paired": "Whether each game is played twice, with swapped seats and the same opening.",
    "at_once": "How many games of this tournament one player plays at a time.",
    "attempts": "How often a game is played at most, if its matches are void. Then who did not come has lost it, "
    "or neither has won.",
    "tie_breaks": "What orders players who are level, in this order. Without any: those of the format.",
    "time_odds": 'Other time controls for some players: `[time_odds]`, then `player = "30s"`.',
    "options.cycles": "Round robin, gauntlet: how often each pair meets.",
    "options.keep_early_leavers": "Round robin: the games of who leaves before half of them count for the others.",
    "options.heads": "Gauntlet: how many of the first entrants run it.",
    "options.same_openings": "Gauntlet: all opponents play the same openings; if not, others while there are any.",
    "options.rounds": "Swiss: how many rounds, at least 1.",
    "options.accelerated": "Swiss: with Baku acceleration.",
    "options.best_of": "Knockout: meetings of a tie.",
    "options.double": "Knockout: a player is out after two lost ties.",
    "options.third_place": "Knockout: the losers of the semi-finals play for it.",
    "options.duration_ms": 'Arena, ladder: how long it lasts; 0: a ladder without end. Or `duration = "2h"`.',
    "options.validation": "Ladder: newcomers first play a game against themselves.",
    "options.elo0": "Trial: the lower hypothesis of its test, in Elo.",
    "options.elo1": "Trial: the upper hypothesis, in Elo.",
    "options.alpha": "Trial: the rate of wrong acceptance, in permille.",
    "options.beta": "Trial: the rate of wrong rejection, in permille.",
    "options.most_meetings": "Trial: after so many meetings it ends undecided.",
    "openings.plies": "Random plies before the clocks start, the same in both games of a pair.",
    "openings.seed": "What they are drawn from, and a random order; needed with either, and refused without both.",
    "openings.lines": 'Opening lines instead: `[openings.lines]`, then `pods = ["a1 e5 b1"]`. '
    "Each pair plays all of them before it plays one again.",
    "openings.order": "In which order each pair plays the lines; `random` is shuffled by the seed.",
    "openings.file": "A file with the lines, each a variant and its moves; `#` begins a comment.",
    "entry.capacity": "The most entrants; 0: the server's limit.",
    "entry.invited": "Only these players.",
    "entry.versions": "Only bots whose version begins with one of these.",
    "entry.forbidden": 'Pairs that never meet if the format can avoid it: `[["ann", "ben"]]`.',
    "entry.badge": "Only bots whose version has passed the conformance kit.",
    "schedule.start": "When it starts, with the offset from UTC. Without it: when the organiser says so.",
    "schedule.start_ms": "The same in milliseconds; 0: when the organiser says so.",
    "schedule.too_few": "With too few players then: wait for more, or cancel the tournament.",
    "schedule.entry_closes": "When entry closes, with the offset from UTC. Without it: with the start.",
    "schedule.entry_closes_ms": "The same in milliseconds; 0: with the start.",
    "adjudication.plies": "A game of so many plies is a draw; 0: never.",
    "adjudication.material": "A player wins who is ahead by so much material …",
    "adjudication.material_plies": "… after each of so many successive plies; 0: never.",
    "adjudication.evaluation": "A player wins if both bots say that it is better by so much (permille above 500) …",
    "adjudication.evaluation_plies": "… for so many successive plies; 0: never.",
    "adjudication.draw_evaluation": "A game is a draw if both bots say that it is level within so much (permille) …",
    "adjudication.draw_plies": "… for so many successive plies; 0: never …",
    "adjudication.draw_from_ply": "… from this ply on.",
    "adjudication.plugin": "The name of an adjudicator that the server has installed.",
    "policy.illegal_moves": "A player with so many illegal moves has lost.",
    "policy.kept_refusals": "How many refused requests of a player the record keeps.",
    "policy.no_show_ms": "How long a match waits for both players.",
    "policy.abandon_ms": "A player who stays away so long has lost; 0: never.",
    "policy.move_cap_ms": "The most that one move is charged.",
    "policy.resume_ms": "After an outage of the server: how long the clock waits for the player to come back.",
    "policy.start": "When the first clock starts.",
    "policy.no_show": "What becomes of a game to which one player did not come.",
    "bots.name": "The player; for a bundled bot its own name if it is left out.",
    "bots.bot": "A bot that is bundled: greedy, mcts, random, wire. Or else `command`.",
    "bots.command": "The program, as a command line or a list of words. Or else `bot`.",
    "bots.args": "Arguments for a bundled bot.",
    "bots.env": 'Environment variables: `{ LEVEL = "3" }`; none that begins with `ARBITER_`.',
    "bots.folder": "Where the program starts, from the folder of this file on.",
    "bots.sees": "Files and folders that it may read besides, in its sandbox.",
    "bots.rating": "What it is seeded by, in Elo.",
    "bots.version": "The version that it must say it has.",
    "sandbox.memory_mb": "Memory of all its processes, with the files in its /tmp, in MiB.",
    "sandbox.processes": "Processes and threads.",
    "sandbox.files": "Open files of a process.",
    "sandbox.tmp_mb": "Files in its /tmp, in MiB; as much again in /dev/shm.",
    "sandbox.cpu_s": "Seconds of processor time since its start; 0: no limit.",
}
"""What each field means, by its place, in the order of the page."""

ALLOWED: Final[Mapping[str, str]] = {
    "name": "a text, 1 to 100 characters",
    "games": "a list of 1 to 20 variants",
    "time": "a time control",
    "tie_breaks": f"a list of {', '.join(f'`{each}`' for each in TieBreak)}",
    "format": " or ".join(f"`{each}`" for each in Format),
    "time_odds": "a table of time controls, by player",
    "options.duration_ms": "0 to 315360000000",
    "openings.seed": _TEXT,
    "openings.lines": "a table of lists of lines, by variant",
    "openings.order": f"`{OpeningOrder.SEQUENTIAL}` or `{OpeningOrder.RANDOM}`",
    "openings.file": "a path, from the folder of this file on",
    "entry.invited": _NAMES,
    "entry.versions": _NAMES,
    "entry.forbidden": "a list of pairs of players",
    "schedule.start": _DATE,
    "schedule.entry_closes": _DATE,
    "schedule.too_few": " or ".join(f"`{each}`" for each in TooFew),
    "schedule.start_ms": _INSTANT,
    "schedule.entry_closes_ms": _INSTANT,
    "adjudication.plugin": _TEXT,
    "policy.start": " or ".join(f"`{each}`" for each in policy.ClockStart),
    "policy.no_show": " or ".join(f"`{each}`" for each in policy.NoShow),
    "bots.name": "1 to 40 of a-z and 0-9; one `-`, `_` or `.` between two of these",
    "bots.bot": _TEXT,
    "bots.command": "a text of shell words, or a list of texts",
    "bots.args": "a text of shell words, or a list of texts",
    "bots.env": "a table of texts",
    "bots.folder": "a folder",
    "bots.sees": "a text of shell words, or a list of texts",
    "bots.rating": "0 to 10000",
    "bots.version": _TEXT,
}
"""What is allowed where neither a range nor a type says it."""

NEEDED: Final = "needed"
INTRODUCTION: Final = """\
# The file of a tournament

`arbiter tournament reference` prints this page, which is made from the code that reads such files. A file is TOML. A
key that is not listed here is refused, by its name and line; so is a value that is not allowed. Times whose names end
in `_ms` are whole milliseconds. `arbiter tournament create FILE` takes the same file as `arbiter tournament run FILE`,
and leaves the bots to others.
"""


def reference() -> None:
    """Show everything that a tournament's file may say, with what is allowed and the defaults."""
    text = page()
    if on_terminal():
        console().print(Markdown(text), soft_wrap=False)
    else:
        write_text(text)


def page() -> str:
    """Return the reference as Markdown."""
    parts = [INTRODUCTION]
    for section, heading in HEADINGS.items():
        rows = [place for place in MEANINGS if place.rpartition(".")[0] == section]
        lines = [f"| `{place.rpartition('.')[2]}` | {_row(place)} |" for place in rows]
        parts.append("\n".join((f"## {_quoted(heading)}\n", *_HEAD, *lines, "")))
    return "\n".join(parts)


_HEAD: Final = ("| key | allowed | default | meaning |", "| -- | -- | -- | -- |")


def _quoted(heading: str) -> str:
    """Return a heading with the name of its table as code."""
    table, colon, rest = heading.partition("]: ")
    return f"`{table}]`: {rest}" if colon else heading


def _row(place: str) -> str:
    return f"{allowed(place)} | {_default(place)} | {MEANINGS[place]}"


def allowed(place: str) -> str:
    """Return what may stand in a field, in words."""
    if place in ALLOWED:
        return ALLOWED[place]
    section, _, name = place.rpartition(".")
    bounds = {"policy": policy.BOUNDS, "sandbox": limits.BOUNDS}.get(section, {}).get(name) or NUMBERS.get(place)
    return f"{bounds[0]} to {bounds[1]}" if bounds else "true or false"


def _default(place: str) -> str:
    """Return the default of a field as it is written in a file."""
    section, _, name = place.rpartition(".")
    if section == "policy":
        return "the server's"
    if section == "sandbox":
        return f"`{getattr(limits.DEFAULT, name)}`"
    if section == "bots":
        return "`0`" if name == "rating" else ""
    kind = SECTIONS.get(section, Spec)
    found: dict[str, Field[Any]] = {each.name: each for each in fields(kind)}
    if name not in found:
        return ""
    default = found[name].default
    if default is MISSING:
        return NEEDED if found[name].default_factory is MISSING else ""
    if isinstance(default, StrEnum | bool | int):
        return f"`{str(default).lower()}`"
    return ""


def known_places() -> Iterator[str]:
    """Yield every field that a file may have, by its place, as the code that reads files names them."""
    for each in fields(Spec):
        if each.name not in (*SECTIONS, "policy"):
            yield each.name
    for section, kind in SECTIONS.items():
        yield from (f"{section}.{each.name}" for each in fields(kind))
    yield "openings.file"
    yield from (f"schedule.{name}" for name in instants.NAMES)
    yield from (f"policy.{name}" for name in (*policy.BOUNDS, "start", "no_show"))
    yield from (f"bots.{name}" for name in BOT_FIELDS)
    yield from (f"sandbox.{name}" for name in limits.BOUNDS)
