"""What a bot's settings say of a challenge or seek."""

from __future__ import annotations

from typing import Any, Final

SETTINGS: Final[dict[str, Any]] = {
    "games": [],
    "time_controls": [],
    "rated": None,
    "seat": 0,
    "opponents": [],
    "least_rating": None,
    "most_rating": None,
}
CHALLENGE: Final[dict[str, Any]] = {
    "game": "pods(size=5)",
    "time_control": "1m+2s",
    "rated": False,
    "seat": 0,
    "challenger": "bob",
    "rating": None,
}
CASES: Final[tuple[tuple[str, dict[str, Any], dict[str, Any], str], ...]] = (
    ("no settings", {}, {}, ""),
    ("a game", {"games": ["hop-it", "pods"]}, {}, ""),
    ("a variant", {"games": ["pods(size=5)"]}, {}, ""),
    ("another variant", {"games": ["pods(size=7)"]}, {}, "this bot plays pods(size=7)"),
    ("another game", {"games": ["hop-it", "elevation"]}, {}, "this bot plays hop-it, elevation"),
    ("a time control in another form", {"time_controls": ["60s+2s"]}, {}, ""),
    ("another time control", {"time_controls": ["5m", "60s"]}, {}, "this bot plays at 5m, 60s"),
    ("rated, as the bot wants", {"rated": True}, {"rated": True}, ""),
    ("unrated, as the bot wants", {"rated": False}, {}, ""),
    ("unrated", {"rated": True}, {}, "this bot plays rated matches only"),
    ("rated", {"rated": False}, {"rated": True}, "this bot plays unrated matches only"),
    ("the seat that the bot wants: the challenger has the other one", {"seat": 1}, {"seat": 2}, ""),
    ("the other seat", {"seat": 1}, {"seat": 1}, "this bot plays as seat 1 only"),
    ("the other seat of the second", {"seat": 2}, {"seat": 2}, "this bot plays as seat 2 only"),
    ("a seat drawn by lot", {"seat": 2}, {}, "this bot plays as seat 2 only"),
    ("an opponent", {"opponents": ["alice", "bob"]}, {}, ""),
    ("another opponent", {"opponents": ["alice", "carol"]}, {}, "this bot plays against alice, carol"),
    ("a rating within the limits", {"least_rating": 1400, "most_rating": 1600}, {"rating": 1500.5}, ""),
    ("exactly the limits", {"least_rating": 1500, "most_rating": 1500}, {"rating": 1500.0}, ""),
    (
        "a rating that is too low",
        {"least_rating": 1500},
        {"rating": 1499.9},
        "this bot plays against ratings of at least 1500",
    ),
    (
        "a rating that is too high",
        {"most_rating": -100},
        {"rating": -99.5},
        "this bot plays against ratings of at most -100",
    ),
    ("no rating, and a lower limit", {"least_rating": 0}, {}, "this bot plays against ratings of at least 0"),
    ("no rating, and an upper limit", {"most_rating": 1600}, {}, "this bot plays against ratings of at most 1600"),
    ("no rating, and no limit", {}, {}, ""),
    (
        "several: the first setting in this order counts",
        {"opponents": ["alice"], "seat": 1, "rated": True, "time_controls": ["5m"]},
        {},
        "this bot plays at 5m",
    ),
    (
        "rated goes before the seat",
        {"opponents": ["alice"], "seat": 1, "rated": True},
        {},
        "this bot plays rated matches only",
    ),
    ("the seat goes before the opponent", {"opponents": ["alice"], "seat": 1}, {}, "this bot plays as seat 1 only"),
    (
        "the opponent goes before the rating",
        {"opponents": ["alice"], "least_rating": 1},
        {},
        "this bot plays against alice",
    ),
)
"""For each case its name, the settings and the challenge as far as they differ from the usual ones, and the reason."""


def vectors() -> list[dict[str, Any]]:
    """Return the content of filters.json."""
    return [
        {"name": name, "settings": SETTINGS | settings, "challenge": CHALLENGE | challenge, "objection": objection}
        for name, settings, challenge, objection in CASES
    ]
