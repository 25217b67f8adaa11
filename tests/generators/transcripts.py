"""Transcripts for tests: whole matches with random moves at made-up times, signed with keys that are not secret.

Every verifier, in every language, is tested with these files: `tests/golden/transcripts/NAME.jsonl`, and the public
keys beside them in `keys.json`. There is one match for each game. Together they cover every time control and most ways
to end, an opening, a match of a player against itself and one with versions of bots. Each also has strikes, rejected
requests, comments, players who disconnect and reconnect, interruptions, and moves with and without a stream.
`make golden` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from arbiter.games.contract import Seat
from arbiter.keys.key_ring import SigningKey
from arbiter.matches import Match, Phase, create, deadline, decide, evolve, replay, seal, seal_first
from arbiter.matches.adjudication import AdjudicationRules
from arbiter.matches.commands import (
    Abort,
    Adjudicate,
    AnswerDraw,
    Arrive,
    Command,
    Create,
    Interrupt,
    Interruption,
    Leave,
    OfferDraw,
    Play,
    ReportFault,
    Resign,
    ResultKind,
    Tick,
)
from arbiter.matches.comments import Comment
from arbiter.matches.signing import PublicKey, Signature, Statement, write_keys
from arbiter.matches.transcript import write

NOON: Final = 1_800_000_000_000  #: a time, UTC, milliseconds since 1970
ROTATED: Final = NOON + 60_000  #: when the second key takes over
KEYS: Final = (SigningKey(b"\x01" * 32, 0, ROTATED), SigningKey(b"\x02" * 32, ROTATED))
KEY_FILE: Final = "keys.json"


class Dice:
    """Pseudo-random numbers that depend only on the seed: SHA-256 of seed and counter."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._drawn = 0

    def below(self, size: int) -> int:
        """Return a number from 0 to size − 1."""
        self._drawn += 1
        return int.from_bytes(sha256(f"{self._seed} {self._drawn}".encode()).digest()[:8]) % size


class ScriptedMatch:
    """One match, and the log that it leaves."""

    def __init__(
        self,
        name: str,
        game: str,
        time: str,
        opening: tuple[str, ...] = (),
        players: tuple[str, str] = ("alice", "bob"),
        versions: tuple[str, str] = ("", ""),
        rules: AdjudicationRules | None = None,
        position: str = "",
    ) -> None:
        self.now = NOON
        self.dice = Dice(name)
        self.versions = versions
        self._requests = 0
        rated = players[0] != players[1] and ":" not in time
        command = Create(
            *(game, players, time, "organiser", "create"),
            rated=rated,
            label=name,
            opening=opening,
            adjudication=rules,
            position=position,
        )
        events = create(f"m-{name}", command, self.now).events
        self.log = [sealed.data for sealed in seal_first(f"m-{name}", events)]
        self.match: Match = replace(replay(events), secret=sha256(f"comments of {name}".encode()).digest())

    def request(self) -> str:
        """Return a fresh request id."""
        self._requests += 1
        return f"r{self._requests}"

    def do(self, command: Command, after_ms: int = 0) -> None:
        """Let the match decide a command after a delay."""
        self.now += after_ms
        events = decide(self.match, command, self.now).events
        self.log += [sealed.data for sealed in seal(self.match, events)]
        for event in events:
            self.match = evolve(self.match, event)

    def arrive(self, seat: Seat, after_ms: int) -> None:
        """Let a player connect, with the current version of its bot."""
        self.do(Arrive(seat, self.versions[seat - 1]), after_ms)

    def play(self, think_ms: int) -> None:
        """Play a random move, over a live stream or, sometimes, without one."""
        match, dice = self.match, self.dice
        moves = sorted(match.game.moves(match.position))
        handed_over = match.since + dice.below(140) if dice.below(5) else None
        round_trip = dice.below(400) if dice.below(4) else None
        arrived = self.now + dice.below(think_ms)
        move = moves[dice.below(len(moves))]
        said = None if dice.below(3) else Comment(dice.below(1_001), tuple(moves[: 1 + dice.below(4)]))
        command = Play(match.turn, self.request(), match.ply, move, arrived, handed_over, round_trip, said)
        self.do(command, arrived - self.now + dice.below(3))


class MatchPlan(NamedTuple):
    """The plan of a golden match: game, time control, length, and how it ends if the rules do not end it.

    plies: how many plies the players play, after the opening.
    """

    name: str
    game: str
    time: str
    think_ms: int
    plies: int
    end: Callable[[ScriptedMatch], None]
    opening: tuple[str, ...] = ()
    players: tuple[str, str] = ("alice", "bob")
    versions: tuple[str, str] = ("", "")
    rules: AdjudicationRules | None = None
    position: str = ""


def _resigns(script: ScriptedMatch) -> None:
    script.do(Resign(script.match.turn, script.request()), 400)


def _agrees(script: ScriptedMatch) -> None:
    seat: Seat = script.match.turn
    script.do(OfferDraw(seat, script.request()), 100)
    script.do(AnswerDraw(2 if seat == 1 else 1, script.request(), True), 100)


def _strikes_out(script: ScriptedMatch) -> None:
    while script.match.phase is not Phase.ENDED:
        script.do(Play(script.match.turn, script.request(), script.match.ply, "?" * 201, script.now), 50)


def _comes_late(script: ScriptedMatch) -> None:
    script.play(1)
    match = script.match
    script.do(Play(match.turn, script.request(), match.ply, "a1", script.now + 30_000, script.now + 2, 60), 30_000)


def _waits(script: ScriptedMatch) -> None:
    while (due := deadline(script.match)) is not None:
        script.do(Tick(), due - script.now)


def _goes_away(script: ScriptedMatch) -> None:
    seat: Seat = script.match.turn
    opponent: Seat = 2 if seat == 1 else 1
    script.arrive(opponent, 100)
    script.do(OfferDraw(seat, script.request()), 100)
    script.do(AnswerDraw(opponent, script.request(), False), 100)
    script.do(Leave(opponent), 400)
    _waits(script)


def _comes_back_newer(script: ScriptedMatch) -> None:
    seat: Seat = script.match.turn
    script.versions = ("2.0", "2.0")
    script.arrive(seat, 10)
    script.play(500)
    script.do(Resign(seat, script.request()), 400)


def _agree_who_wins(script: ScriptedMatch) -> None:
    while (match := script.match).phase is not Phase.ENDED:
        said = Comment(850 if match.turn == 2 else 150 + script.dice.below(100))
        move = min(match.game.moves(match.position))
        script.do(Play(match.turn, script.request(), match.ply, move, script.now, comment=said), 5)


def _fails(script: ScriptedMatch) -> None:
    script.do(ReportFault("the arbiter made a mistake"), 1_000)


def _aborts(script: ScriptedMatch) -> None:
    script.do(Abort("organiser", script.request(), "the hall closes – good night"), 1_000)


def _is_in_tables(script: ScriptedMatch) -> None:
    note = "Syzygy tables after 1 ply: KNNvK is drawn for Black, who is to move"
    script.do(Adjudicate("tournament:t", script.request(), ResultKind.DRAW, 0, note, by_tables=True), 5)


MATCH_PLANS: Final = (
    MatchPlan("circle-of-life", "circle-of-life", "1m+1s", 3_000, 24, _resigns),
    MatchPlan("elevation", "elevation", "300ms/move+10s", 900, 14, _agrees),
    MatchPlan("hop-it", "hop-it", "20s+2sd", 4_000, 20, _resigns),
    MatchPlan("pods", "pods(size=3)", "2s+5x1s", 900, 200, _resigns),
    MatchPlan("pondlife", "pondlife", "6/20s", 4_000, 20, _strikes_out),
    MatchPlan("bronstein", "hop-it(duty=none)", "10s+2sb", 4_000, 12, _comes_late),
    MatchPlan("main-time", "pods(size=4)", "30s", 2_000, 10, _waits),
    MatchPlan("unlimited", "circle-of-life(target=9)", "none", 90_000, 10, _aborts),
    MatchPlan("opening", "pods", "5/30s", 4_000, 16, _resigns, ("a1", "e5", "b1")),
    MatchPlan("self-play", "circle-of-life", "20s", 2_000, 12, _comes_late, players=("alice", "alice")),
    MatchPlan("abandoned", "pondlife", "3m", 2_000, 8, _goes_away),
    MatchPlan("faulted", "hop-it", "1m+2s", 2_000, 8, _fails),
    MatchPlan("time-odds", "circle-of-life", "10s+1s:300ms/move+5s", 900, 16, _resigns),
    MatchPlan("by-length", "hop-it", "1m", 900, 20, _resigns, rules=AdjudicationRules(plies=9)),
    MatchPlan(
        "by-material", "circle-of-life", "1m", 900, 60, _resigns, rules=AdjudicationRules(material=1, material_plies=2)
    ),
    MatchPlan(
        "by-evaluation",
        "pods(size=4)",
        "1m",
        900,
        6,
        _agree_who_wins,
        rules=AdjudicationRules(evaluation=250, evaluation_plies=4),
    ),
    MatchPlan(
        "position", "chess", "1m", 900, 12, _resigns, ("e1g1", "e8c8"), position="r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 4 30"
    ),
    MatchPlan("by-tablebase", "chess", "1m", 900, 1, _is_in_tables, position="7k/8/8/8/8/8/8/KNN5 w - - 0 1"),
    MatchPlan("versions", "pods(size=4)", "1m", 2_000, 8, _comes_back_newer, versions=("1.9 – β", "")),
)


def played(plan: MatchPlan) -> ScriptedMatch:
    """Play a planned match to its end."""
    script = ScriptedMatch(
        plan.name, plan.game, plan.time, plan.opening, plan.players, plan.versions, plan.rules, plan.position
    )
    script.arrive(1, 100)
    script.arrive(2, 250)
    for ply in range(plan.plies):
        _incident(script, ply)
        script.play(plan.think_ms)
        if script.match.phase is Phase.ENDED:
            return script
    plan.end(script)
    return script


def _incident(script: ScriptedMatch, ply: int) -> None:
    """Let an event other than a move happen before some plies."""
    turn = script.match.turn
    match ply:
        case 2:
            script.do(Play(turn, script.request(), script.match.ply, "no such move", script.now), 5)
            script.do(Play(turn, script.request(), script.match.ply + 1, "too early", script.now), 5)
            script.do(AnswerDraw(turn, script.request(), True), 5)
        case 3:
            script.do(Leave(turn), 5)
            script.arrive(turn, 40)
        case 5:
            script.do(Interrupt(Interruption.RESTART), 20)
            script.arrive(1, 900)
            script.arrive(2, 300)
        case 7:
            script.do(Interrupt(Interruption.DRAIN), 20)  # and the next move comes before its player has reconnected


def signed(records: Sequence[bytes], match: Match) -> bytes:
    """Return the transcript of a match that has ended, signed with the test key that was valid at that time."""
    key = next(key for key in KEYS if key.public.valid_at(match.at))
    statement = Statement(match.id, match.revision, match.digest, key.public.key_id)
    return write(records, Signature(statement, key.sign(statement.message())))


def public_keys() -> tuple[PublicKey, ...]:
    """Return the public halves of the test keys, newest first."""
    return tuple(key.public for key in reversed(KEYS))


def generated() -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each golden file."""
    yield KEY_FILE, write_keys(public_keys()).encode()
    for plan in MATCH_PLANS:
        script = played(plan)
        yield f"{plan.name}.jsonl", signed(script.log, script.match)


def regenerate(folder: Path) -> list[Path]:
    """Write the golden files that differ, if there is a folder for them; return the changed ones."""
    if not folder.is_dir():
        return []
    changed = []
    for name, data in generated():
        path = folder / name
        if not path.is_file() or path.read_bytes() != data:
            path.write_bytes(data)
            changed.append(path)
    return changed
