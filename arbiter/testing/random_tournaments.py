"""Whole tournaments without matches: results are random, and players join and withdraw. For tests of the engine.

`TournamentRun` drives one tournament command by command; `drawn` derives a specification of any format from a seed.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import replace

from arbiter.tournaments import commands as do
from arbiter.tournaments import engine, formats
from arbiter.tournaments import events as ev
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.game_ends import NO_SHOW, Winner
from arbiter.tournaments.groups import Groups
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.openings import opening, start
from arbiter.tournaments.spec import EntryRules, Format, OpeningOrder, Openings, Options, Spec
from arbiter.tournaments.tournament import Tournament, TournamentPhase

STEP_MS = 50  #: virtual time between two events
LOOK_MS = 1_000  #: virtual time between two looks at who is free
NO_SHOWS = 0.03  #: the share of games to which a player does not come
LINES = {"circle-of-life": (("a1",), ("a2",), ("b1", "a5")), "hop-it": (("a2xc1",), ("a2xc3",))}  #: of `drawn`
MANY_NO_SHOWS = 0.3  #: the same, where what follows from it is looked for


class InvalidRun(Exception):
    """The engine refused a valid command, or a tournament did not end."""


class TournamentRun:
    """A tournament and everything that happens in it. `log` holds its events.

    result: how a game ends: a winner, or None for a void match. By default this is random, and in the share `no_shows`
    of games a player does not appear. versions: with which version each player's bot plays now; '' if it is not there.
    """

    def __init__(
        self,
        spec: Spec,
        players: int,
        lots: random.Random,
        result: Callable[[ScheduledGame], Winner | None] | None = None,
        no_shows: float = NO_SHOWS,
        tournament: str = "t1",
    ) -> None:
        self._lots = lots
        self.result = result or self._drawn
        self.versions: dict[str, str] = {}
        self._no_shows = no_shows if result is None else 0.0
        self.tournament, made = engine.create(tournament, spec, "organiser", "make", 0)
        self.log: list[ev.Event] = list(made.events)
        self.now = 0
        self._running: list[tuple[ScheduledGame, str]] = []
        self._ends: list[tuple[int, int]] = []  # of the games of `play_free`: the instant, the game
        self._since: dict[str, int] = {}
        self._shares = formats.Shares()
        self._requests = 0
        self._players = players
        for number in range(players):
            self.enter(f"p{number:03}", rating=lots.randint(0, 20) * 100)
        self.act(do.Start("organiser", "start"))

    def act(self, command: do.Command) -> engine.TournamentDecision:
        """Decide a command, and apply its events."""
        decision = engine.decide(self.tournament, command, self.now)
        for event in decision.events:
            apply(self.tournament, event)
            self.log.append(event)
        return decision

    def enter(self, player: str, rating: int = 0) -> engine.TournamentDecision:
        """Enter a player."""
        self._requests += 1
        boards = self.tournament.spec.boards
        teams = max(2, self._players // (boards + 1)) if boards else 1  # most of them have reserves
        team = f"team {int(player[1:]) % teams}" if boards else ""
        return self.act(do.Enter(player, "organiser", f"r{self._requests}", rating=rating, team=team))

    def withdraw(self, player: str) -> engine.TournamentDecision:
        """Withdraw a player."""
        self._requests += 1
        return self.act(do.Withdraw(player, "organiser", f"r{self._requests}"))

    def change(self, player: str, byes: tuple[int, ...]) -> engine.TournamentDecision:
        """Change the byes that a player asks for."""
        self._requests += 1
        return self.act(do.ChangeEntry(player, "organiser", f"r{self._requests}", byes=byes))

    def pair(self) -> None:
        """Pair every game that can be paired now."""
        pairer = formats.of(self.tournament.spec)
        while self.tournament.may_pair:
            busy = self.tournament.busy()
            free = [player for player in self.tournament.players if player not in busy]
            proposal = pairer.propose(
                self.tournament, formats.FreePlayers(free, dict.fromkeys(free, self.now), now=self.now)
            )
            if proposal is None or not self.act(proposal).events:
                return

    def step(self) -> None:
        """Advance time a little: pair games, begin those that can begin, and end one of the games under way."""
        self.now += STEP_MS
        self.act(do.Tick())
        self.pair()
        for game in list(self.tournament.ready()):
            self._running.append((game, self.begin(game)))
        if self._running:
            game, match = self._running.pop(self._lots.randrange(len(self._running)))
            winner = self.result(game)
            cause = "rules" if winner is not None else "arbiter"
            absent = self._no_shows and winner is not None and self._lots.random() < self._no_shows
            reason, cause = (NO_SHOW, "absence") if absent else ("by lot", cause)
            self.act(do.ReportResult(game.number, match, winner, reason, cause))

    def play_free(self, until_ms: int, length_ms: Callable[[ScheduledGame], int]) -> None:
        """Play on until an instant in a format that pairs free players; a game takes as long as `length_ms` says.

        As on a server, players are paired whenever a game ends, and once in LOOK_MS besides.
        """
        while self.now < until_ms and self.tournament.phase is TournamentPhase.RUNNING:
            self._pair_free()
            for game in list(self.tournament.ready()):
                self.begin(game)
                heapq.heappush(self._ends, (self.now + length_ms(game), game.number))
            self.now = min(self.now + LOOK_MS, until_ms, *(at for at, _ in self._ends[:1]))
            while self._ends and self._ends[0][0] <= self.now:
                self.finish(heapq.heappop(self._ends)[1])
            self.act(do.Tick())

    def begin(self, game: ScheduledGame) -> str:
        """Begin a game; return its match."""
        attempt = self.tournament.attempts.get(game.number, 0) + 1
        match = f"m{game.number}.{attempt}"
        turn, openings = (
            formats.of(self.tournament.spec).turn(self.tournament, game.meeting),
            self.tournament.spec.openings,
        )
        line, position = opening(openings, game.game, turn), start(openings, game.game, turn)
        self.act(do.Begin(game.number, attempt, match, line, position))
        return match

    def finish(self, number: int) -> None:
        """End a game under way."""
        winner = self.result(self.tournament.games[number - 1])
        match = self.tournament.running[number].match
        versions = self.versions_of(self.tournament.games[number - 1])
        cause = "rules" if winner is not None else "arbiter"
        self.act(do.ReportResult(number, match, winner, "by lot", cause, versions=versions))

    def versions_of(self, game: ScheduledGame) -> tuple[str, ...]:
        """Return the versions of a game's bots by seat, as of now; () if neither has one."""
        versions = (self.versions.get(game.seat1, ""), self.versions.get(game.seat2, ""))
        return versions if any(versions) else ()

    def _pair_free(self) -> None:
        tournament, pairer = self.tournament, formats.of(self.tournament.spec)
        busy, present = tournament.busy(), tournament.players
        self._since = {player: self._since.get(player, self.now) for player in present if player not in busy}
        games = {player: tournament.meetings_played(player) for player in present}
        ahead = self._shares.ahead(pairer.sharing(tournament, present), games)
        free = sorted(self._since, key=self._since.__getitem__)
        proposal = pairer.propose(tournament, formats.FreePlayers(free, self._since, {}, self.now, ahead))
        if proposal is not None:
            self.act(proposal)

    def play(self, most_steps: int = 200_000) -> Tournament:
        """Play to the end; return the tournament. Raises InvalidRun if it does not end within this many steps."""
        for _ in range(most_steps):
            if self.tournament.phase is TournamentPhase.ENDED:
                return self.tournament
            self.step()
        raise InvalidRun(f"no end after {most_steps} steps: {self.tournament.spec}")

    def _drawn(self, game: ScheduledGame) -> Winner | None:
        return None if self._lots.random() < 0.03 else self._lots.choice((0, 1, 2))


def drawn(lots: random.Random) -> tuple[Spec, int]:
    """Return a random specification of any format, and a number of players."""
    format_ = lots.choice(list(Format))
    pairer = formats.PAIRERS[format_]
    double = lots.random() < 0.5
    cycles = lots.randint(1, 3)
    options = Options(
        cycles=cycles,
        heads=lots.randint(1, 3),
        rounds=lots.randint(1, 7),
        accelerated=lots.random() < 0.3,
        best_of=lots.choice((1, 1, 2, 3)),
        double=double,
        third_place=not double and lots.random() < 0.5,
        duration_ms=lots.choice((3_000, 8_000)) if pairer.pairs_whoever_is_free else 0,
        validation=lots.random() < 0.8,
        most_meetings=lots.randint(1, 20),
        same_openings=lots.random() < 0.5,
        keep_early_leavers=cycles == 2,
    )
    players = pairer.most_players or lots.randint(2, 17)
    if format_ in formats.OF_TEAMS and lots.random() < 0.5:
        options = replace(
            options,
            boards=lots.randint(1, players // 2),
            scheveningen=lots.random() < 0.5,
            match_draw=lots.randint(0, 2),
            by_board_points=lots.random() < 0.3,
        )
    pairer = formats.pairer_of(format_, options.boards)
    names = [f"p{number:03}" for number in range(players)]
    forbidden = tuple((a, b) for a, b in [lots.sample(names, 2) for _ in range(lots.choice((0, 0, 2)))])
    rules = EntryRules(forbidden=forbidden if pairer.keeps_apart else ())
    authors = {"an author": tuple(lots.sample(names, 3))} if players > 8 and lots.random() < 0.3 else {}
    groups = Groups(authors=authors, apart=bool(authors) and pairer.keeps_apart, one_prize=bool(authors))
    games = ("circle-of-life", "hop-it")[: lots.randint(1, 2)]
    lines = {game: LINES[game] for game in games}
    openings = lots.choice(
        (
            Openings(),
            Openings(1, "a seed"),
            Openings(3, "a seed"),
            Openings(lines=lines),
            Openings(0, "a seed", lines, OpeningOrder.RANDOM),
        )
    )
    spec = Spec(
        name=f"a {format_.value}",
        format=format_,
        games=games,
        time="1s",
        paired=lots.random() < 0.5,
        at_once=lots.choice((1, 1, 2)),
        options=options,
        entry=rules,
        groups=groups,
        openings=openings,
    )
    return spec, players


def restless(lots: random.Random, no_shows: float = NO_SHOWS) -> TournamentRun:
    """Return a tournament of any format that has been played to its end, in which players joined and withdrew."""
    spec, players = drawn(lots)
    tournament_run = TournamentRun(spec, players, lots, no_shows=no_shows)
    late, pairs_in_rounds = players, formats.of(spec).in_rounds
    while tournament_run.tournament.phase is not TournamentPhase.ENDED:
        tournament_run.step()
        if lots.random() < 0.02 and tournament_run.tournament.players:
            tournament_run.withdraw(lots.choice(tournament_run.tournament.players))
        tournament = tournament_run.tournament
        if pairs_in_rounds and tournament.players and lots.random() < 0.02:
            player = lots.choice(tournament.players)
            past = tuple(bye for bye in tournament.entrants[player].byes if bye <= tournament.rounds)
            to_come = range(tournament.rounds + 1, spec.options.rounds + 1)
            tournament_run.change(player, (*past, *(bye for bye in to_come if lots.random() < 0.2)))
        if lots.random() < 0.02:
            late += 1
            tournament_run.enter(f"p{late:03}")
        if tournament_run.now > 200_000 * STEP_MS:
            raise InvalidRun(f"no end: {spec}")
    return tournament_run
