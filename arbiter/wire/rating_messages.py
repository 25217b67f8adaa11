"""Ratings as messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from arbiter_protos.v1 import rating_pb2 as pb

from arbiter.errors import argument_invalid
from arbiter.ratings.counts import named
from arbiter.ratings.rated_matches import ACROSS_GAMES
from arbiter.ratings.rating_results import (
    AnchoredPlayer,
    Comparison,
    Estimate,
    Fitted,
    RatingPoint,
    Row,
    SeatScore,
    WinsDrawsLosses,
)
from arbiter.ratings.rulings import Command, Decision, Selection
from arbiter.ratings.sprt import Hypotheses, Verdict
from arbiter.service.gate.rating_calls import Leaderboard
from arbiter.service.ratings.rating_ports import ComparisonRequest
from arbiter.service.ratings.rating_queries import PlayerRatings
from arbiter.service.ratings.ruling_on_ratings import Ruled
from arbiter.wire.copied_fields import copied

_VERDICTS: Mapping[Verdict, pb.Verdict.ValueType] = {
    verdict: pb.Verdict.Value(f"VERDICT_{verdict.name}") for verdict in Verdict
}


_DECISIONS: Final[Mapping[int, Decision]] = {
    pb.RatingDecision.Value(f"RATING_DECISION_{decision.name}"): decision for decision in Decision
}


REPEATED: Final = (
    "Pairs of games that only repeat earlier ones, with the same opening, seats and moves, are no evidence and do not "
    "count: {} here. By ratings, repeated games of these two add no certainty either. A leaderboard counts every game."
)

"""The note of a comparison with repeated pairs."""


def note_of(game: str) -> str:
    """Return an explanation of a variant's ratings ('': across games), if they need one."""
    return "" if game else ACROSS_GAMES


def board_message(page: Leaderboard, rows: Iterable[pb.LeaderboardRow]) -> pb.GetLeaderboardResponse:
    """Return a page of a leaderboard. rows: the messages of its rows."""
    listed = page.edition.ratings
    return pb.GetLeaderboardResponse(
        rows=rows,
        game=page.game,
        games=listed.games,
        players=page.players,
        advantage=_estimate(listed.advantage),
        draws=_estimate(listed.draws),
        spread=listed.spread,
        anchors=_anchors(listed.anchors),
        note=note_of(page.game),
        next_page_token=page.next_token,
        rulings=page.edition.of.rulings,
    )


def row_message(row: Row) -> pb.LeaderboardRow:
    """Return a line of a leaderboard."""
    player, version = named(row.player)
    return copied(
        pb.LeaderboardRow,
        row,
        player=player,
        version=version,
        rating=pb.Estimate(value=row.rating, low=row.low, high=row.high),
        forfeits=pb.Forfeits(**row.forfeits._asdict()),
    )


def standing_message(standing: PlayerRatings, game: str) -> pb.GetRatingResponse:
    """Return the ratings of a player."""
    return pb.GetRatingResponse(
        versions=[row_message(row) for row in standing.versions],
        history=[
            pb.RatingHistory(version=named(player)[1], marks=[_mark(mark) for mark in marks])
            for player, marks in standing.history
        ],
        game=game,
        note=note_of(game),
    )


def contest_of(request: pb.ComparePlayersRequest) -> ComparisonRequest:
    """Return the players to compare."""
    usual = Hypotheses()
    return ComparisonRequest(
        request.player,
        request.other,
        request.player_version if request.HasField("player_version") else None,
        request.other_version if request.HasField("other_version") else None,
        Hypotheses(
            request.elo0 if request.HasField("elo0") else usual.elo0,
            request.elo1 if request.HasField("elo1") else usual.elo1,
            request.alpha if request.HasField("alpha") else usual.alpha,
            request.beta if request.HasField("beta") else usual.beta,
        ),
    )


def comparison_message(comparison: Comparison, game: str) -> pb.ComparePlayersResponse:
    """Return a comparison of two players."""
    repeats = REPEATED.format(comparison.repeated) if comparison.repeated else ""
    return pb.ComparePlayersResponse(
        encounters=[_encounters(line) for line in comparison.lines],
        total=_encounters(SeatScore("", 0, comparison.total)),
        rated=_rated(comparison.fitted) if comparison.fitted is not None else None,
        paired=_paired(comparison),
        game=game,
        note=" ".join(filter(None, (note_of(game), repeats))),
    )


def ruling_of(request: pb.RuleOnRatingsRequest, caller: str) -> Command:
    """Return the ruling that a caller asks for. Raises Refusal ARGUMENT_INVALID."""
    decision = _DECISIONS.get(request.decision)
    if decision is None:
        raise argument_invalid(str(request.decision), "decision", "unrated, rated or taken back")
    games = request.games
    selection = Selection(
        tuple(games.players), games.label, games.game, games.since_ms, games.until_ms, tuple(games.match_ids)
    )
    revision = request.revision if request.HasField("revision") else None
    return Command(caller, request.request_id, decision, selection, request.ruling, request.note, revision)


def ruled_message(made: Ruled) -> pb.RuleOnRatingsResponse:
    """Return a ruling."""
    return pb.RuleOnRatingsResponse(ruling=made.number, at_ms=made.ruling.at, match_ids=made.matches)


def _estimate(estimate: Estimate) -> pb.Estimate:
    return pb.Estimate(value=estimate.value, low=estimate.low, high=estimate.high)


def _anchors(anchors: Iterable[AnchoredPlayer]) -> list[pb.Anchor]:
    """Return the anchors, each with the players that it fixes."""
    found: dict[str, pb.Anchor] = {}
    for each in anchors:
        anchor = found.setdefault(each.anchor, pb.Anchor(player=each.anchor, rating=each.rating))
        if each.player:
            by_games = None if each.by_games is None else _estimate(each.by_games)
            anchor.fixes.add(player=each.player, by_games=by_games, contradicted=each.contradicted)
    return [*found.values()]


def _mark(mark: RatingPoint) -> pb.RatingMark:
    return pb.RatingMark(at_ms=mark.at_ms, rating=pb.Estimate(value=mark.rating, low=mark.low, high=mark.high))


def _encounters(line: SeatScore) -> pb.Encounters:
    record: WinsDrawsLosses = line.record
    return pb.Encounters(game=line.game, seat=line.seat, **record._asdict())


def _rated(fitted: Fitted) -> pb.RatedDifference:
    return pb.RatedDifference(
        player_version=named(fitted.a)[1],
        other_version=named(fitted.b)[1],
        elo=_estimate(fitted.elo),
        superiority=fitted.superiority,
    )


def _paired(comparison: Comparison) -> pb.PairedGames:
    paired, standing = comparison.paired, comparison.standing
    return pb.PairedGames(
        pairs=comparison.pairs,
        unpaired=comparison.unpaired,
        score=paired.score,
        elo=pb.Estimate(value=paired.elo, low=paired.low, high=paired.high),
        superiority=paired.superiority,
        test=copied(
            pb.SequentialTest,
            comparison.hypotheses,
            ratio=standing.ratio,
            lower=standing.lower,
            upper=standing.upper,
            verdict=_VERDICTS[standing.verdict],
        ),
        evidence=pb.ConfidenceSequence(**comparison.evidence._asdict()),
    )
