"""The file of a tournament: what it may contain; and a mistake is reported with file, line, field and what to do."""

from __future__ import annotations

from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.cli.failure import Failure
from arbiter.cli.tournament_bots import NUMBERS, BotEntry, EngineEntry
from arbiter.cli.tournament_spec import read_all
from arbiter.toml_lines import line_of, places
from tests.documents import block

SPEC = """\
name = "Evening cup"
format = "swiss"
games = ["hop-it"]
time = "1m"

[options]
rounds = 3

[[bots]]
bot = "greedy"

[[bots]]
name = "ann"
command = "./ann --level '3 4'"
env = { BOOK = "small.bin" }
rating = 1500
version = "2"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cup.toml"


def test_bots_are_bundled_or_programs_of_the_organiser(file: Path) -> None:
    file.write_text(SPEC)
    read = read_all(file)
    assert read.tournament.options.rounds == 3
    assert read.bots == (
        BotEntry(
            "greedy", "greedy", (), {}, 0, "", engine=EngineEntry("json_lines", numbers=dict.fromkeys(NUMBERS, 0))
        ),
        BotEntry("ann", "", ("./ann", "--level", "3 4"), {"BOOK": "small.bin"}, 1500, "2"),
    )


def test_what_depends_on_the_rules_of_a_game_elsewhere_is_left_to_the_server(file: Path) -> None:
    cup = SPEC.replace('"hop-it"', '"row(stones=20)"')
    lines = '[openings]\nseed = "x"\n[openings.lines]\n"row(stones=20)" = ["take-1 take-2"]\n'
    file.write_text(cup + lines)
    elsewhere = set[str]()
    read = read_all(file, elsewhere).tournament
    assert (elsewhere, read.games) == ({"row(stones=20)"}, ("row(stones=20)",))
    assert read.openings.lines == (arb.OpeningLine("row(stones=20)", ("take-1", "take-2")),)
    with pytest.raises(Failure, match=r"cup\.toml, line 3 \(games\): there is no game 'row'"):
        read_all(file)
    file.write_text(cup.replace("rounds = 3", "rounds = 0"))
    with pytest.raises(Failure, match=r"options\.rounds"):
        read_all(file, set())


GROUPS = """\
[groups]
apart = true
one_prize = true

[groups.categories]
newcomers = ["ann", "ben"]

[groups.authors]
"Ada L." = ["cat", "dan", "eve"]
"""


def test_groups_are_read(file: Path) -> None:
    file.write_text(SPEC + GROUPS)
    newcomers = arb.PlayerGroup("newcomers", ("ann", "ben"))
    ada = arb.PlayerGroup("Ada L.", ("cat", "dan", "eve"))
    assert read_all(file).tournament.groups == arb.PlayerGroups((newcomers,), (ada,), apart=True, one_prize=True)


def test_the_rules_of_the_page_are_read(tmp_path: Path) -> None:
    file = tmp_path / "cup.toml"
    schedule = block("deploy/SERIES.md", "every = ")
    file.write_text(SPEC + schedule + block("deploy/SERIES.md", "place_points = "))
    assert read_all(file).tournament.series == arb.SeriesRules(6, 8, (10, 7, 5))
    for wrong in ("-1", "10001", "true", '"7"', "1.5"):
        file.write_text(f"{SPEC}{schedule}\n[series]\nplace_points = [10, {wrong}]\n")
        with pytest.raises(Failure, match=r"series\.place_points"):
            read_all(file)
    file.write_text(f"{SPEC}\n[series]\nbest = 2\n")
    with pytest.raises(Failure, match=r"left out where there is no schedule\.every"):
        read_all(file)


def test_the_league_of_the_page_is_read(tmp_path: Path) -> None:
    file = tmp_path / "cup.toml"
    file.write_text(SPEC + block("deploy/SERIES.md", "every = ") + block("deploy/SERIES.md", "[league]"))
    assert read_all(file).tournament.league == arb.LeagueRules(("First", "Second", "Third"), 8, 2, 2)


def test_the_rhythm_of_the_page_is_read(file: Path) -> None:
    file.write_text(SPEC.replace("[options]", f"{block('deploy/SERIES.md', 'every = ')}\n[options]"))
    assert read_all(file).tournament.schedule.every == "friday 18:00 Europe/Berlin"


@pytest.mark.parametrize("name", ["start", "start_ms"])
@pytest.mark.parametrize("written", ["2026-12-01T18:00:00Z", "2026-12-01T19:00:00+01:00", "2026-12-01 13:00:00-05:00"])
def test_a_start_time_is_a_date_and_time_with_an_offset(file: Path, name: str, written: str) -> None:
    file.write_text(SPEC.replace("[options]", f"[schedule]\n{name} = {written}\nentry_closes = {written}\n[options]"))
    schedule = read_all(file).tournament.schedule
    assert (schedule.start_ms, schedule.entry_closes_ms) == (1_796_148_000_000, 1_796_148_000_000)


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("start = 2026-12-01T18:00:00", "a date and time with an offset, without quotes, as 2026-12-01T18:00:00Z"),
        ("start = 2026-12-01", "a date and time with an offset"),
        ("start = 18:00:00", "a date and time with an offset"),
        ('start = "2026-12-01T18:00:00Z"', "without quotes"),
        ("start = 1796148000000", "a date and time with an offset"),
        ("start_ms = 2026-12-01T18:00:00", "another instant in each time zone"),
        ("start_ms = 1796148000", "milliseconds since 1970, not seconds: 1796148000000"),
        ("entry_closes_ms = 1796148000", "in a file entry_closes = 2026-12-01T18:00:00Z"),
        ("start_ms = 1796148000000\nstart = 2026-12-01T18:00:00Z", "either start or start_ms"),
    ],
)
def test_a_start_time_that_nobody_can_know_is_refused_with_a_hint(file: Path, line: str, advice: str) -> None:
    file.write_text(SPEC.replace("[options]", f"[schedule]\n{line}\n[options]"))
    with pytest.raises(Failure, match=r"line \d+ \(schedule\.(start|entry_closes)") as caught:
        read_all(file)
    assert advice in str(caught.value)


def test_a_command_may_be_a_list_and_a_bundled_bot_has_arguments(file: Path) -> None:
    more = '[[bots]]\nname = "x"\nbot = "random"\nargs = "--seed 7"\n[[bots]]\nname = "y"\ncommand = ["a b", ""]\n'
    file.write_text(SPEC + more)
    *_, x, y = read_all(file).bots
    assert (x.bundled, x.command) == ("random", ("--seed", "7"))
    assert (y.bundled, y.command) == ("", ("a b", ""))


def test_an_engine_is_a_bot_with_its_options_and_limits(file: Path) -> None:
    more = '[[bots]]\nuci = "/usr/games/stockfish"\noptions = { Hash = 64, Ponder = false }\nnodes = 1\ndepth = 2\n'
    file.write_text(f"{SPEC}{more}movetime = 3\n")
    *_, engine = read_all(file).bots
    assert (engine.name, engine.bundled, engine.command) == ("stockfish", "", ("/usr/games/stockfish",))
    assert engine.engine is not None
    assert engine.engine.language == "uci"
    assert engine.engine.options == {"Hash": "64", "Ponder": "false"}
    assert [engine.engine.numbers[name] for name in ("nodes", "depth", "movetime", "draw_from")] == [1, 2, 3, 0]


def test_bots_have_cores_and_engines_threads(file: Path) -> None:
    bots = '[[bots]]\nbot = "random"\ncores = 3\n[[bots]]\nuci = "a"\n[[bots]]\nname = "b"\nuci = "a"\ncores = 1\n'
    file.write_text(f"{SPEC}[engine]\ncores = 2\noptions = {{ threads = 4 }}\n{bots}")
    first, second, third = read_all(file).bots[-3:]
    assert [bot.cores for bot in (first, second, third)] == [3, 2, 1]
    assert [bot.threads for bot in (first, second, third)] == [1, 4, 4]


def test_all_engines_have_what_their_table_says_unless_a_bot_says_otherwise(file: Path) -> None:
    engine = "[engine]\nnodes = 9\noptions = { Hash = 64, Threads = 1 }\nresign_moves = 3\nresign_score = 600\n"
    draw = "draw_moves = 8\ndraw_score = 10\ndraw_from = 40\n"
    one = '[[bots]]\nname = "one"\nuci = "a"\nnodes = 1\noptions = { Hash = 1 }\nresign_moves = 5\n'
    file.write_text(f'{SPEC}{engine}{draw}{one}[[bots]]\nname = "two"\nuci = "b"\n[[bots]]\ngtp = "c"\n')
    *_, first, second, third = read_all(file).bots
    expected = {"one": ("1", 1, 5), "two": ("64", 9, 3)}
    for bot in (first, second):
        size, nodes, resigns = expected[bot.name]
        assert bot.engine is not None
        assert bot.engine.options == {"Hash": size, "Threads": "1"}
        assert {name: number for name, number in bot.engine.numbers.items() if number} == {
            "nodes": nodes,
            "resign_moves": resigns,
            "resign_score": 600,
            "draw_moves": 8,
            "draw_score": 10,
            "draw_from": 40,
        }
    assert third.engine is not None
    assert (third.command, third.engine.language) == (("c",), "gtp")
    assert not any(third.engine.numbers.values())


def test_engines_ponder_and_log_their_dialogue_as_the_file_says(file: Path) -> None:
    bots = (
        '[[bots]]\nuci = "a"\n[[bots]]\nname = "b"\nuci = "a"\nponder = false\n[[bots]]\ngtp = "c"\ndialogue = true\n'
    )
    file.write_text(f"{SPEC}[engine]\nponder = true\n{bots}")
    engines = [bot.engine for bot in read_all(file).bots[-3:]]
    assert [(engine.ponder, engine.dialogue) for engine in engines if engine is not None] == [
        (True, False),
        (False, False),
        (False, True),
    ]


def test_a_program_that_speaks_lines_is_asked_by_the_bridge(file: Path) -> None:
    one, two = '[[bots]]\nname = "one"\nlines = "./a -x"\n', '[[bots]]\nname = "two"\njson_lines = ["b", "c d"]\n'
    file.write_text(f"{SPEC}[engine]\nnodes = 9\n{one}{two}")
    *_, first, second = read_all(file).bots
    assert (first.command, second.command) == (("./a", "-x"), ("b", "c d"))
    assert (first.engine, second.engine) == (_plain("lines"), _plain("json_lines"))


def _plain(language: str) -> EngineEntry:
    return EngineEntry(language, {}, dict.fromkeys(NUMBERS, 0))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("ponder = 1", "true or false"),
        ("nods = 1", r"(engine.nods): 'nods' is not allowed"),
        ("nodes = -1", "(engine.nodes): '-1' is not allowed"),
        ("cores = 2000", "a whole number from 0 to 1024"),
        ("draw_score = 10", "(engine.draw_moves): '0' is not allowed"),
        ("resign_score = 600", "at least 1 where resign_score is given"),
    ],
)
def test_a_wrong_table_of_engines_is_refused(file: Path, lines: str, said: str) -> None:
    file.write_text(f"{SPEC}[engine]\n{lines}\n")
    with pytest.raises(Failure) as caught:
        read_all(file)
    assert said.replace("'-1'", "-1").replace("'0'", "0") in str(caught.value).replace("'-1'", "-1").replace("'0'", "0")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('uci = "stockfish"\nbot = "greedy"', "or one of command, uci, gtp, lines, json_lines"),
        ('lines = "./mybot"', "the name that the bot plays under"),
        ('bot = "random"\nnodes = 5', "nothing without uci"),
        ('gtp = "gnugo"\nponder = true', "nothing without uci"),
        ('bot = "random"\ndialogue = true', "nothing without one of uci, gtp, lines, json_lines"),
        ('uci = ""', "a command line"),
        ('uci = "stockfish"\nnodes = -1', "a whole number from 0 to 1000000000"),
        ('uci = "stockfish"\ndraw_from = 30', "at least 1 where draw_from is given"),
        ('uci = "stockfish"\nresign_moves = 20000', "a whole number from 0 to 10000"),
        ('gtp = "gnugo"\nresign_moves = 2', "nothing without uci"),
        ('uci = "stockfish"\ndepth = true', "a whole number from 0 to 1000"),
        ('uci = "stockfish"\noptions = { Hash = 1.5 }', "a table of texts, numbers"),
        ('uci = "stockfish"\noptions = { Hash = "1\\n2" }', "printable"),
    ],
)
def test_a_wrong_engine_is_refused_by_line(file: Path, lines: str, said: str) -> None:
    file.write_text(f"{SPEC}[[bots]]\n{lines}\n")
    with pytest.raises(Failure, match=r"line \d+ \(bots\[\d+\]") as caught:
        read_all(file)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("openings", "message"),
    [
        ("", "(1 in hop-it)"),
        ('plies = 1\nseed = "s"', "(30 in hop-it)"),
        ('plies = 8\nseed = "s"', ""),
    ],
)
def test_a_trial_with_few_openings_gets_a_warning(file: Path, openings: str, message: str) -> None:
    text = SPEC.replace('"swiss"', '"trial"').replace("[options]", f"[openings]\n{openings}\n[options]")
    file.write_text(text)
    caution = " ".join(read_all(file).cautions)
    assert message in caution
    assert bool(caution) is bool(message)


def test_a_swiss_with_more_rounds_than_its_bots_can_play_gets_a_warning(file: Path) -> None:
    bots = "".join(f'[[bots]]\nname = "b{number}"\nbot = "random"\n' for number in range(4))
    file.write_text(SPEC.replace("rounds = 3", "rounds = 9") + bots)
    assert any(" players can play " in caution for caution in read_all(file).cautions)
    file.write_text(SPEC + bots)
    assert not [caution for caution in read_all(file).cautions if "can play" in caution]


@pytest.mark.parametrize(
    ("old", "new", "place", "advice"),
    [
        ('time = "1m"', 'time = "1mm"', "line 4 (time)", "expected 5m, 5m+3s"),
        ("hop-it", "ludo", "line 3 (games)", "the games are circle-of-life"),
        ("rounds = 3", "rounds = 101", "line 7 (options.rounds)", "a whole number from 0 to 100"),
        ("rounds = 3", "laps = 3", "line 7 (options.laps)", "expected one of accelerated"),
        ("rounds = 3", "cycles = 2", "line 6 (options.rounds)", "the number of rounds, at least 1"),
        ('name = "Evening cup"', 'title = "Cup"', "line 1 (title)", "expected one of adjudication"),
        ("[options]", "policy.patience = 3\n[options]", "line 6 (policy.patience)", "expected one of illegal_moves"),
        ('bot = "greedy"', 'bot = "deep"', "line 10 (bots[1].bot)", "one of greedy, mcts, random, wire"),
        ('bot = "greedy"', 'name = "x"', "line 9 (bots[1].bot)", "either bot, which is bundled, or one of command"),
        ('bot = "greedy"', 'bot = "greedy"\nname = "ann"', "line 14 (bots[2].name)", "that no other bot has"),
        ('name = "ann"\n', "", "line 12 (bots[2].name)", "the name that the bot plays under"),
        ('"ann"', '"Ann Lee"', "line 13 (bots[2].name)", "1 to 40 of a-z"),
        ('"ann"', '"ann--lee"', "line 13 (bots[2].name)", "between two of these may stand one '-'"),
        ("'3 4'", "'3 4", "line 14 (bots[2].command)", "shell words"),
        ("\"./ann --level '3 4'\"", '""', "line 14 (bots[2].command)", "a command line"),
        ("\"./ann --level '3 4'\"", "[1]", "line 14 (bots[2].command)", "a list of texts"),
        ("BOOK", "ARBITER_TOKEN", "line 15 (bots[2].env)", "do not begin with ARBITER_"),
        ('"small.bin"', "3", "line 15 (bots[2].env)", "a table of texts"),
        ("1500", "-1", "line 16 (bots[2].rating)", "from 0 to 10000"),
        ("1500", "true", "line 16 (bots[2].rating)", "from 0 to 10000"),
        ('"2"', "2", "line 17 (bots[2].version)", "printable characters"),
        ("rating", "colour", "line 16 (bots[2].colour)", "expected one of name, bot"),
        ("rating = 1500", 'args = ["x"]', "line 16 (bots[2].args)", "holds its arguments itself"),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_what_to_do(
    file: Path, old: str, new: str, place: str, advice: str
) -> None:
    assert old in SPEC
    file.write_text(SPEC.replace(old, new))
    with pytest.raises(Failure) as caught:
        read_all(file)
    assert str(caught.value).startswith((f"{file}, {place}: ", f"{file} {place}: "))
    assert advice in str(caught.value)


def test_invalid_toml_is_reported_with_its_line(file: Path) -> None:
    file.write_text(SPEC.replace('"1m"', '"1m'))
    with pytest.raises(Failure, match=r"is no TOML file: .*line 4"):
        read_all(file)
    file.write_text('bots = "many"\n' + SPEC.split("[[")[0])
    with pytest.raises(Failure, match=r"line 1 \(bots\): .*\[\[bots\]\]"):
        read_all(file)


def test_fields_are_found_by_their_names() -> None:
    text = 'a.b = 1\n[c."d"]\n# e = 1\n"e" = 2\n[[f]]\n[[f]] # the second\ng = { h = 1 }\n[f.i]\nj = 1\n'
    found = places(text)
    lines = {"a.b": 1, "c.d": 2, "c.d.e": 4, "f[1]": 5, "f[2]": 6, "f[2].g": 7, "f[2].g.h": 7, "f[3]": 0, "k": 0}
    assert {field: line_of(found, field) for field in lines} == lines
    assert line_of(found, "f[1].x.y") == 5


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("elo0 = 0.5\nelo1 = 1.75", (50, 175, 100)),
        ("elo1 = 2.5", (0, 25, 10)),
        ("elo0 = -5\nelo1 = 20.5", (-50, 205, 10)),
        ("elo0 = -1.75\nelo1 = 0", (-175, 0, 100)),
        ("elo0 = 1\nelo1 = 3", (1, 3, 1)),
    ],
)
def test_hypotheses_of_a_trial_may_have_decimals(tmp_path: Path, written: str, read: tuple[int, int, int]) -> None:
    options = read_all(trial_file(tmp_path, written)).tournament.options
    assert (options.elo0, options.elo1, options.elo_parts) == read


@pytest.mark.parametrize(
    ("written", "field", "allowed"),
    [
        ("elo1 = 1.755", "elo1", "if a hypothesis has two"),
        ("elo1 = inf", "elo1", "with one decimal from -100 to 100"),
        ("elo0 = 0.25\nelo1 = 20", "elo1", "if a hypothesis has two, from -10 to 10"),
        ("elo1 = 250.0\nnormalised = true", "elo1", "with one decimal from -100 to 100"),
        ("elo1 = 250\nnormalised = true", "elo1", "from -200 to 200, normalised"),
        ("elo1 = 1.5\nelo_parts = 10", "elo_parts", "nothing beside a hypothesis with decimals"),
    ],
)
def test_decimals_that_no_test_can_have_are_refused(tmp_path: Path, written: str, field: str, allowed: str) -> None:
    with pytest.raises(Failure, match=rf"options\.{field}.*{allowed}"):
        read_all(trial_file(tmp_path, written))


def trial_file(folder: Path, options: str) -> Path:
    file = folder / "trial.toml"
    file.write_text(f'name = "t"\nformat = "trial"\ngames = ["pods"]\ntime = "1s"\n[options]\n{options}\n')
    return file
