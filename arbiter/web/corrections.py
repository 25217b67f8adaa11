"""The forms of organisers for rulings and corrections: their choices, and what they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from arbiter.errors import argument_invalid
from arbiter.tournaments.commands import Correct, Rule
from arbiter.tournaments.correction_rules import allowed
from arbiter.tournaments.corrections import Award, Correction, Disqualify, DrawLots, Reinstate, Replay, Results
from arbiter.tournaments.rulings import RESULTS
from arbiter.tournaments.tournament import Tournament

CHOICES: Final = (
    ("disqualify", "disqualify", "disqualify a player from now on"),
    ("stand", "disqualify from the start", "disqualify a player from the beginning: its results stand"),
    ("forfeit", "disqualify from the start", "disqualify a player from the beginning: it has lost all its games"),
    ("void", "disqualify from the start", "disqualify a player from the beginning: its games are void"),
    ("reinstate", "reinstate", "take a disqualification back"),
    ("replay", "replay", "play a game again"),
    ("award", "award", "give a player points, or take some"),
    ("lots", "lots", "order players who share a place by lot"),
)
"""What an organiser can decide: the value in a form, its row of the table of what is allowed, its words."""

NOTHING: Final = {"what": "", "about": "", "points": "", "why": "", "go_on": "", "seed": ""}  #: the fields of the form


def choices(tournament: Tournament) -> list[tuple[str, str]]:
    """Return the corrections that a tournament allows now: the value in a form, and its words."""
    rows = allowed(tournament)
    return [(value, words) for value, row, words in CHOICES if row in rows]


def correction_of(sent: Mapping[str, str], caller: str) -> Correct:
    """Return the correction that a form asks for. Raises Refusal ARGUMENT_INVALID."""
    return Correct(caller, sent.get("request", ""), _what(sent), sent.get("why", "").strip())


def _what(sent: Mapping[str, str]) -> Correction:
    about, stop = sent.get("about", "").strip(), not sent.get("go_on")
    if not about:
        raise argument_invalid("", "about", "the player, the players or the game")
    match sent.get("what", ""):
        case "disqualify":
            return Disqualify(about, stop=stop)
        case "stand" | "forfeit" | "void" as results:
            return Disqualify(about, True, Results(results), stop)
        case "reinstate":
            return Reinstate(about)
        case "replay":
            if not is_number(about):
                raise argument_invalid(about, "about", "the number of a game in the list")
            return Replay(int(about))
        case "award":
            return Award(about, _points(sent.get("points", "").strip(), whole=sent.get("unit") == "whole"))
        case "lots":
            return DrawLots(tuple(about.replace(",", " ").split()), sent.get("seed", ""))
        case other:
            raise argument_invalid(other, "what", f"one of {', '.join(value for value, _, _ in CHOICES)}")


def _points(text: str, *, whole: bool) -> int:
    """Return half points that a person has written: 1, 0.5, -1.5. whole: points of an arena, which has no halves."""
    number, _, rest = text.removeprefix("-").partition(".")
    if not is_number(number) or rest not in ("", "0", *(() if whole else ("5",))):
        raise argument_invalid(text, "points", "points, as 1 or -2" if whole else "points, as 1, 0.5 or -1.5")
    points = int(number) if whole else 2 * int(number) + (rest == "5")
    return -points if text.startswith("-") else points


def ruling_of(sent: Mapping[str, str], caller: str) -> Rule:
    """Return the ruling that a form asks for. Raises Refusal ARGUMENT_INVALID."""
    game, result = sent.get("game", "").strip(), sent.get("result", "")
    if not is_number(game):
        raise argument_invalid(game, "game", "the number of a game in the list")
    if result not in RESULTS:
        raise argument_invalid(result, "result", f"one of {', '.join(RESULTS)}")
    return Rule(caller, sent.get("request", ""), int(game), *RESULTS[result], sent.get("note", "").strip())


def is_number(text: str) -> bool:
    """Return whether a text is a whole number of at most five digits."""
    return text.isascii() and text.isdigit() and len(text) < 6
