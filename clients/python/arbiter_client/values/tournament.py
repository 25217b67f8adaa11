"""Tournaments: the values of TournamentService, and the specification of a new one.

Instants are UTC in milliseconds since 1970. A specification is complete; its defaults are those of the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arbiter_client.values.groups import PlayerGroups
from arbiter_client.values.match import StartRule
from arbiter_client.values.reading import OpenEnum
from arbiter_client.values.schedule import LeagueRules, LeagueSeason, Schedule, SeriesRules


class TournamentFormat(OpenEnum):
    """The format: who meets whom, and when."""

    UNSPECIFIED = 0
    ROUND_ROBIN = 1
    GAUNTLET = 2
    SWISS = 3
    KNOCKOUT = 4
    ARENA = 5
    LADDER = 6
    TRIAL = 7


class TournamentPhase(OpenEnum):
    """The phase of a tournament."""

    UNSPECIFIED = 0
    ENTRY = 1  #: players enter
    RUNNING = 2
    PAUSED = 3  #: no further game begins
    ENDED = 4


class TournamentEnd(OpenEnum):
    """The reason of a tournament's end."""

    UNSPECIFIED = 0  #: it has not ended
    COMPLETE = 1
    TIME = 2
    DECIDED = 3  #: the sequential test has a verdict
    CANCELLED = 4


class TieBreak(OpenEnum):
    """The criterion that orders players with equal points."""

    UNSPECIFIED = 0
    DIRECT_ENCOUNTER = 1
    SONNEBORN_BERGER = 2
    BUCHHOLZ = 3
    BUCHHOLZ_CUT_1 = 4
    BUCHHOLZ_CUT_2 = 5
    BUCHHOLZ_MEDIAN_1 = 6
    WINS = 7
    WINS_SEAT_2 = 8
    GAMES_SEAT_2 = 9
    PROGRESSIVE = 10
    MATCH_POINTS = 11  #: of teams, as those below
    BOARD_POINTS = 12
    SONNEBORN_BERGER_BOARDS = 13
    BOARD_COUNT = 14


class NoShowRule(OpenEnum):
    """The result of a game for which one player did not connect."""

    UNSPECIFIED = 0  #: the server's default, FORFEIT
    FORFEIT = 1
    VOID = 2  #: it is played again


class OpeningOrder(OpenEnum):
    """The order in which each pair of players goes through the opening lines."""

    UNSPECIFIED = 0  #: sequential
    SEQUENTIAL = 1
    RANDOM = 2  #: shuffled by the seed
    MEETING = 3  #: by the number of the meeting in the tournament; only in answers, for tournaments of older servers


# The decisions of an organiser


@dataclass(frozen=True, slots=True)
class TournamentOptions:
    """Options of single formats.

    cycles: how often each pair meets (round robin, gauntlet). heads: the number of players who run the gauntlet.
    rounds, accelerated: of a Swiss. best_of, double, third_place: of a knockout. duration_ms: of an arena or ladder, 0
    for a ladder without end. validation: a ladder's newcomers first play against themselves. elo0, elo1, alpha, beta
    (permille), most_meetings: the hypotheses of a trial, the error rates of its test, and the meeting after which it
    ends undecided. same_openings: all opponents of a gauntlet's head play the same openings. keep_early_leavers: if a
    player leaves a round robin before half of its games, these count for the others. normalised: elo0 and elo1 are
    normalised Elo. elo_parts: elo0 and elo1 are divided by this. boards: of each team in a tournament of teams, 0 for
    none. scheveningen: each player meets every player of the other team. match_win, match_draw: the match
    points of a team. by_board_points: teams are ordered by board points, not by match points.
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
    normalised: bool = False
    elo_parts: int = 1
    boards: int = 0
    scheveningen: bool = False
    match_win: int = 2
    match_draw: int = 1
    by_board_points: bool = False


@dataclass(frozen=True, slots=True)
class OpeningLine:
    """An opening line of one of the tournament's games."""

    game: str
    moves: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Openings:
    """How games begin: with random plies from a seed, with lines, or from a book; each pair goes through them alone.

    book: a file in the server's folder of books. book_first: its entry to begin with, in sequential order. book_plies:
    at most this many moves of each, 0 for all. book_to_comment: of a book in PGN only those before the first comment.
    book_hash: its SHA-256, which the server fills in; book_size: as many entries it has, which only the server says.
    """

    plies: int = 0
    seed: str = ""
    lines: tuple[OpeningLine, ...] = ()
    order: OpeningOrder = OpeningOrder.SEQUENTIAL
    book: str = ""
    book_first: int = 1
    book_plies: int = 0
    book_to_comment: bool = False
    book_hash: str = ""
    book_size: int = 0


@dataclass(frozen=True, slots=True)
class PlayerPair:
    """Two players."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class EntryRules:
    """Who may play.

    capacity: the largest number of players, 0 for no limit. invited: only these players. versions: only bots whose
    version begins with one of these. forbidden: pairs that must not meet. badge: only bots whose version has passed the
    conformance kit.
    """

    capacity: int = 0
    invited: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    forbidden: tuple[PlayerPair, ...] = ()
    badge: bool = False


@dataclass(frozen=True, slots=True)
class Adjudication:
    """The rules by which the arbiter ends a game early; 0: never.

    plies: the game is a draw then. material, material_plies: a player who is ahead by this much for this many plies
    wins. evaluation, evaluation_plies: so does a player whom both bots judge better by this much (permille over an even
    500) for this many plies. draw_evaluation, draw_plies, draw_from_ply: it is a draw if both judge it level within
    this much.
    plugin: one of the server. syzygy_pieces: chess with at most this many pieces ends as the server's Syzygy tables
    say. syzygy_ignore_50: even if a win in them is a draw by the 50-move rule.
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
    syzygy_pieces: int = 0
    syzygy_ignore_50: bool = False


@dataclass(frozen=True, slots=True)
class TournamentPolicy:
    """The policy of a tournament's matches where it differs from the server's; None and UNSPECIFIED: the server's."""

    illegal_moves: int | None = None
    kept_refusals: int | None = None
    no_show_ms: int | None = None
    abandon_ms: int | None = None
    move_cap_ms: int | None = None
    resume_ms: int | None = None
    start: StartRule = StartRule.UNSPECIFIED
    no_show: NoShowRule = NoShowRule.UNSPECIFIED
    ready_ms: int | None = None


@dataclass(frozen=True, slots=True)
class TournamentSpec:
    """Everything that an organiser decides before the start.

    games: variants; in each meeting of two players all of them are played. time: the time control. paired: each game is
    played twice, with the seats swapped. at_once: how many games one player plays at a time. tie_breaks: in order; none
    for the format's own. season: filled in by the server. time_odds: other time controls, by player. attempts: how
    often a game is played at most, if its matches are void.
    """

    name: str
    format: TournamentFormat
    games: tuple[str, ...]
    time: str
    rated: bool = True
    paired: bool = True
    at_once: int = 1
    options: TournamentOptions = TournamentOptions()
    openings: Openings = Openings()
    entry: EntryRules = EntryRules()
    groups: PlayerGroups = field(default_factory=PlayerGroups)
    schedule: Schedule = field(default_factory=Schedule)
    series: SeriesRules = field(default_factory=SeriesRules)
    league: LeagueRules = field(default_factory=LeagueRules)
    season: LeagueSeason = field(default_factory=LeagueSeason)
    adjudication: Adjudication = Adjudication()
    tie_breaks: tuple[TieBreak, ...] = ()
    policy: TournamentPolicy = TournamentPolicy()
    time_odds: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 3


# Tournaments


@dataclass(frozen=True, slots=True)
class Entrant:
    """A player of a tournament. rating: for seeding; joined: the first round in which it may be paired.

    team: '' if there are none; category: that its entry names, or ''.
    """

    player: str
    version: str
    rating: int
    joined: int
    byes: tuple[int, ...]
    withdrawn: bool
    disqualified: bool = False
    team: str = ""
    category: str = ""


@dataclass(frozen=True, slots=True)
class TournamentGame:
    """A game under way. attempt: 1, and one more for every match of it that was void."""

    number: int
    round: int
    players: tuple[str, ...]
    game: str
    match_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Tournament:
    """The state of a tournament.

    games, games_ended: how many were paired, and how many of them have a result. running: those under way. entrants: in
    the order of their seeds, before the start in the order of entry. rounds: the last one that was paired.
    cautions: what its organiser should know before the start; only in the answer to its creation. start_note: why it
    has not started although its start time has come.
    """

    tournament_id: str
    spec: TournamentSpec
    creator: str
    phase: TournamentPhase
    revision: int
    entrants: tuple[Entrant, ...]
    rounds: int
    games: int
    games_ended: int
    running: tuple[TournamentGame, ...]
    created_ms: int
    started_ms: int
    ends_ms: int
    ended_ms: int
    end: TournamentEnd
    end_note: str
    cautions: tuple[str, ...] = ()
    start_note: str = ""


@dataclass(frozen=True, slots=True)
class TournamentSummary:
    """A tournament in a list."""

    tournament_id: str
    name: str
    format: TournamentFormat
    creator: str
    phase: TournamentPhase
    created_ms: int
    started_ms: int
    ended_ms: int
