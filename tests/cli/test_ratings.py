"""Ratings on the command line: those of a server, the same numbers from its export, and how they are shown."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import arbiter_client as arb
import pytest
from arbiter_client.bots.random import RandomBot

from arbiter.cli import compare, rating, ratings, ratings_view
from arbiter.cli.ratings_record import VerifiedMatch
from arbiter.cli.ratings_view import COLUMNS
from arbiter.ratings.rated_matches import Result
from tests.cli.command import Arbiter, Server
from tests.documents import block, commands
from tests.processes import empty_store

pytestmark = pytest.mark.long

GAME = "circle-of-life(target=1)"
OTHER = "pods(size=3)"
WAIT_S = 240.0
GAMES = [(one, two, game) for game in (GAME, OTHER) for one in ("ann", "ben", "cat") for two in ("ann", "ben", "cat")]


class Versioned(RandomBot):
    """A bot that reports a version, and counts its finished matches."""

    def __init__(self, seed: int, version: str) -> None:
        super().__init__(seed)
        self.version = version
        self.done = 0

    async def ended(self, finished: arb.FinishedMatch) -> None:
        self.done += 1


async def contest(address: str, tokens: dict[str, str], versions: dict[str, str], made: str) -> None:
    """Have every two of three bots play each other, in two games and in both seats."""
    bots = {name: Versioned(number, versions[name]) for number, name in enumerate(("ann", "ben", "cat"))}
    pairs = [each for each in GAMES if each[0] != each[1]]
    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group, arb.Client(address, token=tokens["admin"]) as org:
        playing = [group.create_task(arb.play(bots[name], address, token=tokens[name])) for name in bots]
        for number, (one, two, game) in enumerate(pairs):
            await org.create_match(
                game, (one, two), time_control="1m", rated=True, label="duel", request_id=f"{made} {number}"
            )
        while sum(bot.done for bot in bots.values()) < 2 * len(pairs):  # noqa: ASYNC110 - three bots report
            await asyncio.sleep(0.01)
        for task in playing:
            task.cancel()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    settings = folder / "arbiter.toml"
    settings.write_text("[ratings]\nanchors = { ann = 1000 }\n")
    empty_store(folder)
    running = Server(folder, "--config", str(settings))
    try:
        yield running
    finally:
        assert running.stop() == 0


@pytest.fixture(scope="module")
def played(server: Server) -> Server:
    """Return the server after two contests, between which one bot got another version."""
    kept = json.loads(Path(server.environment["ARBITER_CREDENTIALS"]).read_text())
    tokens = {"admin": kept[server.address]["admin"]}
    with arb.BlockingClient(server.address, token=tokens["admin"]) as client:
        tokens |= {name: client.create_token(name).secret for name in ("ann", "ben", "cat")}
    for round_, version in (("first", "1"), ("second", "2")):
        asyncio.run(contest(server.address, tokens, {"ann": "1", "ben": version, "cat": ""}, round_))
    return server


def test_an_export_gives_the_same_numbers(played: Server, arbiter: Arbiter, tmp_path: Path) -> None:
    folder = tmp_path / "record"
    said = arbiter("ratings", "export", str(folder)).out
    assert said == f"24 transcripts written to {folder}, which has 24; the public keys are in keys.json.\n"
    assert arbiter("ratings", "export", str(folder)).out.startswith("0 transcripts written")
    assert len(list(folder.glob("*.jsonl"))) == 24
    store = f"sqlite:///{played.log.parent}/arbiter.db"
    assert arbiter("export", str(tmp_path / "of the store"), "--store", store).code == 0
    for file in folder.iterdir():
        assert (tmp_path / "of the store" / file.name).read_bytes() == file.read_bytes()
    offline = ("ratings", "recompute", str(folder), "--key", str(folder / "keys.json"), "--anchor", "ann=1000")
    for wanted, more in (("", ""), (GAME, ""), (OTHER, "--all-versions")):
        asked = (wanted, more) if more else (wanted,)
        there = arbiter("leaderboard", *asked, "--json")
        here = arbiter(*offline, "--game", *asked, "--json")
        assert (there.code, here.code) == (0, 0), here.err
        assert there.out == here.out
        board = json.loads(there.out)
        assert board["games"] == (12 if wanted else 24)
        assert [row["player"] for row in board["rows"]].count("ben") == (2 if more else 1)
        fixed = {"player": "ann@1", "by_games": None, "contradicted": False}
        assert board["anchors"] == [{"player": "ann", "rating": 1000.0, "fixes": [fixed]}]
    plain = arbiter(*offline, "--game", GAME).out
    assert plain == arbiter("leaderboard", GAME).out
    assert plain.splitlines()[0].split("\t") == list(COLUMNS)

    honest = "what\tplayers\tgames\tprobability\twhy\n"
    assert arbiter("ratings", "arranged", str(folder), "--key", str(folder / "keys.json")).out == honest

    damaged = sorted(folder.glob("*.jsonl"))[3]
    damaged.write_bytes(damaged.read_bytes().replace(b'"rated":true', b'"rated":false'))
    ran = arbiter(*offline)
    assert ran.code == 1
    assert str(damaged) in ran.complaint


def test_rulings_are_exported_and_recomputed_and_taken_back(played: Server, arbiter: Arbiter, tmp_path: Path) -> None:
    folder, before = tmp_path / "record", arbiter("leaderboard", "--json").out

    def agree(rulings: int, games: int) -> None:
        """The server's ratings are those of its export, by the command and of the store."""
        there = arbiter("leaderboard", "--json").out
        assert (json.loads(there)["rulings"], json.loads(there)["games"]) == (rulings, games)
        store = f"sqlite:///{played.log.parent}/arbiter.db"
        assert arbiter("ratings", "export", str(folder)).code == 0
        assert arbiter("export", str(tmp_path / "of the store"), "--store", store).code == 0
        for of in (folder, tmp_path / "of the store"):
            keys = ("--key", str(of / "keys.json"), "--anchor", "ann=1000")
            assert arbiter("ratings", "recompute", str(of), *keys, "--json").out == there

    page = commands(block("deploy/CORRECTIONS.md", "arbiter ratings rule"))
    first, second, third = [shlex.split(line)[1:] for line in page]
    preview = arbiter(*first, "--preview", "--csv")
    assert "It would change 8 games" in preview.err
    assert arbiter("leaderboard", "--json").out == before
    made = arbiter(*first, "--csv", "--revision", "0")
    assert "Ruling 1 changes 8 games" in made.err
    assert made.out == preview.out
    agree(1, 16)
    one = made.out.split()[1]
    assert "unrated by ruling 1" in arbiter("match", "show", one).out
    listed = arbiter("match", "list", "--csv").out.splitlines()
    assert {line.split(",")[0] for line in listed if "unrated by ruling 1" in line} == {*made.out.split()[1:]}
    assert arbiter("ratings", "rule", "rated", one, "--csv").out.split() == ["match", one]
    agree(2, 17)
    refused = arbiter("ratings", "rule", "rated", one, "--revision", "1")
    assert refused.code == 1
    assert "the last ruling is 2" in refused.complaint
    back = arbiter(*second, "--csv").out
    assert back.split()[1:] == made.out.split()[2:]
    agree(3, 24)
    rows = [line.split("\t") for line in arbiter(*third).out.splitlines()]
    assert rows[0] == ["ruling", "at", "by", "decision", "games", "about", "note"]
    assert [[*row[:1], *row[3:]] for row in rows[1:]] == [
        ["1", "unrated, taken back by 3", "8", "games between ann, ben", "one owner"],
        ["2", "rated", "1", "", ""],
        ["3", "taken back", "", "ruling 1", "an appeal"],
    ]
    file = folder / "rulings.log"
    kept = file.read_bytes()
    for wrong in (kept.replace(b"an appeal", b"no appeal"), b"".join(kept.splitlines(keepends=True)[:-1])):
        file.write_bytes(wrong)
        ran = arbiter("ratings", "recompute", str(folder), "--key", str(folder / "keys.json"))
        assert ran.code == 1
        assert str(file) in ran.complaint


def test_anchors_without_effect_and_anchors_that_contradict_are_named(
    played: Server, arbiter: Arbiter, tmp_path: Path
) -> None:
    folder = tmp_path / "record"
    assert arbiter("ratings", "export", str(folder)).code == 0
    given = ("ratings", "recompute", str(folder), "--key", str(folder / "keys.json"))
    log = played.log.read_text()
    assert log.count("anchor_unknown") == 1, "when the server began, nobody had the name"
    assert '"anchor": "ann"' in log
    ran = arbiter(*given, "--anchor", "anna=1000", "--anchor", "cat=9000", "--anchor", "ben=-9000", "--json")
    fixes = {each["player"]: [fixed["player"] for fixed in each["fixes"]] for each in json.loads(ran.out)["anchors"]}
    assert fixes == {"anna": [], "ben": ["ben@1", "ben@2"], "cat": ["cat"]}
    lines = ran.err.splitlines()
    assert (
        lines[0]
        == "The anchor anna = 1000 has no effect: no such player has a rated game here; did you mean ann or ann@1?"
    )
    assert [line.partition(":")[0] for line in lines[1:]] == [
        "The anchor ben = -9000 contradicts the games",
        "The anchor ben = -9000 contradicts the games",
        "The anchor cat = 9000 contradicts the games",
    ]
    ran = arbiter(*given, "--anchor", "ann=1000", "--anchor", "ann@1=900")
    assert ran.code == 1
    assert "ann = 1000 and ann@1 = 900" in ran.complaint


def test_the_ratings_of_a_player_and_their_chart(played: Server, arbiter: Arbiter, tmp_path: Path) -> None:
    svg = tmp_path / "ben.svg"
    plain = arbiter("rating", "ben", "--game", GAME, "--svg", str(svg)).out.splitlines()
    assert plain[0] == f"the chart in {svg}"
    assert plain[1].split("\t") == list(rating.HEADINGS)
    assert {line.split("\t")[1] for line in plain[2:]} == {"1", "2"}
    assert "ben 2" in "".join(ElementTree.parse(svg).getroot().itertext())
    found = json.loads(arbiter("rating", "ben", "--json", "--points", "0").out)
    assert [row["version"] for row in found["versions"]] == ["2", "1"]
    assert found["history"] == []
    assert arbiter("rating", "nobody").complaint.startswith("there is no player")
    assert "points" in arbiter("rating", "ben", "--points", "101").complaint


def test_two_players_side_by_side(played: Server, arbiter: Arbiter) -> None:
    plain = arbiter("compare", "ann", "ben@2", "--game", OTHER).out.splitlines()
    assert plain[0] == "game\tseat\twon\tdrawn\tlost"
    assert sum(map(int, plain[3].split("\t")[2:])) == 2
    assert "unpaired games\t0\t\t" in plain
    found = json.loads(arbiter("compare", "ann", "ben", "--json", "--elo1", "20").out)
    assert sum(found["paired"]["pairs"]) == 4
    assert found["paired"]["test"]["elo1"] == 20
    assert found["rated"]["other_version"] == "2"
    assert arbiter("compare", "ann", "ann").code == 1


def test_an_honest_record_gets_no_warning(played: Server, arbiter: Arbiter) -> None:
    assert arbiter("ratings", "arranged").out == "what\tplayers\tgames\tprobability\twhy\n"
    assert json.loads(arbiter("ratings", "arranged", "--game", GAME, "--json").out) == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("ratings", "recompute", "--key", "00" * 32), "say which transcripts"),
        (("ratings", "recompute", "/none"), "--key FILE"),
        (("ratings", "rule", "unrated", "--player", "ann", "--since", "2026-01-01T18:00:00"), "add an offset"),
        (("ratings", "recompute", "/none.jsonl", "--key", "00" * 32), "can't read /none.jsonl"),
        (("ratings", "recompute", "/none", "--key", "00" * 32, "--anchor", "ann"), "'ann' is no anchor"),
        (("ratings", "recompute", "/none", "--key", "00" * 32, "--game", "ludo"), "ludo"),
        (("ratings", "arranged", "/none"), "--key FILE"),
    ],
)
def test_a_mistake_is_one_line(arbiter: Arbiter, words: tuple[str, ...], complaint: str) -> None:
    ran = arbiter(*words)
    assert ran.code == 1
    assert complaint in ran.complaint


def row(place: int, group: int, player: str, version: str = "", **changes: object) -> arb.LeaderboardRow:
    values: dict[str, object] = {
        "rating": arb.Estimate(100.4, -20.0, 220.6),
        "games": 40,
        "provisional": False,
        "above_next": 0.7,
        "forfeits": arb.Forfeits(0, 0, 0),
    }
    return arb.LeaderboardRow(place, group, player, version, **{**values, **changes})  # type: ignore[arg-type]


def test_a_history_has_a_row_for_each_change_and_no_instant_twice() -> None:
    first, other = arb.Estimate(10.0, 0.0, 20.0), arb.Estimate(30.0, 20.0, 40.0)
    marks = [arb.RatingMark(at, rating) for at, rating in ((1, first), (2, first), (3, other), (3, first), (4, other))]
    assert [(mark.at_ms, mark.rating) for mark in rating.changes(marks)] == [(1, first), (3, other)]


def test_a_terminal_shows_a_row_for_each_change() -> None:
    marks = tuple(arb.RatingMark(at, arb.Estimate(at, at - 20, at + 20)) for at in (100_000, 100_000, 200_000))
    rows = list(rating.changed_rows([arb.RatingHistory("2.1", marks)]))
    assert [(version, elo, range_) for version, _, elo, range_ in rows] == [
        ("2.1", "100000", "99980 to 100020"),
        ("2.1", "200000", "199980 to 200020"),
    ]
    assert len({at for _, at, *_ in rows}) == 2


def test_unknown_values_are_marked() -> None:
    rows = [row(1, 1, "ann"), row(2, 1, "ben", "1.2", provisional=True), row(3, 2, "cat")]
    headings, lines = ratings_view.drawn_rows(rows)
    assert headings == ("place", "", "player", "version", "rating", "95 % interval", "games")
    assert lines == [
        ("1", "≈", "ann", "", "100", "-20 to 221", "40"),
        ("2", "", "ben", "1.2", "100?", "-20 to 221", "40"),
        ("3", "", "cat", "", "100", "-20 to 221", "40"),
    ]


def test_games_lost_by_absence_have_columns_if_anybody_has_such() -> None:
    headings, lines = ratings_view.drawn_rows([row(1, 1, "ann"), row(2, 2, "ben", forfeits=arb.Forfeits(3, 0, 1))])
    assert headings[-2:] == ("on time", "by violation")
    assert [line[-2:] for line in lines] == [("", ""), ("3", "1")]


def test_a_comparison_in_words() -> None:
    estimate = arb.Estimate(35.2, 4.0, 66.0)
    test = arb.SequentialTest(0, 10, 0.05, 0.05, 3.1, -2.9, 2.9, arb.Verdict.H1)
    paired = arb.PairedGames((1, 2, 3, 4, 5), 1, 0.66, estimate, 0.99, test, arb.ConfidenceSequence(0.5, 0.8, 0, 241))
    total = arb.Encounters("", 0, 12, 10, 9)
    found = arb.Comparison((), total, arb.RatedDifference("2", "", estimate, 0.987), paired, "", "")
    assert list(compare._sentences(found, "ann@2", "ben")) == [
        "ann@2 scored 17 of 31 (54.8%).",
        "By the ratings (ann 2) ann@2 is +35 (4 to 66) Elo above ben, and better with likelihood 98.7%.",
        "Pairs of games: 15, by points of ann@2: 1 with 0, 2 with ½, 3 with 1, 4 with 1½, 5 with 2; "
        "1 game without a partner.",
        "By the pairs ann@2 is +35 (4 to 66) Elo better, and better with 99.0%.",
        compare.FIXED,
        compare.EARLY,
        "Valid at every look: 0 to 241 Elo (score 50.0% to 80.0%).",
        "Sequential test of 0 against 10 Elo: better by more than 0 Elo (log-likelihood ratio 3.10, bounds -2.90 and "
        "2.90).",
    ]


def test_a_suspicious_pattern_is_reported_with_its_reason(arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty players play each other; of two more, one gives up all of its games against the other at once."""
    field = [f"p{number}" for number in range(20)]
    honest = [
        VerifiedMatch(Result("pods", True, one, two, "win", 1 + (n + m) % 2, "rules"), 30, given_up=False)
        for n, one in enumerate(field)
        for m, two in enumerate(field)
        if one != two
    ]
    sold = VerifiedMatch(Result("pods", True, "farm", "mule", "win", 1, "resignation"), 2, given_up=True)
    monkeypatch.setattr(ratings, "_listed", lambda game, connection: (*honest, *[sold] * 30))
    found = json.loads(arbiter("ratings", "arranged", "--json").out)
    assert {each["kind"] for each in found} == {"cluster", "improbable", "given_up", "farmed"}
    assert {tuple(sorted(each["players"])) for each in found} == {("farm", "mule")}
    line = arbiter("ratings", "arranged").out.splitlines()[-2].split("\t")
    assert line[:3] == ["given up", "mule, farm", "30"]
    assert "mule gave up early in 30 of 30 games against farm" in line[4]
    assert len(json.loads(arbiter("ratings", "arranged", "--early", "2", "--json").out)) == 3


def test_a_match_is_shown_with_the_versions_that_it_is_rated_for(played: Server, arbiter: Arbiter) -> None:
    rows = [line.split("\t") for line in arbiter("match", "list", "--player", "ben").out.splitlines()[1:]]
    match_id, _, *players = next(row[:4] for row in rows if "ann" in row)
    known = {"ann": "ann 1", "ben": "ben 2"}
    assert " against ".join(known[player] for player in players) in arbiter("match", "show", match_id).out
