"""Ratings as messages: every field has its value, and an unknown value is absent."""

from __future__ import annotations

import pytest
from arbiter_protos.v1 import rating_pb2 as pb
from google.protobuf.message import Message

from arbiter.ratings.comparison import PairedGame, compare
from arbiter.ratings.rated_matches import ACROSS_GAMES, Result, counts_of
from arbiter.ratings.rating_list import rating_list, ratings_of
from arbiter.ratings.rating_results import RatingPoint
from arbiter.ratings.sprt import Hypotheses, Verdict
from arbiter.service.gate.rating_calls import Leaderboard
from arbiter.service.ports.journal import RatedGames
from arbiter.service.ratings.rating_ports import ComparisonRequest
from arbiter.service.ratings.rating_queries import Edition, PlayerRatings
from arbiter.wire.rating_messages import board_message, comparison_message, contest_of, row_message, standing_message

WON = Result("pods", True, "ann@1", "ben@2", "win", 1, "rules", 5)
RESULTS = [
    WON,
    WON._replace(result="draw", winner=0),
    WON._replace(winner=2, cause="time"),
    WON._replace(winner=2, cause="absence"),
    WON._replace(winner=2, cause="rule_violation"),
]
LISTED = rating_list(RESULTS, {})
ANCHORED = rating_list(RESULTS, {"ann": 5.0, "ben@2": 7.0, "gus": 9.0})


def unset(message: Message) -> set[str]:
    """Return the empty fields of a message and its parts."""
    said = {field.name for field, _ in message.ListFields()}
    found = {field.name for field in message.DESCRIPTOR.fields if field.name not in said}
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if field.is_repeated else (value,):
                found |= unset(part)
    return found


def test_a_leaderboard() -> None:
    message = board_message(
        Leaderboard(Edition(RatedGames(25, 3), LISTED), LISTED.all_versions, 2, "pods", ""),
        map(row_message, LISTED.all_versions),
    )
    assert message.anchors == []
    # If two players always have the same seats, their strengths can't be separated from the advantage of seat 1.
    assert unset(message) <= {"next_page_token", "note", "anchors", "timeouts", "absences", "violations", "above_next"}
    first, last = message.rows
    assert (first.player, first.version, first.games) == ("ben", "2", 25)
    assert (last.forfeits.timeouts, last.forfeits.absences, last.forfeits.violations) == (5, 5, 5)
    assert (first.HasField("above_next"), last.HasField("above_next")) == (True, False)
    ann, ben, gus = board_message(Leaderboard(Edition(RatedGames(25, 0), ANCHORED), (), 2, "pods", ""), ()).anchors
    assert [each.player for each in (*ann.fixes, *ben.fixes)] == ["ann@1", "ben@2"]
    assert (ann.player, ann.rating, ann.fixes[0].contradicted) == ("ann", 5.0, False)
    assert ann.fixes[0].by_games.low < ann.fixes[0].by_games.value < ann.fixes[0].by_games.high
    assert gus == pb.Anchor(player="gus", rating=9.0)
    assert board_message(Leaderboard(Edition(RatedGames(25, 3), LISTED), (), 0, "", ""), ()).note == ACROSS_GAMES


def test_the_ratings_of_a_player() -> None:
    row = LISTED.all_versions[0]
    message = standing_message(PlayerRatings((row,), ((row.player, (RatingPoint(7, 1.0, -1.0, 2.0),)),)), "")
    assert unset(message) <= {"game", "timeouts", "absences", "violations"}
    assert message.history[0].version == message.versions[0].version == "2"
    assert message.history[0].marks[0] == pb.RatingMark(at_ms=7, rating=pb.Estimate(value=1.0, low=-1.0, high=2.0))


def test_a_comparison() -> None:
    meetings = [PairedGame("t", 1, 2), PairedGame("t", 2, 1), PairedGame("", 1, 0)]
    ratings = ratings_of(counts_of(RESULTS), {})
    found = compare("ann@1", "ben@2", RESULTS, ratings, meetings, Hypotheses(-3.0, 4.0, 0.1, 0.2))
    message = comparison_message(found, "")
    assert unset(message) == {"game", "seat"}  # the rating over all games
    assert list(message.paired.pairs) == [0, 0, 0, 1, 0]
    assert (message.paired.unpaired, message.total.losses) == (1, 15)
    test = message.paired.test
    assert (test.elo0, test.elo1, test.alpha, test.beta) == (-3.0, 4.0, 0.1, 0.2)
    assert not comparison_message(found._replace(fitted=None), "pods").HasField("rated")


def test_fields_that_a_request_leaves_out_have_their_documented_defaults() -> None:
    assert contest_of(pb.ComparePlayersRequest(player="ann", other="ben")) == ComparisonRequest("ann", "ben")
    full = pb.ComparePlayersRequest(
        player="ann", other="ben", player_version="", other_version="2", elo0=-1, elo1=0, alpha=0.01, beta=0.02
    )
    assert contest_of(full) == ComparisonRequest("ann", "ben", "", "2", Hypotheses(-1, 0, 0.01, 0.02))


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_a_number(verdict: Verdict) -> None:
    names = {name.removeprefix("VERDICT_") for name in pb.Verdict.keys()}  # noqa: SIM118
    assert names == {each.name for each in Verdict} | {"UNSPECIFIED"}
    assert pb.Verdict.Value(f"VERDICT_{verdict.name}")
