"""Whole tournaments of every format: the checker, which shares no code with the pairers, accepts every round."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter
from collections.abc import Sequence

import pytest

from arbiter.testing.random_tournaments import MANY_NO_SHOWS, NO_SHOWS, TournamentRun, drawn, restless
from arbiter.tournaments import codec, formats
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.commands import Begin, Cancel, ReportResult
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.formats.ladder import HELD_S
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import EntryRules, Format, Options, Spec
from arbiter.tournaments.tournament import TournamentPhase


def spec_of(format_: Format, **options: object) -> Spec:
    return Spec("test", format_, ("circle-of-life",), "1s", paired=False, options=Options(**options))  # type: ignore[arg-type]


def played(spec: Spec, players: int, seed: int = 1) -> TournamentRun:
    tournament_run = TournamentRun(spec, players, random.Random(seed))
    tournament_run.play()
    assert violations(tournament_run.log) == []
    return tournament_run


@pytest.mark.long
def test_random_tournaments_of_every_format_are_legal_and_follow_from_their_logs(seeds: int) -> None:
    formats: Counter[Format] = Counter()
    for seed in range(seeds * (10 if seeds > 20 else 4)):
        tournament_run = restless(random.Random(seed), MANY_NO_SHOWS if seed % 4 == 3 else NO_SHOWS)
        assert violations(tournament_run.log) == [], f"seed {seed}"
        formats[tournament_run.tournament.spec.format] += 1
        read = [codec.read_event(json.loads(json.dumps(codec.write_event(event)))) for event in tournament_run.log]
        assert read == tournament_run.log, f"seed {seed}"
        again = replay(read)
        assert (again.results, again.games, again.revision) == (
            tournament_run.tournament.results,
            tournament_run.tournament.games,
            tournament_run.tournament.revision,
        )
    assert set(formats) == set(Format)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(
    ("format_", "options", "players"),
    [
        (Format.ROUND_ROBIN, {"cycles": 2}, 5),
        (Format.ROUND_ROBIN, {}, 6),
        (Format.GAUNTLET, {"heads": 2, "cycles": 2}, 7),
        (Format.GAUNTLET, {"heads": 4}, 5),
        (Format.SWISS, {"rounds": 4}, 8),
        (Format.SWISS, {"rounds": 3}, 7),
    ],
)
def test_the_number_of_games_is_known_from_the_start(
    format_: Format, options: dict[str, int], players: int, paired: bool
) -> None:
    spec = dataclasses.replace(spec_of(format_, **options), paired=paired)
    tournament_run = TournamentRun(spec, players, random.Random(3), lambda game: 1)
    pairer, counts = formats.of(spec), set()
    while tournament_run.tournament.phase is not TournamentPhase.ENDED:
        tournament = tournament_run.tournament
        meetings = pairer.meetings_to_come(spec.options, tournament.rounds, players, len(tournament.players))
        assert meetings is not None
        counts.add(len(tournament.games) + meetings * spec.games_a_meeting)
        tournament_run.step()
    assert counts == {len(tournament_run.tournament.games)}


def test_formats_in_which_results_decide_the_number_of_games_give_none() -> None:
    for format_ in (Format.KNOCKOUT, Format.ARENA, Format.LADDER, Format.TRIAL):
        assert formats.PAIRERS[format_].meetings_to_come(Options(), 1, 4, 4) is None


def test_in_a_round_robin_everybody_meets_everybody() -> None:
    tournament = played(spec_of(Format.ROUND_ROBIN, cycles=2), 7).tournament
    assert len(tournament.meetings) == 42
    assert tournament.end is not None
    assert tournament.end.end is ev.End.COMPLETE


def test_a_gauntlet_is_between_its_first_entrants_and_the_others() -> None:
    tournament = played(spec_of(Format.GAUNTLET, heads=2), 6).tournament
    assert {frozenset((m.first, m.second)) for m in tournament.meetings} == {
        frozenset((head, other)) for head in ("p000", "p001") for other in ("p002", "p003", "p004", "p005")
    }


def test_a_knockout_has_one_tie_less_than_players_and_a_double_one_about_twice_as_many() -> None:
    def ties(**options: object) -> int:
        return len({meeting.place for meeting in played(spec_of(Format.KNOCKOUT, **options), 11).tournament.meetings})

    assert ties() == 10
    assert ties(third_place=True) == 11
    assert ties(double=True) in (20, 21)


def test_a_swiss_of_odd_size_gives_one_bye_a_round_and_nobody_two() -> None:
    tournament = played(spec_of(Format.SWISS, rounds=6), 13).tournament
    byes = [player for round_ in range(1, 7) for player in tournament.byes[round_]]
    assert len(byes) == len(set(byes)) == 6


def test_a_swiss_without_a_legal_pairing_is_over() -> None:
    tournament = played(spec_of(Format.SWISS, rounds=9), 4).tournament
    assert tournament.rounds == 3
    assert tournament.end is not None
    assert tournament.end.note == "no further pairing is allowed"


def test_forbidden_pairs_never_meet_in_a_swiss() -> None:
    spec = dataclasses.replace(spec_of(Format.SWISS, rounds=4), entry=EntryRules(forbidden=(("p000", "p001"),)))
    tournament = played(spec, 6).tournament
    assert not any({m.first, m.second} == {"p000", "p001"} for m in tournament.meetings)


@pytest.mark.long
def test_an_arena_and_a_ladder_end_at_their_time() -> None:
    for format_ in (Format.ARENA, Format.LADDER):
        tournament = played(spec_of(format_, duration_ms=10_000), 6).tournament
        assert tournament.end is not None
        assert tournament.end.end is ev.End.TIME
        assert len(tournament.results) > 100


def test_newcomers_of_a_ladder_first_play_against_themselves() -> None:
    tournament = played(spec_of(Format.LADDER, duration_ms=2_000), 3).tournament
    assert [(m.first, m.second) for m in tournament.meetings[:3]] == [(p, p) for p in tournament.seeds]


def test_two_players_of_a_ladder_wait_a_while_for_others_whom_they_have_met_less_often() -> None:
    tournament_run = TournamentRun(spec_of(Format.LADDER, duration_ms=600_000, validation=False), 4, random.Random(1))
    tournament, pairer = tournament_run.tournament, formats.of(tournament_run.tournament.spec)

    def meet(names: Sequence[str], waited_ms: int = 0) -> list[ScheduledGame]:
        """Have some players who are free for this long paired; return the games that begin."""
        since = dict.fromkeys(names, tournament_run.now)
        proposal = pairer.propose(tournament, formats.FreePlayers(names, since, now=tournament_run.now + waited_ms))
        if proposal is None:
            return []
        tournament_run.act(proposal)
        games = list(tournament.ready())
        for game in games:
            tournament_run.act(Begin(game.number, 1, f"m{game.number}"))
        return games

    def end(game: ScheduledGame) -> None:
        tournament_run.act(ReportResult(game.number, f"m{game.number}", 1, "by lot", "rules"))

    short, long = meet(tournament.players)
    two = sorted((short.seat1, short.seat2))
    end(short)
    [again] = meet(two)
    end(again)
    assert meet(two) == [], "the other two are playing, and the free ones have not met them"
    assert meet(two, HELD_S * 1_000 - 1) == []
    [third] = meet(two, HELD_S * 1_000)
    end(third)
    assert meet(two) == []
    end(long)
    assert len(meet(two)) == 1, "no game is running, so there is no player to wait for"


def test_a_slow_game_delays_only_its_own_players() -> None:
    tournament_run = TournamentRun(spec_of(Format.ROUND_ROBIN), 6, random.Random(1))
    tournament_run.pair()
    slow = next(tournament_run.tournament.ready())
    while not all(slow.seat1 in g[2:4] or slow.seat2 in g[2:4] for g in tournament_run.tournament.waiting):
        ready = [game for game in tournament_run.tournament.ready() if game != slow]
        assert ready, "all other players can go on"
        game = ready[0]
        tournament_run.act(Begin(game.number, 1, f"m{game.number}"))
        tournament_run.act(ReportResult(game.number, f"m{game.number}", 1, "by lot", "rules"))
    assert slow.number not in tournament_run.tournament.results


def _swapped(log: list[ev.Event]) -> list[ev.Event]:
    """Return a log in which one round repeats the pairs of the round before."""
    rounds = [n for n, event in enumerate(log) if isinstance(event, ev.Paired)]
    first, second = log[rounds[0]], log[rounds[1]]
    assert isinstance(first, ev.Paired)
    assert isinstance(second, ev.Paired)
    renumbered = tuple(
        meeting._replace(first=old.first, second=old.second, games=tuple(
            game._replace(seat1=o.seat1, seat2=o.seat2) for game, o in zip(meeting.games, old.games, strict=True)
        ))
        for meeting, old in zip(second.meetings, first.meetings, strict=True)
    )  # fmt: skip
    return [*log[: rounds[1]], dataclasses.replace(second, meetings=renumbered), *log[rounds[1] + 1 :]]


def test_the_checker_finds_a_rematch_in_a_swiss_and_a_wrong_round_robin() -> None:
    swiss = played(spec_of(Format.SWISS, rounds=3), 8).log
    assert any("meet again" in text for text in violations(_swapped(swiss)))
    robin = played(spec_of(Format.ROUND_ROBIN), 6).log
    assert any("met 2 times" in text for text in violations(_swapped(robin)))


def test_the_checker_names_players_whom_a_round_of_a_swiss_left_out() -> None:
    log = played(spec_of(Format.SWISS, rounds=2), 6).log
    number, event = next((n, event) for n, event in enumerate(log) if isinstance(event, ev.Paired))
    short = dataclasses.replace(event, meetings=event.meetings[:-1])
    left_out = sorted((event.meetings[-1].first, event.meetings[-1].second))
    found = violations([*log[:number], short])
    assert f"round 1: not everybody who plays was paired, or others were: {', '.join(left_out)}" in found


def test_the_checker_finds_wrong_seats_in_a_swiss() -> None:
    """In round 2 everybody prefers the other seat; players with the same preference take what round 1 leaves open."""
    log = played(spec_of(Format.SWISS, rounds=3), 8).log
    rounds = [number for number, event in enumerate(log) if isinstance(event, ev.Paired)]
    second = log[rounds[1]]
    assert isinstance(second, ev.Paired)
    meeting = second.meetings[0]
    turned = meeting._replace(first=meeting.second, second=meeting.first)
    changed = dataclasses.replace(second, meetings=(turned, *second.meetings[1:]))
    text = f"round 2: {turned.first} and {turned.second} have the seats that the other one prefers"
    assert text in violations([*log[: rounds[1]], changed])
    assert violations(log[: rounds[1] + 1]) == []


def test_the_checker_finds_a_bye_that_a_lower_player_could_have_had() -> None:
    """In round 2 of seven a winner and the player with the bye change places."""
    log = played(spec_of(Format.SWISS, rounds=3), 7).log
    rounds = [number for number, event in enumerate(log) if isinstance(event, ev.Paired)]
    second = log[rounds[1]]
    assert isinstance(second, ev.Paired)
    (bye,) = second.byes
    meeting = second.meetings[0]
    changed = dataclasses.replace(
        second, meetings=(meeting._replace(first=bye), *second.meetings[1:]), byes=(meeting.first,)
    )
    assert any("with a lower score could have had it" in text for text in violations([*log[: rounds[1]], changed]))
    before = [
        dataclasses.replace(event, rules="an edition in which the bye came last")
        if isinstance(event, ev.Started)
        else event
        for event in log[: rounds[1]]
    ]
    assert not any("with a lower score" in text for text in violations([*before, changed]))


def test_the_checker_finds_a_seat_three_times_in_a_row() -> None:
    log = played(spec_of(Format.ROUND_ROBIN), 6).log
    turned = [
        dataclasses.replace(
            event,
            meetings=tuple(
                meeting._replace(
                    first="p000",
                    second=meeting.first,
                    games=tuple(game._replace(seat1=game.seat2, seat2=game.seat1) for game in meeting.games),
                )
                if meeting.second == "p000"
                else meeting
                for meeting in event.meetings
            ),
        )
        if isinstance(event, ev.Paired)
        else event
        for event in log
    ]
    assert "p000 had one seat three times in a row" in violations(turned)
    assert violations(log) == []


def test_the_checker_finds_missing_and_repeated_games() -> None:
    log = played(spec_of(Format.ROUND_ROBIN), 4).log
    ended = next(n for n, event in enumerate(log) if isinstance(event, ev.EndedGame))
    assert any("no result" in text for text in violations([*log[:ended], *log[ended + 1 :]]))
    assert any("ended twice" in text for text in violations([*log[: ended + 1], *log[ended:]]))
    assert violations(log[1:]) == ["the log does not begin with the tournament's creation"]


def test_the_checker_finds_a_player_who_plays_on_after_being_eliminated() -> None:
    tournament_run = TournamentRun(spec_of(Format.KNOCKOUT), 8, random.Random(1), lambda game: 1)
    tournament_run.play()
    log = tournament_run.log
    assert violations(log) == []
    ended = [n for n, event in enumerate(log) if isinstance(event, ev.EndedGame)]
    turned: list[ev.Event] = list(log)
    for n in ended[:4]:  # the first round ended differently, yet the same players play on
        event = log[n]
        assert isinstance(event, ev.EndedGame)
        turned[n] = dataclasses.replace(event, winner=2)
    assert any("plays on" in text for text in violations(turned))


@pytest.mark.parametrize("format_", [Format.ARENA, Format.LADDER])
def test_the_checker_finds_a_player_who_is_paired_before_its_game_has_ended(format_: Format) -> None:
    log = played(spec_of(format_, duration_ms=6_000), 9).log
    assert violations(log) == []
    kept_on = next(n for n, event in enumerate(log) if isinstance(event, ev.EndedGame) and event.game == 1)
    assert any("meeting 1 of it went on" in text for text in violations([*log[:kept_on], *log[kept_on + 1 :]]))


def test_the_checker_finds_an_unnecessary_rematch_in_an_arena() -> None:
    log = played(spec_of(Format.ARENA, duration_ms=6_000), 9).log
    for n, event in enumerate(log):
        if isinstance(event, ev.Paired) and len(event.meetings) == 1 and len(event.free) >= 3:
            met = [m for e in log[:n] if isinstance(e, ev.Paired) for m in e.meetings]
            last = {p: m for m in met for p in (m.first, m.second)}
            again = [
                (a, b) for a in event.free for b in event.free
                if a < b and a in last and {last[a].first, last[a].second} == {a, b} == set(last[b][2:4])
            ]  # fmt: skip
            if again:
                (a, b), meeting = again[0], event.meetings[0]
                games = tuple(game._replace(seat1=a, seat2=b) for game in meeting.games)
                forged = dataclasses.replace(event, meetings=(meeting._replace(first=a, second=b, games=games),))
                assert any("meet again" in text for text in violations([*log[:n], forged]))
                return
    pytest.fail("no round in which a rematch could be forged")


def test_random_tournaments_have_all_formats() -> None:
    assert {drawn(random.Random(seed))[0].format for seed in range(60)} == set(Format)


@pytest.mark.parametrize("format_", list(Format))
def test_a_cancelled_tournament_is_over(format_: Format) -> None:
    tournament_run = TournamentRun(
        spec_of(format_, rounds=3, duration_ms=5_000), 2 if format_ is Format.TRIAL else 5, random.Random(1)
    )
    tournament_run.step()
    tournament_run.act(Cancel("organiser", "cancel", "rain"))
    assert tournament_run.tournament.phase is TournamentPhase.ENDED
    assert not list(tournament_run.tournament.ready())


def test_a_proposal_for_an_arena_is_valid_while_its_players_are_free() -> None:
    tournament_run = TournamentRun(spec_of(Format.ARENA, duration_ms=60_000), 4, random.Random(1))
    names = tournament_run.tournament.players
    arrange = formats.of(tournament_run.tournament.spec).propose(
        tournament_run.tournament, formats.FreePlayers(names[:2])
    )
    late = formats.of(tournament_run.tournament.spec).propose(tournament_run.tournament, formats.FreePlayers(names))
    assert arrange is not None
    assert late is not None
    tournament_run.withdraw(names[3])  # another player
    assert tournament_run.act(arrange).events
    assert not tournament_run.act(late).events, "two of them are playing, one has left"


def test_a_proposal_for_a_round_is_valid_only_while_nothing_has_happened() -> None:
    tournament_run = TournamentRun(spec_of(Format.SWISS, rounds=3), 6, random.Random(1))
    arrange = formats.of(tournament_run.tournament.spec).propose(tournament_run.tournament, formats.FreePlayers())
    assert arrange is not None
    tournament_run.withdraw(tournament_run.tournament.players[0])
    assert not tournament_run.act(arrange).events


@pytest.mark.parametrize("cycles", [1, 2, 3])
@pytest.mark.parametrize(("heads", "players"), [(1, 4), (2, 6), (3, 4), (4, 9), (5, 6), (5, 10), (6, 12), (6, 13)])
def test_seats_in_a_gauntlet_differ_by_at_most_one(heads: int, players: int, cycles: int) -> None:
    meetings = played(spec_of(Format.GAUNTLET, heads=heads, cycles=cycles), players).tournament.meetings
    lead = Counter(meeting.first for meeting in meetings)
    lead.subtract(meeting.second for meeting in meetings)
    assert {player: each for player, each in lead.items() if abs(each) > 1} == {}


def test_the_checker_finds_a_seat_held_too_often_in_a_gauntlet() -> None:
    log = played(spec_of(Format.GAUNTLET, heads=2), 8).log
    turned = [
        dataclasses.replace(
            event,
            meetings=tuple(
                meeting._replace(
                    first=min(meeting[2:4]),
                    second=max(meeting[2:4]),
                    games=tuple(g._replace(seat1=min(meeting[2:4]), seat2=max(meeting[2:4])) for g in meeting.games),
                )
                for meeting in event.meetings
            ),
        )
        if isinstance(event, ev.Paired)
        else event
        for event in log
    ]
    assert "p000 had seat 1 6 times and seat 2 0 times" in violations(turned)
