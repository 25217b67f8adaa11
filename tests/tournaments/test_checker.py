"""The checker finds each fault: a correct log, changed in one place, breaks the rule that it should."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

import pytest

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.meetings import Meeting, ScheduledGame
from arbiter.tournaments.spec import EntryRules, Format, Options, Spec

Log = tuple[ev.Event, ...]
Change = Callable[[Log], Sequence[ev.Event]]
E = TypeVar("E", bound=ev.Event)


@cache
def log(format_: Format, players: int, **options: Any) -> Log:
    """Return the log of a tournament in which seat 1 wins every game."""
    spec = Spec("test", format_, ("circle-of-life",), "1s", paired=False, options=Options(**options))
    run = TournamentRun(spec, players, random.Random(1), lambda game: 1)
    run.play()
    assert violations(run.log) == []
    return tuple(run.log)


def found(events: Log, kind: type[E], n: int = 0) -> tuple[int, E]:
    """Return the n-th event of a kind, and its place."""
    return [(place, event) for place, event in enumerate(events) if isinstance(event, kind)][n]


def changed(kind: type[ev.Event], n: int = 0, **fields: object) -> Change:
    """Return a change of the n-th event of a kind."""

    def change(events: Log) -> Sequence[ev.Event]:
        place, event = found(events, kind, n)
        return [*events[:place], replace(event, **fields), *events[place + 1 :]]  # type: ignore[arg-type]

    return change


def added(event: ev.Event, after: type[ev.Event], n: int = 0) -> Change:
    """Return a change that adds an event after the n-th one of a kind."""

    def change(events: Log) -> Sequence[ev.Event]:
        place = found(events, after, n)[0] + 1
        return [*events[:place], event, *events[place:]]

    return change


def again(kind: type[ev.Event]) -> Change:
    """Return a change after which the first event of a kind comes twice."""

    def change(events: Log) -> Sequence[ev.Event]:
        place, event = found(events, kind)
        return [*events[: place + 1], event, *events[place + 1 :]]

    return change


def left_out(kind: type[ev.Event], n: int = 0) -> Change:
    """Return a change that leaves out the n-th event of a kind."""

    def change(events: Log) -> Sequence[ev.Event]:
        place = found(events, kind, n)[0]
        return [*events[:place], *events[place + 1 :]]

    return change


def meeting(change: Callable[[Meeting], Meeting], n: int = 0) -> Change:
    """Return a change of the first meeting of the n-th pairing."""

    def apply(events: Log) -> Sequence[ev.Event]:
        first, *others = found(events, ev.Paired, n)[1].meetings
        return changed(ev.Paired, n, meetings=(change(first), *others))(events)

    return apply


def game(**fields: object) -> Change:
    """Return a change of the first game."""
    return meeting(lambda first: first._replace(games=(first.games[0]._replace(**fields), *first.games[1:])))  # type: ignore[arg-type]


def forbidding(n: int = 0) -> Change:
    """Return a change of the specification: it forbids the first meeting of the n-th pairing."""

    def change(events: Log) -> Sequence[ev.Event]:
        pair, created = found(events, ev.Paired, n)[1].meetings[0], found(events, ev.Created)[1]
        entry = EntryRules(forbidden=((pair.first, pair.second),))
        return changed(ev.Created, spec=replace(created.spec, entry=entry))(events)

    return change


def between(first: str, second: str) -> Callable[[Meeting], Meeting]:
    """Return a change of a meeting: it is between other players."""

    def change(old: Meeting) -> Meeting:
        games = tuple(each._replace(seat1=first, seat2=second) for each in old.games)
        return old._replace(first=first, second=second, games=games)

    return change


ENTRY = ev.EntryChanged(0, "p000", 1, (), "org", "r")
OF_ALL: tuple[tuple[str, Change, str], ...] = (
    ("a second entry", again(ev.Entered), "p000 entered twice"),
    (
        "an entry of nobody",
        added(replace(ENTRY, player="x"), ev.Entered),
        "the entry of x was changed, but it does not",
    ),
    ("a late seed", added(ENTRY, ev.Started), "the seed of p000 was changed after the start"),
    ("a late bye", added(replace(ENTRY, byes=(1,)), ev.Paired), "the bye of p000 in round 1 was changed when"),
    ("seeds", changed(ev.Started, seeds=("p003", "p002", "p001", "p000")), "the seeds are p003, p002, p001, p000, but"),
    ("two opponents", changed(ev.Paired, byes=("p000",)), "round 1: p000 was paired 2 times at once"),
    ("a stranger", meeting(between("x", "p003")), "round 1: x never entered"),
    ("order of meetings", meeting(lambda first: first._replace(number=9)), "meeting 9 is out of order"),
    ("a game of no meeting", game(meeting=9), "game 1 is of meeting 9, which was never paired"),
    ("oneself", meeting(between("p000", "p000")), "meeting 1: p000 was paired with itself"),
    ("order of games", game(number=9), "game 9 is out of order"),
    ("other players", game(seat1="x"), "meeting 1: game 1 is of others"),
    ("swapped seats", game(seat1="p003", seat2="p000"), "meeting 1: the seatings in circle-of-life are wrong"),
    (
        "another game",
        meeting(lambda one: one._replace(games=(*one.games, ScheduledGame(2, 1, one.first, one.second, "pods")))),
        "meeting 1 has games that the tournament does not play",
    ),
    ("a second begin", again(ev.Begun), "game 1 was begun twice"),
    ("order of attempts", changed(ev.Begun, attempt=2), "game 1: attempt 2 is out of order"),
    ("a game that is not paired", changed(ev.Begun, game=99), "game 99 was begun, but never paired"),
    ("another match", changed(ev.EndedGame, match="x"), "ended by match 'x', but was under way as"),
    ("a void result", changed(ev.EndedGame, winner=0, cause="arbiter"), "has the void match"),
    (
        "nothing to make void",
        added(ev.Voided(0, 1, 1, "x", "why"), ev.EndedGame, 5),
        "was void without being under way",
    ),
)


@pytest.mark.parametrize(("change", "text"), [case[1:] for case in OF_ALL], ids=[case[0] for case in OF_ALL])
def test_a_fault_against_the_rules_of_all_formats_is_found(change: Change, text: str) -> None:
    assert any(text in said for said in violations(change(log(Format.ROUND_ROBIN, 4))))


def seats_of_first(events: Log) -> Sequence[ev.Event]:
    """Give p000 seat 1 in every game."""
    for n in range(sum(isinstance(event, ev.Paired) for event in events)):
        pairs = found(events, ev.Paired, n)[1].meetings
        turned = [between(*sorted((each.first, each.second)))(each) for each in pairs]
        events = tuple(changed(ev.Paired, n, meetings=tuple(turned))(events))
    return events


def rematches(events: Log) -> Sequence[ev.Event]:
    """Pair the pairs of the first pairing of an arena once more."""
    first = found(events, ev.Paired)[1]
    results = [event for event in events if isinstance(event, ev.EndedGame | ev.Begun)][: 2 * len(first.meetings)]
    again = tuple(each._replace(number=each.number + 2, games=()) for each in first.meetings)
    return [*events[: found(events, ev.Paired)[0] + 1], *results, replace(first, round=2, meetings=again)]


def bye_of(n: int, player: Callable[[ev.Paired], str]) -> Change:
    """Return a change of the n-th pairing: this player has the bye, and who had it plays."""

    def change(events: Log) -> Sequence[ev.Event]:
        place, event = found(events, ev.Paired, n)
        wanted, (bye,) = player(event), event.byes
        names = {wanted: bye, bye: wanted}
        pairs = tuple(
            between(names.get(each.first, each.first), names.get(each.second, each.second))(each)
            for each in event.meetings
        )
        return [*events[:place], replace(event, meetings=pairs, byes=(wanted,))]

    return change


ROBIN = log(Format.ROUND_ROBIN, 4)
GAUNTLET = log(Format.GAUNTLET, 4, cycles=2)
SWISS = log(Format.SWISS, 6, rounds=2)
SWISS_OF_FIVE = log(Format.SWISS, 5, rounds=2)
KNOCKOUT = log(Format.KNOCKOUT, 4)
BEST_OF_3 = log(Format.KNOCKOUT, 2, best_of=3)
ARENA = log(Format.ARENA, 4, duration_ms=6_000)
LADDER = log(Format.LADDER, 4, duration_ms=6_000)
TRIAL = log(Format.TRIAL, 2, most_meetings=3)

OF_FORMATS: tuple[tuple[str, Log, Change, str], ...] = (
    ("fewer meetings in a round robin", ROBIN, changed(ev.Paired, meetings=()), "0 meetings, expected 2"),
    ("seats in a round robin", ROBIN, seats_of_first, "p000 had seat 1 3 times and seat 2 0 times"),
    ("sides of a gauntlet", GAUNTLET, meeting(between("p001", "p002")), "p001 and p002 are of the same side"),
    ("meetings of a gauntlet", GAUNTLET, meeting(between("p001", "p002")), "p000 and p001 met 1 times"),
    ("seats in a gauntlet", GAUNTLET, seats_of_first, "p000 had seat 1 6 times and seat 2 0 times"),
    ("a round of a Swiss that goes on", SWISS, left_out(ev.EndedGame), "of round 1 was still being played"),
    ("a forbidden pair in a Swiss", SWISS, forbidding(), "must not meet"),
    ("byes in a Swiss", SWISS_OF_FIVE, changed(ev.Paired, byes=("p003", "p004")), "2 players have a bye"),
    ("a second bye", SWISS_OF_FIVE, bye_of(1, lambda _: found(SWISS_OF_FIVE, ev.Paired)[1].byes[0]), "a second bye"),
    ("other players of a tie", BEST_OF_3, meeting(between("p000", "x"), 1), "has other players than before"),
    ("a tie that goes on", BEST_OF_3, left_out(ev.EndedGame), "goes on before its last meeting has ended"),
    ("a decided tie", BEST_OF_3, changed(ev.EndedGame, 1, winner=2), "goes on though it is decided"),
    ("one who never plays", KNOCKOUT, changed(ev.Paired, meetings=()), "never played"),
    (
        "one who has left",
        SWISS,
        added(ev.Withdrawn(0, "p000", "org", "r"), ev.Started),
        "p000 was paired after it withdrew",
    ),
    ("one who is not free in an arena", ARENA, changed(ev.Paired, free=()), "was paired, and was not free"),
    ("a forbidden pair in an arena", ARENA, forbidding(), "must not meet"),
    ("rematches in an arena", ARENA, rematches, "would have been better"),
    ("one who is not free in a ladder", LADDER, changed(ev.Paired, free=()), "was paired, and was not free"),
    ("no game against oneself", LADDER, meeting(between("p000", "p001")), "before it played against itself"),
    ("seats of a trial", TRIAL, meeting(lambda two: between(two.second, two.first)(two), 1), "has not the seats of"),
)


@pytest.mark.parametrize(
    ("events", "change", "text"), [case[1:] for case in OF_FORMATS], ids=[c[0] for c in OF_FORMATS]
)
def test_a_fault_against_the_rules_of_a_format_is_found(events: Log, change: Change, text: str) -> None:
    said = violations(change(events))
    assert any(text in each for each in said), said
