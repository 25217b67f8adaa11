"""The forms of organisers for rulings and corrections: their choices, and what they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from arbiter.errors import argument_invalid
from arbiter.tournaments import corrections
from arbiter.tournaments.commands import Correct, Rule
from arbiter.tournaments.correction_rules import allowed
from arbiter.tournaments.game_rulings import RESULTS
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
    ("pair", "pair", "pair players by hand in a round: ann bob cid dan"),
    ("bye", "bye", "let a player sit out a round, with a point"),
    ("half-bye", "bye", "let a player sit out a round, with half a point"),
    ("pair-round", "pair_round", "pair a round, or pair it again"),
    ("afresh", "pair_round", "pair a round by the rules alone"),
    ("hold", "hold", "pause once the round under way is over"),
    ("hold-off", "hold", "do not pause after the round"),
    ("forbid", "forbid", "keep two players apart"),
    ("allow", "forbid", "let two players be paired again"),
)
"""What an organiser can decide: the value in a form, its row of the table of what is allowed, its words."""

WITHOUT_PLAYERS: Final = ("pair-round", "afresh", "hold", "hold-off")

NOTHING: Final = {
    "what": "",
    "about": "",
    "round": "",
    "points": "",
    "why": "",
    "go_on": "",
    "ratings_too": "",
    "seed": "",
}  #: the fields of the form


def choices(tournament: Tournament) -> list[tuple[str, str]]:
    """Return the corrections that a tournament allows now: the value in a form, and its words."""
    rows = allowed(tournament)
    return [(value, words) for value, row, words in CHOICES if row in rows]


def correction_of(sent: Mapping[str, str], caller: str) -> Correct:
    """Return the correction that a form asks for. Raises Refusal ARGUMENT_INVALID."""
    return Correct(caller, sent.get("request", ""), _what(sent), sent.get("why", "").strip())


def _what(sent: Mapping[str, str]) -> corrections.Correction:
    about, stop = sent.get("about", "").strip(), not sent.get("go_on")
    if not about and sent.get("what", "") not in WITHOUT_PLAYERS:
        raise argument_invalid("", "about", "the player, the players or the game")
    match sent.get("what", ""):
        case "disqualify":
            return corrections.Disqualify(about, stop=stop)
        case "stand" | "forfeit" | "void" as results:
            return corrections.Disqualify(about, True, corrections.Results(results), stop)
        case "reinstate":
            return corrections.Reinstate(about)
        case "replay":
            if not is_number(about):
                raise argument_invalid(about, "about", "the number of a game in the list")
            return corrections.Replay(int(about))
        case "award":
            return corrections.Award(about, _points(sent.get("points", "").strip(), whole=sent.get("unit") == "whole"))
        case "lots":
            return corrections.DrawLots(tuple(about.replace(",", " ").split()), sent.get("seed", ""))
        case "hold" | "hold-off" as what:
            return corrections.Hold(what == "hold-off")
        case "forbid" | "allow" as what:
            return corrections.Forbid(*_two(about), what == "allow")
        case "pair" | "bye" | "half-bye" | "pair-round" | "afresh" as what:
            return _of_round(what, about, sent.get("round", "").strip())
        case other:
            raise argument_invalid(other, "what", f"one of {', '.join(value for value, _, _ in CHOICES)}")


def _of_round(what: str, about: str, text: str) -> corrections.Correction:
    if not is_number(text):
        raise argument_invalid(text, "round", "the number of a round")
    round_ = int(text)
    match what:
        case "pair":
            players = about.replace(",", " ").split()
            if len(players) % 2:
                raise argument_invalid(about, "about", "two players for each pair")
            return corrections.PairByHand(round_, tuple(zip(players[::2], players[1::2], strict=True)))
        case "bye" | "half-bye":
            return corrections.GiveBye(about, round_, 2 if what == "bye" else 1)
        case _:
            return corrections.PairRound(round_, what == "afresh")


def _two(about: str) -> tuple[str, str]:
    players = about.replace(",", " ").split()
    if len(players) != 2:
        raise argument_invalid(about, "about", "two players")
    return players[0], players[1]


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
