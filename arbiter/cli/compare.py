"""`arbiter compare`: two players side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import arbiter_client as arb

from arbiter.cli.argument_types import RatedVariant
from arbiter.cli.connection import Connection, connected
from arbiter.cli.ratings_view import about, print_json, whole
from arbiter.cli.table_options import Json, TableOptions
from arbiter.cli.terminal import counted, for_people, say, table, tables
from arbiter.ratings.counts import VERSION_MARK, named

POINTS: Final = ("0", "½", "1", "1½", "2")
FIXED: Final = (
    "That holds for a number of pairs that was fixed beforehand. Looking often spoils it: looked at after each of "
    "1,000 pairs, about 3 in 10 such intervals miss the truth at some time. If you look often, take the next line."
)
EARLY: Final = (
    "While a tournament is being played, its short games count before its long ones, which spoils the tests: look when "
    "all games have ended. A tournament of the format trial takes pairs in by their order."
)


def compare(
    player: str,
    other: str,
    /,
    *,
    game: RatedVariant = "",
    elo0: float = 0.0,
    elo1: float = 10.0,
    alpha: float = 0.05,
    beta: float = 0.05,
    json: Json = False,
    output: TableOptions | None = None,
    connection: Connection | None = None,
) -> None:
    """Compare two players: their games against each other, their ratings, and sequential tests of their paired games.

    :param player: A player; NAME@VERSION for one version of its bot.
    :param other: The player to compare with, in the same form.
    :param elo0: The null hypothesis of the sequential test: the first player is better by this many Elo points.
    :param elo1: The alternative hypothesis: the first player is better by this many.
    :param alpha: The probability of accepting elo1 although elo0 is true.
    :param beta: The probability of accepting elo0 although elo1 is true.
    """
    (name, version), (other_name, other_version) = _split(player), _split(other)
    with connected(connection) as client:
        found = client.compare_players(
            name,
            other_name,
            game,
            player_version=version,
            other_version=other_version,
            elo0=elo0,
            elo1=elo1,
            alpha=alpha,
            beta=beta,
        )
    if json:
        print_json(found)
        return
    rows = [_games(each) for each in (*found.encounters, found.total)]
    games = (("game", "seat", "won", "drawn", "lost"), rows)
    if not for_people(output):
        tables({"games": games, "facts": (("what", "value", "low", "high"), _facts(found))}, "", output)
        return
    say(f"{player} against {other}, {found.game or 'all games together'}", "bold")
    if found.encounters:
        table(*games, "", None)
    else:
        say("They have not met in a rated game.", "dim")
    for sentence in _sentences(found, player, other):
        say(sentence)
    if found.note:
        say(found.note, "yellow")


def _split(player: str) -> tuple[str, str | None]:
    """Split NAME@VERSION into name and version; the version is None for all versions."""
    name, version = named(player)
    return name, version if VERSION_MARK in player else None


def _games(each: arb.Encounters) -> tuple[str, ...]:
    numbers = (each.wins, each.draws, each.losses)
    return (each.game or "in all", str(each.seat or ""), *map(str, numbers))


def _sentences(found: arb.Comparison, player: str, other: str) -> Iterator[str]:
    """Yield the result of a comparison as sentences."""
    if found.total.games:
        points = found.total.wins + found.total.draws / 2
        yield f"{player} scored {points:g} of {found.total.games} ({points / found.total.games:.1%})."
    if found.rated is None:
        yield "The ratings can't compare them: one of them has no rating."
    else:
        versions = [
            f"{name} {version}"
            for name, version in zip(_names(player, other), _versions(found), strict=True)
            if version
        ]
        of = f" ({' and '.join(versions)})" if versions else ""
        yield (
            f"By the ratings{of} {player} is {about(found.rated.elo)} Elo above {other}, and better with "
            f"likelihood {found.rated.superiority:.1%}."
        )
    yield from _paired(found.paired, player)


def _names(player: str, other: str) -> tuple[str, str]:
    return named(player)[0], named(other)[0]


def _versions(found: arb.Comparison) -> tuple[str, str]:
    assert found.rated is not None
    return found.rated.player_version, found.rated.other_version


def _paired(paired: arb.PairedGames, player: str) -> Iterator[str]:
    total = sum(paired.pairs)
    if not total:
        yield "No pairs of games (same tournament, same opening, seats swapped) to test."
        return
    counts = ", ".join(f"{count} with {points}" for count, points in zip(paired.pairs, POINTS, strict=True))
    test, evidence = paired.test, paired.evidence
    alone = counted(paired.unpaired, "game")
    yield f"Pairs of games: {total}, by points of {player}: {counts}; {alone} without a partner."
    yield f"By the pairs {player} is {about(paired.elo)} Elo better, and better with {paired.superiority:.1%}."
    yield FIXED
    yield EARLY
    yield (
        f"Valid at every look: {whole(evidence.elo_low)} to {whole(evidence.elo_high)} Elo "
        f"(score {evidence.low:.1%} to {evidence.high:.1%})."
    )
    verdict = {
        arb.Verdict.H0: f"not better by {test.elo1:g} Elo",
        arb.Verdict.H1: f"better by more than {test.elo0:g} Elo",
    }.get(test.verdict, "undecided")
    yield (
        f"Sequential test of {test.elo0:g} against {test.elo1:g} Elo: {verdict} (log-likelihood ratio "
        f"{test.ratio:.2f}, bounds {test.lower:.2f} and {test.upper:.2f})."
    )


def _facts(found: arb.Comparison) -> Iterator[tuple[str, ...]]:
    """Yield the figures of a comparison, for programs."""
    if found.rated is not None:
        yield ("rated elo", *_with_interval(found.rated.elo))
        yield ("rated superiority", f"{found.rated.superiority:.6f}", "", "")
    paired, test, evidence = found.paired, found.paired.test, found.paired.evidence
    for points, count in zip(POINTS, paired.pairs, strict=True):
        yield (f"pairs with {points}", str(count), "", "")
    yield ("unpaired games", str(paired.unpaired), "", "")
    yield ("paired elo", *_with_interval(paired.elo))
    yield ("paired superiority", f"{paired.superiority:.6f}", "", "")
    yield ("elo left open", "", f"{evidence.elo_low:.3f}", f"{evidence.elo_high:.3f}")
    yield (f"test: {test.verdict.name.lower()}", f"{test.ratio:.6f}", f"{test.lower:.6f}", f"{test.upper:.6f}")


def _with_interval(estimate: arb.Estimate) -> tuple[str, str, str]:
    return f"{estimate.value:.3f}", f"{estimate.low:.3f}", f"{estimate.high:.3f}"
