"""Credentials files: in JSON, in the older TOML, and texts that are neither."""

from __future__ import annotations

from typing import Any, Final

Entries = dict[str, dict[str, str]]

ALICE: Final[Entries] = {"127.0.0.1:7400": {"alice": "TOKEN-1"}}
TWO: Final[Entries] = {"127.0.0.1:7400": {"alice": "TOKEN-1", "b.o-b_2": "TOKEN-2"}, "[::1]:7400": {"carol": "T-3"}}
CASES: Final[tuple[tuple[str, str, Entries | None], ...]] = (
    ("JSON", '{"127.0.0.1:7400": {"alice": "TOKEN-1"}}', ALICE),
    ("JSON with blanks, lines and escapes", '{\r\n "127.0.0.1:7400": {"\\u0061lice":\t"TOKEN-1"}\n}\n', ALICE),
    ("JSON with a byte-order mark", '\ufeff{"127.0.0.1:7400": {"alice": "TOKEN-1"}}', ALICE),
    (
        "JSON with two servers",
        '{"127.0.0.1:7400": {"alice": "TOKEN-1", "b.o-b_2": "TOKEN-2"}, "[::1]:7400": {"carol": "T-3"}}',
        TWO,
    ),
    ("JSON without entries", "{}", {}),
    ("an empty file", "", {}),
    ("TOML", '["127.0.0.1:7400"]\nalice = "TOKEN-1"\n', ALICE),
    ("TOML with a byte-order mark and CRLF", '\ufeff["127.0.0.1:7400"]\r\nalice = "TOKEN-1"\r\n', ALICE),
    (
        "TOML with remarks, blanks, quoted names and literal texts",
        '# mine\n\n ["127.0.0.1:7400"]  # here\nalice="TOKEN-1" # a token\n"b.o-b_2" = \'TOKEN-2\'\n'
        "['[::1]:7400']\n\tcarol = \"T-3\"\n",
        TWO,
    ),
    ("TOML with escapes", '["127.0.0.1:7400"]\n"\\u0061lice" = "TOKEN\\u002d1"\n', ALICE),
    ("TOML of remarks alone", "# nothing yet\n", {}),
    ("JSON that ends too early", '{"127.0.0.1:7400": {"alice": "TOK', None),
    ("JSON with more behind it", '{"127.0.0.1:7400": {"alice": "TOKEN-1"}} x', None),
    ("JSON that is a list", '["127.0.0.1:7400", "alice"]', None),
    ("a number for a token", '{"127.0.0.1:7400": {"alice": 1}}', None),
    ("a token without a player", '{"127.0.0.1:7400": "TOKEN-1"}', None),
    ("TOML with a number for a token", '["127.0.0.1:7400"]\nalice = 1\n', None),
    ("TOML without a server", 'alice = "TOKEN-1"\n', None),
    ("TOML that ends too early", '["127.0.0.1:7400"]\nalice = "TOK\n', None),
    ("TOML with two tokens on a line", '["127.0.0.1:7400"]\nalice = "A" bob = "B"\n', None),
    ("something else", "hello\n", None),
)
"""For each text its name, and its entries; None if it is no credentials file."""


def vectors() -> list[dict[str, Any]]:
    """Return the content of credentials.json."""
    return [{"name": name, "text": text, "entries": entries} for name, text, entries in CASES]
