"""Rulings on ratings: which games count by them, and which may be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.event_json.canonical import MalformedRecordError
from arbiter.ratings.rulings import NO_GAMES, Command, Decision, Rulings, Selection, in_words, ruled, selected
from tests.fuzz import effort
from tests.refusals import refusing

GAMES = ("a", "b", "c")
MADE = Command("org", "r1", Decision.UNRATED, Selection(players=("eve",)), 0, "two accounts")
UNDONE = Command("org", "back", Decision.TAKEN_BACK, NO_GAMES, 1, "an appeal")


def log_of(*rulings: tuple[Command, Sequence[str]]) -> Rulings:
    """Return the log of some rulings, each on some matches."""
    log = Rulings()
    for at, (command, matches) in enumerate(rulings, 1):
        log.follow(log.line(ruled(command, at, matches)))
    return log


def refusal(log: Rulings, command: Command) -> Refusal:
    with pytest.raises(Refusal) as refused:
        log.check(command)
    return refused.value


def test_the_newest_ruling_on_a_game_counts_that_was_not_taken_back() -> None:
    again = replace(MADE, decision=Decision.RATED)
    first = (MADE, ("a", "b"))
    assert log_of(first).unrated() == {"a": 1, "b": 1}
    assert log_of(first, (MADE, ("b", "c"))).unrated() == {"a": 1, "b": 2, "c": 2}
    assert log_of(first, (again, ("b",))).unrated() == {"a": 1}
    assert log_of(first, (MADE, ("b", "c")), (UNDONE, ())).unrated() == {"b": 2, "c": 2}
    assert log_of(first, (again, ("b",)), (replace(UNDONE, ruling=2), ())).unrated() == {"a": 1, "b": 1}


def test_a_ruling_changes_only_games_that_counted_otherwise_before() -> None:
    log = log_of((MADE, ("a", "b")))
    assert log.changes(ruled(MADE, 2, ("b", "c"))) == {"b": 2, "c": 2}
    assert log.changes(ruled(replace(MADE, decision=Decision.RATED), 2, ("b", "c"))) == {"b": 0}
    assert log.changes(ruled(UNDONE, 2, ())) == {"a": 0, "b": 0}


_STEPS = st.tuples(st.sampled_from(Decision), st.sets(st.sampled_from(GAMES), min_size=1), st.integers(1, 8))


@effort(0.3)
@given(st.lists(_STEPS, max_size=8))
def test_a_log_is_the_same_as_its_rulings_in_order_without_those_taken_back(
    steps: list[tuple[Decision, set[str], int]],
) -> None:
    log, standing = Rulings(), dict[int, tuple[Decision, set[str]]]()
    before: dict[str, int] = {}
    for decision, games, number in steps:
        command = replace(MADE, decision=decision)
        if decision is Decision.TAKEN_BACK:
            command = replace(UNDONE, ruling=number)
            if number not in standing:
                assert refusal(log, command).reason is Reason.ARGUMENT_INVALID
                continue
            del standing[number]
        else:
            standing[log.revision + 1] = decision, games
        ruling = ruled(command, 1, () if decision is Decision.TAKEN_BACK else sorted(games))
        changes = log.changes(ruling)
        log.follow(log.line(ruling))
        last = {game: (by, made) for by, (made, those) in standing.items() for game in sorted(those)}
        assert log.unrated() == {game: by for game, (by, made) in last.items() if made is Decision.UNRATED}
        after = {**before, **changes}
        assert {game: by for game, by in after.items() if by} == log.unrated()
        before = log.unrated()


def test_a_repeated_request_is_known_and_another_one_with_its_id_is_refused() -> None:
    log = log_of((MADE, ("a",)), (replace(MADE, request="r2", selection=Selection(matches=("b", "a"))), ("a", "b")))
    assert log.made(MADE) == 1
    assert log.made(replace(MADE, request="r2", selection=Selection(matches=("a", "b")))) == 2
    assert log.made(replace(MADE, caller="another")) == log.made(replace(MADE, request="r3")) == 0
    others = {"decision": Decision.RATED, "note": "", "selection": Selection(players=("eve",), game="pods")}
    for name, value in others.items():
        with refusing(Reason.REQUEST_ID_REUSED):
            log.made(replace(MADE, **{name: value}))  # type: ignore[arg-type]


def test_a_ruling_on_what_the_caller_has_not_seen_is_refused() -> None:
    log = log_of((MADE, ("a",)))
    for revision in (None, 1):
        log.check(replace(MADE, revision=revision))
    refused = refusal(log, replace(MADE, revision=0))
    assert (refused.reason, refused.facts) == (
        Reason.RATINGS_CHANGED,
        {"revision": "1", "why": "the last ruling is 1"},
    )


@pytest.mark.parametrize(
    ("command", "where"),
    [
        (replace(MADE, note="x" * 501), "note"),
        (replace(MADE, note="a\nb"), "note"),
        (replace(MADE, selection=NO_GAMES), "selection"),
        (replace(MADE, selection=Selection(game="pods", since=5)), "selection"),
        (replace(MADE, selection=Selection(players=("eve",), matches=("a",))), "selection"),
        (replace(MADE, selection=Selection(players=("eve", "eve"))), "players"),
        (replace(MADE, selection=Selection(players=tuple(map(str, range(101))))), "players"),
        (replace(MADE, selection=Selection(players=("eve",), since=9, until=9)), "until"),
        (replace(MADE, selection=Selection(players=("eve",), since=-1)), "until"),
        (replace(MADE, ruling=1), "ruling"),
        (replace(UNDONE, selection=Selection(players=("eve",))), "selection"),
        (replace(UNDONE, ruling=0), "ruling"),
        (replace(UNDONE, ruling=4), "ruling"),
        (replace(UNDONE, ruling=2), "ruling"),
        (replace(UNDONE, ruling=3), "ruling"),
    ],
)
def test_what_can_not_be_ruled_is_named(command: Command, where: str) -> None:
    """Ruling 2 is taken back by ruling 3."""
    log = log_of((MADE, ("a",)), (MADE, ("b",)), (replace(UNDONE, ruling=2), ()))
    refused = refusal(log, command)
    assert refused.reason is Reason.ARGUMENT_INVALID
    assert refused.facts["where"] == where


def test_a_line_that_does_not_follow_is_refused() -> None:
    log = log_of((MADE, ("a",)))
    first, second = log_of().line(log.all[0]), log.line(ruled(UNDONE, 2, ()))
    for wrong in (
        first,
        second.replace(b'"number":2', b'"number":3'),
        second.replace(b'"ruling":1', b'"ruling":2'),
        second.replace(b"taken_back", b"forgotten"),
        second + b" ",
        b"[]",
    ):
        with pytest.raises(MalformedRecordError):
            log.follow(wrong)
    log.follow(second)
    assert log.unrated() == {}


def test_rulings_in_words() -> None:
    assert in_words(3, ruled(MADE, 1, ())) == "unrated by ruling 3 of org: two accounts"
    assert in_words(3, ruled(replace(MADE, note=""), 1, ())) == "unrated by ruling 3 of org"
    assert selected(Selection(("eve",), "cup", "pods")) == "games of eve, label cup, pods"
    assert selected(Selection(("eve", "ann"))) == "games between eve, ann"
    assert selected(NO_GAMES) == ""
