"""Texts that are not valid moves, positions or variants of a game, chosen by hand."""

from __future__ import annotations

from typing import Final, NamedTuple


class Wrong(NamedTuple):
    """Texts that a game refuses, and variants that refuse some of them.

    moves: texts, tried in the initial position. positions: changes of its text, as pairs of the part to replace and its
    replacement; '' stands for the end of the text.
    """

    moves: tuple[str, ...]
    positions: tuple[tuple[str, str], ...]
    variants: tuple[str, ...]


ALWAYS_WRONG: Final = ("", " ", "-", "?", "\n", "\x00", "null", "é", "１", "x" * 300)
"""Texts that are neither a move nor a position of any game."""

_SEATS: Final = ((" 1 ", " 0 "), (" 1 ", " 3 "), (" 1 ", " 01 "), (" 1 ", " １ "), (" 1 ", "  1 "), (" 1 ", "\t1 "))
_ENDS: Final = (("", " "), ("", "\n"), ("", " 0"), ("", "0"), ("", "/"))

WRONG: Final[dict[str, Wrong]] = {
    "circle-of-life": Wrong(
        (
            *("a", "a0", "a6", "e10", "j1", "A1", "a01", " a1", "a1 ", "a1\n", "a１", "a1a2", "pass", "5e", "e5e5"),
            *("e-5", "a1-a2"),
        ),
        (
            *_SEATS,
            *_ENDS,
            *((" 0 0", " -1 0"), (" 0 0", " 00 0"), (" 0 0", " +1 0"), (" 0 0", " 1234567890 0"), (" 0 0", " 1.0 0")),
            *((" 0 0", " 0"), (" 0 0", " ٣ 0"), ("...../", "..../"), ("...../", "....../"), (".", "x"), (".", "1")),
            *((" 0 0", " 999999999 0"), (" 0 0", " 20 0"), (" 0 0", " 0 20"), (" 0 0", " 19 19"), (" 1 ", " 2 ")),
            *((".....", "SSSSS"), (".....", "sssss"), (".....", "SsSsS"), ("/", "//"), ("/", "")),
        ),
        (
            *("circle-of-life", "circle-of-life()", "circle-of-life(target=20)", "circle-of-life(target=7)"),
            *("circle-of-life(target=0)", "circle-of-life(target=61)", "circle-of-life(target=07)", "circle_of_life"),
            *("circle-of-life(target=)", "circle-of-life(target)", "circle-of-life(size=5)", "Circle-of-life"),
            *("circle-of-life(target=7,target=7)", "circle-of-life(target=7", "circle-of-life (target=7)", "", "ludo"),
        ),
    ),
    "elevation": Wrong(
        (
            *("a1", "a1:", "a1:d", "a1:da2", "a1:m", "a1:da2b1,", "a1:da2b1,ma2,mb3", "a1:da2b1,ma2 ", " a1:da2b1,ma2"),
            *("a1:da2b1, ma2", "A1:da2b1,ma2", "a1:Da2b1,ma2", "a0:da2b1,ma2", "a7:da2b1,ma2", "g1:da2b1,ma2", "pass"),
            *("a1:da2b1;ma2", "a1da2b1,ma2", "a1:da2b1,ma2\n", "a1:xa2,ma2", "a1:da2b1,ma²", "a1:da2b1ma2"),
        ),
        (
            *_SEATS,
            *_ENDS,
            *(("3f", "f"), ("3f", ""), ("3f", "."), ("3f", "3x"), ("3f", "3ff"), ("3f", "f3"), ("3f", "03f")),
            *(("3f", "-1f"), ("3f", "1000000000f"), ("3f", "999999999f"), ("3f", "٣f"), ("3f", "²f"), ("3f,", "")),
            *(("/", "//"), ("/", ","), (" 0", " 00"), (" 0", " -1"), (" 0", " 200"), (" 0", " 199"), (" 1 ", " 2 ")),
        ),
        (
            *("elevation", "elevation()", "elevation(tiles=3)", "elevation(tiles=0)", "elevation(tiles=20)"),
            *("elevation(tiles=21)", "elevation(tiles=-1)", "elevation(start=SSDDFF)", "elevation(start=SSDDFX)"),
            *(
                "elevation(start=DDSSFF,tiles=2)",
                "elevation(tiles=2,start=DDSSFF)",
                "elevation(height=3)",
                "elevations",
            ),
        ),
    ),
    "hop-it": Wrong(
        (
            *("b2", "b2-", "b2-c2 ", " b2-c2", "b2-c2-d2", "B2-C2", "b2xc3-d4", "b2-c2xd3", "b2x", "xb2", "b2xx"),
            *("Pass", "pass", "pass pass", "a7-b7", "a0-a1", "h1-g1", "b2—c2", "b٢-c2", "b2-c2\n", "e10-e11"),
        ),
        (
            *_SEATS,
            *_ENDS,
            *((" 0", " 00"), (" 0", " 05"), (" 0", " -1"), (" 0", " ٣"), (" 0", " 1234567890"), (" 0", " 99")),
            *((" 0", " 100"), ("_", "T"), ("_", "."), ("_", ""), ("_f", "__"), ("_f", "_x"), ("_f", "_4"), ("/", "")),
            *(("/", "//"), (" 1 ", " 2 ")),
        ),
        (
            *("hop-it", "hop-it()", "hop-it(duty=none)", "hop-it(duty=frog)", "hop-it(start=frogs)", "hop-it(duty=)"),
            *("hop-it(start=frogs,duty=none)", "hop-it(duty=none,start=frogs)", "hop-it(start=toads)", "hopit"),
        ),
    ),
    "pods": Wrong(
        (
            *("a", "a0", "a8", "n1", "A1", "a1 ", " a1", "a01", "a1-", "-a1", "a1-a2", "a1-a8", "a1-a2-a3", "a1a2"),
            *("pass", "a1–a2", "a１", "a1-A2", "a1--a2", "a1-a2\n", "a1-a1", "g13"),
        ),
        (
            *_SEATS,
            *_ENDS,
            *((" 0", " -1"), (" 0", " +1"), (" 0", " 00"), (" 0", " 01"), (" 0", " 1.0"), (" 0", " 1_0"), (" 0", " ٣")),
            *((" 0", " 1234567890"), (" 0", " 999999999"), (" 0", " "), (".", "x"), (".", "1"), (".", ""), (".", "..")),
            *((".", "P"), (".", "p"), ("/", ""), ("/", "//"), (" 1 ", " 2 ")),
        ),
        (
            *("pods", "pods()", "pods(size=7)", "pods(size=3)", "pods(size=10)", "pods(size=2)", "pods(size=11)"),
            *("pods(size=03)", "pods(size=three)", "pods(side=3)", "pods(size=3,size=3)", "pods(size=3", "Pods", "pod"),
        ),
    ),
    "pondlife": Wrong(
        (
            *("e1", "e1e2", "e1-e2 ", "E1-E2", "e1-e2=", "e1-e2=T0", "e1-e2=F2", "e1-e2=F5", "e1-e2=W6", "e1-e2=S0"),
            *("e1-e2=f3", "e1-e2=N", "e1-e2=EGG", "a6-a5", "e0-e1", "j1-i1", "e1-e10", "e1-e2\n", "e1-e٢", "pass"),
        ),
        (
            *_SEATS,
            *_ENDS,
            *(("t3...T0", "t6...T0"), ("t3...T0", "t...T0"), ("t3...T0", "t3...f2"), ("t3...T0", "t3...H0")),
            *(("t3...T0", "t3...t٣"), ("t3...T0", "t3..."), ("N", "."), ("t3...T0", "n...T0"), ("/", ""), ("/", "//")),
            *((" FFFWWSDH ", " WF "), (" FFFWWSDH ", " F- "), (" FFFWWSDH ", " f "), (" FFFWWSDH ", " T ")),
            *((" FFFWWSDH ", " - "), (" 7 8 ", " 07 8 "), (" 7 8 ", " 7 ٨ "), (" 7 8 ", " -1 8 "), (" 7 8 ", " 7 ")),
            *((" 0 0 0 0", " 0 0 0 1"), (" 0 0 0 0", " 0 0 119 0"), (" 0 0 0 0", " 0 0 120 0"), (" 1 ", " 2 ")),
        ),
        (
            *("pondlife", "pondlife()", "pondlife(eel=true)", "pondlife(eel=false)", "pondlife(eel=1)"),
            *("pondlife(lines=3)", "pondlife(lines=2)", "pondlife(lines=4)", "pondlife(handicap=9)"),
            *("pondlife(handicap=10)", "pondlife(handicap=01)", "pondlife(handicap=3,without=FWSH,eel=true)"),
            *(
                "pondlife(eel=true,handicap=3,without=FWSH)",
                "pondlife(without=FFH)",
                "pondlife(without=N)",
                "pond-life",
            ),
        ),
    ),
}
