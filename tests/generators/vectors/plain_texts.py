"""Texts of other people, and how a client shows them: by the arbiter's own rule."""

from __future__ import annotations

from typing import Any, Final

from arbiter.plain_text import plain

CASES: Final = (
    ("letters of all kinds", "Zoë 李 Ωμέγα עברית ½ 😀"),
    ("nothing", ""),
    ("quotes and a backslash stay", '"it\'s" C:\\new'),
    ("a title, and a cleared screen", "\x1b]0;mine\x07\x1b[2Jalice"),
    ("a line end that forges a line", "alice\n2026-01-01 ERROR bob cheats\r"),
    ("a tab and a bell", "a\tb\a"),
    ("a null and a deleted character", "\0\x7f"),
    ("the control characters of Latin-1", "\x80\x85\x9b2J\x9f"),
    ("marks that turn the direction of a line", "\u202ealice\u202c \u2066bob\u2069 \u200f\u061c"),
    ("characters without a width", "a\u200bl\u200di\u2060c\ufeffe\u00ad"),
    ("separators of lines and paragraphs", "a\u2028b\u2029c"),
    ("blanks that are not the usual one", "a\u00a0b\u2003c\u3000d"),
    ("tags and a private character beyond the first plane", "a\U000e0041b\U000f0000c"),
    ("a private character", "\ue000"),
    ("accents on letters", "e\u0301 n\u0303"),
)


def vectors() -> list[dict[str, Any]]:
    """Return the content of plain_texts.json."""
    return [{"name": name, "text": text, "plain": plain(text)} for name, text in CASES]
