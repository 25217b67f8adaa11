"""The specification of a tournament: everything that its organiser decides before it starts.

A specification is an immutable value. `arbiter.tournaments.spec_text` reads it from a mapping (TOML, JSON). It is in
the tournament's first event, and never changes afterwards. Times are milliseconds, instants UTC epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

ATTEMPTS: Final = 3  #: the default of `Spec.attempts`


class Format(StrEnum):
    """The formats: who meets whom, and when."""

    ROUND_ROBIN = "round_robin"  #: everybody meets everybody, by the Berger tables
    GAUNTLET = "gauntlet"  #: the first entrants meet everybody else
    SWISS = "swiss"  #: rounds; opponents have about the same score, nobody meets twice (FIDE Dutch)
    #: the loser of a tie is out (single elimination), or continues among those who lost one (double)
    KNOCKOUT = "knockout"
    ARENA = "arena"  #: free players are paired again, for a limited time; wins in a row count double
    LADDER = "ladder"  #: like an arena, day and night: all present players play about equally often, and rank by rating
    TRIAL = "trial"  #: A against B, until a sequential test decides which one is better


class OpeningOrder(StrEnum):
    """In which order each pair of players goes through the opening lines."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"  #: shuffled by the seed
    #: by the number of the meeting in the whole tournament: tournaments of older servers, and nobody can choose it
    MEETING = "meeting"


@dataclass(frozen=True, slots=True)
class Openings:
    """How games start, so that deterministic bots do not play the same game twice.

    plies: the number of random plies before the clocks start, the same in all games of a pair of games. seed: of the
    random plies and of a random order. lines: opening lines instead, each the moves of a game by its name. order: of
    the lines.
    """

    plies: int = 0
    seed: str = ""
    lines: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    order: OpeningOrder = OpeningOrder.SEQUENTIAL


@dataclass(frozen=True, slots=True)
class Options:
    """Options of only some formats. In other formats the field has its default.

    cycles: how often each pair meets (round robin, gauntlet). heads: how many entrants run the gauntlet. same_openings:
    all pairs of a gauntlet play the same openings. rounds: of a Swiss. accelerated: with Baku acceleration. best_of:
    meetings of a knockout tie. double: elimination after two lost ties. third_place: the losers of the semi-finals play
    for it. duration_ms: of an arena or ladder, 0 for a ladder without end. validation: a ladder's newcomers first play
    a game against themselves. elo0, elo1, alpha, beta: the hypotheses of a trial (Elo) and the error rates of its test
    (permille). most_meetings: when a trial ends undecided. keep_early_leavers: the results of who leaves a round robin
    before half of its games count for the others all the same.
    """

    cycles: int = 1
    heads: int = 1
    rounds: int = 0
    accelerated: bool = False
    best_of: int = 1
    double: bool = False
    third_place: bool = False
    duration_ms: int = 0
    validation: bool = True
    elo0: int = 0
    elo1: int = 10
    alpha: int = 50
    beta: int = 50
    most_meetings: int = 10_000
    same_openings: bool = True
    keep_early_leavers: bool = False


@dataclass(frozen=True, slots=True)
class EntryRules:
    """Who may enter.

    capacity: maximum number of entrants; 0: only the server's limit. invited: if not empty, only these players.
    versions: if not empty, only bots whose version begins with one of these texts. forbidden: pairs that never meet, if
    the format can avoid it (two bots of one author). badge: only bots whose version has passed the conformance kit.
    """

    capacity: int = 0
    invited: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    forbidden: tuple[tuple[str, str], ...] = ()
    badge: bool = False


class TooFew(StrEnum):
    """What happens if a tournament's start time comes with too few players."""

    WAIT = "wait"  #: it starts as soon as there are enough
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Schedule:
    """The schedule: `start_ms` 0 means when the organiser starts it, `entry_closes_ms` 0 means at the start.

    too_few: what happens if the start time comes with too few players.
    """

    start_ms: int = 0
    entry_closes_ms: int = 0
    too_few: TooFew = TooFew.WAIT


@dataclass(frozen=True, slots=True)
class Adjudication:
    """When the arbiter ends a game by rule, or by a plug-in.

    plies: after this many plies a game is a draw; 0: never.
    material, material_plies: a player wins that is ahead in material by at least `material` after each of
    `material_plies` successive plies; 0: never. Only for games that count material.
    evaluation, evaluation_plies: a player wins if both bots have claimed for `evaluation_plies` successive plies that
    it is better by at least `evaluation` (permille above an even 500); 0: never.
    draw_evaluation, draw_plies, draw_from_ply: a game is a draw if both bots have claimed for `draw_plies` successive
    plies, from ply `draw_from_ply` on, that it is level within `draw_evaluation` permille.
    plugin: the name of an installed plug-in, or ''.
    """

    plies: int = 0
    material: int = 0
    material_plies: int = 0
    evaluation: int = 0
    evaluation_plies: int = 0
    draw_evaluation: int = 0
    draw_plies: int = 0
    draw_from_ply: int = 0
    plugin: str = ""


class TieBreak(StrEnum):
    """What orders players who are level in points; see `arbiter.tournaments.tie_breaks`."""

    DIRECT = "direct_encounter"
    SONNEBORN_BERGER = "sonneborn_berger"
    BUCHHOLZ = "buchholz"
    BUCHHOLZ_CUT_1 = "buchholz_cut_1"
    BUCHHOLZ_CUT_2 = "buchholz_cut_2"
    BUCHHOLZ_MEDIAN_1 = "buchholz_median_1"
    WINS = "wins"
    WINS_SEAT_2 = "wins_seat_2"
    GAMES_SEAT_2 = "games_seat_2"
    PROGRESSIVE = "progressive"


@dataclass(frozen=True, slots=True)
class Spec:
    """A tournament as its organiser describes it.

    attempts: how often a game is played at most if its matches are void (`arbiter.tournaments.game_ends`).

    games: variants; each meeting plays all of them. time: the time control; time_odds: other ones for some players (in
    a game with odds each player's clock follows its own control). paired: each game is played twice, with swapped seats
    and the same opening. at_once: how many games of this tournament one player plays in parallel. tie_breaks: in order;
    if empty, the format's defaults. policy: fields of the matches' policy (`arbiter.matches.policy`) that differ from
    the server's defaults.
    """

    name: str
    format: Format
    games: tuple[str, ...]
    time: str
    rated: bool = True
    paired: bool = True
    at_once: int = 1
    options: Options = Options()
    openings: Openings = field(default_factory=Openings)
    entry: EntryRules = EntryRules()
    schedule: Schedule = Schedule()
    adjudication: Adjudication = Adjudication()
    tie_breaks: tuple[TieBreak, ...] = ()
    policy: Mapping[str, int | str] = field(default_factory=dict)
    time_odds: Mapping[str, str] = field(default_factory=dict)
    attempts: int = ATTEMPTS

    @property
    def games_a_meeting(self) -> int:
        """The number of games in a meeting."""
        return len(self.games) * (2 if self.paired else 1)
