"""Commands about tournaments on a real server with real bots; and how tournaments are shown."""

from __future__ import annotations

import io
import re
import shlex
from dataclasses import replace
from pathlib import Path

import arbiter_client as arb
import pytest
from rich.console import Console

from arbiter.cli import tournament_view as view
from arbiter.cli import tournament_watch, tournament_words
from arbiter.cli.tournament_spec import read_all
from arbiter.wire.tournament_messages import spec_message, spec_of
from tests.cli.command import WAIT_S, Arbiter, Server
from tests.cli.corrections import correct
from tests.documents import block, commands

SPEC = """
name = "Evening cup"
format = "round_robin"
games = ["circle-of-life(target=1)"]
time = "1m"
paired = false
rated = false
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "cup.toml"
    file.write_text(SPEC)
    return file


@pytest.mark.long
def test_a_tournament_is_made_entered_watched_and_read(server: Server, arbiter: Arbiter, spec: Path) -> None:
    names = ("walter", "wendy")
    for name in names:
        arbiter("token", "create", name, "--save")
    tournament_id = arbiter("tournament", "create", str(spec)).out.strip()
    assert arbiter("tournament", "enter", tournament_id, *names).out == "Entered walter.\nEntered wendy.\n"
    row = arbiter("tournament", "list", "--phase", "open").out.splitlines()[1].split("\t")
    assert row[:5] == [tournament_id, "Evening cup", "round robin", "entry", "admin"]
    shown = arbiter("tournament", "show", tournament_id).out
    assert f"{tournament_id}: Evening cup: round robin, circle-of-life(target=1), 1m, by admin\n" in shown
    assert "entry: 2 players\n" in shown

    why = f"no game in Evening cup ({tournament_id}): the tournament has not started\n"
    assert why in arbiter("player", "show", "walter").out

    assert arbiter("tournament", "start", tournament_id).out.startswith("running: 0 of 1 game played")
    with (
        server.running("tournament", "watch", tournament_id) as watcher,
        server.bot("random", names[0]) as first,
        server.bot("random", names[1]) as second,
    ):
        out, _ = watcher.communicate(timeout=WAIT_S)
        assert (first.wait(WAIT_S), second.wait(WAIT_S)) == (0, 0)
    assert watcher.returncode == 0
    lines = [re.sub(r"^\d\d:\d\d:\d\d  ", "", line) for line in out.splitlines()]
    assert lines[:5] == [
        "Evening cup: circle-of-life(target=1), 1m, made by admin",
        "walter has entered",
        "wendy has entered",
        "started: walter, wendy",
        "round 1: walter against wendy",
    ]
    assert re.fullmatch(r"game 1, walter against wendy begins: match m\w+", lines[5])
    assert re.fullmatch(r"game 1, walter against wendy: (walter wins|wendy wins|a draw) \([\w ]+\)", lines[6])
    assert lines[7] == "over: complete"
    standings = arbiter("tournament", "standings", tournament_id).out
    assert out.endswith(f"\n{standings}")
    heading, *rows = (line.split("\t") for line in standings.splitlines())
    assert heading[:3] == ["place", "player", "points"]
    assert heading[-11:-6] == ["lost", "on time", "absent", "by violation", "by walkover"]
    assert heading[-6:] == ["left early", "rating", "low", "high", "provisional", "group"]
    assert {row[-2] for row in rows} == {"no"}, "each player has met all others"
    assert {row[1] for row in rows} == set(names)
    assert sorted(row[2] for row in rows) in (["0", "1"], ["½", "½"])

    for number, line in enumerate(commands(block("deploy/CORRECTIONS.md", "arbiter tournament rule")), 1):
        program, *words = shlex.split(line.replace("last 7", "last 1"))
        ran = arbiter(*words)
        assert (program, ran.code) == ("arbiter", 0), ran.err
        assert ran.out.startswith(("player\tplace\tpoints\n", "Nothing ")), number
    assert arbiter("tournament", "standings", tournament_id).out == standings, "the last of them takes back the others"
    assert "org rules stands" in arbiter("tournament", "watch", tournament_id).out.replace("admin", "org")
    correct(arbiter)
    assert "say one of 1-0" in arbiter("tournament", "rule", "last", "1", "2-0").complaint


@pytest.mark.long
def test_a_tournament_is_paused_resumed_left_and_cancelled(server: Server, arbiter: Arbiter, spec: Path) -> None:
    for name in ("ann", "ben", "cat"):
        arbiter("token", "create", name, "--save")
    tournament_id = arbiter("tournament", "create", str(spec)).out.strip()
    assert arbiter("tournament", "enter", tournament_id, "ben", "cat", "--rating", "1500").code == 0
    assert arbiter("tournament", "enter", tournament_id, "--as", "ann").out == "Entered ann.\n"
    assert arbiter("tournament", "withdraw", tournament_id, "--as", "ann").out == "Withdrew ann.\n"
    assert "ann\t\t\twithdrawn\n" in arbiter("tournament", "show", tournament_id).out
    assert arbiter("tournament", "enter", tournament_id, "--as", "ann").out == "Entered ann.\n"
    assert arbiter("tournament", "change", tournament_id, "ann", "--rating", "1700").out == "ann: rating 1700.\n"
    refused = arbiter("tournament", "change", tournament_id, "--bye", "2", "--as", "ann")
    assert "a round robin has no rounds that a player can sit out" in refused.complaint
    arbiter("tournament", "start", tournament_id)
    assert arbiter("tournament", "pause", tournament_id).out.startswith("paused: ")
    assert arbiter("tournament", "resume", tournament_id).out.startswith("running: ")
    cancelled = arbiter("tournament", "cancel", tournament_id, "--note", "rain").out
    assert cancelled.startswith("over (cancelled: rain): ")
    ended = arbiter("tournament", "list", "--phase", "ended", "--format", "round_robin").out
    assert f"{tournament_id}\t" in ended
    spec.write_text(SPEC.replace("circle-of-life(target=1)", "ludo"))
    assert "there is no game 'ludo'" in arbiter("tournament", "create", str(spec)).complaint
    spec.write_text(SPEC.replace("round_robin", "trial"))
    trial = arbiter("tournament", "create", str(spec))
    assert re.fullmatch(r"\w+\n", trial.out), "the output for programs is the id alone"
    assert "few different openings (1 in circle-of-life" in trial.err
    assert arbiter("tournament", "list", "--creator", "nobody").out.count("\n") == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("create", "/none.toml"), "can't read /none.toml"),
        (("show", "t0"), "t0"),
        (("start", "t0"), "t0"),
        (("watch", "t0"), "t0"),
        (("standings", "t0", "--token", "wrong"), "this token is unknown here"),
    ],
)
def test_a_refusal_is_one_line_and_code_1(
    server: Server, arbiter: Arbiter, words: tuple[str, ...], complaint: str
) -> None:
    ran = arbiter("tournament", *words)
    assert ran.code == 1
    assert complaint in ran.complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name = ", "is no TOML file"),
        (SPEC + 'colour = "red"', "'colour' is not allowed"),
        (
            SPEC.replace("time =", "tme ="),
            "(tme): 'tme' is not allowed in specification of a tournament: expected one of",
        ),
        (SPEC.replace("time =", "# time ="), "(time): time of a tournament is missing or empty: expected a text"),
        (SPEC.replace("round_robin", "swiss"), "options.rounds"),
        (
            SPEC + "policy = { patience = 3 }",
            "'patience' is not allowed in policy.patience of a tournament: expected one of ",
        ),
        (SPEC + "policy = { illegal_moves = 0 }", "policy.illegal_moves"),
    ],
)
def test_a_mistake_in_a_file_is_explained(arbiter: Arbiter, spec: Path, text: str, complaint: str) -> None:
    spec.write_text(text)
    ran = arbiter("tournament", "create", str(spec), "--server", "127.0.0.1:1")
    assert ran.code == 1
    assert complaint in ran.complaint


FULL = (
    SPEC
    + """
tie_breaks = ["wins", "buchholz_cut_1"]
time_odds = { ann = "30s" }
policy = { illegal_moves = 2, start = "at_once", no_show = "void" }
entry = { capacity = 4, invited = ["ann", "ben"], forbidden = [["ann", "ben"]] }
openings = { lines = { "circle-of-life(target=1)" = [["e5"]] } }
adjudication = { plies = 100 }
options = { cycles = 2 }
"""
)


def test_client_and_server_read_a_file_alike(spec: Path) -> None:
    from arbiter_client.values.writing import write  # the client's own conversion to messages
    from arbiter_protos.v1 import tournament_pb2 as pb

    spec.write_text(FULL)
    value = read_all(spec).tournament
    assert value.policy == arb.TournamentPolicy(
        illegal_moves=2, start=arb.StartRule.AT_ONCE, no_show=arb.NoShowRule.VOID
    )
    message = write(value, pb.TournamentSpec())
    assert message == spec_message(spec_of(message))
    assert value.entry.forbidden == (arb.PlayerPair("ann", "ben"),)


class Restarted:
    """A server as a watcher sees it across restarts; each call meets the next of `errors`, None for an answer."""

    def __init__(self, *errors: arb.ClientError | None) -> None:
        self._errors = list(errors)

    def get_tournament(self, tournament_id: str) -> arb.Tournament:
        error = self._errors.pop(0)
        if error is not None:
            raise error
        return SWISS if self._errors else replace(SWISS, phase=arb.TournamentPhase.ENDED)

    def get_standings(self, tournament_id: str) -> arb.Standings:
        return standing()


AWAY = arb.ConnectionFailed("no arbiter answers")
BUSY = arb.ArbiterError(arb.Reason.DRAINING, "stopping", "UNAVAILABLE")
GONE = arb.ArbiterError(arb.Reason.TOURNAMENT_NOT_FOUND, "no such tournament", "NOT_FOUND")


def test_a_watcher_waits_for_a_server_that_it_has_reached_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tournament_watch, "LOOK_EVERY_S", 0)

    def phases(*errors: arb.ClientError | None) -> list[str]:
        looks = tournament_watch.looks(Restarted(*errors), "t1")  # type: ignore[arg-type]
        return [found.phase.name for found, _ in looks]

    assert phases(None, AWAY, BUSY, None, None) == ["RUNNING", "RUNNING", "ENDED"]
    for error in (AWAY, BUSY, GONE):
        with pytest.raises(arb.ClientError):
            phases(error, None)
    with pytest.raises(arb.ArbiterError, match="no such"):
        phases(None, GONE, None)


# Display


def row(place: int, player: str, half_points: int, **more: object) -> arb.StandingsRow:
    faults = arb.Faults(0, 1, 0, 0)
    plain = arb.StandingsRow(place, player, half_points, (6, 3), 0, 0, 3, 2, 1, 0, faults, False, None, "")
    return replace(plain, **more)  # type: ignore[arg-type]


def standing(*rows: arb.StandingsRow) -> arb.Standings:
    return arb.Standings("t1", 9, (arb.TieBreak.BUCHHOLZ_CUT_1, arb.TieBreak.WINS), rows)


GAMES = tuple(arb.TournamentGame(n, 2, ("ann", "ben"), "pods(size=5)", f"m{n}", 1) for n in range(20))
SWISS = arb.Tournament(
    tournament_id="t1",
    spec=arb.TournamentSpec(
        "Cup", arb.TournamentFormat.SWISS, ("pods(size=5)",), "1m", options=arb.TournamentOptions(rounds=4)
    ),
    creator="org",
    phase=arb.TournamentPhase.RUNNING,
    revision=9,
    entrants=tuple(arb.Entrant(f"p{number}", "", 0, 1, (), withdrawn=False) for number in range(20)),
    rounds=2,
    games=40,
    games_ended=20,
    running=GAMES,
    created_ms=1,
    started_ms=2,
    ends_ms=0,
    ended_ms=0,
    end=arb.TournamentEnd.UNSPECIFIED,
    end_note="",
)


def drawn(found: arb.Tournament, stand: arb.Standings) -> str:
    console = Console(width=140, file=io.StringIO(), color_system=None)
    console.print(view.picture(found, stand))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_screen_of_a_tournament() -> None:
    picture = drawn(SWISS, standing(row(1, "ann", 5), row(2, "ben", 1, withdrawn=True)))
    assert "Cup: swiss, 4 rounds, pods(size=5), 1m" in picture
    # Two rounds of ten meetings of two games each are paired; two more rounds follow.
    assert "running: round 2 of 4, 20 of 80 games played, 20 under way" in picture
    assert re.search(r"1 +ann +2½ +1½ +¾ +3 +2 +1 +0", picture)
    assert re.search(r"2 +\(ben\) +½", picture)
    assert "absent" in picture
    assert "on time" not in picture
    assert "m11" in picture
    assert "m12" not in picture
    assert "and 8 games more" in picture


def test_progress_is_a_share_of_the_games_that_are_known_to_be_played() -> None:
    of_all = replace(SWISS.spec, format=arb.TournamentFormat.ROUND_ROBIN)
    robin = replace(SWISS, spec=of_all, rounds=1, games=20, games_ended=1)
    assert view.state(robin) == "running: 1 of 380 games played, 20 under way"
    arena = replace(robin, spec=replace(SWISS.spec, format=arb.TournamentFormat.ARENA), running=())
    assert view.state(arena) == "running: 1 game played"
    knockout = replace(robin, spec=replace(SWISS.spec, format=arb.TournamentFormat.KNOCKOUT), rounds=13)
    assert "round" not in view.state(knockout), "`final` is shown without the number of the pairing"
    newer = replace(robin, spec=replace(SWISS.spec, format=arb.TournamentFormat.UNSPECIFIED))
    assert "1 of 20 games played" in view.state(newer)
    one = replace(SWISS, spec=replace(SWISS.spec, options=arb.TournamentOptions(rounds=1)))
    assert ", 1 round, " in view.in_short(one)
    early = replace(SWISS, phase=arb.TournamentPhase.ENDED, end=arb.TournamentEnd.COMPLETE, running=())
    assert view.state(early) == "over (complete): round 2 of 4, 20 of 40 games played"


@pytest.mark.long
def test_knockouts_show_the_round_and_arenas_their_own_points() -> None:
    assert "winner" in drawn(SWISS, standing(row(1, "ann", 5, reached="winner"), row(2, "ben", 1)))
    assert re.search(r"1 +ann +17 ", drawn(SWISS, standing(row(1, "ann", 5, arena_points=17))))


def test_ratings_are_shown_beside_players_and_their_marks_are_explained() -> None:
    def rated(elo: float, group: int, *, provisional: bool = False) -> arb.StandingsRating:
        return arb.StandingsRating(arb.Estimate(elo, elo - 90, elo + 90), provisional, group)

    ann, ben = row(1, "ann", 5, rating=rated(40, 1)), row(2, "ben", 4, rating=rated(30, 1))
    cat = row(3, "cat", 1, rating=rated(200, 2, provisional=True))
    of_all = standing(ann, ben, cat)
    assert re.search(r"1 +ann +\+40 ≈ +-50 to 130 +2½", drawn(SWISS, of_all))
    assert re.search(r"3 +cat +\+200\? +110 to 290 +½", drawn(SWISS, of_all))
    assert [sentence[:2] for sentence in view.legend(of_all)] == ["Ra", "? ", "≈ "]
    assert len(view.legend(standing(replace(ann, rating=rated(40, 1)), replace(ben, rating=rated(30, 2))))) == 1
    assert view.legend(standing(row(1, "ann", 5))) == []


def test_who_has_left_early_is_marked() -> None:
    gone = standing(row(1, "ann", 5), row(2, "ben", 4, withdrawn=True, left_early=True))
    assert re.search(r"2 +\(ben\)\* ", drawn(SWISS, gone))
    assert view.legend(gone) == [view.LEFT_EARLY]
    assert view.lines(gone, brief=False)[1][1][-6] == "yes"


PAIRED = {3: arb.PairedGame(3, ("ann", "ben"), "pods(size=5)")}


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "what", "said"),
    [
        ("entered", arb.EntrantEvent("ann", "2.1", 0, "org"), "ann has entered, version 2.1"),
        ("withdrawn", arb.EntrantEvent("ann", "", 0, "ann"), "ann has withdrawn"),
        ("start_missed", arb.StartMissed(1, 2), "the start waits for players: 2 are needed, 1 there"),
        (
            "entry_changed",
            arb.EntryChanged("ann", 0, (2, 5), "ann"),
            "the entry of ann is changed: rating none, sits out 2, 5",
        ),
        ("played_elsewhere", arb.PlayedElsewhere("", ("a", "b"), "org"), "org has it go on from a report of 2 players"),
        ("tournament_started", arb.TournamentStarted((), ""), "started: without players yet"),
        ("paused", arb.OrganiserEvent("org"), "paused by org"),
        ("paired", arb.GamesPaired(2, (PAIRED[3],), ("cat",)), "round 2: ann against ben, cat sits out"),
        ("game_begun", arb.GameBegun(9, "m9", 1), "game 9 begins: match m9"),
        (
            "ruled",
            arb.GameRuled(3, "points", (1, 0), "an engine", "org"),
            "game 3, ann against ben: org rules ½–0: an engine",
        ),
        ("ruled", arb.GameRuled(3, "stands", (), "", "org"), "game 3, ann against ben: org rules stands"),
        (
            "game_ended",
            arb.GameEnded(3, "m3", 2, "no_show", "absence"),
            "game 3, ann against ben: ben (Humpback) wins (no show)",
        ),
        (
            "game_ended",
            arb.GameEnded(3, "", 0, "walkover", "absence"),
            "game 3, ann against ben: lost by both (walkover)",
        ),
        ("game_ended", arb.GameEnded(3, "m3", 0, "agreement", ""), "game 3, ann against ben: a draw (agreement)"),
        (
            "game_ended",
            arb.GameEnded(3, "", 0, "played_elsewhere", ""),
            "game 3, ann against ben: a draw (played elsewhere)",
        ),
        (
            "game_voided",
            arb.GameVoided(3, "m3", 1, "fault"),
            "game 3, ann against ben is void (fault): attempt 1",
        ),
        ("tournament_ended", arb.TournamentEnded("cancelled", "rain", "org"), "over: cancelled (rain)"),
        ("brand_new", None, "brand_new"),
    ],
)
def test_events_of_a_tournament_are_described_in_words(
    kind: str, what: arb.TournamentHappening | None, said: str
) -> None:
    event = arb.TournamentEvent("t1", 7, 0, kind, b"", what)
    assert tournament_words.happening(event, PAIRED) == said


def test_limits_of_bots_are_read_as_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "ann").mkdir()
    file = tmp_path / "cup.toml"
    file.write_text(block("deploy/TOURNAMENTS.md", 'name = "Cup"') + block("deploy/SANDBOX.md", "memory_mb"))
    read = read_all(file)
    assert read.limits.memory_mb == 2048
    (ann,) = read.bots
    assert (ann.name, ann.command, ann.folder) == ("ann", ("./engine",), Path("ann"))
    assert ann.sees == (Path("/opt/tables"), Path("books/shared"))
