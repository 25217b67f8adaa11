"""Published worked examples of every tie-break, and properties that hold for all of them.

Most are from FIDE's own exercises: IA Mario Held, "Exercises in Tie-Breaking", rev. 2403220900, FIDE Arbiters'
Commission and Technical Commission, March 2024 (tec.fide.com/2024/03/18/tie-break-exercise); "exercise n" is of these.
Points and values are written as people do, here in whole and half points.
"""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.tournaments.game_ends import DRAW, LOSS, WIN
from arbiter.tournaments.spec import TieBreak
from arbiter.tournaments.tie_breaks import OF_TEAMS, Encounter, EncounterKind, Scores

SCORES = {"+": WIN, "=": DRAW, "-": LOSS}

# Five rounds of a Swiss (§ 2.1). "+W9": beat number 9 with white; "+BYE": allocated bye; "=BYE": requested bye; "F":
# forfeit; "--": absent.
SWISS_5 = """
     1  +W9   =B13  =W2   +B15  =W4
     2  +B10  +W7   =B1   +W16  =B3
     3  =W11  +B6   +W8   =B4   =W2
     4  +B12  =BYE  +W13  =W3   =B1
     5  -W13  -B15  +W11  =B7   +W10
     6  -B14  -W3   +BYE  +W10  +B8
     7  +W15  -B2   -B16  =W5   -B11
     8  =B16  +W14  -B3   +W13  -W6
     9  -B1   -W10  =BYE  -F11  +BYE
    10  -W2   +B9   -W15  -B6   -B5
    11  =B3   -W16  -B5   +F9   +W7
    12  -W4   +BYE  +F14  --    --
    13  +B5   =W1   -B4   -B8   -W14
    14  +W6   -B8   -F12  --    +B13
    15  -B7   +W5   +B10  -W1   -B16
    16  =W8   +B11  +W7   -B2   +W15
"""

# Nine rounds of the same Swiss.
SWISS_9 = """
     1  +W9   =B13  =W2   +B15  =W4   =B6   =B3   =W16  +B8
     2  +B10  +W7   =B1   +W16  +B3   =W4   -W6   =B15  =W5
     3  =W11  +B6   +W8   =B4   -W2   +B16  =W1   +W14  +B10
     4  +B12  =BYE  +W13  =W3   =B1   =B2   =W16  =B6   +W15
     5  -W13  -B15  +W11  =B7   +W10  -B14  +B9   -W8   =B2
     6  -B14  -W3   +BYE  +W10  +B8   =W1   +B2   =W4   +B16
     7  +W15  -B2   -B16  =W5   -B11  -B10  +W13  +W9   +B14
     8  =B16  +W14  -B3   +W13  -W6   =B11  =W15  +B5   -W1
     9  -B1   -W10  =BYE  -F11  +BYE  +B13  -W5   -B7   =W12
    10  -W2   +B9   -W15  -B6   -B5   +W7   +B12  +W11  -W3
    11  =B3   -W16  -B5   +F9   +W7   =W8   -B14  -B10  =W13
    12  -W4   +BYE  +F14  --    --    -B15  -W10  =B13  =B9
    13  +B5   =W1   -B4   -B8   -W14  -W9   -B7   =W12  =B11
    14  +W6   -B8   -F12  --    +B13  +W5   +W11  -B3   -W7
    15  -B7   +W5   +B10  -W1   -B16  +W12  =B8   =W2   -B4
    16  =W8   +B11  +W7   -B2   +W15  -W3   =B4   =B1   -W6
"""

# A round robin with a forfeit (§ 2.2).
ROUND_ROBIN = """
     1  =W5   +W2   +B3   -W4   +B6
     2  +W6   -B1   +W5   =W3   +B4
     3  +W4   +B6   -W1   =B2   +W5
     4  -B3   -B5   =W6   +B1   -W2
     5  =B1   +W4   -B2   -F6   -B3
     6  -B2   -W3   =B4   +F5   -W1
"""


def rows(table: str) -> dict[str, list[Encounter]]:
    read: dict[str, list[Encounter]] = {}
    for line in table.strip().splitlines():
        player, *cells = line.split()
        read[player] = [_encounter(number, cell) for number, cell in enumerate(cells, start=1)]
    return read


def _encounter(round_: int, cell: str) -> Encounter:
    if cell == "--":
        return Encounter(round_, kind=EncounterKind.REQUESTED)
    score = SCORES[cell[0]]
    if cell[1:] == "BYE":
        return Encounter(round_, score=score, kind=EncounterKind.ALLOCATED if score == WIN else EncounterKind.REQUESTED)
    match = re.fullmatch(r"([WBF])(\d+)", cell[1:])
    assert match
    seat, opponent = match.groups()
    if seat == "F":
        return Encounter(round_, opponent, score, EncounterKind.FORFEIT)
    return Encounter(round_, opponent, score, seat2=seat == "B", seat2_wins=seat == "B" and score == WIN)


def scores(table: str, *, swiss: bool = True) -> Scores:
    read = rows(table)
    for player, theirs in read.items():  # the opponent's row agrees
        for each in theirs:
            if each.opponent:
                other = read[each.opponent][each.round - 1]
                assert (other.opponent, other.score + each.score, other.kind) == (player, WIN, each.kind)
    return Scores(read, rounds=len(read["1"]), swiss=swiss)


def values(of: Scores, tie_break: TieBreak) -> list[float]:
    return [of.value(tie_break, player) / 4 for player in of.points]


def places(of: Scores, *order: TieBreak) -> dict[int, int]:
    ahead, found = 0, {}
    for group in of.rank(order, of.points).groups:
        found.update(dict.fromkeys(map(int, group), ahead + 1))
        ahead += len(group)
    return dict(sorted(found.items()))


def test_the_crosstables_of_the_exercises_add_up() -> None:
    points = [points / 2 for points in scores(SWISS_5).points.values()]
    assert points == [3.5, 4, 3.5, 3.5, 2.5, 3, 1.5, 2.5, 1.5, 1, 2.5, 2, 1.5, 2, 2, 3.5]
    points = [points / 2 for points in scores(SWISS_9).points.values()]
    assert points == [6, 6, 6.5, 6, 4, 6, 4.5, 4.5, 3, 4, 3.5, 3, 2.5, 4, 4, 4.5]
    assert [points / 2 for points in scores(ROUND_ROBIN).points.values()] == [3.5, 3.5, 3.5, 1.5, 1.5, 1.5]


@pytest.mark.parametrize(
    ("tie_break", "expected"),
    [
        pytest.param(
            TieBreak.BUCHHOLZ,
            [12.5, 13, 15.5, 15 - 1, 8.5, 12 - 0.5, 14.5, 13.5, 9, 13, 13.5 - 1, 11.5, 14, 11, 12, 12.5],
            id="exercises 1 to 4 and 9: own unplayed rounds, opponents' unplayed rounds, a withdrawal",
        ),
        pytest.param(
            TieBreak.BUCHHOLZ_CUT_1,
            [11, 12, 13, 11.5, 7.5, 11 - 0.5, 12.5, 12, 7.5, 11.5, 12 - 1, 9.5, 12, 9, 11, 11],
            id="exercises 5 to 8: voluntary unplayed rounds are cut first",
        ),
        pytest.param(
            TieBreak.SONNEBORN_BERGER,
            [8, 9.5, 10.5, 9.75 - 0.5, 4.25, 6.5 - 0.5, 3.25, 5.25, 2.25, 1.5, 5.75 - 1, 4, 4.25, 4.5, 3.5, 7.25],
            id="exercises 11 and 12",
        ),
        pytest.param(TieBreak.WINS, [2, 3, 2, 2, 2, 3, 1, 2, 1, 1, 2, 2, 1, 2, 2, 3], id="exercise 27"),
        pytest.param(TieBreak.GAMES_SEAT_2, [2, 3, 2, 2, 2, 2, 3, 2, 1, 3, 2, 0, 3, 2, 3, 2], id="exercise 29"),
        pytest.param(TieBreak.WINS_SEAT_2, [1, 1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1], id="exercise 30"),
        pytest.param(
            TieBreak.PROGRESSIVE,
            [11, 13, 11, 11.5, 5, 6, 6, 8.5, 2.5, 4, 5.5, 7, 7, 6, 7, 10.5],
            id="exercise 32",
        ),
    ],
)
def test_the_exercises_of_a_swiss(tie_break: TieBreak, expected: list[float]) -> None:
    """The solutions, less what the ceiling of 2026 takes from the dummies (16.4).

    That of 4 has 2½ points instead of 3½ (16.4.2: half of 5 rounds), that of 6 has 2½ instead of 3, and that of 11 has
    the 1½ of 9, who lost to it by forfeit, instead of 2½ (16.4.1).
    """
    assert values(scores(SWISS_5), tie_break) == expected


def test_sonneborn_berger_of_a_round_robin_counts_a_forfeit_as_a_game() -> None:
    """Exercise 14."""
    found = values(scores(ROUND_ROBIN, swiss=False), TieBreak.SONNEBORN_BERGER)
    assert found == [9.25, 6.25, 6.25, 4.25, 3.25, 2.25]


@pytest.mark.parametrize(
    ("table", "swiss", "expected"),
    [
        # Nobody is alone at the top whatever the results of the missing games: all stay level.
        pytest.param(SWISS_5, True, {1: 2, 3: 2, 4: 2, 16: 2}, id="exercise 23"),
        pytest.param(SWISS_5, True, {5: 7, 8: 7, 11: 7}, id="exercise 24"),
        # 6, 1, 4 and 2 have all met; 1 and 4 drew. 8 could have reached 16, and 14 and 15 each other.
        pytest.param(
            SWISS_9,
            True,
            {1: 3, 2: 5, 3: 1, 4: 3, 5: 9, 6: 2, 7: 6, 8: 6, 9: 14, 10: 9, 11: 13, 12: 14, 13: 16, 14: 9, 15: 9, 16: 6},
            id="exercise 25",
        ),
        # The forfeit of 5 against 6 counts as a game.
        pytest.param(ROUND_ROBIN, False, {1: 1, 2: 2, 3: 2, 4: 6, 5: 5, 6: 4}, id="exercise 26"),
    ],
)
def test_direct_encounter(table: str, swiss: bool, expected: dict[int, int]) -> None:
    found = places(scores(table, swiss=swiss), TieBreak.DIRECT)
    assert {player: found[player] for player in expected} == expected


def test_cuts_that_are_not_in_the_exercises() -> None:
    """Computed by hand from the contributions that the solutions of exercises 1 to 8 give.

    2: 3½ 3½ 3½ 1½ 1.
    4: 3½ 3½ 3 1½, and 2½ for its requested bye, which is cut first.
    9: 3½ 1, 1½ for its bye, and 1½ each for a bye and a forfeit of its own will, which are cut first.
    12: 3½, 2 each for its bye and its forfeit, and 2 each for two rounds after its withdrawal, which are cut first.
    """
    table = scores(SWISS_5)

    def found(tie_break: TieBreak) -> list[float]:
        return [table.value(tie_break, player) / 4 for player in ("2", "4", "9", "12")]

    assert found(TieBreak.BUCHHOLZ_CUT_2) == [10.5, 10, 6, 7.5]
    assert found(TieBreak.BUCHHOLZ_MEDIAN_1) == [8.5, 8, 4, 6]


def _against(*opponents: int) -> Scores:
    """Return the encounters of player 'me', who drew with opponents with these points."""
    table = {"me": [Encounter(number, f"o{number}", DRAW) for number in range(1, len(opponents) + 1)]}
    for number, points in enumerate(opponents, start=1):
        table[f"o{number}"] = [Encounter(0, f"x{number}", 2 * points - DRAW), Encounter(number, "me", DRAW)]
        table[f"x{number}"] = []
    return Scores(table, rounds=len(opponents), swiss=True)


def test_median_buchholz_as_explained_by_a_club() -> None:
    """Opponents with 4, 2, 3, 4, 5 and 6 points: 16 without 6 and 2 (gist.github.com/Rapptz, "Median-Buchholz")."""
    assert _against(4, 2, 3, 4, 5, 6).value(TieBreak.BUCHHOLZ_MEDIAN_1, "me") / 4 == 16


def test_sonneborn_berger_and_direct_encounter_of_a_double_round_robin() -> None:
    """Sensei's Library, "Sonneborn-Berger": scores 4 4 3 1, and 11 9 6 4. A and B have won one game each."""
    first = {"A": "-111", "B": "0-11", "C": "00-1", "D": "000-"}
    second = {"A": "-010", "B": "1-01", "C": "01-1", "D": "100-"}
    table = {
        player: [
            Encounter(round_, opponent, 2 * int(cell))
            for round_, cycle in ((1, first), (2, second))
            for opponent, cell in zip("ABCD", cycle[player], strict=True)
            if cell != "-"
        ]
        for player in "ABCD"
    }
    of = Scores(table, rounds=2, swiss=False)
    assert [points / 2 for points in of.points.values()] == [4, 4, 3, 1]
    assert values(of, TieBreak.SONNEBORN_BERGER) == [11, 9, 6, 4]
    assert of.direct("AB") == {"A": 0, "B": 0}
    assert of.rank([TieBreak.DIRECT, TieBreak.SONNEBORN_BERGER], of.points).groups == (("A",), ("B",), ("C",), ("D",))


def test_direct_encounter_of_three_level_players() -> None:
    """FIDE Arbiters' Seminar, "Tie-Breaks": 1 beat 2, and both drew with 3: 1 is first, 3 second."""
    table = {
        "1": [Encounter(1, "2", WIN), Encounter(2, "3", DRAW)],
        "2": [Encounter(1, "1", LOSS), Encounter(3, "3", DRAW)],
        "3": [Encounter(2, "1", DRAW), Encounter(3, "2", DRAW)],
    }
    assert Scores(table, rounds=3, swiss=True).direct(["1", "2", "3"]) == {"1": 8, "2": 0, "3": 4}


def test_the_sum_of_progressive_scores() -> None:
    """FIDE Arbiters' Seminar, "Tie-Breaks": 1 2 3 4 5 6 6½ 7 7 make 41½; Wikipedia: 1 1 2 2½ 2½ make 9."""
    for results, total in (("++++++==-", 41.5), ("+-+=-", 9)):
        table: dict[str, list[Encounter]] = {"me": [], "other": []}
        table["me"] = [Encounter(number, "other", SCORES[cell]) for number, cell in enumerate(results, start=1)]
        assert Scores(table, rounds=len(results), swiss=True).value(TieBreak.PROGRESSIVE, "me") / 4 == total


# The Candidates Tournament of 2016: the crosstable after round 13 as the press had it (chessdailynews.com, 27 March
# 2016), and round 14. Two games against each, in the order of the rows; "." for the game that round 14 brought.
CANDIDATES = """
    Caruana   **  ½.  ½1  ½½  ½½  ½½  ½1  ½½
    Karjakin  ½.  **  10  ½½  ½½  ½½  1½  ½1
    Anand     ½0  01  **  ½½  1.  ½1  ½0  1½
    Giri      ½½  ½½  ½½  **  ½½  ½½  ½½  ½.
    Svidler   ½½  ½½  0.  ½½  **  ½1  ½½  ½½
    Aronian   ½½  ½½  ½0  ½½  ½0  **  1.  1½
    Nakamura  ½0  0½  ½1  ½½  ½½  0.  **  11
    Topalov   ½½  ½0  0½  ½.  ½½  0½  00  **
"""
DRAWS = {frozenset(pair) for pair in (("Svidler", "Anand"), ("Giri", "Topalov"), ("Nakamura", "Aronian"))}


def candidates(last: int) -> Scores:
    """Return the tournament's encounters, if Karjakin scored so many half points against Caruana in the last round."""
    lines = [line.split() for line in CANDIDATES.strip().splitlines()]
    players = [line[0] for line in lines]
    table: dict[str, list[Encounter]] = {player: [] for player in players}
    for player, *cells in lines:
        for opponent, cell in zip(players, cells, strict=True):
            final = DRAW if frozenset((player, opponent)) in DRAWS else last if player == "Karjakin" else WIN - last
            worth = {"0": LOSS, "½": DRAW, "1": WIN, ".": final}
            table[player] += [Encounter(1, opponent, worth[sign]) for sign in cell if sign != "*"]
    for player, games in table.items():  # each row agrees with the others
        for opponent in players:
            mine = [game.score for game in games if game.opponent == opponent]
            assert [WIN - game.score for game in table[opponent] if game.opponent == player] == mine
    return Scores(table, rounds=1, swiss=False)


ORDER_2016 = (TieBreak.DIRECT, TieBreak.WINS, TieBreak.SONNEBORN_BERGER)


def test_the_candidates_of_2016() -> None:
    """Final points as published; Caruana came before Anand, whom he had beaten 1½ to ½."""
    of = candidates(WIN)
    assert {player: points / 2 for player, points in of.points.items()} == {
        "Karjakin": 8.5, "Caruana": 7.5, "Anand": 7.5, "Giri": 7, "Svidler": 7, "Aronian": 7, "Nakamura": 7,
        "Topalov": 4.5,
    }  # fmt: skip
    groups = of.rank(ORDER_2016, of.points).groups
    assert groups[:3] == (("Karjakin",), ("Caruana",), ("Anand",))
    assert groups[-1] == ("Topalov",)


def test_the_forecasts_of_the_press_for_the_last_round_of_2016() -> None:
    """A draw: "Karjakin would win because he has one extra win" (chessdailynews.com)."""
    of = candidates(DRAW)
    assert of.points["Karjakin"] == of.points["Caruana"] == 16
    assert of.direct(["Karjakin", "Caruana"]) == {"Karjakin": 0, "Caruana": 0}
    assert [of.value(TieBreak.WINS, player) / 4 for player in ("Karjakin", "Caruana")] == [3, 2]
    assert of.rank(ORDER_2016, of.points).groups[:2] == (("Karjakin",), ("Caruana",))
    # "If Karjakin, Caruana, and Anand tie for first, Caruana would win because he is +1 against Anand."
    assert of.direct(["Karjakin", "Caruana", "Anand"]) == {"Caruana": 8, "Karjakin": 4, "Anand": 0}


def test_a_bye_is_a_draw_to_opponents_only_if_nothing_was_played_after_it() -> None:
    """16.3: the bye of 9 in round 3 stays half a point, 12's two rounds after its withdrawal are draws to 4."""
    table = scores(SWISS_5)
    assert table.value(TieBreak.BUCHHOLZ, "10") / 4 == 4 + 1.5 + 2 + 3 + 2.5
    assert table.value(TieBreak.BUCHHOLZ, "4") / 4 == (2 + 2 * 0.5) + 2.5 + 1.5 + 3.5 + 3.5


def test_the_example_of_the_arbiters_manual_of_2026() -> None:
    """Ten rounds, 7 points, one round missed: its dummy has 5 points (16.4.2), and is cut first (16.5)."""
    points = [5, 5, 6.5, None, 4.5, 6, 5, 6.5, 5.5, 6]
    results = [WIN, WIN, LOSS, LOSS, WIN, DRAW, WIN, DRAW, WIN, WIN]
    table: dict[str, list[Encounter]] = {"me": []}
    for round_, (theirs, result) in enumerate(zip(points, results, strict=True), start=1):
        if theirs is None:
            table["me"].append(Encounter(round_, kind=EncounterKind.REQUESTED))
        else:
            table["me"].append(Encounter(round_, f"o{round_}", result))
            table[f"o{round_}"] = [
                Encounter(0, "x", int(2 * theirs) - (WIN - result)),
                Encounter(round_, "me", WIN - result),
            ]
    of = Scores(table, rounds=10, swiss=True)
    assert of.points["me"] == 14
    found = [TieBreak.BUCHHOLZ, TieBreak.BUCHHOLZ_CUT_1, TieBreak.SONNEBORN_BERGER]
    assert [of.value(tie_break, "me") / 4 for tie_break in found] == [55, 50, 37.25]


def test_the_dummy_of_a_forfeit_has_no_more_than_the_opponent() -> None:
    """16.4.1, by the opponent's adjusted score: its last round is a requested bye, and counts as a draw (16.3)."""
    table = {
        "a": [Encounter(1, "b", WIN, EncounterKind.FORFEIT), Encounter(2, "c", WIN), Encounter(3, "d", WIN)],
        "b": [
            Encounter(1, "a", LOSS, EncounterKind.FORFEIT),
            Encounter(2, "d", DRAW),
            Encounter(3, kind=EncounterKind.REQUESTED),
        ],
        "c": [Encounter(1, "d", WIN), Encounter(2, "a", LOSS), Encounter(3, kind=EncounterKind.ALLOCATED, score=WIN)],
        "d": [Encounter(1, "c", LOSS), Encounter(2, "b", DRAW), Encounter(3, "a", LOSS)],
    }
    of = Scores(table, rounds=3, swiss=True)
    assert of.value(TieBreak.BUCHHOLZ, "a") / 4 == (0.5 + 0.5) + 2 + 0.5
    # b has ½: its own dummies have no more.
    assert of.value(TieBreak.BUCHHOLZ, "b") / 4 == 0.5 + 0.5 + 0.5
    # c has 2 points, and the bye's dummy 1½ of them.
    assert of.value(TieBreak.BUCHHOLZ, "c") / 4 == 0.5 + 3 + 1.5


def test_an_unfinished_round_is_no_missed_round() -> None:
    bye = Encounter(1, kind=EncounterKind.REQUESTED)
    playing = {
        "a": [bye, Encounter(2, "b", kind=EncounterKind.OPEN), Encounter(3, "c", WIN)],
        "b": [
            Encounter(1, "c", WIN),
            Encounter(2, "a", kind=EncounterKind.OPEN),
            Encounter(3, kind=EncounterKind.REQUESTED),
        ],
        "c": [Encounter(1, "b", LOSS), Encounter(2, kind=EncounterKind.ALLOCATED, score=WIN), Encounter(3, "a", LOSS)],
    }
    of = Scores(playing, rounds=3, swiss=True)
    # c met b, whose last round is a bye and counts as a draw, and a, who returned: 1½ and 1, and 1 for its own bye.
    assert of.value(TieBreak.BUCHHOLZ, "c") / 4 == 3.5
    # a: the dummy of its bye with 1 point, and c.
    assert of.value(TieBreak.BUCHHOLZ, "a") / 4 == 2


def test_first_place_is_certain_though_a_game_is_missing() -> None:
    """Article 6.3: a beat b and c, who have not met; then 6 is applied to b and c, which leaves them level."""
    table = {"a": [Encounter(1, "b", WIN), Encounter(2, "c", WIN)], "b": [Encounter(1, "a")], "c": [Encounter(2, "a")]}
    assert Scores(table, rounds=2, swiss=True).direct(["a", "b", "c"]) == {"a": 8, "b": 0, "c": 0}
    table["a"][1] = Encounter(2, "c", DRAW)
    table["c"][0] = Encounter(2, "a", DRAW)
    # c could have 1½ as well.
    assert Scores(table, rounds=2, swiss=True).direct(["a", "b", "c"]) == {"a": 0, "b": 0, "c": 0}


def test_players_behind_a_certain_first_place_are_ordered_by_their_own_games() -> None:
    """Article 6.3: a has not met c, but is first in any case. By the same table b is not certain to be second."""
    table = {
        "a": [Encounter(1, "b", WIN), Encounter(2, "d", WIN)],
        "b": [Encounter(1, "a", LOSS), Encounter(2, "c", WIN), Encounter(3, "d", DRAW)],
        "c": [Encounter(1, "d", DRAW), Encounter(2, "b", LOSS)],
        "d": [Encounter(1, "c", DRAW), Encounter(2, "a", LOSS), Encounter(3, "b", DRAW)],
    }
    assert Scores(table, rounds=3, swiss=True).direct(["a", "b", "c", "d"]) == {"a": 12, "b": 8, "c": 0, "d": 4}


def test_forfeits_are_not_direct_encounters_in_a_swiss() -> None:
    table = {
        "a": [Encounter(1, "b", WIN, EncounterKind.FORFEIT)],
        "b": [Encounter(1, "a", LOSS, EncounterKind.FORFEIT)],
    }
    assert Scores(table, rounds=1, swiss=True).direct(["a", "b"]) == {"a": 0, "b": 0}
    assert Scores(table, rounds=1, swiss=False).direct(["a", "b"]) == {"a": 4, "b": 0}


def test_players_who_meet_more_than_once_are_compared_by_their_average() -> None:
    """Article 6.1.2: a beat b once and lost once, in three games; two wins of c against b are worth one."""
    games = [("a", "b", WIN), ("a", "b", LOSS), ("a", "b", WIN), ("c", "b", WIN), ("c", "b", WIN), ("a", "c", DRAW)]
    table: dict[str, list[Encounter]] = {"a": [], "b": [], "c": []}
    for round_, (one, other, score) in enumerate(games, start=1):
        table[one].append(Encounter(round_, other, score))
        table[other].append(Encounter(round_, one, WIN - score))
    # a: 2/3 + 1/2, b: 1/3 + 0, c: 1 + 1/2.
    assert Scores(table, rounds=6, swiss=False).direct(["a", "b", "c"]) == {"a": 4, "b": 0, "c": 8}


def _drawn(lots: random.Random) -> tuple[dict[str, list[Encounter]], int]:
    players = [f"p{number}" for number in range(lots.randint(1, 9))]
    table: dict[str, list[Encounter]] = {player: [] for player in players}
    rounds = lots.randint(1, 6)
    for round_ in range(1, rounds + 1):
        waiting = lots.sample(players, len(players))
        while waiting:
            player = waiting.pop()
            if waiting and lots.random() < 0.8:
                opponent, score = waiting.pop(), lots.choice((WIN, DRAW, LOSS))
                kind = EncounterKind.FORFEIT if score != DRAW and lots.random() < 0.2 else EncounterKind.PLAYED
                table[player].append(Encounter(round_, opponent, score, kind))
                table[opponent].append(Encounter(round_, player, WIN - score, kind))
            else:
                score = lots.choice((WIN, DRAW, LOSS))
                table[player].append(
                    Encounter(round_, "", score, EncounterKind.ALLOCATED if score == WIN else EncounterKind.REQUESTED)
                )
    return table, rounds


@pytest.mark.long
@given(st.randoms(use_true_random=False), st.booleans())
def test_names_do_not_matter_and_cuts_only_take_away(lots: random.Random, swiss: bool) -> None:
    table, rounds = _drawn(lots)
    if not swiss:
        table = {player: [each for each in theirs if each.opponent] for player, theirs in table.items()}
    of = Scores(table, rounds, swiss=swiss)
    order = lots.sample(sorted(set(TieBreak) - OF_TEAMS), lots.randint(1, len(set(TieBreak) - OF_TEAMS)))
    groups, found = of.rank(order, of.points)
    for player in table:
        whole, cut_1, cut_2, median = (
            of.value(tie_break, player)
            for tie_break in (
                TieBreak.BUCHHOLZ, TieBreak.BUCHHOLZ_CUT_1, TieBreak.BUCHHOLZ_CUT_2, TieBreak.BUCHHOLZ_MEDIAN_1,
            )
        )  # fmt: skip
        assert whole >= cut_1 >= max(cut_2, median) >= 0
    # The ranking is by points and then by the tie-breaks in order.
    keys = [(of.points[player], found[player]) for group in groups for player in group]
    assert keys == sorted(keys, reverse=True)
    assert all(len({(of.points[player], found[player]) for player in group}) == 1 for group in groups)
    # Other names, in another order, have the same places.
    new = dict(zip(table, lots.sample([f"q{number}" for number in range(len(table))], len(table)), strict=True))
    renamed = {
        new[player]: [each._replace(opponent=new.get(each.opponent, "")) for each in table[player]]
        for player in lots.sample(list(table), len(table))
    }
    again = Scores(renamed, rounds, swiss=swiss)
    assert [{new[player] for player in group} for group in groups] == [
        set(group) for group in again.rank(order, again.points).groups
    ]
