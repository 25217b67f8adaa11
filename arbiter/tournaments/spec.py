"""The specification of a tournament: everything that its organiser decides before it begins.

A specification is a value. It is read from a mapping (TOML, JSON) by `arbiter.tournaments.spec_text`, stands in the
tournament's first event, and never changes afterwards. Times are milliseconds, instants UTC epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Format(StrEnum):
    """Who meets whom, and when."""

    ROUND_ROBIN = "round_robin"  #: everybody meets everybody, by the Berger tables
    GAUNTLET = "gauntlet"  #: the first entrants meet everybody else
    SWISS = "swiss"  #: rounds; who meets has about the same score, nobody meets twice (FIDE Dutch)
    KNOCKOUT = "knockout"  #: who loses a tie is out (single elimination), or plays on among those who lost one (double)
    ARENA = "arena"  #: whoever is free is paired again, for a time; wins in a row count double
    LADDER = "ladder"  #: as an arena, day and night: all who are there play about as often, and are ranked by rating
    TRIAL = "trial"  #: A against B, until a sequential test says which one is better


@dataclass(frozen=True, slots=True)
class Openings:
    """How games begin, so that bots without chance of their own do not play the same game twice.

    plies: so many random plies are played before the clocks start, the same in all games of a pair of games. seed: what
    they are drawn from. lines: opening lines instead, each the moves of a game's name, used in turn.
    """

    plies: int = 0
    seed: str = ""
    lines: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    """What only some formats have. A field that a format does not know has its default.

    cycles: how often each two meet (round robin, gauntlet). heads: how many entrants run the gauntlet. rounds: of a
    Swiss. accelerated: with Baku acceleration. best_of: meetings of a knockout tie. double: elimination after two lost
    ties. third_place: the losers of the semi-finals play for it. duration_ms: of an arena or ladder, 0 for a ladder
    without end. validation: a ladder's newcomers first play a game against themselves. elo0, elo1, alpha, beta: the
    hypotheses of a trial (Elo) and the error rates of its test (permille). most_meetings: where a trial ends undecided.
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


@dataclass(frozen=True, slots=True)
class EntryRules:
    """Who may play.

    capacity: most entrants; 0: no limit but the server's. invited: only these, if there are any. versions: only bots
    whose version begins with one of these texts, if there are any. forbidden: pairs that never meet, where the format
    can avoid it (two bots of one author). badge: only bots whose version has passed the conformance kit.
    """

    capacity: int = 0
    invited: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    forbidden: tuple[tuple[str, str], ...] = ()
    badge: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """When things happen: `start_ms` 0 means when the organiser says so, `entry_closes_ms` 0 with the start."""

    start_ms: int = 0
    entry_closes_ms: int = 0


@dataclass(frozen=True, slots=True)
class Adjudication:
    """When the arbiter ends a game by rule, or a plug-in does.

    plies: a game of so many plies is a draw; 0: never.
    material, material_plies: who is ahead by at least so much of what the game counts, after each of so many successive
    plies, wins; 0: never. Only for games that count something.
    evaluation, evaluation_plies: once both bots have said of so many successive plies that the same one of them is
    better by at least so much (permille over an even 500), that one wins; 0: never.
    draw_evaluation, draw_plies, draw_from_ply: once both have said of so many successive plies, from a ply on, that the
    game is level within so much, it is drawn.
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

    games: variants; in each meeting all of them are played. time: the time control; time_odds: another one for some
    players (a game with odds has both clocks as each player's control says). paired: each game is played twice, with
    the seats swapped and from the same opening. at_once: how many games of this tournament one player plays at a time.
    tie_breaks: in order; those of the format if there are none. policy: fields of the matches' policy
    (`arbiter.matches.policy`) that differ from the server's defaults.
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

    @property
    def games_a_meeting(self) -> int:
        """How many games a meeting of two players has."""
        return len(self.games) * (2 if self.paired else 1)
