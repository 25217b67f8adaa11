"""The language of chess engines: what an engine is asked, and what is read in its lines."""

from __future__ import annotations

from contextlib import suppress

import arbiter_client as arb
import pytest
from arbiter_client import bridge
from hypothesis import given
from hypothesis import strategies as st


def question(
    time_control: str, seat: int = 1, left_ms: int | None = 9_980, moves: tuple[str, ...] = (), position: str = ""
) -> bridge.Question:
    """Return a turn at a time control, with 10 and 8 seconds on the clocks of the engine and its opponent."""
    mine, theirs = arb.Clock(10_000, 10_000, 0, 0), arb.Clock(8_000, 8_000, 0, 0)
    if "/" in time_control and "/move" not in time_control:
        mine = arb.Clock(10_000, 10_000, 0, 12)
    clocks = () if time_control == "none" else (mine, theirs) if seat == 1 else (theirs, mine)
    match = arb.LiveMatch("m1", "chess", seat, "bob", time_control, moves=moves)
    turn = arb.Turn(
        "chess", seat, len(moves), position, (), clocks, 0, 0, "", False, "bob", (), None, (), left_ms or 0, 1, match
    )
    return bridge.Question(turn, None, left_ms, None)


@pytest.mark.parametrize(
    ("time_control", "seat", "go"),
    [
        ("10s", 1, "go wtime 9980 btime 8000 winc 0 binc 0"),
        ("10s+500ms", 1, "go wtime 9980 btime 8000 winc 500 binc 500"),
        ("10s+1s", 2, "go wtime 8000 btime 9980 winc 1000 binc 1000"),
        ("10s+1sd", 1, "go wtime 9980 btime 8000 winc 0 binc 0"),
        ("40/10s", 1, "go wtime 9980 btime 8000 winc 0 binc 0 movestogo 12"),
        ("10s/move", 1, "go movetime 9980"),
        ("300ms/move+10s", 1, "go movetime 550"),
        ("10s+3x2s", 1, "go movetime 2250"),
        ("none", 1, "go movetime 1000"),
    ],
)
def test_a_clock_becomes_the_words_of_an_engine(time_control: str, seat: int, go: str) -> None:
    left = None if time_control == "none" else 9_980
    assert bridge.Uci().question(question(time_control, seat, left)) == ["position startpos", go]


def test_an_opponent_with_other_time_has_an_increment_of_its_own() -> None:
    asked = question("10s+500ms", seat=2)
    asked.turn.match.match_time_control = "30s+2s:10s+500ms"
    assert bridge.Uci().question(asked)[1] == "go wtime 8000 btime 9980 winc 2000 binc 500"


@pytest.mark.parametrize(
    ("search", "go"),
    [
        (bridge.Search(nodes=7), "go nodes 7"),
        (bridge.Search(depth=3), "go depth 3"),
        (bridge.Search(movetime_ms=50), "go movetime 50"),
        (bridge.Search(nodes=7, depth=3), "go nodes 7 depth 3"),
    ],
)
def test_a_limit_stands_in_place_of_the_clock(search: bridge.Search, go: str) -> None:
    asked = bridge.Uci(search=search).question(question("10s", moves=("e2e4", "e7e5")))
    assert asked == ["position startpos moves e2e4 e7e5", go]


def test_a_match_from_a_position_is_put_up_as_fen() -> None:
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    match = arb.LiveMatch("m1", "chess", 1, "bob", "none", moves=("e2e4",), start_position=fen)
    turn = arb.Turn("chess", 1, 1, "", (), (), 0, 0, "", False, "bob", (), None, (), 0, 1, match)
    asked = bridge.Uci().question(bridge.Question(turn, None, None, None))
    assert asked == [f"position fen {fen} moves e2e4", "go movetime 1000"]


FIRST = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
LAST = "rkrnnqbb/pppppppp/8/8/8/8/PPPPPPPP/RKRNNQBB w KQkq - 0 1"


def test_an_engine_with_the_option_plays_chess960_and_is_told_which_game_it_is() -> None:
    uci, said = bridge.Uci(), bridge.Introduction()
    for line in ("option name UCI_Chess960 type check default false", "uciok", "readyok"):
        said, complete = uci.introduction(line, said)
    assert complete
    assert said.games == ("chess", "chess960")
    asked = {
        ("chess960", ""): f"fen {FIRST}",
        ("chess960(start=959)", ""): f"fen {LAST}",
        ("chess960(start=959)", FIRST): f"fen {FIRST}",
        ("chess", ""): "startpos",
    }
    for (game, start), put_up in asked.items():
        match = arb.LiveMatch("m1", game, 1, "bob", "none", moves=("e2e4",), start_position=start)
        turn = arb.Turn(game, 1, 1, "", (), (), 0, 0, "", False, "bob", (), None, (), 0, 1, match)
        value = "false" if game == "chess" else "true"
        assert uci.match(match) == [f"setoption name UCI_Chess960 value {value}", "ucinewgame", "isready"]
        assert uci.question(bridge.Question(turn, None, None, None))[0] == f"position {put_up} moves e2e4"


def test_an_engine_introduces_itself_after_it_has_its_options() -> None:
    uci = bridge.Uci({"hash": "16"})
    assert uci.greeting() == ["uci", "setoption name hash value 16", "isready"]
    said = bridge.Introduction()
    lines = ["id name Stockfish 15.1", "id author people", "option name Hash type spin default 16", "uciok"]
    for line in lines:
        said, complete = uci.introduction(line, said)
        assert not complete
    assert uci.introduction("readyok", said) == (
        bridge.Introduction(version="15.1", games=("chess",), options=("Hash",)),
        True,
    )


def test_an_option_that_an_engine_lacks_is_named_with_those_that_it_has() -> None:
    uci = bridge.Uci({"Hsah": "16"})
    said, _ = uci.introduction("option name Hash type spin default 16", bridge.Introduction())
    with pytest.raises(bridge.AnswerMalformed, match="the option 'Hsah'; it has Hash"):
        uci.introduction("uciok", said)


@pytest.mark.parametrize(
    ("kind", "taken", "refused", "said"),
    [
        ("spin default 16 min 1 max 1024", ("1", "1024"), ("0", "1025", "much", "nan"), "from 1 to 1024"),
        ("spin default 16", ("-99999999999",), ("much",), "a number"),
        ("check default false", ("true", "false"), ("on", ""), "true or false"),
        ("button", ("true",), ("false",), "true"),
        ("combo default Fail High var Always var Fail High", ("fail high", "Always"), ("High",), "Always or Fail High"),
        ("string default <empty>", ("", "/a path", "<empty>"), (), ""),
        ("matrix", ("1 2",), (), ""),
    ],
)
def test_a_value_that_an_option_does_not_take_is_refused_with_those_that_it_takes(
    kind: str, taken: tuple[str, ...], refused: tuple[str, ...], said: str
) -> None:
    line = f"option name Skill Level type {kind}"
    for value in taken:
        bridge.Uci({"skill level": value}).introduction(line, bridge.Introduction())
    for value in refused:
        with pytest.raises(bridge.AnswerMalformed, match=rf"expected {said} in place of '{value}'"):
            bridge.Uci({"skill level": value}).introduction(line, bridge.Introduction())


CLOCK = "10s+500ms"
MOVE = "bestmove e2e4 ponder e7e5"


def pondering(reply: str = MOVE) -> bridge.Uci:
    """Return the language of an engine that ponders after its first move."""
    uci = bridge.Uci(ponder=True)
    first = question(CLOCK)
    uci.question(first)
    choice = uci.choice(reply)
    assert choice == arb.Move("e2e4")
    asked = uci.ahead(first, choice, 1_000)
    assert asked == ["position startpos moves e2e4 e7e5", "go ponder wtime 9480 btime 8000 winc 500 binc 500"]
    return uci


def test_an_engine_that_guessed_right_learns_that_it_is_its_turn() -> None:
    uci = pondering()
    assert uci.choice("info depth 9 score cp 10 pv g1f3") is None
    assert uci.question(question(CLOCK, moves=("e2e4", "e7e5"))) == ["ponderhit"]
    assert uci.choice("bestmove g1f3") == arb.Move("g1f3", 514, ("g1f3",), arb.Searched(10, None, 9))


def test_an_engine_that_guessed_wrong_is_stopped_and_its_guess_answers_nothing() -> None:
    uci = pondering()
    assert uci.choice("info score cp 10 pv g1f3") is None
    assert uci.question(question(CLOCK, moves=("e2e4", "c7c5"))) == [
        "stop",
        "position startpos moves e2e4 c7c5",
        "go wtime 9980 btime 8000 winc 500 binc 500",
    ]
    assert uci.choice("bestmove g1f3 ponder b8c6") is None
    assert uci.choice("bestmove b1c3") == arb.Move("b1c3")


def test_an_engine_that_ends_its_pondering_by_itself_is_asked_in_its_turn() -> None:
    uci = pondering()
    assert uci.choice("bestmove g1f3") is None
    assert uci.question(question(CLOCK, moves=("e2e4", "e7e5")))[0] == "position startpos moves e2e4 e7e5"
    assert uci.choice("bestmove f1c4") == arb.Move("f1c4")


def test_an_engine_stops_pondering_at_the_end_of_its_match() -> None:
    uci = pondering()
    assert uci.end("won", "resignation") == ["stop"]
    assert uci.choice("bestmove g1f3") is None
    assert uci.end("won", "resignation") == []
    late = pondering()
    assert late.end("lost", "time") == ["stop"]
    assert not late.prepared("bestmove g1f3")
    assert late.prepared("readyok")
    late.question(question(CLOCK))
    assert late.choice("bestmove d2d4") == arb.Move("d2d4")


@pytest.mark.parametrize(
    ("time_control", "go"),
    [
        ("10s", "wtime 8980 btime 8000 winc 0 binc 0"),
        ("10s+2sd", "wtime 9980 btime 8000 winc 0 binc 0"),
        ("40/10s", "wtime 8980 btime 8000 winc 0 binc 0 movestogo 11"),
        ("2s/move", "movetime 2250"),
        ("none", "movetime 1000"),
    ],
)
def test_an_engine_ponders_by_the_clock_that_it_will_have(time_control: str, go: str) -> None:
    uci = bridge.Uci(ponder=True)
    asked = question(time_control, left_ms=None if time_control == "none" else 9_980)
    uci.question(asked)
    choice = uci.choice(MOVE)
    assert choice is not None
    assert uci.ahead(asked, choice, 1_000)[1] == f"go ponder {go}"


@pytest.mark.parametrize(("ponder", "said"), [(False, MOVE), (True, "bestmove e2e4"), (True, "bestmove (none)")])
def test_an_engine_does_not_ponder_unasked_or_without_a_guess(ponder: bool, said: str) -> None:
    uci = bridge.Uci(ponder=ponder)
    uci.question(question(CLOCK))
    choice = uci.choice(said)
    assert choice is not None
    assert uci.ahead(question(CLOCK), choice, 0) == []


def test_an_engine_that_can_not_ponder_is_not_asked_to() -> None:
    uci = bridge.Uci(ponder=True)
    assert "setoption name Ponder value true" in uci.greeting()
    with pytest.raises(bridge.AnswerMalformed, match="the option 'Ponder'; it has none"):
        uci.introduction("uciok", bridge.Introduction())


@pytest.mark.parametrize(
    ("lines", "choice"),
    [
        (["bestmove e2e4"], arb.Move("e2e4")),
        (["bestmove e2e4 ponder e7e5"], arb.Move("e2e4")),
        (
            ["info depth 9 score cp 0 nodes 5 time 61 pv e2e4 e7e5", "bestmove e2e4"],
            arb.Move("e2e4", 500, ("e2e4", "e7e5"), arb.Searched(0, None, 9, 5, 61)),
        ),
        (["info score cp 400 pv e2e4", "bestmove e2e4"], arb.Move("e2e4", 909, ("e2e4",), arb.Searched(400))),
        (["info score mate 3 pv d8h4", "bestmove d8h4"], arb.Move("d8h4", 1000, ("d8h4",), arb.Searched(mate=3))),
        (["info score mate -2 pv a2a3", "bestmove a2a3"], arb.Move("a2a3", 0, ("a2a3",), arb.Searched(mate=-2))),
        (
            ["info score cp 0 pv a2a3", "info score cp 300 lowerbound pv e2e4", "bestmove a2a3"],
            arb.Move("a2a3", 500, ("a2a3",), arb.Searched(0)),
        ),
        (
            ["info multipv 1 score cp 0 pv a2a3", "info multipv 2 score cp -90 pv e2e4", "bestmove a2a3"],
            arb.Move("a2a3", 500, ("a2a3",), arb.Searched(0)),
        ),
        (
            ["info score cp 0 pv a2a3", "info string score cp 300", "bestmove a2a3"],
            arb.Move("a2a3", 500, ("a2a3",), arb.Searched(0)),
        ),
        (["bestmove (none)"], arb.Resign()),
    ],
)
def test_the_move_has_the_last_score_and_line(lines: list[str], choice: arb.Choice) -> None:
    uci = bridge.Uci()
    *before, last = lines
    assert [uci.choice(line) for line in before] == [None] * len(before)
    assert uci.choice(last) == choice


def test_a_score_is_forgotten_with_the_next_turn_and_by_other_programs() -> None:
    uci = bridge.Uci()
    uci.choice("info score cp 400 pv e2e4")
    assert uci.of_program().choice("bestmove e2e4") == arb.Move("e2e4")
    uci.question(question("10s"))
    assert uci.choice("bestmove e2e4") == arb.Move("e2e4")


# Resignations and draws by the engine's own scores


def played(uci: bridge.Uci, scores: list[str], quiet: int = 20, number: int = 50) -> list[arb.Choice | None]:
    """Return the choices of an engine that says these scores, from positions with a count of quiet plies."""
    found = []
    for turn, score in enumerate(scores):
        position = f"4k3/8/8/8/8/8/4P3/4K3 w - - {quiet} {number + turn}"
        uci.question(question("10s", position=position))
        if score:
            uci.choice(f"info score {score} pv e1d1")
        found.append(uci.choice("bestmove e1d1"))
    return found


@pytest.mark.parametrize(
    ("scores", "resigns"),
    [
        (["cp -600", "cp -601", "mate -3"], True),
        (["cp -600", "cp -599", "cp -900", "cp -900"], False),
        (["cp -600", "", "cp -900", "cp -900"], False),
        (["mate 3", "cp 900", "cp 900"], False),
    ],
)
def test_an_engine_resigns_after_so_many_moves_with_a_lost_score(scores: list[str], resigns: bool) -> None:
    choices = played(bridge.Uci(concessions=bridge.Concessions(resign_moves=3, resign_score=600)), scores)
    assert [isinstance(choice, arb.Resign) for choice in choices] == [False] * (len(scores) - 1) + [resigns]
    assert not any(isinstance(choice, arb.Resign) for choice in played(bridge.Uci(), scores))


@pytest.mark.parametrize(
    ("scores", "quiet", "number", "offers"),
    [
        (["cp 10", "cp -10", "cp 0"], 20, 40, True),
        (["cp 10", "cp -11", "cp 0"], 20, 40, False),
        (["cp 10", "", "cp 0"], 20, 40, False),
        (["cp 10", "cp -10", "cp 0"], 20, 37, False),  # the last of them is move 39
        (["cp 10", "cp -10", "cp 0"], 0, 40, False),  # its opponent has captured a piece, or moved a pawn
        (["cp 10", "cp -10", "cp 0"], 1, 40, True),  # its own moves say whether it has
    ],
)
def test_an_engine_offers_and_accepts_a_draw_after_so_many_quiet_moves_with_a_level_score(
    scores: list[str], quiet: int, number: int, offers: bool
) -> None:
    uci = bridge.Uci(concessions=bridge.Concessions(draw_moves=3, draw_score=10, draw_from=40))
    *before, last = played(uci, scores, quiet, number)
    assert not any(isinstance(choice, arb.OfferDraw) for choice in before)
    assert isinstance(last, arb.OfferDraw) == offers == uci.agrees
    uci.match(question("10s").turn.match)
    assert not uci.agrees, "that was another match"


@pytest.mark.parametrize(
    ("moves", "offers"),
    [
        (("e1f1", "e1f1", "e1f1", "e1f1"), 2),  # the first of these moves too counts where it is no quiet one
        (("e2e4", "e1f1", "e1f1", "e1f1"), 2),
        (("e1f1", "e2e3", "e1f1", "e1f1"), 1),
        (("e1f1", "e1f1", "e2d3", "e1f1"), 0),  # en passant is a pawn's move
        (("e1f1", "e1f1", "h1h8", "e1f1"), 0),  # a capture
        (("e1f1", "e1f1", "e1h1", "e1f1"), 2),  # castling in Chess960
    ],
)
def test_an_engines_own_capture_or_pawn_move_begins_a_new_count(moves: tuple[str, ...], offers: int) -> None:
    """As fastchess does: it sets the count to 0, and then counts that move."""
    uci = bridge.Uci(concessions=bridge.Concessions(draw_moves=3, draw_score=10))
    found = []
    for move in moves:
        uci.question(question("10s", position="4k2q/8/8/8/8/8/4P3/4K2R w - - 9 50"))
        uci.choice("info score cp 0")
        found.append(uci.choice(f"bestmove {move}"))
    assert sum(isinstance(choice, arb.OfferDraw) for choice in found) == offers


@given(
    st.text(max_size=60)
    | st.sampled_from(["bestmove", "info score cp", "info score cp -999999999 pv", f"info score cp {'9' * 5_000}"])
)
def test_any_line_of_an_engine_is_read_or_refused(line: str) -> None:
    with suppress(bridge.NotUnderstood):
        bridge.Uci().choice(line)
    with suppress(bridge.NotUnderstood):
        bridge.Uci().introduction(line, bridge.Introduction())
