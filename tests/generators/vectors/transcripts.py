"""Valid signed transcripts, and tampered ones that must not verify."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from arbiter.event_json.canonical import MalformedRecordError, decode, digest, encode
from arbiter.keys.key_ring import SigningKey, holds
from arbiter.matches import transcript
from arbiter.matches.signing import PublicKey, Signature, Statement, checking, read_keys, write_keys
from tests.generators import transcripts as golden
from tests.generators.vectors.forgeries import FORGERIES, forged
from tests.generators.vectors.layout import laid_out

HOLDING: Final = ("circle-of-life", "elevation", "pods", "opening", "self-play", "abandoned", "faulted", "position")
"""The golden matches whose transcripts are among the vectors unchanged."""

STRANGER: Final = SigningKey(b"\x03" * 32, 0)  #: a key that is not one of the public keys

Lines = list[bytes]


class Alteration(NamedTuple):
    """A change that was made to a transcript.

    without_rules: the line at which a reader notices it that does not know the game's rules, relative to the line at
    which a reader that knows them does; None: never. end: the end of the last line.
    """

    name: str
    what: str
    do: Callable[[Lines], Lines]
    without_rules: int | None = 0
    end: bytes = b"\n"


def vectors() -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file of the folder transcripts."""
    keys = golden.public_keys()
    yield golden.KEY_FILE, write_keys(keys).encode()
    index = []
    made = {plan.name: golden.played(plan) for plan in golden.MATCH_PLANS if plan.name in HOLDING}
    for name, script in made.items():
        data = golden.signed(script.log, script.match)
        yield f"{name}.jsonl", data
        index.append(_verdict(f"{name}.jsonl", f"as it was signed: {script.match.game.variant}", data, keys))
    whole = golden.signed(made["opening"].log, made["opening"].match)
    for damage in DAMAGES:
        data = b"\n".join(damage.do(whole.splitlines())) + damage.end
        name = f"tampered-{damage.name}.jsonl"
        yield name, data
        index.append(_verdict(name, damage.what, data, keys, damage.without_rules))
    for forgery in FORGERIES:
        plan = next(plan for plan in golden.MATCH_PLANS if plan.name == forgery.plan)
        events = [decode(record) for record in golden.played(plan).log]
        forgery.do(events)
        data = b"\n".join(forged(events, forgery.signs)) + b"\n"
        name = f"forged-{forgery.name}.jsonl"
        yield name, data
        index.append(_verdict(name, f"{forgery.what}, signed anew", data, keys, forgery.late))
    yield "index.json", laid_out(index).encode()
    yield from _key_files(keys)


def _key_files(keys: Sequence[PublicKey]) -> Iterator[tuple[str, bytes]]:
    """Yield invalid files of public keys, the valid one beside them, and their index."""
    rows = [{"file": golden.KEY_FILE, "what": "the public keys", "holds": True}]
    good: dict[str, Any] = json.loads(write_keys(keys))
    first = good["keys"][0]
    foreign = STRANGER.public.key.hex()
    changes: dict[str, tuple[str, Any]] = {
        "foreign": ("a key of somebody else under the id of the arbiter's", [{**first, "key": foreign}]),
        "other-id": ("a key under an id that is not its own", [{**first, "key_id": "0" * 16}]),
        "twice": ("a key stands there twice, with different validity", [first, {**first, "valid_until_ms": 1}]),
        "long": ("a key with characters that are no digits behind it", [{**first, "key": first["key"] + "zz"}]),
        "short": ("a key that is too short", [{**first, "key": first["key"][2:]}]),
        "algorithm": ("an algorithm that is not ed25519", [{**first, "algorithm": "ed448"}]),
        "instant": ("an instant that is no integer", [{**first, "valid_from_ms": "0"}]),
        "no-list": ("the keys are no list", {}),
    }
    for name, (what, content) in changes.items():
        data = json.dumps({"keys": content}, indent=1, sort_keys=True).encode() + b"\n"
        yield f"keys-{name}.json", data
        rows.append({"file": f"keys-{name}.json", "what": what, "holds": _is_readable(data)})
    yield "keys-index.json", laid_out(rows).encode()


def _is_readable(data: bytes) -> bool:
    try:
        read_keys(data)
    except MalformedRecordError:
        return False
    return True


def _verdict(file: str, what: str, data: bytes, keys: Sequence[PublicKey], later: int | None = 0) -> dict[str, Any]:
    """Return a file's row of the index, with the result of the arbiter's own verifier."""
    try:
        match = transcript.verify(data, checking(keys, holds)).match
    except transcript.TranscriptError as error:
        without_rules = None if later is None else error.line + later
        return {"file": file, "what": what, "holds": False, "line": error.line, "line_without_rules": without_rules}
    assert match.result is not None  # an unfinished match does not verify
    return {
        "file": file,
        "what": what,
        "holds": True,
        "line": None,
        "line_without_rules": None,
        "match_id": match.id,
        "game": match.game.variant,
        "time_control": match.created.time,
        "opening_plies": len(match.created.opening),
        "plies": match.ply,
        "events": match.revision,
        "result": match.result.result.value,
        "winner": match.result.winner,
        "reason": match.result.reason,
    }


def _signed_anew(lines: Lines, key: SigningKey | None = None) -> Lines:
    """Return lines with their hash chain computed again and signed, so that only their content is wrong."""
    log, previous = [lines[0]], digest(lines[0])
    for line in lines[1:-1]:
        log.append(encode(decode(line) | {"previous": previous}))
        previous = digest(log[-1])
    last = decode(log[-1])
    key = key or next(key for key in golden.KEYS if key.public.valid_at(last["at"]))
    statement = Statement(last["match"], len(log), previous, key.public.key_id)
    return transcript.write(log, Signature(statement, key.sign(statement.message()))).splitlines()


def _moved(lines: Lines) -> int:
    """Return the index of the line with the sixth move."""
    return [number for number, line in enumerate(lines) if decode(line)["kind"] == "moved"][5]


def _edited(lines: Lines, number: int, **change: Any) -> Lines:
    return [*lines[:number], encode(decode(lines[number]) | change), *lines[number + 1 :]]


def _another_move(lines: Lines) -> Lines:
    number = _moved(lines)
    return _edited(lines, number, move=decode(lines[_moved(lines) - 1]).get("move", "a1"))


def _a_ledger(lines: Lines) -> Lines:
    number = _moved(lines)
    ledger = decode(lines[number])["ledger"]
    return _signed_anew(_edited(lines, number, ledger=ledger | {"charged": ledger["charged"] + 1}))


def _a_signature(lines: Lines) -> Lines:
    signature = decode(lines[-1])["signature"]
    return _edited(lines, len(lines) - 1, signature=f"{int(signature[0], 16) ^ 1:x}{signature[1:]}")


def _in_upper_case(lines: Lines) -> Lines:
    return _edited(lines, len(lines) - 1, signature=decode(lines[-1])["signature"].upper())


def _with_fraction(lines: Lines) -> Lines:
    number = _moved(lines)
    return [*lines[:number], lines[number][:-1] + b',"zzz":1.5}', *lines[number + 1 :]]


def _winner(lines: Lines) -> Lines:
    ended = decode(lines[-2])
    return _edited(lines, len(lines) - 2, winner=3 - ended["winner"])


DAMAGES: Final = (
    Alteration("cut-off", "the last line has no end", lambda lines: lines, end=b""),
    Alteration("unsigned", "without its signature", lambda lines: lines[:-1]),
    Alteration("unfinished", "without its end and signature", lambda lines: lines[:-2]),
    Alteration("empty", "one line, which is empty", lambda lines: [b""]),
    Alteration("dropped", "an event is left out", lambda lines: [*lines[:4], *lines[5:]]),
    Alteration("doubled", "an event stands there twice", lambda lines: [*lines[:5], *lines[4:]]),
    Alteration("swapped", "two events have changed places", lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]]),
    Alteration("more", "an event after the signature", lambda lines: [*lines, lines[-2]]),
    Alteration("signed-twice", "the signature stands there twice", lambda lines: [*lines, lines[-1]]),
    Alteration("blank", "a blank behind an event", lambda lines: [*lines[:4], lines[4] + b" ", *lines[5:]]),
    Alteration("no-json", "a line that is no JSON", lambda lines: [*lines[:4], b"{", *lines[5:]]),
    Alteration("edited-move", "another move, and nothing else changed", _another_move, 1),
    Alteration("edited-winner", "another winner, and nothing else changed", _winner),
    Alteration("forged-winner", "another winner, signed anew", lambda lines: _signed_anew(_winner(lines))),
    Alteration("forged-ledger", "a move charged a millisecond more, signed anew", _a_ledger),
    Alteration("forged-move", "another move, signed anew", lambda lines: _signed_anew(_another_move(lines)), None),
    Alteration("wrong-signature", "another signature", _a_signature),
    Alteration("upper-signature", "the signature in upper case", _in_upper_case),
    Alteration("fraction", "a number that is no integer", _with_fraction),
    Alteration("strange-key", "signed with a key that nobody knows", lambda lines: _signed_anew(lines, STRANGER)),
    Alteration(
        "retired-key", "signed with the other key, out of its time", lambda lines: _signed_anew(lines, _other(lines))
    ),
)


def _other(lines: Lines) -> SigningKey:
    at = decode(lines[-2])["at"]
    return next(key for key in golden.KEYS if not key.public.valid_at(at))
