"""Golden files of the rules of every registered game: counts, order of moves, playthroughs. Each must exist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arbiter.errors import Reason
from arbiter.games import registry
from tests.generators import goldens
from tests.generators.playthroughs import ScriptError, order_snapshot, playthrough, read_script
from tests.refusals import refusing

GOLDEN = Path(__file__).parent.parent / "golden"
MANY = 50_000  #: positions, which take too long to count for `make quick`
COUNTS = [
    pytest.param(count, marks=pytest.mark.long if count.expected >= MANY else ())
    for game in registry.BUNDLED
    if (GOLDEN / game / "perft.json").is_file()
    for count in goldens.counts(GOLDEN / game)
]

SCRIPT = """\
# A stone eats the stone beside it.
variant circle-of-life(target=4)
set ...../....../......./......../ssss...../......../......./....../..... 1 0 0
play e5
outcome 1 target_eaten
"""


@pytest.mark.parametrize("game", registry.BUNDLED)
def test_a_game_has_all_golden_files(game: str) -> None:
    assert goldens.missing(GOLDEN / game) == []


@pytest.mark.parametrize("count", COUNTS, ids=lambda count: f"{count.variant}-{count.depth}")
def test_counts(count: goldens.Count) -> None:
    assert count.actual() == count.expected


@pytest.mark.parametrize("game", registry.BUNDLED)
def test_playthroughs_and_the_order_of_moves_are_as_kept(game: str) -> None:
    folder = GOLDEN / game
    for path, text in goldens.generated(folder).items():
        assert path.is_file(), f"{path} is missing: run make golden"
        assert path.read_text("utf-8").splitlines() == text.splitlines(), (
            f"{path} changed: run make golden, and review the difference"
        )
    assert goldens.stale(folder) == []


def test_a_playthrough_shows_moves_steps_counts_and_outcome() -> None:
    written = playthrough(read_script(SCRIPT))
    assert written.startswith("# A stone eats the stone beside it.\nvariant circle-of-life(target=4)\n")
    assert "\n1. seat 1 e5: place S e5\n" in written
    assert "\n  57 legal (8cf3bded): a1 a2 a3 a4 a5 b1 …\n" in written
    assert "\n  no legal move\n" in written
    assert written.endswith("\noutcome 1 target_eaten\n")


@pytest.mark.parametrize(
    "script",
    [
        "",
        "nonsense\n",
        SCRIPT.replace("# A stone eats the stone beside it.\n", ""),
        SCRIPT.replace("variant circle-of-life(target=4)\n", ""),
        SCRIPT.replace("play e5\n", "play e5\nnew\n"),
        SCRIPT.replace("set ", "new\nset "),
        SCRIPT + "play e6\n",
        SCRIPT.replace("outcome 1 target_eaten\n", ""),
    ],
)
def test_scripts_of_another_form_are_refused(script: str) -> None:
    with pytest.raises(ScriptError):
        read_script(script)


def test_a_script_may_show_a_position_without_a_move() -> None:
    script = read_script(SCRIPT.replace("play e5\n", "").replace("1 target_eaten", "none"))
    assert script.moves == ()
    assert playthrough(script).endswith("\noutcome none\n")


def test_a_script_with_a_wrong_outcome_or_move_is_refused() -> None:
    with pytest.raises(ScriptError, match="the outcome is '1 target_eaten', and the script says 'none'"):
        playthrough(read_script(SCRIPT.replace("1 target_eaten", "none")))
    with refusing(Reason.MOVE_ILLEGAL):
        playthrough(read_script(SCRIPT.replace("play e5", "play e1")))


def test_a_snapshot_matches_its_headers() -> None:
    header = "# circle-of-life(target=60) | ...../....../......./......../........./......../......./....../..... 1 0 0"
    snapshot = order_snapshot(f"{header}\nwrong\n")
    assert snapshot.splitlines()[0] == header
    assert snapshot.splitlines()[1:] == list(
        registry.game("circle-of-life").moves(registry.game("circle-of-life").initial())
    )
    assert order_snapshot(snapshot) == snapshot


def test_a_long_list_is_cut_and_hashed() -> None:
    game = registry.game("elevation")
    lines = order_snapshot(f"# elevation | {game.text(game.initial())}\n").splitlines()
    assert lines[1:51] == list(game.moves(game.initial()))[:50]
    assert lines[51].startswith("… 1150 in all (")
    assert len(lines) == 52


@pytest.mark.parametrize("snapshot", ["a1\n", "# pods\n", "#pods | x\n"])
def test_snapshots_of_another_form_are_refused(snapshot: str) -> None:
    with pytest.raises(ScriptError):
        order_snapshot(snapshot)


def test_regenerate_writes_what_differs_and_removes_what_is_unused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "circle-of-life"
    for name in ("scripts", "playthroughs"):
        (folder / name).mkdir(parents=True)
    (folder / "scripts" / "eats.txt").write_text(SCRIPT)
    (folder / "playthroughs" / "gone.txt").write_text("old")
    (folder / "perft.json").write_text(json.dumps({"cases": [{"variant": "circle-of-life", "counts": [61, 3660]}]}))
    assert goldens.missing(folder) == ["moves.txt"]
    assert [count.actual() for count in goldens.counts(folder)] == [61, 3660]
    assert goldens.regenerate(tmp_path) == [folder / "playthroughs" / "eats.txt", folder / "playthroughs" / "gone.txt"]
    assert not (folder / "playthroughs" / "gone.txt").exists()
    assert goldens.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "every golden file is up to date\n"
    assert goldens.main([]) == 2
    (folder / "scripts" / "eats.txt").write_text(SCRIPT.replace("e5", "e1"))
    assert goldens.main([str(tmp_path)]) == 1
    assert "eats.txt: MOVE_ILLEGAL" in capsys.readouterr().err


def test_recount_counts_the_slow_positions_and_fails_if_one_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    perft = tmp_path / "pods" / "perft.json"
    perft.parent.mkdir()
    perft.write_text(json.dumps({"cases": [], "slow_cases": [{"variant": "pods(size=3)", "counts": [18, 306]}]}))
    assert goldens.main([str(tmp_path), "slow"]) == 0
    assert "pods(size=3) | new | depth 2: 306, as kept\n" in capsys.readouterr().out
    perft.write_text(json.dumps({"slow_cases": [{"variant": "pods(size=3)", "counts": [18, 1305]}]}))
    assert goldens.main([str(tmp_path), "slow"]) == 1
    assert "depth 2: 306, NOT the 1,305 kept\n" in capsys.readouterr().out
