"""The specification of a tournament: everything that its organiser decides before it starts.

A specification is an immutable value. `arbiter.tournaments.spec_text` reads it from a mapping (TOML, JSON). It is in
the tournament's first event, and never changes afterwards. Times are milliseconds, instants UTC epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

from arbiter.options import Option, Written, options_of
from arbiter.tournaments.groups import Groups
from arbiter.tournaments.league_rules import LeagueRules, LeagueSeason
from arbiter.tournaments.schedule import Schedule, SeriesRules

ATTEMPTS: Final = 3  #: the default of `Spec.attempts`
MOST_ATTEMPTS: Final = 100  #: also in older records, in which the number was not bounded
MOST_PIECES: Final = 7  #: of a position in Syzygy tables
MOST_PLAYERS: Final = 10_000
LONGEST_MS: Final = 3_650 * 86_400_000  #: milliseconds of ten years, the longest duration
ALL_READ: Final = 1_000  #: entries of an opening book, the first ones, that the rules read before a tournament begins


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


REARRANGED: Final = frozenset({Format.ROUND_ROBIN})
"""Formats whose rounds follow from tables, and in which an organiser can change pairs of a round by hand."""
AGAINST_ITSELF: Final = frozenset({Format.LADDER})
"""Formats in which a player may have a game against itself."""
LEAGUES: Final = (Format.ROUND_ROBIN, Format.SWISS, Format.KNOCKOUT, Format.ARENA)
"""Formats of a league's seasons."""


class OpeningOrder(StrEnum):
    """In which order each pair of players goes through the opening lines."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"  #: shuffled by the seed
    #: by the number of the meeting in the whole tournament: tournaments of older servers, and nobody can choose it
    MEETING = "meeting"


Lines: TypeAlias = Mapping[str, tuple[tuple[str, ...], ...]]
"""Opening lines, each the moves of a game, by the game's name."""


@dataclass(frozen=True, slots=True)
class Openings:
    """How games start, so that deterministic bots do not play the same game twice."""

    plies: Annotated[
        int, Option("Random plies before the clocks start, the same in both games of a pair.", bounds=(0, 100))
    ] = 0
    seed: Annotated[
        str,
        Option("What random plies, a random order and start positions of `chess960` are drawn from."),
    ] = ""
    lines: Annotated[
        Lines,
        Option(
            "Opening lines instead.",
            allowed="up to 1000 lines with 5000 moves, by variant",
            example='`[openings.lines]`, then `pods = ["a1 e5 b1"]`',
        ),
    ] = field(default_factory=dict)
    order: Annotated[
        OpeningOrder,
        Option(
            "In which order each pair plays the lines.",
            choices=(OpeningOrder.SEQUENTIAL, OpeningOrder.RANDOM),
            stored=OpeningOrder.MEETING,
        ),
    ] = OpeningOrder.SEQUENTIAL
    book: Annotated[
        str,
        Option(
            "An opening book instead, in the server's folder of books: EPD, FEN, PGN, SGF, or lines as in "
            "`file`. Only with one game.",
        ),
    ] = ""
    book_first: Annotated[int, Option("The entry to begin with, in sequential order.", bounds=(1, 1 << 32))] = 1
    book_plies: Annotated[int, Option("The most moves of each entry; 0: all.", bounds=(0, 1_000))] = 0
    book_to_comment: Annotated[
        bool,
        Option("Of a PGN book: the moves of each game up to the first comment after a move."),
    ] = False
    book_hash: Annotated[
        str,
        Option(
            "The SHA-256 that the book must have, in hexadecimal. The next tournament of a series takes the book "
            "as it is then."
        ),
    ] = ""
    book_size: Annotated[int, Option("The number of entries; the server fills it in.", bounds=(0, 1 << 32))] = 0


@dataclass(frozen=True, slots=True)
class Options:
    """Options of only some formats. In other formats the field has its default."""

    cycles: Annotated[
        int,
        Option("How often each pair meets.", bounds=(1, 1_000), formats=(Format.ROUND_ROBIN, Format.GAUNTLET)),
    ] = 1
    keep_early_leavers: Annotated[
        bool,
        Option(
            "Games of a player count even if it leaves before half of them.",
            formats=(Format.ROUND_ROBIN,),
            stored=True,
        ),
    ] = False
    heads: Annotated[
        int,
        Option(
            "How many entrants, the first ones, meet all others.", bounds=(1, MOST_PLAYERS), formats=(Format.GAUNTLET,)
        ),
    ] = 1
    same_openings: Annotated[
        bool,
        Option(
            "All opponents play the same openings.",
            formats=(Format.GAUNTLET,),
        ),
    ] = True
    rounds: Annotated[
        int,
        Option(
            "How many rounds, at least 1.",
            bounds=(0, 100),
            formats=(Format.SWISS,),
        ),
    ] = 0
    accelerated: Annotated[bool, Option("With Baku acceleration, for many players.", formats=(Format.SWISS,))] = False
    best_of: Annotated[
        int, Option("A tie is the best of this many meetings.", bounds=(1, 99), formats=(Format.KNOCKOUT,))
    ] = 1
    double: Annotated[bool, Option("A player is out after two lost ties.", formats=(Format.KNOCKOUT,))] = False
    third_place: Annotated[
        bool, Option("The losers of the semi-finals play for third place.", formats=(Format.KNOCKOUT,))
    ] = False
    duration_ms: Annotated[
        int,
        Option(
            "How long it lasts; 0: a ladder without end.",
            bounds=(0, LONGEST_MS),
            formats=(Format.ARENA, Format.LADDER),
            example='`duration = "2h"`',
            written=Written.DURATION,
        ),
    ] = 0
    validation: Annotated[bool, Option("Newcomers first play a game against themselves.", formats=(Format.LADDER,))] = (
        True
    )
    elo0: Annotated[
        int,
        Option("The lower hypothesis, in Elo.", bounds=(-1_000, 1_000), formats=(Format.TRIAL,)),
    ] = 0
    elo1: Annotated[int, Option("The upper hypothesis, in Elo.", bounds=(-1_000, 1_000), formats=(Format.TRIAL,))] = 10
    alpha: Annotated[
        int, Option("The rate of wrong acceptance, in permille.", bounds=(1, 499), formats=(Format.TRIAL,))
    ] = 50
    beta: Annotated[
        int, Option("The rate of wrong rejection, in permille.", bounds=(1, 499), formats=(Format.TRIAL,))
    ] = 50
    most_meetings: Annotated[
        int,
        Option("After this many meetings it ends undecided.", bounds=(1, 10_000_000), formats=(Format.TRIAL,)),
    ] = 10_000
    normalised: Annotated[
        bool,
        Option("`elo0` and `elo1` are normalised Elo, as in fastchess, from -200 to 200.", formats=(Format.TRIAL,)),
    ] = False
    elo_parts: Annotated[
        int,
        Option(
            "`elo0` and `elo1` are divided by this; a file may write `elo1 = 1.75` instead.",
            bounds=(1, 100),
            formats=(Format.TRIAL,),
        ),
    ] = 1
    boards: Annotated[
        int,
        Option(
            "How many players of a team play at a time; 0: no teams.",
            bounds=(0, 100),
            formats=(Format.ROUND_ROBIN, Format.SWISS),
        ),
    ] = 0
    scheveningen: Annotated[
        bool,
        Option("Each player meets every player of the other team.", formats=(Format.ROUND_ROBIN,)),
    ] = False
    match_win: Annotated[
        int,
        Option("Match points for a win.", bounds=(1, 100), formats=(Format.ROUND_ROBIN, Format.SWISS)),
    ] = 2
    match_draw: Annotated[
        int, Option("Match points for a draw.", bounds=(0, 100), formats=(Format.ROUND_ROBIN, Format.SWISS))
    ] = 1
    by_board_points: Annotated[
        bool,
        Option("Board points order the teams, not match points.", formats=(Format.ROUND_ROBIN, Format.SWISS)),
    ] = False


def options_in(format_: Format) -> tuple[str, ...]:
    """Return the fields of `Options` that a format has."""
    return tuple(name for name, each in options_of(Options).items() if format_ in each.option.formats)


@dataclass(frozen=True, slots=True)
class EntryRules:
    """Who may enter."""

    capacity: Annotated[int, Option("The most entrants; 0: the server's limit.", bounds=(0, MOST_PLAYERS))] = 0
    invited: Annotated[tuple[str, ...], Option("If any: only these players.", bounds=(0, 2_000))] = ()
    versions: Annotated[
        tuple[str, ...], Option("If any: only bots whose version begins with one of these.", bounds=(0, 100))
    ] = ()
    forbidden: Annotated[
        tuple[tuple[str, str], ...],
        Option(
            "Pairs that never meet if the format can avoid it.",
            bounds=(0, 1_000),
            allowed="up to 1000 pairs of players",
            example='`[["ann", "ben"]]`',
        ),
    ] = ()
    badge: Annotated[bool, Option("Only bots whose version has passed the conformance kit.")] = False


@dataclass(frozen=True, slots=True)
class Adjudication:
    """When the arbiter ends a game: by rule, plug-in or tables. Evaluations are those of the bots' comments."""

    plies: Annotated[int, Option("A game of this many plies is a draw; 0: never.", bounds=(0, 1_000_000))] = 0
    material: Annotated[int, Option("A player with this much more material wins.", bounds=(0, 1_000))] = 0
    material_plies: Annotated[int, Option("For how many plies the lead has to last; 0: never.", bounds=(0, 10_000))] = 0
    evaluation: Annotated[
        int,
        Option(
            "A player wins if both bots say that it is better by this much, in permille above 500.", bounds=(0, 500)
        ),
    ] = 0
    evaluation_plies: Annotated[
        int, Option("For how many plies both have to say so; 0: never.", bounds=(0, 10_000))
    ] = 0
    draw_evaluation: Annotated[
        int,
        Option("A game is a draw if both bots say that it is level within this much, in permille.", bounds=(0, 500)),
    ] = 0
    draw_plies: Annotated[int, Option("For how many plies both have to say so; 0: never.", bounds=(0, 10_000))] = 0
    draw_from_ply: Annotated[int, Option("The first ply at which such a draw may happen.", bounds=(0, 1_000_000))] = 0
    plugin: Annotated[str, Option("The name of an adjudicator that the server has installed.")] = ""
    syzygy_pieces: Annotated[
        int,
        Option(
            "A game of chess with at most this many pieces ends as Syzygy tables say; 0: never.",
            bounds=(0, MOST_PIECES),
        ),
    ] = 0
    syzygy_ignore_50: Annotated[
        bool, Option("A win in the tables counts even if the 50-move rule turns it into a draw.")
    ] = False


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
    MATCH_POINTS = "match_points"
    BOARD_POINTS = "board_points"
    SONNEBORN_BERGER_BOARDS = "sonneborn_berger_boards"
    BOARD_COUNT = "board_count"


@dataclass(frozen=True, slots=True)
class Spec:
    """A tournament as its organiser describes it.

    In a game with time odds each player's clock follows its own control. policy: fields of the matches' policy
    (`arbiter.matches.policy`) that differ from the server's.
    """

    name: Annotated[str, Option("Its name.", allowed="1–100 characters")]
    format: Annotated[Format, Option("Who meets whom, and when.")]
    games: Annotated[
        tuple[str, ...],
        Option(
            "Such as `pods(size=5)`; each meeting plays all of them.",
            bounds=(1, 20),
            allowed="1–20 variants",
        ),
    ]
    time: Annotated[
        str,
        Option("Such as `1m+1s`, `300ms/move+10s`, `40/30m`, `none`.", allowed="a time control"),
    ]
    rated: Annotated[bool, Option("The games count for ratings.")] = True
    paired: Annotated[bool, Option("Each game is played twice, with swapped seats and the same opening.")] = True
    at_once: Annotated[int, Option("How many games one player plays at a time.", bounds=(1, 1_000))] = 1
    options: Options = Options()
    openings: Openings = field(default_factory=Openings)
    entry: EntryRules = EntryRules()
    groups: Groups = field(default_factory=Groups)
    schedule: Schedule = field(default_factory=Schedule)
    series: SeriesRules = field(default_factory=SeriesRules)
    league: LeagueRules = field(default_factory=LeagueRules)
    season: LeagueSeason = field(default_factory=LeagueSeason)
    adjudication: Adjudication = Adjudication()
    tie_breaks: Annotated[
        tuple[TieBreak, ...],
        Option(
            "What orders players who are level, the first one first. Without any: those of the format.",
            bounds=(0, 20),
            allowed=f"a list of {', '.join(f'`{each}`' for each in TieBreak)}",
        ),
    ] = ()
    policy: Mapping[str, int | str] = field(default_factory=dict)
    time_odds: Annotated[
        Mapping[str, str],
        Option(
            "Other time controls for some players.",
            bounds=(0, 500),
            allowed="up to 500 time controls, by player",
            example='`[time_odds]`, then `player = "30s"`',
        ),
    ] = field(default_factory=dict)
    attempts: Annotated[
        int,
        Option(
            "How often a game is played while its matches are void. Then whoever did not come loses it, or nobody "
            "wins.",
            bounds=(1, MOST_ATTEMPTS),
            stored=MOST_ATTEMPTS,
        ),
    ] = ATTEMPTS

    @property
    def games_a_meeting(self) -> int:
        """The number of games in a meeting."""
        return len(self.games) * (2 if self.paired else 1)

    @property
    def pairs_apart(self) -> frozenset[frozenset[str]]:
        """The pairs that never meet if the format can avoid it."""
        return frozenset(map(frozenset[str], self.entry.forbidden)) | self.groups.pairs_apart

    @property
    def boards(self) -> int:
        """The number of boards of each team; 0 if this is no tournament of teams."""
        return self.options.boards if "boards" in options_in(self.format) else 0

    @property
    def rounds_a_match(self) -> int:
        """The number of rounds of a match of teams: one, and in the Scheveningen system as many as there are boards."""
        everybody = self.options.scheveningen and "scheveningen" in options_in(self.format)
        return self.boards if everybody else 1


PARTS: Final[Mapping[str, type]] = {
    "options": Options,
    "openings": Openings,
    "entry": EntryRules,
    "groups": Groups,
    "schedule": Schedule,
    "series": SeriesRules,
    "league": LeagueRules,
    "adjudication": Adjudication,
}
"""The parts of a specification with fields of their own, by name."""
