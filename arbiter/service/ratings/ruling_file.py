"""The log of rulings on ratings as a file: a line for each ruling, and the arbiter's signature of the last one.

The signature is that of a transcript (`arbiter.matches.signing`) with these words: its `kind` is `ratings_signature`,
its domain `arbiter ratings v1`, `log` is `ratings`, and `rulings` says how many lines there are. The key is the one
that was valid at the last ruling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arbiter.event_json.canonical import RecordError
from arbiter.matches.signing import CheckSignature, Form, Signature, Statement, read_signature
from arbiter.ratings.rulings import Rulings
from arbiter.service.matches.transcripts import Signer
from arbiter.service.ports.journal import RULINGS

FORM: Final = Form("ratings_signature", b"arbiter ratings v1\n", "log", "rulings")


class RulingsError(Exception):
    """A file of rulings is not what the arbiter has signed. The message says in which line, and what was expected."""


def written(log: Rulings, lines: Sequence[bytes], signer: Signer) -> bytes:
    """Return the file of a log, given its lines; nothing for an empty one."""
    if not log.all:
        return b""
    at = log.all[-1].at
    key = next(key for key in signer.public_keys() if key.valid_at(at))
    statement = Statement(RULINGS, log.revision, log.head, key.key_id, form=FORM)
    signature = Signature(statement, signer.sign(key.key_id, statement.message()))
    return b"".join(line + b"\n" for line in (*lines, signature.line()))


def read(data: bytes, check_signature: CheckSignature) -> Rulings:
    """Return the log of a file, whose chain and signature hold. Raises RulingsError for the first fault."""
    log = Rulings()
    if not data:
        return log
    *lines, last = data.removesuffix(b"\n").split(b"\n")
    try:
        for line in lines:
            log.follow(line)
        signature = read_signature(last, FORM)
    except RecordError as error:
        raise RulingsError(f"line {log.revision + 1}: {error}") from None
    fault = signature.statement.problem(RULINGS, log.revision, log.head)
    fault = fault or ("" if log.all else "there is no ruling before it")
    fault = fault or check_signature(signature, log.all[-1].at)
    if fault:
        raise RulingsError(f"line {log.revision + 1}: {fault}")
    return log
