"""What organisers put right: `arbiter tournament rule`, `disqualify`, `reinstate`, `replay`, `points`, `lot`.

Pairings by hand: `pair`, `bye`, `pair-round`, `hold`, `forbid`, `allow`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import arbiter_client as arb
from arbiter_client.values.correction import Decision
from cyclopts import Parameter

from arbiter.cli import short_ids
from arbiter.cli import tournament_view as view
from arbiter.cli.argument_types import Flag
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.short_ids import TournamentId
from arbiter.cli.table_options import AnyTableOptions
from arbiter.cli.terminal import remark
from arbiter.cli.tournament import app
from arbiter.tournaments.game_rulings import RESULTS

ResultsName = Literal["stand", "forfeit", "void"]


@Parameter(name="*")
@dataclass(frozen=True)
class DecisionOptions:
    """What all decisions of an organiser have in common."""

    note: Annotated[str, Parameter(help="Why; everybody can read it.")] = ""
    revision: Annotated[
        int,
        Parameter(help="Refuse if what it is about has changed since this revision of the tournament."),
    ] = 0
    preview: Annotated[bool, Parameter(negative=(), help="Only show what would change.")] = False
    output: AnyTableOptions | None = None
    connection: Connection | None = None


@app.command
def rule(tournament_id: TournamentId, game: int, result: str, /, *, how: DecisionOptions | None = None) -> None:
    """Rule on a game that has a result, also after the end of its tournament, and show which places change.

    The match stays as it was played. The ruling is an event of the tournament's log; `stands` takes back earlier ones.

    :param game: The number of the game, as `arbiter tournament watch` and the page show it.
    :param result: 1-0, 0-1, 1/2-1/2, 1/2-0, 0-1/2, 0-0 (seat 1 first), void or stands.
    """
    if result not in RESULTS:
        raise Failure(f"{result} is no ruling: say one of {', '.join(RESULTS)}")
    ruling, points = RESULTS[result]
    how = how or DecisionOptions()
    with connected(how.connection) as client:
        ruled = client.rule_on_game(
            short_ids.tournament_id(client, tournament_id),
            game,
            arb.RulingDecision[ruling.name],
            points,
            note=how.note,
            revision=how.revision,
            preview=how.preview,
        )
    view.show_changes(ruled.changes, ruled.later, how.output, preview=how.preview)


@app.command
def disqualify(
    tournament_id: TournamentId,
    player: str,
    /,
    *,
    from_start: Flag = False,
    results: ResultsName = "stand",
    games_go_on: Flag = False,
    ratings_too: Flag = False,
    how: DecisionOptions | None = None,
) -> None:
    """Disqualify a player, and show which places change. `reinstate` takes it back.

    The player is not paired any more, and loses the games that it has not begun.

    :param player: The player.
    :param from_start: As if it had never taken part: it comes after all others. Otherwise from now on, and it keeps its
    place.
    :param results: With --from-start: its results stand, it has lost all its games without play (forfeit), or its games
    do not count (void).
    :param games_go_on: Its games under way go on; otherwise they are stopped, and end as walkovers.
    :param ratings_too: Its rated games of this tournament until now are made unrated, for the operator alone.
    """
    what = arb.Disqualification(player, from_start, arb.DisqualifiedResults[results.upper()], games_go_on)
    _correct(tournament_id, what, how, ratings_too=ratings_too)


@app.command
def reinstate(
    tournament_id: TournamentId, player: str, /, *, ratings_too: Flag = False, how: DecisionOptions | None = None
) -> None:
    """Take the disqualification of a player back. Walkovers in between stand: `replay` lets such a game be played.

    :param player: The player.
    :param ratings_too: Take back the ruling by which the disqualification made its games unrated, too.
    """
    _correct(tournament_id, arb.Reinstatement(player), how, ratings_too=ratings_too)


@app.command
def replay(tournament_id: TournamentId, game: int, /, *, how: DecisionOptions | None = None) -> None:
    """Let a game that has a result be played again in its round, also if later rounds are paired.

    Pairings that exist stay. The command shows which ones each possible result of the game would change.

    :param game: The number of the game, as `arbiter tournament watch` and the page show it.
    """
    _correct(tournament_id, arb.Replay(game), how)


@app.command
def points(
    tournament_id: TournamentId,
    player: str,
    points: Annotated[float, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    how: DecisionOptions | None = None,
) -> None:
    """Give a player points in the standings, or take some.

    :param player: The player.
    :param points: 1, 0.5, -1.5; in an arena, 0.5 is one of its own points.
    """
    if 2 * points != int(2 * points):
        raise Failure(f"{points:g} is no number of points: say a whole one, or a half")
    _correct(tournament_id, arb.PointsAward(player, int(2 * points)), how)


@app.command
def lot(
    tournament_id: TournamentId, players: tuple[str, ...], /, *, seed: str = "", how: DecisionOptions | None = None
) -> None:
    """Order players who share a place by lot.

    :param players: All players who share the place.
    :param seed: The seed of the lot; it is on record, so that anybody can draw it again. [default: the server draws it]
    """
    _correct(tournament_id, arb.LotDraw(players, seed), how)


# Pairings of rounds to come


@app.command
def pair(
    tournament_id: TournamentId, number: int, players: tuple[str, ...], /, *, how: DecisionOptions | None = None
) -> None:
    """Pair players by hand in a round that has not begun, and show which rules that breaks.

    If the round is paired already, its other pairs stay. In a round robin the players of whole pairs change their
    opponents or seats.

    :param number: The number of the round.
    :param players: The players, pair by pair; the first of each has seat 1 in the first game.
    """
    if len(players) % 2:
        raise Failure(f"{len(players)} players are no pairs: name two players for each")
    pairs = tuple(arb.PlayerPair(*each) for each in zip(players[::2], players[1::2], strict=True))
    _correct(tournament_id, arb.PairingByHand(number, pairs), how)


@app.command
def bye(
    tournament_id: TournamentId, player: str, number: int, /, *, half: Flag = False, how: DecisionOptions | None = None
) -> None:
    """Let a player sit out a round of a Swiss that has not begun, with a point.

    :param player: The player.
    :param number: The number of the round.
    :param half: With half a point.
    """
    _correct(tournament_id, arb.GivenBye(player, number, 1 if half else 2), how)


@app.command
def pair_round(
    tournament_id: TournamentId, number: int, /, *, afresh: Flag = False, how: DecisionOptions | None = None
) -> None:
    """Pair the next round of a paused Swiss, or pair a round that has not begun again.

    Its games begin when the tournament is resumed.

    :param number: The number of the round.
    :param afresh: By the rules alone, without the pairs and byes that were asked for it by hand.
    """
    _correct(tournament_id, arb.RoundPairing(number, afresh), how)


@app.command
def hold(tournament_id: TournamentId, /, *, off: Flag = False, how: DecisionOptions | None = None) -> None:
    """Let a Swiss pause once the round under way is over, so that the next one can be paired by hand.

    :param off: It does not pause.
    """
    _correct(tournament_id, arb.PauseAfterRound(off), how)


@app.command
def forbid(tournament_id: TournamentId, first: str, second: str, /, *, how: DecisionOptions | None = None) -> None:
    """Keep two players apart in all pairings to come. `allow` takes it back.

    :param first: A player.
    :param second: The other player.
    """
    _correct(tournament_id, arb.ForbiddenPair(first, second), how)


@app.command
def allow(tournament_id: TournamentId, first: str, second: str, /, *, how: DecisionOptions | None = None) -> None:
    """Let two players that `forbid` or the tournament's specification keeps apart be paired again.

    :param first: A player.
    :param second: The other player.
    """
    _correct(tournament_id, arb.ForbiddenPair(first, second, lifted=True), how)


def _correct(tournament_id: str, what: Decision, how: DecisionOptions | None, *, ratings_too: bool = False) -> None:
    """Make a correction, and print what it changes."""
    how = how or DecisionOptions()
    with connected(how.connection) as client:
        made = client.correct_tournament(
            short_ids.tournament_id(client, tournament_id),
            what,
            note=how.note,
            revision=how.revision,
            preview=how.preview,
            ratings_too=ratings_too,
        )
    view.show_changes(made.changes, made.later, how.output, preview=how.preview)
    if ratings_too:
        would = "would count" if how.preview else "count"
        games = ", ".join(made.ratings_changed) or "none"
        remark(f"Matches that {would} for ratings otherwise: {games}.", how.output)
    if made.paired is not None:
        remark(view.pairs_in_words(made.paired), how.output)
    for each in made.breaks:
        remark(f"That breaks a rule: {each}.", how.output)
