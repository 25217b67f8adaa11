"""A Swiss records the edition of the rules by which it is paired, and small rounds follow these rules."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

import pytest

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import codec
from arbiter.tournaments import events as ev
from arbiter.tournaments.formats import PAIRERS
from arbiter.tournaments.meetings import Meeting
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.tournament import Tournament


def started(format_: Format) -> ev.Started:
    spec = Spec("test", format_, ("hop-it",), "1s", options=Options(rounds=3, duration_ms=1_000))
    log = TournamentRun(spec, 2, random.Random(1)).log
    return next(event for event in log if isinstance(event, ev.Started))


@pytest.mark.parametrize("format_", list(Format))
def test_the_edition_is_recorded(format_: Format) -> None:
    event = started(format_)
    assert event.rules == PAIRERS[format_].rules
    assert bool(event.rules) is (format_ in (Format.SWISS, Format.KNOCKOUT, Format.ARENA))
    values = json.loads(json.dumps(codec.write_event(event)))
    assert values.get("rules", "") == event.rules
    assert codec.read_event(values) == event


def test_a_record_without_an_edition_is_read_and_written_unchanged() -> None:
    old = codec.write_event(replace(started(Format.SWISS), rules=""))
    assert "rules" not in old
    assert codec.write_event(codec.read_event(old)) == old


class Rounds:
    """The rounds of a tournament, from its meetings and byes: points, seats, and who may meet whom (C1 to C3)."""

    def __init__(self, tournament: Tournament) -> None:
        self.tournament = tournament
        self.points = dict.fromkeys(tournament.players, 0.0)
        self.no_bye: set[str] = set()
        self._met: set[frozenset[str]] = set()
        self._seats: defaultdict[str, list[int]] = defaultdict(list)

    def legal(self, round_: int) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield every complete pairing of a round that C1, C2 and C3 allow: the player with the bye, and the pairs."""
        last = round_ == self.tournament.spec.options.rounds
        top = {player for player, points in self.points.items() if last and points > (round_ - 1) / 2}

        def allowed(one: str, other: str) -> bool:
            alike = self._wanted(one) and self._wanted(one) == self._wanted(other)
            return frozenset((one, other)) not in self._met and not (alike and not {one, other} & top)

        def pairings(players: list[str]) -> Iterator[list[tuple[str, str]]]:
            if not players:
                yield []
            for other in players[1:]:
                if allowed(players[0], other):
                    for rest in pairings([each for each in players[1:] if each != other]):
                        yield [(players[0], other), *rest]

        for bye in self.points.keys() - self.no_bye:
            for pairs in pairings([player for player in self.points if player != bye]):
                yield bye, pairs

    def _wanted(self, player: str) -> int:
        """Return the seat that a player must have, 0 for either (an absolute colour preference)."""
        seats = self._seats[player]
        if len(seats) > 1 and seats[-1] == seats[-2]:
            return 3 - seats[-1]
        more = seats.count(1) - seats.count(2)
        return 0 if abs(more) < 2 else 2 if more > 0 else 1

    def paired_by_score(self, pairs: list[tuple[str, str]]) -> tuple[int, ...]:
        """Return how many pairs each score group has, from the highest; a pair belongs to its lower player's group."""
        found = Counter(min(self.points[one], self.points[other]) for one, other in pairs)
        return tuple(found[points] for points in sorted(set(self.points.values()), reverse=True))

    def add(self, byes: tuple[str, ...], meetings: list[Meeting]) -> None:
        """Add a played round."""
        for player in byes:
            self.points[player] += 1
        self.no_bye.update(byes)
        for meeting in meetings:
            sides = (meeting.first, meeting.second)
            scores = [self.tournament.score(meeting, player) for player in sides]
            played = any(self.tournament.results[game.number].played for game in meeting.games)
            for seat, player, mine, theirs in zip((1, 2), sides, scores, scores[::-1], strict=True):
                self.points[player] += 1 if mine > theirs else 0.5 if mine == theirs and played else 0
                if played:
                    self._seats[player].append(seat)
                elif mine > theirs:
                    self.no_bye.add(player)
            if played:
                self._met.add(frozenset(sides))


def test_the_bye_goes_to_the_lowest_score_that_can_have_it(seeds: int) -> None:
    """All legal pairings of small rounds: the bye comes first (C5), then the pairs of the score groups from the top."""
    lots, rounds, above = random.Random(1), 0, 0
    while rounds < max(60, seeds):
        players = lots.choice((5, 7))
        spec = Spec("test", Format.SWISS, ("hop-it",), "1s", paired=False, options=Options(rounds=players - 2))
        tournament = TournamentRun(spec, players, random.Random(lots.random())).play()
        again = Rounds(tournament)
        for number in range(1, tournament.rounds + 1):
            meetings = [meeting for meeting in tournament.meetings if meeting.round == number]
            (bye,) = tournament.byes[number]
            pairs = [(meeting.first, meeting.second) for meeting in meetings]
            found = again.paired_by_score(pairs)
            legal = [(other, again.paired_by_score(each)) for other, each in again.legal(number)]
            assert (bye, found) in legal
            least = min(again.points[other] for other, _ in legal)
            assert again.points[bye] == least
            assert found[:2] == max(each[:2] for other, each in legal if again.points[other] == least)
            above += least > min(again.points.values())
            rounds += 1
            again.add((bye,), meetings)
    assert above, "no bye above the lowest score"
