"""Reads transcripts in files as a record of results: each one is verified, and each match counts once.

Games that a ruling on ratings has made unrated are unrated here: the log of rulings lies beside the transcripts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from arbiter.cli.failure import Failure
from arbiter.cli.transcript_files import RULINGS_FILE, SUFFIX
from arbiter.cli.verify import keys_of, read_file
from arbiter.keys.key_ring import holds
from arbiter.matches import transcript
from arbiter.matches.events import Cause, Ended
from arbiter.matches.signing import CheckSignature, checking
from arbiter.matches.transcript import TranscriptError, Verified
from arbiter.ratings.rated_matches import Result, result_of
from arbiter.ratings.rulings import Rulings

UNPLAYED: Final = frozenset({Cause.RESIGNATION, Cause.TIME, Cause.ABSENCE, Cause.RULE_VIOLATION})
"""Causes of an end by which a player gives a game up."""


class VerifiedMatch(NamedTuple):
    """A verified match: what it counts for, the number of plies, whether a player gave it up, and when it ended."""

    result: Result
    plies: int
    given_up: bool
    ended_ms: int = 0


class Read(NamedTuple):
    """The content of files: the games in the order of the files, and the number of matches that have not ended.

    rulings: the number of rulings on ratings that were applied.
    """

    games: tuple[VerifiedMatch, ...]
    unfinished: int
    rulings: int


def read_record(paths: Sequence[Path], keys: Sequence[str], progress: Callable[[int, int], None]) -> Read:
    """Return the games of transcripts in files and folders, all verified.

    A transcript that occurs twice counts once; of several logs of rulings, the longest counts. Raises Failure for a
    file that is not validly signed by an arbiter, and for two files that contradict each other.
    """
    check = checking([key for given in keys for key in keys_of(given)], holds)
    files, rulings = list(_files(paths)), _rulings(paths, check)
    unrated = rulings.unrated()
    found: dict[str, tuple[str, VerifiedMatch]] = {}
    unfinished = 0
    for done, file in enumerate(files, 1):
        data = read_file(file)
        try:
            _, signature = transcript.split(data)
            verified = transcript.verify(data, check) if signature is not None else None
        except TranscriptError as error:
            raise Failure(f"{file}, {error}") from None
        progress(done, len(files))
        if verified is None:
            unfinished += 1
            continue
        match = verified.match
        head, _ = found.setdefault(match.id, (match.digest, _game(verified, match.id in unrated)))
        if head != match.digest:
            raise Failure(f"{file} says of match {match.id} something else than an earlier file")
    return Read(tuple(game for _, game in found.values()), unfinished, rulings.revision)


def _rulings(paths: Sequence[Path], check: CheckSignature) -> Rulings:
    """Return the longest log of rulings in folders."""
    from arbiter.bootstrap.verifying import RulingsError, read_rulings  # numpy takes a while to load

    longest = Rulings()
    for file in [each for path in paths if path.is_dir() for each in sorted(path.rglob(RULINGS_FILE))]:
        try:
            found = read_rulings(read_file(file), check)
        except RulingsError as error:
            raise Failure(f"{file}, {error}") from None
        shorter, longest = sorted((found, longest), key=lambda each: each.revision)
        if longest.all[: shorter.revision] != shorter.all:
            raise Failure(f"{file} says something else of rulings on ratings than an earlier file")
    return longest


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob(f"*{SUFFIX}"))
        else:
            yield path


def _game(verified: Verified, unrated: bool) -> VerifiedMatch:
    match, ended = verified.match, verified.match.result
    assert isinstance(ended, Ended)
    plies = match.ply - len(match.created.opening)
    result = result_of(match.created, ended, match.versions)
    result = result._replace(rated=result.rated and not unrated)
    return VerifiedMatch(result, plies, ended.cause in UNPLAYED, ended.at)
