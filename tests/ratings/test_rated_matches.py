"""From results to counts: which games are rated, under which conditions, and that both ways give the same counts."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason
from arbiter.keys.key_ring import holds
from arbiter.matches.commands import ResultKind
from arbiter.matches.events import Cause, Created, Ended, Party
from arbiter.matches.policy import Policy
from arbiter.matches.signing import checking, read_keys
from arbiter.matches.transcript import verify
from arbiter.ratings.counts import Counts, PairCount, chains, identity, named
from arbiter.ratings.fit import fit
from arbiter.ratings.rated_matches import Forfeits, Result, counts_of, forfeits_of, result_of, result_of_tally
from arbiter.service.ports.journal import Tally
from arbiter.service.record.match_log import end_of, summary_of
from tests.refusals import refusing

GOLDEN = Path(__file__).parents[1] / "golden" / "transcripts"

WIN = Result("pods", True, "ann", "bob", "win", 1, "rules")

ENDS = st.one_of(
    st.tuples(st.just("win"), st.sampled_from((1, 2))),
    st.tuples(st.just("draw"), st.just(0)),
    st.tuples(st.just("void"), st.just(0)),
)
PLAYERS = st.lists(st.sampled_from(["ann", "bob", "cid", "dee@1", "dee@2"]), min_size=2, max_size=2, unique=True)


@st.composite
def ended(draw: st.DrawFn) -> tuple[Created, Ended]:
    """Draw the first and the last event of a match."""
    one, two = draw(PLAYERS)
    game = draw(st.sampled_from(["pods", "elevation"]))
    created = Created(0, "m", game, (one, two), "1m", Policy(), draw(st.booleans()), "", "ann", "r")
    result, winner = draw(ENDS)
    cause = draw(st.sampled_from(list(Cause)))
    return created, Ended(1, winner, ResultKind(result), "length", cause, Party.PLAYERS)


MATCHES = st.lists(ended(), max_size=25)


@given(MATCHES, st.sampled_from([None, "pods", "elevation"]), st.booleans(), st.randoms(use_true_random=False))
def test_tallies_and_transcripts_give_the_same_counts(
    matches: list[tuple[Created, Ended]], game: str | None, forfeits: bool, chance: random.Random
) -> None:
    tallies: Counter[Tally] = Counter()
    for created, end in matches:
        pair = created.players
        key = Tally("", created.game, created.rated, *pair, end.result.value, end.winner, end.cause.value, 0)
        tallies[key] += 1
    stored = [result_of_tally(key._replace(games=number)) for key, number in tallies.items()]
    singly = [result_of(*match) for match in chance.sample(matches, len(matches))]
    assert counts_of(stored, game, forfeits) == counts_of(singly, game, forfeits)
    assert forfeits_of(stored, game) == forfeits_of(singly, game)


def test_the_same_counts_have_the_same_ratings_to_the_last_digit() -> None:
    results = [WIN, WIN._replace(winner=2), WIN._replace(player_2="cid"), WIN._replace(result="draw", winner=0)]
    there, back = fit(counts_of(results)), fit(counts_of(reversed(results)))
    assert repr(there) == repr(back)


def test_void_and_unrated_games_are_not_counted() -> None:
    nothing = [WIN._replace(result="void", winner=0, cause="arbiter"), WIN._replace(rated=False, cause="time")]
    assert counts_of(nothing) == Counts()
    assert forfeits_of(nothing) == {}


def test_games_lost_on_time_count_unless_they_are_left_out() -> None:
    late = WIN._replace(cause="time", games=3)
    assert counts_of([WIN, late]) == Counts(("ann", "bob"), (PairCount("ann", "bob", 4, 0, 0),))
    assert counts_of([WIN, late], forfeits=False).games == 1
    others = [late._replace(cause="rule_violation"), late._replace(cause="absence", winner=2, games=1)]
    found = forfeits_of([WIN, late, *others])
    assert found == {"ann": Forfeits(absences=1), "bob": Forfeits(timeouts=3, violations=3)}
    assert found["bob"].total == 6


def test_games_are_rated_apart_and_together() -> None:
    results = [WIN, WIN._replace(game="elevation", winner=2)]
    assert counts_of(results, "pods").games == 1
    assert counts_of(results).pairs == (PairCount("ann", "bob", 1, 0, 1),)


def test_versions_are_players_of_their_own() -> None:
    created = Created(0, "m", "pods", ("ann", "bob"), "1m", Policy(), True, "", "ann", "r")
    end = Ended(1, 1, ResultKind.WIN, "length", Cause.RULES, Party.PLAYERS)
    assert counts_of([result_of(created, end, ("1.2", ""))]).players == ("ann@1.2", "bob")
    assert named(identity("ann", "1.2")) == ("ann", "1.2")


def test_versions_follow_one_another_by_their_numbers() -> None:
    players = ["b", "a@1.10", "a@1.9", "a", "a@1.9-rc", "a@" + "9" * 5000]
    assert chains(players) == (("a", "a@1.9", "a@1.9-rc", "a@1.10", "a@" + "9" * 5000), ("b",))


@pytest.mark.parametrize("wrong", [{"winner": 0}, {"winner": 3}, {"result": "draw"}, {"player_2": "ann"}])
def test_results_that_contradict_themselves_are_refused(wrong: dict[str, object]) -> None:
    with refusing(Reason.ARGUMENT_INVALID):
        counts_of([WIN._replace(**wrong)])  # type: ignore[arg-type]


def test_verified_transcripts_give_the_counts_of_the_server() -> None:
    check = checking(read_keys((GOLDEN / "keys.json").read_bytes()), holds)
    singly, tallied = [], []
    for path in sorted(GOLDEN.glob("*.jsonl")):
        verified = verify(path.read_bytes(), check)
        created, end = verified.events[0], verified.events[-1]
        assert isinstance(created, Created)
        assert isinstance(end, Ended)
        singly.append(result_of(created, end, verified.match.versions))
        row, ending = summary_of(created), end_of(verified.match)
        who, versions = (row.rated, row.player_1, row.player_2), (ending.version_1, ending.version_2)
        tallied.append(Tally(row.label, row.game, *who, ending.result, ending.winner, ending.cause, 1, *versions))
    counts = counts_of(singly)
    assert counts.games >= 5
    assert "alice@1.9 – β" in counts.players
    assert counts == counts_of(map(result_of_tally, tallied))
    assert repr(fit(counts)) == repr(fit(counts_of(reversed(singly))))
