"""What a trial has found so far, in one line as engine testers read it, computed from the tournament's events.

The pairs are those that the arbiter counts (`arbiter.tournaments.formats.trial`): in the order of their numbers, up to
the first that has not ended; without those that were not played, or only repeat earlier ones; up to the verdict.
"""

from __future__ import annotations

from typing import Final

import arbiter_client as arb

from arbiter.cli.terminal import counted
from arbiter.cli.tournament_view import result_of
from arbiter.ratings.difference import difference
from arbiter.ratings.pairs import Pairs, draw_ratio, normalised
from arbiter.ratings.sprt import Verdict, hypotheses_in_parts, judge
from arbiter.tournaments.formats.trial import pair_of

EVERY: Final = 10  #: games between two lines
_VERDICTS: Final = {Verdict.UNDECIDED: "", Verdict.H0: ": H0 is accepted", Verdict.H1: ": H1 is accepted"}


class TrialLine:
    """The statistics of a trial. players: A and B."""

    def __init__(self, spec: arb.TournamentSpec, players: tuple[str, str]) -> None:
        self.pairs = Pairs()
        options = spec.options
        self.hypotheses = hypotheses_in_parts(
            (options.elo0, options.elo1), options.elo_parts, (options.alpha, options.beta), options.normalised
        )
        self.games = 0
        self._players = players
        self._block = 2 * len(spec.games)  # games after which each variant has one pair more
        self._paired: dict[int, arb.PairedGame] = {}
        self._ended: dict[int, arb.GameEnded] = {}
        self._next = 1  # the number of the first game that was not read
        self._seen: set[tuple[str, str, str]] = set()  # variant, seat 1, moves

    def take(self, event: arb.TournamentEvent) -> str:
        """Apply an event; return the line if ten more games have ended, '' otherwise."""
        what = event.what
        if isinstance(what, arb.GamesPaired):
            self._paired.update({game.number: game for game in what.games})
        elif isinstance(what, arb.GameEnded) and what.number in self._paired:
            self._ended[what.number] = what
            self.games += 1
            self._read()
            if self.games % EVERY == 0:
                return self.line()
        return ""

    def line(self) -> str:
        """Return what the pairs say, in one line (LOS: likelihood of superiority, LLR: log-likelihood ratio)."""
        a, b = self._players
        pairs, hypotheses = self.pairs, self.hypotheses
        found, standing, strength = difference(pairs), judge(pairs, hypotheses), normalised(pairs)
        unit = "nElo" if hypotheses.normalised else "Elo"
        parts = [
            f"{a} against {b}: {counted(self.games, 'game')}",
            f"Elo {found.elo:+.1f} ({found.low:+.1f} to {found.high:+.1f})",
            f"nElo {strength.elo:+.1f} ± {strength.error:.1f}" if strength is not None else "",
            f"LOS {found.superiority:.1%}",
            f"draw ratio {draw_ratio(pairs):.1%}",
            f"pairs by points {'-'.join(map(str, pairs))}",
            f"LLR {standing.ratio:.2f} ({standing.lower:.2f} to {standing.upper:.2f}) "
            f"for {hypotheses.elo0:g} against {hypotheses.elo1:g} {unit}{_VERDICTS[standing.verdict]}",
        ]
        return ", ".join(filter(None, parts))

    def _read(self) -> None:
        """Count the pairs that can be counted now."""
        while judge(self.pairs, self.hypotheses).verdict is Verdict.UNDECIDED:
            numbers = range(self._next, self._next + self._block)
            if not all(number in self._ended for number in numbers):
                return
            self._next += self._block
            games = [self._paired[number] for number in numbers]
            for variant in dict.fromkeys(game.game for game in games):
                self._count([game for game in games if game.game == variant])

    def _count(self, games: list[arb.PairedGame]) -> None:
        if judge(self.pairs, self.hypotheses).verdict is not Verdict.UNDECIDED:
            return
        results = [(game.players[0], result_of(self._ended[game.number])) for game in games]
        pair = pair_of(games[0].game, self._players[0], results, self._seen)
        if pair is not None and not pair.repeated:
            self.pairs = self.pairs.with_pair(pair.half_points)
