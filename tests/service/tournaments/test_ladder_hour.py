"""A ladder for an hour of simulated time, whose bots and arbiter crash and come back; the bots' strengths are known.

Each game ends as the model says for the strengths of its players, by random numbers that depend on the match alone. At
the end the record is compared with what the bots did, and the ratings with their strengths.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Final, NamedTuple

import pytest
import structlog

from arbiter.cli.ratings_record import read_record
from arbiter.games.contract import Seat
from arbiter.keys.key_ring import open_ring
from arbiter.matches import replay
from arbiter.matches.events import Cause, Ended, Party
from arbiter.matches.match import Match, other
from arbiter.matches.record import read
from arbiter.matches.signing import write_keys
from arbiter.ratings.leaderboard import ESTABLISHED, PROVISIONAL_ELO
from arbiter.ratings.rating_list import rating_list
from arbiter.ratings.rating_results import Row
from arbiter.service.play.session import TurnItem
from arbiter.service.ports.journal import Filter
from arbiter.testing.clock import NOON_MS, run
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader, items_of
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.spec import Adjudication, Format
from tests.service.tournaments.contest import Contest, spec_of

GAME: Final = "circle-of-life"
CLOCK_S: Final = 20  #: milliseconds of each player, for the whole game
HOUR_S: Final = 3_600
THINK_S: Final = (3, 10)  #: from, to
DRAWS: Final = 0.3  #: ν of the model
ELO_PER_NAT: Final = 173.7

STRENGTHS: Final = (-240, -180, -130, -90, -50, 0, 0, 40, 90, 140, 190, 230)
TRUTH: Final = {f"b{number:02}": elo for number, elo in enumerate(STRENGTHS)}
"""Strengths in Elo, with mean 0. Two are equal."""

LATE: Final = "late"  #: connects a minute before the end, and has the mean strength
MUTE: Final = "mute"  #: connects, and never sends anything


class Down(NamedTuple):
    """When a bot did not answer, connected or not; seconds of the event loop."""

    since: float
    until: float


class LadderContest(Contest):
    """A contest of bots that play by strength, crash, and come back."""

    def __init__(self, server: InMemoryArbiter) -> None:
        super().__init__(0, server=server)
        self.names = [*TRUTH, MUTE]
        self.hung: set[str] = set()
        self.away: set[str] = set()
        self.down: dict[str, list[Down]] = {name: [] for name in (*TRUTH, LATE, MUTE)}

    async def connect(self, name: str) -> None:
        """Connect a bot, unless it is away."""
        if name not in self.away:
            await super().connect(name)

    async def live(self, name: str, lots: random.Random) -> None:
        """Have a bot crash and come back while this runs."""
        now = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(lots.uniform(300, 1_500))
            since = now()
            if lots.random() < 0.5:  # the bot stops answering until it is restarted
                self.hung.add(name)
                await asyncio.sleep(lots.uniform(2, 40))
                await self.leave(name)
                self.hung.remove(name)
            else:  # the bot is disconnected, for a moment or for long
                self.away.add(name)
                await self.leave(name)
                await asyncio.sleep(lots.choice((1, 10, 40, 400)))
                self.away.remove(name)
            await self.connect(name)
            self.down[name].append(Down(since, now()))

    async def _play(self, bot: StreamReader) -> None:
        thinking: set[asyncio.Task[None]] = set()
        try:
            while True:
                for item in await items_of(bot.session):
                    if isinstance(item, TurnItem):
                        self.server.arbiter.delivery.turn_sent(bot.session, item, self.server.clock.now_ms())
                        thinking.add(asyncio.create_task(self._answer(bot, item)))
        finally:
            for task in thinking:
                task.cancel()
            bot.leave()

    async def _answer(self, bot: StreamReader, turn: TurnItem) -> None:
        lots = random.Random(f"{turn.match.id} {turn.match.ply}")
        await asyncio.sleep(lots.uniform(*THINK_S))
        if bot.session.player == MUTE or bot.session.player in self.hung:
            return
        if fate(turn.match) == other(turn.match.turn):
            self.server.arbiter.acts.resign(bot.session, f"resign {turn.match.id}", turn.match.id)
        else:
            bot.reply(turn)


def fate(match: Match) -> int:
    """Return who wins a match if no bot crashes, 0 for a draw: by the model that ratings are fitted with."""
    one, two = (TRUTH.get(player, 0) for player in match.players)
    u = (one - two) / ELO_PER_NAT
    win1, win2 = exp(u / 2), exp(-u / 2)
    place = random.Random(match.id).random() * (win1 + win2 + DRAWS)
    return 1 if place < win1 else 2 if place < win1 + win2 else 0


async def hour(contest: LadderContest) -> str:
    """Run the ladder for its hour, with a crash of the arbiter in the middle; return its id."""
    spec = spec_of(
        Format.LADDER,
        games=(GAME,),
        time=f"{CLOCK_S}s",
        duration_ms=HOUR_S * 1_000,
        adjudication=Adjudication(plies=2),  # games in which nobody resigns are drawn
    )
    tournament_id = await contest.start(spec)
    lives = [asyncio.create_task(contest.live(name, random.Random(name))) for name in TRUTH]
    await asyncio.sleep(HOUR_S / 2)
    await contest.crash()
    await asyncio.sleep(HOUR_S / 2 - 60)
    contest.names.append(LATE)
    await contest.act(tournament_id, do.Enter(LATE, "org", "enter late"))
    await contest.connect(LATE)
    await asyncio.sleep(70)
    for life in lives:
        life.cancel()
    await asyncio.gather(*lives, return_exceptions=True)
    return tournament_id


async def matches(contest: LadderContest, tournament_id: str) -> list[Match]:
    """Return the tournament's matches, read from their records."""
    rows = await contest.server.journal.summaries(Filter(label=tournament_id), 0, 1_000_000)
    return [replay([read(record.body) for record in await contest.server.journal.read(row.match_id)]) for row in rows]


def check_end(contest: LadderContest, match: Match, over_ms: int) -> str:
    """Assert that a match ended as it should and names the right player; return its cause."""
    end = match.result
    assert isinstance(end, Ended)
    expected = fate(match)
    match end.cause:
        case Cause.RESIGNATION:
            assert (end.party, end.seat, end.winner) == (Party.PLAYER, other(end.winner), expected)  # type: ignore[arg-type]
        case Cause.TIME | Cause.ABSENCE if end.party is Party.PLAYER:
            assert end.seat is not None
            assert end.winner == other(end.seat)
            assert failed(contest, match, end.seat), f"{match.id} was not lost by a crash"
        case Cause.ABSENCE:
            assert (end.party, end.winner) == (Party.PLAYERS, 0)
            assert all(failed(contest, match, seat) for seat in (1, 2))
        case Cause.ORGANISER if end.by:
            assert end.at >= over_ms, "only the end of the ladder ends matches"
            assert (end.party, end.result.value) == (Party.ORGANISER, "void")
        case _:
            assert end.cause is Cause.ORGANISER
            assert (end.party, end.winner, expected, match.ply) == (Party.ORGANISER, 0, 0, 2)
    return end.cause.value


def failed(contest: LadderContest, match: Match, seat: Seat) -> bool:
    """Return whether a player did not answer at some time of a match."""
    player = match.players[seat - 1]
    began, ended = ((at - NOON_MS) / 1_000 for at in (match.created.at, match.at))
    return player == MUTE or any(down.since <= ended and began <= down.until for down in contest.down[player])


def check_ratings(rows: Sequence[Row]) -> None:
    """Assert that the leaderboard agrees with the strengths of the bots, and claims no more than that."""
    by_name = {row.player: row for row in rows}
    assert set(by_name) == {*TRUTH, LATE}, "a player without games is not rated"
    known = [row for row in rows if row.player in TRUTH]
    covered = [row.player for row in known if row.low <= TRUTH[row.player] <= row.high]
    assert len(covered) >= len(TRUTH) - 1, "nearly all 95 % intervals contain the true strength"
    assert all(not row.provisional and row.high - row.low < 150 for row in known)
    late = by_name[LATE]
    assert late.provisional
    assert late.high - late.low > PROVISIONAL_ELO
    assert late.low <= 0 <= late.high
    assert by_name["b05"].group == by_name["b06"].group, "the order of two equal bots is not established"
    for upper, lower in pairwise(rows):
        assert upper.above_next is not None
        established = upper.above_next >= ESTABLISHED
        assert (upper.group < lower.group) == established
        if established:
            assert TRUTH[upper.player] > TRUTH[lower.player]
    assert rows[-1].group >= 3, "some of the order is established"


async def _hour(folder: Path) -> None:
    ring = open_ring(folder / "arbiter.keys", structlog.get_logger())
    contest = LadderContest(InMemoryArbiter(signer=ring))
    arbiter_at_first = contest.server.arbiter
    tournament_id = await hour(contest)
    assert contest.server.arbiter is not arbiter_at_first
    log = await contest.ended(tournament_id)  # the log is valid, no game was lost and none played twice
    assert log.tournament.end is not None
    assert log.tournament.end.end is ev.End.TIME
    played = await matches(contest, tournament_id)
    ends = Counter(check_end(contest, match, log.tournament.ends_at or 0) for match in played)
    assert ends["time"] >= len(TRUTH), "some bots crashed in the middle of games"
    assert ends["resignation"] > 1_000

    ratings = await contest.server.arbiter.ratings.rating_list((GAME,))
    losses = Counter(player for match in played if (player := lost_without_a_word(match)))
    assert {row.player: row.forfeits.total for row in ratings.newest if row.forfeits.total} == losses
    check_ratings(ratings.newest)

    exported = folder / "record"
    exported.mkdir()
    for match in played:
        parts = [part async for part in contest.server.arbiter.transcripts.parts(match.id)]
        (exported / f"{match.id}.jsonl").write_bytes(b"".join(parts))
    keys = folder / "keys.json"
    keys.write_text(write_keys(ring.public_keys()), "utf-8")
    record = read_record([exported], [str(keys)], lambda done, of: None)
    assert len(record.games) == len(played)
    again = rating_list([game.result for game in record.games], {}, GAME)
    assert repr(again) == repr(ratings), "the transcripts give the same numbers, to the last digit"


def lost_without_a_word(match: Match) -> str:
    """Return who lost a rated match by time or absence, '' if nobody did."""
    end = match.result
    if end is None or end.seat is None or end.cause not in (Cause.TIME, Cause.ABSENCE) or not match.created.rated:
        return ""
    return match.players[end.seat - 1]


@pytest.mark.soak
@pytest.mark.timeout(1_800)  # about half a minute of work
def test_after_an_hour_the_ratings_of_a_ladder_agree_with_the_strengths(tmp_path: Path) -> None:
    run(_hour(tmp_path))
